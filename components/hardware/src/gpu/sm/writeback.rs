//! When results reach the registers: a ring of cycles with the instructions whose results arrive in each.
//!
//! The ring is short, so that it stays in the host's cache; a result beyond it waits in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use counterpoint_ptx::RegisterSet;

/// Cycles of the ring.
const SLOTS: u64 = 64;
/// The end of a list.
const END: u16 = u16::MAX;

/// A result that arrives: a warp, and the registers that an instruction of it has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Writeback {
    pub(super) warp: u32,
    pub(super) writes: RegisterSet,
}

struct Node {
    result: Writeback,
    next: u16,
}

/// The ring.
pub(super) struct WritebackRing {
    /// The newest result of each cycle.
    heads: [u16; SLOTS as usize],
    occupied: u64,
    nodes: Vec<Node>,
    free: u16,
    /// Results beyond the ring, the earliest on top.
    far: BinaryHeap<Reverse<(u64, Writeback)>>,
}

impl WritebackRing {
    pub(super) fn new() -> Self {
        WritebackRing {
            heads: [END; SLOTS as usize],
            occupied: 0,
            nodes: Vec::new(),
            free: END,
            far: BinaryHeap::new(),
        }
    }

    /// Adds a result that arrives in a cycle, this one or a later one.
    #[inline]
    pub(super) fn add(&mut self, now: u64, at: u64, result: Writeback) {
        debug_assert!(at >= now, "a result arrives later than it is made");
        if at >= now + SLOTS {
            return self.add_far(at, result);
        }
        let slot = (at % SLOTS) as usize;
        let node = Node { result, next: self.heads[slot] };
        let place = if self.free == END {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u16
        } else {
            let place = self.free;
            self.free = std::mem::replace(&mut self.nodes[place as usize], node).next;
            place
        };
        self.heads[slot] = place;
        self.occupied |= 1 << slot;
    }

    #[cold]
    fn add_far(&mut self, at: u64, result: Writeback) {
        self.far.push(Reverse((at, result)));
    }

    /// A result of this cycle, until there is none any more.
    #[inline]
    pub(super) fn take(&mut self, cycle: u64) -> Option<Writeback> {
        let slot = cycle % SLOTS;
        if self.occupied >> slot & 1 == 0 {
            return self.take_far(cycle);
        }
        let place = self.heads[slot as usize];
        let node = &mut self.nodes[place as usize];
        self.heads[slot as usize] = std::mem::replace(&mut node.next, self.free);
        self.free = place;
        if self.heads[slot as usize] == END {
            self.occupied &= !(1 << slot);
        }
        Some(node.result)
    }

    #[inline]
    fn take_far(&mut self, cycle: u64) -> Option<Writeback> {
        let &Reverse((at, result)) = self.far.peek()?;
        if at > cycle {
            return None;
        }
        self.far.pop();
        Some(result)
    }

    /// The next cycle after this one in which a result arrives.
    #[inline]
    pub(super) fn next_after(&self, cycle: u64) -> Option<u64> {
        let start = ((cycle + 1) % SLOTS) as u32;
        let near = (self.occupied != 0)
            .then(|| cycle + 1 + u64::from(self.occupied.rotate_right(start).trailing_zeros()));
        let far = self.far.peek().map(|Reverse((at, _))| *at);
        [near, far].into_iter().flatten().min()
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
                let results = [3, 4].map(|warp| Writeback { warp, writes: RegisterSet::default() });
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
