//! Arrival of results at the registers: a ring of cycles with the instructions whose results arrive in each.
//!
//! The ring is short, so that it stays in the host's cache; a result beyond it, or one of many in a cycle, waits in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cycles of the ring.
const SLOTS: u64 = 64;
/// Results of a cycle in the ring.
const RESULTS: usize = 4;

/// The place of no instruction: of a result that writes no register.
pub(in crate::gpu::sm) const NO_REGISTERS: u32 = u32::MAX;

/// A result that arrives: a warp, and the registers that an instruction of it has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::gpu::sm) struct Writeback {
    pub(in crate::gpu::sm) warp: u32,
    pub(in crate::gpu::sm) pc: u32,
    /// The registers, as bits of their scoreboard ids modulo 64.
    pub(in crate::gpu::sm) sets: u64,
}

impl Writeback {
    /// The result of an instruction of a warp.
    #[inline]
    pub(in crate::gpu::sm) fn of(warp: u32, pc: u32, sets: u64) -> Self {
        Writeback { warp, pc: if sets == 0 { NO_REGISTERS } else { pc }, sets }
    }
}

pub(in crate::gpu::sm) struct WritebackRing {
    /// The cycles with a result, as bits, and the number of results of each.
    occupied: u64,
    counts: [u8; SLOTS as usize],
    results: [[Writeback; RESULTS]; SLOTS as usize],
    /// Results that are not in the ring, the earliest on top, and its cycle.
    far: BinaryHeap<Reverse<(u64, Writeback)>>,
    first_far: u64,
}

impl WritebackRing {
    pub(in crate::gpu::sm) fn new() -> Self {
        WritebackRing {
            occupied: 0,
            counts: [0; SLOTS as usize],
            results: [[Writeback::default(); RESULTS]; SLOTS as usize],
            far: BinaryHeap::new(),
            first_far: u64::MAX,
        }
    }

    /// Adds a result that arrives in a cycle, this one or a later one.
    #[inline(always)]
    pub(in crate::gpu::sm) fn add(&mut self, now: u64, at: u64, result: Writeback) {
        debug_assert!(at >= now, "a result arrives later than it is made");
        let slot = (at % SLOTS) as usize;
        let count = usize::from(self.counts[slot]);
        if at >= now + SLOTS || count >= RESULTS {
            return self.add_far(at, result);
        }
        self.results[slot][count] = result;
        self.counts[slot] += 1;
        self.occupied |= 1 << slot;
    }

    #[cold]
    #[inline(never)]
    fn add_far(&mut self, at: u64, result: Writeback) {
        self.far.push(Reverse((at, result)));
        self.first_far = self.first_far.min(at);
    }

    /// Number of results of this cycle that the ring has; it forgets them with the next one that is added.
    #[inline(always)]
    pub(in crate::gpu::sm) fn begin(&mut self, cycle: u64) -> usize {
        let slot = cycle % SLOTS;
        if self.occupied >> slot & 1 == 0 {
            return 0;
        }
        self.occupied &= !(1 << slot);
        std::mem::take(&mut self.counts[slot as usize]).into()
    }

    /// A result of this cycle.
    #[inline(always)]
    pub(in crate::gpu::sm) fn result(&self, cycle: u64, number: usize) -> Writeback {
        self.results[(cycle % SLOTS) as usize][number % RESULTS]
    }

    /// Whether there are results of this cycle that the ring has not.
    #[inline(always)]
    pub(in crate::gpu::sm) fn has_far(&self, cycle: u64) -> bool {
        self.first_far <= cycle
    }

    /// Takes one of them.
    pub(in crate::gpu::sm) fn take_far(&mut self, cycle: u64) -> Option<Writeback> {
        let result = if self.has_far(cycle) { self.far.pop() } else { None };
        self.first_far = self.far.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
        result.map(|Reverse((_, result))| result)
    }

    /// The next cycle after this one in which a result arrives.
    #[inline]
    pub(in crate::gpu::sm) fn next_after(&self, cycle: u64) -> Option<u64> {
        let start = ((cycle + 1) % SLOTS) as u32;
        let near = cycle + 1 + u64::from(self.occupied.rotate_right(start).trailing_zeros());
        let next = if self.occupied != 0 { near.min(self.first_far) } else { self.first_far };
        (next != u64::MAX).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_arrive_in_their_cycle_and_the_next_one_is_found() {
        for start in [0, 1, 63, 64, 1000, 5000] {
            for delay in [1, 2, 62, 63, 64, 65, 700, 3000] {
                let mut ring = WritebackRing::new();
                let take = |ring: &mut WritebackRing, cycle| {
                    let count = ring.begin(cycle);
                    let mut taken: Vec<_> = (0..count).map(|number| ring.result(cycle, number)).collect();
                    taken.extend(std::iter::from_fn(|| ring.take_far(cycle)));
                    taken.sort();
                    taken
                };
                assert_eq!(ring.next_after(start), None);
                let results = [3, 4, 5, 6, 7, 8].map(|warp| Writeback { warp, pc: 0, sets: 0 });
                results.into_iter().for_each(|result| ring.add(start, start + delay, result));
                assert_eq!(ring.next_after(start), Some(start + delay), "{start} {delay}");
                (start..start + delay).for_each(|cycle| assert_eq!(take(&mut ring, cycle), []));
                assert_eq!(take(&mut ring, start + delay), results);
                assert_eq!(take(&mut ring, start + delay), []);
                assert_eq!(ring.next_after(start + delay), None);
            }
        }
    }
}
