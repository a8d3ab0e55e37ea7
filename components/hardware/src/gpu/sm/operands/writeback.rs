//! Arrival of results at the registers: a ring of cycles with the instructions whose results arrive in each.
//!
//! The ring is short, so that it stays in the host's cache; a result beyond it waits in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cycles of the ring.
const SLOTS: u64 = 64;
/// Results in the ring; more wait in the heap, too.
const NODES: usize = 128;
const END: u8 = u8::MAX;

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

#[derive(Clone, Copy, Default)]
struct WritebackNode {
    result: Writeback,
    next: u8,
}

pub(in crate::gpu::sm) struct WritebackRing {
    /// The newest result of each cycle.
    heads: [u8; SLOTS as usize],
    occupied: u64,
    nodes: [WritebackNode; NODES],
    free: u8,
    /// Results that are not in the ring, the earliest on top, and its cycle.
    far: BinaryHeap<Reverse<(u64, Writeback)>>,
    first_far: u64,
}

impl WritebackRing {
    pub(in crate::gpu::sm) fn new() -> Self {
        let node = |place: usize| WritebackNode {
            result: Writeback::default(),
            next: if place + 1 < NODES { place as u8 + 1 } else { END },
        };
        WritebackRing {
            heads: [END; SLOTS as usize],
            occupied: 0,
            nodes: std::array::from_fn(node),
            free: 0,
            far: BinaryHeap::new(),
            first_far: u64::MAX,
        }
    }

    /// Adds a result that arrives in a cycle, this one or a later one.
    #[inline]
    pub(in crate::gpu::sm) fn add(&mut self, now: u64, at: u64, result: Writeback) {
        debug_assert!(at >= now, "a result arrives later than it is made");
        if at >= now + SLOTS || self.free == END {
            return self.add_far(at, result);
        }
        let (slot, place) = ((at % SLOTS) as usize, self.free);
        let node = &mut self.nodes[usize::from(place) % NODES];
        self.free = node.next;
        *node = WritebackNode { result, next: self.heads[slot] };
        self.heads[slot] = place;
        self.occupied |= 1 << slot;
    }

    #[cold]
    fn add_far(&mut self, at: u64, result: Writeback) {
        self.far.push(Reverse((at, result)));
        self.first_far = self.first_far.min(at);
    }

    /// A result of this cycle, until there is none any more.
    #[inline]
    pub(in crate::gpu::sm) fn take(&mut self, cycle: u64) -> Option<Writeback> {
        let slot = cycle % SLOTS;
        if self.occupied >> slot & 1 == 0 {
            return if self.first_far <= cycle { self.take_far() } else { None };
        }
        let place = self.heads[slot as usize];
        let node = &mut self.nodes[usize::from(place) % NODES];
        self.heads[slot as usize] = std::mem::replace(&mut node.next, self.free);
        self.free = place;
        self.occupied &= !(u64::from(self.heads[slot as usize] == END) << slot);
        Some(node.result)
    }

    #[cold]
    fn take_far(&mut self) -> Option<Writeback> {
        let result = self.far.pop().map(|Reverse((_, result))| result);
        self.first_far = self.far.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
        result
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
                assert_eq!(ring.next_after(start), None);
                let results = [3, 4].map(|warp| Writeback { warp, pc: 0, sets: 0 });
                results.into_iter().for_each(|result| ring.add(start, start + delay, result));
                assert_eq!(ring.next_after(start), Some(start + delay), "{start} {delay}");
                for cycle in start..start + delay {
                    assert_eq!(ring.take(cycle), None);
                }
                let mut taken = [ring.take(start + delay), ring.take(start + delay)];
                taken.sort();
                assert_eq!(taken, results.map(Some));
                assert_eq!((ring.take(start + delay), ring.next_after(start + delay)), (None, None));
            }
        }
    }
}
