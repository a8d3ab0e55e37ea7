//! The prefetcher of a cache, and the lines that it has named and the cache has not handled.

use std::collections::VecDeque;

use counterpoint_protocols::memory::Label;

use super::{LookedUp, Prefetcher};

/// Lines that wait at most; the prefetcher's others are ignored.
const MOST: usize = 16;

/// A prefetcher with its queue of lines.
pub(crate) struct Prefetches {
    prefetcher: Box<dyn Prefetcher>,
    wanted: Vec<u64>,
    /// Lines with the label of the read that named them.
    queued: VecDeque<(u64, Label)>,
}

impl Prefetches {
    /// A prefetcher that has seen nothing; `None` if it never names a line.
    pub(crate) fn new(prefetcher: Box<dyn Prefetcher>) -> Option<Self> {
        let is_idle = prefetcher.is_idle();
        (!is_idle).then(|| Prefetches { prefetcher, wanted: Vec::new(), queued: VecDeque::new() })
    }

    /// Notes a read, and queues the lines that the prefetcher names and that the cache may hold (`is_own`).
    pub(crate) fn note(&mut self, read: &LookedUp, is_own: impl Fn(u64) -> bool) {
        self.prefetcher.looked_up(read, &mut self.wanted);
        let near = self.wanted.drain(..).filter(|&line| in_one_page(line, read.line) && is_own(line));
        let room = MOST - self.queued.len();
        self.queued.extend(near.take(room).map(|line| (line & !(read.line_bytes - 1), read.label)));
    }

    /// Whether no line is queued.
    pub(crate) fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// Takes the next line that is not `here`.
    pub(crate) fn next(&mut self, here: impl Fn(u64) -> bool) -> Option<(u64, Label)> {
        while let Some((line, label)) = self.queued.pop_front() {
            if !here(line) {
                return Some((line, label));
            }
        }
        None
    }
}

/// Whether two lines are in one page of 4 KiB: lines of other pages may not exist in memory.
fn in_one_page(one: u64, other: u64) -> bool {
    one >> 12 == other >> 12
}
