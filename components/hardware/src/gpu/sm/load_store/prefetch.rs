//! Lines that the prefetcher of the L1 data cache wants.

use std::collections::VecDeque;

use counterpoint_protocols::memory::line_of;

use crate::memory::cache::prefetch::{LookedUp, Prefetcher, in_one_page};

/// Lines that wait at most; the prefetcher's others are ignored.
const MOST: usize = 16;

/// A prefetcher and what it wants.
pub(super) struct Prefetches {
    prefetcher: Box<dyn Prefetcher>,
    wanted: Vec<u64>,
    queued: VecDeque<u64>,
}

impl Prefetches {
    /// A prefetcher that has seen nothing; none if it never wants anything.
    pub(super) fn new(prefetcher: Box<dyn Prefetcher>) -> Option<Self> {
        let is_idle = prefetcher.is_idle();
        (!is_idle).then(|| Prefetches { prefetcher, wanted: Vec::new(), queued: VecDeque::new() })
    }

    /// Notes a load of a line.
    pub(super) fn note(&mut self, read: &LookedUp) {
        self.prefetcher.looked_up(read, &mut self.wanted);
        let near = self.wanted.drain(..).filter(|&line| in_one_page(line, read.line));
        let room = MOST - self.queued.len();
        self.queued.extend(near.take(room).map(line_of));
    }

    /// Takes the next line that it wants and that is not `here`.
    pub(super) fn next(&mut self, here: impl Fn(u64) -> bool) -> Option<u64> {
        while let Some(line) = self.queued.pop_front() {
            if !here(line) {
                return Some(line);
            }
        }
        None
    }
}
