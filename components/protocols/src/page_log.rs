//! A run's record of gated launches, for a check of their order that is independent of the ordering: the first touch of
//! each page by each launch, and the time at which the last store of each block was acknowledged.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use counterpoint_framework::time::SimTime;

use crate::launch::{Launch, LaunchId};

/// The record of a run, given as a resource if it is wanted. An entry is the least of several times, or
/// independent of others, so that the order in which threads record it cannot show.
#[derive(Debug, Default)]
pub struct PageLog {
    notes: Mutex<PageNotes>,
}

/// The entries of the record.
#[derive(Clone, Debug, Default)]
pub struct PageNotes {
    /// The launches, and the device of each by the path of its CTA scheduler.
    pub launches: BTreeMap<LaunchId, (Arc<Launch>, String)>,
    /// Time of a launch's first access to a page, by the page's number: the time at which the access was given to the load-store
    /// unit.
    pub accesses: BTreeMap<(LaunchId, u64), SimTime>,
    /// Time at which a block had ended and its last store had been acknowledged. Blocks without an entry have not ended.
    pub ends: BTreeMap<(LaunchId, u32), SimTime>,
}

impl PageLog {
    /// Bytes of a page in these notes: the smallest of any MMU. An order by larger pages holds for smaller
    /// ones, too.
    pub const PAGE: u64 = 4096;

    /// The pages of a range of bytes that is not empty.
    pub fn pages(start: u64, end: u64) -> RangeInclusive<u64> {
        start / PageLog::PAGE..=(end - 1) / PageLog::PAGE
    }

    fn notes(&self) -> MutexGuard<'_, PageNotes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a launch has reached the CTA scheduler at a path.
    pub fn launched(&self, launch: &Arc<Launch>, scheduler: &str) {
        self.notes().launches.insert(launch.id, (Arc::clone(launch), scheduler.to_owned()));
    }

    /// Notes accesses of a launch to addresses, `width` bytes at each.
    pub fn accessed(
        &self,
        launch: LaunchId,
        time: SimTime,
        addresses: impl Iterator<Item = u64>,
        width: u64,
    ) {
        let mut notes = self.notes();
        let mut last = None;
        for page in addresses.flat_map(|address| PageLog::pages(address, address + width.max(1))) {
            if last.replace(page) != Some(page) {
                let first = notes.accesses.entry((launch, page)).or_insert(time);
                *first = time.min(*first);
            }
        }
    }

    /// Notes that nothing of a block is under way any more; of several times the first counts.
    pub fn ended(&self, launch: LaunchId, block: u32, time: SimTime) {
        self.notes().ends.entry((launch, block)).or_insert(time);
    }

    /// All notes so far.
    pub fn take(&self) -> PageNotes {
        std::mem::take(&mut self.notes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_access_to_a_page_and_the_first_end_of_a_block_stay() {
        let log = PageLog::default();
        let at = SimTime::from_ps;
        log.accessed(LaunchId(1), at(9), [4092, 4094].into_iter(), 4);
        log.accessed(LaunchId(1), at(7), [8192].into_iter(), 4);
        log.accessed(LaunchId(1), at(8), [8196, 0].into_iter(), 8);
        log.ended(LaunchId(1), 3, at(20));
        log.ended(LaunchId(1), 3, at(30));
        let PageNotes { accesses, ends, .. } = log.take();
        let accesses: Vec<_> = accesses.into_iter().collect();
        let key = |page| (LaunchId(1), page);
        assert_eq!(accesses, [(key(0), at(8)), (key(1), at(9)), (key(2), at(7))]);
        assert_eq!(ends.into_iter().collect::<Vec<_>>(), [((LaunchId(1), 3), at(20))]);
        assert!(log.take().ends.is_empty());
    }
}
