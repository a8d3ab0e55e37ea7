//! Streams on which nothing runs: an application has none, but a program may order other streams by their events and waits.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::Entry;

/// The same entries with every order that such streams make between others, and without these streams; nothing if there are none.
pub(crate) fn without_idle(entries: &[Entry]) -> Option<Vec<Entry>> {
    let work = entries.iter().filter_map(|entry| match entry {
        Entry::Copy { stream, .. }
        | Entry::Move { stream, .. }
        | Entry::Fill { stream, .. }
        | Entry::Launch { stream, .. } => Some(*stream),
        _ => None,
    });
    let busy: BTreeSet<u32> = std::iter::once(0).chain(work).collect();
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
    // By idle stream the events that it has waited for, and by event of such a stream those before it.
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
    use crate::record::Region;

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
    fn an_event_that_is_recorded_again_stands_for_itself() {
        let entries = [record(1, 3), wait(1, 0), fill(1), record(1, 1), wait(1, 0)];
        let kept = without_idle(&entries).expect("an idle stream");
        assert_eq!(kept, [fill(1), record(1, 1), wait(1, 0)]);
    }
}
