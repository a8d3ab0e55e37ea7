//! Empty waits: for streams without work, and for events that have not been recorded. CUDA permits such waits, which end at once; an
//! application with them would name streams and events that do not exist.

use std::collections::BTreeSet;

use crate::record::Entry;

/// The entries without empty waits.
pub(crate) fn without_empty(entries: Vec<Entry>) -> Vec<Entry> {
    let (mut streams, mut events) = (BTreeSet::from([0]), BTreeSet::new());
    let mut is_for_something = |entry: &Entry| match entry {
        Entry::Copy { stream, .. }
        | Entry::Move { stream, .. }
        | Entry::Fill { stream, .. }
        | Entry::Launch { stream, .. } => {
            streams.insert(*stream);
            true
        }
        Entry::Record { event, stream } => {
            streams.insert(*stream);
            events.insert(*event);
            true
        }
        Entry::Wait { event, stream } => {
            let is_recorded = events.contains(event);
            streams.extend(is_recorded.then_some(*stream));
            is_recorded
        }
        Entry::Await { event } => events.contains(event),
        Entry::Synchronize { stream: Some(stream) } => streams.contains(stream),
        _ => true,
    };
    entries.into_iter().filter(|entry| is_for_something(entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Region;

    #[test]
    fn waits_for_nothing_are_gone_and_others_stay() {
        let host = |stream| Entry::Synchronize { stream };
        let wait = |event, stream| Entry::Wait { event, stream };
        let fill = Entry::Fill { region: Region::line(0, 4), value: vec![0], stream: 1 };
        let record = Entry::Record { event: 1, stream: 2 };
        let (empty, kept) = (
            vec![host(Some(1)), wait(1, 1), Entry::Await { event: 1 }],
            vec![
                fill,
                record,
                host(Some(1)),
                host(Some(2)),
                wait(1, 1),
                Entry::Await { event: 1 },
                host(None),
                host(Some(0)),
            ],
        );
        assert_eq!(without_empty([empty, kept.clone()].concat()), kept);
    }
}
