//! Streams in the form of an application: each stream has work, and waits of the host name the awaited stream or event.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::Entry;

/// The entries with waits and streams in the form of an application; `None` if all entries already have this form.
pub(crate) fn prepared(entries: &[Entry]) -> Option<Vec<Entry>> {
    let named = with_named_waits(entries);
    let kept = without_idle(named.as_deref().unwrap_or(entries));
    kept.or(named)
}

/// The stream of work.
fn works_on(entry: &Entry) -> Option<u32> {
    match entry {
        Entry::Copy { stream, .. }
        | Entry::Move { stream, .. }
        | Entry::Fill { stream, .. }
        | Entry::Launch { stream, .. } => Some(*stream),
        _ => None,
    }
}

/// The non-blocking streams on which something runs.
pub(crate) fn non_blocking(entries: &[Entry]) -> BTreeSet<u32> {
    let work: BTreeSet<u32> = entries.iter().filter_map(works_on).collect();
    let found = entries.iter().filter_map(|entry| match entry {
        Entry::NonBlocking { stream } => Some(*stream),
        _ => None,
    });
    found.filter(|stream| work.contains(stream)).collect()
}

/// The entries with two changes. A copy on a stream of the program for which the host waits becomes a copy and a wait for that stream.
/// While work may run on a non-blocking stream, a wait for the default stream becomes a wait for an event on the default stream, since a
/// wait for everything would include the non-blocking stream.
fn with_named_waits(entries: &[Entry]) -> Option<Vec<Entry>> {
    let non_blocking = non_blocking(entries);
    let is_wait = |entry: &Entry| matches!(entry, Entry::Copy { waits: true, stream: 1.., .. });
    if non_blocking.is_empty() && !entries.iter().any(is_wait) {
        return None;
    }
    let events = entries.iter().filter_map(|entry| match entry {
        Entry::Record { event, .. } | Entry::Wait { event, .. } | Entry::Await { event } => Some(*event),
        _ => None,
    });
    let own = events.max().unwrap_or(0) + 1;
    let awaited = || [Entry::Record { event: own, stream: 0 }, Entry::Await { event: own }];
    let mut kept = Vec::with_capacity(entries.len());
    let mut is_running = false;
    for entry in entries {
        is_running |= works_on(entry).is_some_and(|stream| non_blocking.contains(&stream));
        match entry {
            Entry::Copy { stream, waits: true, .. } if *stream > 0 || is_running => {
                let mut copy = entry.clone();
                if let Entry::Copy { waits, .. } = &mut copy {
                    *waits = false;
                }
                kept.push(copy);
                match stream {
                    0 => kept.extend(awaited()),
                    stream => kept.push(Entry::Synchronize { stream: Some(*stream) }),
                }
            }
            Entry::Synchronize { stream: Some(0) } if is_running => kept.extend(awaited()),
            Entry::Synchronize { stream: None } => {
                is_running = false;
                kept.push(entry.clone());
            }
            _ => kept.push(entry.clone()),
        }
    }
    Some(kept)
}

/// The entries without streams that have no work, with the order that these streams establish between others; `None` if all streams have
/// work.
fn without_idle(entries: &[Entry]) -> Option<Vec<Entry>> {
    let busy: BTreeSet<u32> = std::iter::once(0).chain(entries.iter().filter_map(works_on)).collect();
    let is_idle = |entry: &Entry| match entry {
        Entry::Record { stream, .. }
        | Entry::Wait { stream, .. }
        | Entry::Synchronize { stream: Some(stream) } => !busy.contains(stream),
        _ => false,
    };
    if !entries.iter().any(is_idle) {
        return None;
    }
    let mut kept = Vec::with_capacity(entries.len());
    // Events that each idle stream has waited for, and for each event of an idle stream the events that it stands for.
    let mut waited: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut stands_for: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in entries {
        let idle = is_idle(entry);
        match entry {
            Entry::Record { event, stream } if idle => {
                stands_for.insert(*event, waited.get(stream).cloned().unwrap_or_default());
            }
            Entry::Record { event, .. } => {
                stands_for.remove(event);
                kept.push(entry.clone());
            }
            Entry::Wait { event, stream } => {
                let events = stands_for.get(event).cloned().unwrap_or_else(|| vec![*event]);
                if idle {
                    let waited = waited.entry(*stream).or_default();
                    waited.extend(events);
                    waited.sort_unstable();
                    waited.dedup();
                } else {
                    kept.extend(events.into_iter().map(|event| Entry::Wait { event, stream: *stream }));
                }
            }
            Entry::Synchronize { stream: Some(stream) } if idle => {
                let events = waited.get(stream).into_iter().flatten();
                kept.extend(events.map(|event| Entry::Await { event: *event }));
            }
            Entry::Await { event } => {
                let events = stands_for.get(event).cloned().unwrap_or_else(|| vec![*event]);
                kept.extend(events.into_iter().map(|event| Entry::Await { event }));
            }
            _ => kept.push(entry.clone()),
        }
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Blob, Region, Way};

    fn fill(stream: u32) -> Entry {
        Entry::Fill { region: Region::line(0, 4), value: vec![0], stream }
    }

    fn record(event: u32, stream: u32) -> Entry {
        Entry::Record { event, stream }
    }

    fn wait(event: u32, stream: u32) -> Entry {
        Entry::Wait { event, stream }
    }

    #[test]
    fn streams_that_work_stay_as_they_are() {
        let synchronize = Entry::Synchronize { stream: Some(1) };
        assert_eq!(without_idle(&[fill(1), record(1, 1), wait(1, 0), synchronize]), None);
    }

    #[test]
    fn an_order_by_way_of_an_idle_stream_is_one_without_it() {
        // Stream 3 waits for 1 and 2, and the default stream for it.
        let entries =
            [fill(1), record(1, 1), fill(2), record(2, 2), wait(2, 3), wait(1, 3), record(3, 3), wait(3, 0)];
        let kept = without_idle(&entries).expect("an idle stream");
        assert_eq!(kept, [fill(1), record(1, 1), fill(2), record(2, 2), wait(1, 0), wait(2, 0)]);
    }

    #[test]
    fn the_host_waits_for_that_which_an_idle_stream_waited_for() {
        let host = |stream| Entry::Synchronize { stream: Some(stream) };
        let entries =
            [host(3), fill(1), record(1, 1), wait(1, 3), host(3), record(3, 3), Entry::Await { event: 3 }];
        let kept = without_idle(&entries).expect("an idle stream");
        assert_eq!(kept, [fill(1), record(1, 1), Entry::Await { event: 1 }, Entry::Await { event: 1 }]);
    }

    #[test]
    fn a_wait_for_the_default_stream_is_none_for_a_non_blocking_one() {
        let host = |stream| Entry::Synchronize { stream };
        let entries = [
            Entry::NonBlocking { stream: 1 },
            host(Some(0)),
            fill(1),
            host(Some(0)),
            host(None),
            host(Some(0)),
        ];
        let kept = with_named_waits(&entries).expect("a non-blocking stream");
        let mut expected = entries.to_vec();
        expected.splice(3..4, [record(1, 0), Entry::Await { event: 1 }]);
        assert_eq!(kept, expected);
        assert_eq!(Vec::from_iter(non_blocking(&entries)), [1]);
        assert_eq!(with_named_waits(&entries[..2]), None, "nothing runs on it");
    }

    #[test]
    fn a_copy_that_is_waited_for_is_one_of_its_stream() {
        let copy = |stream, waits| Entry::Copy {
            way: Way::Out,
            device: Region::line(0, 4),
            blob: Blob::default(),
            stream,
            waits,
            unwritten: None,
        };
        let kept = with_named_waits(&[copy(0, true), copy(2, true)]).expect("a wait");
        assert_eq!(kept, [copy(0, true), copy(2, false), Entry::Synchronize { stream: Some(2) }]);
        assert_eq!(with_named_waits(&[copy(0, true), copy(2, false)]), None);
    }

    #[test]
    fn an_event_that_is_recorded_again_stands_for_itself() {
        let entries = [record(1, 3), wait(1, 0), fill(1), record(1, 1), wait(1, 0)];
        let kept = without_idle(&entries).expect("an idle stream");
        assert_eq!(kept, [fill(1), record(1, 1), wait(1, 0)]);
    }
}
