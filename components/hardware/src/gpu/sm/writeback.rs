//! When results reach the registers: a ring of cycles with the instructions whose results arrive in each.

/// Slots of the ring; every latency is shorter.
const SLOTS: usize = 1024;

/// An instruction whose result arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Writeback {
    pub(super) warp: u32,
    pub(super) pc: u32,
}

/// The ring.
pub(super) struct WritebackRing {
    slots: Box<[Vec<Writeback>]>,
    occupied: [u64; SLOTS / 64],
}

impl WritebackRing {
    pub(super) fn new() -> Self {
        WritebackRing { slots: (0..SLOTS).map(|_| Vec::new()).collect(), occupied: [0; SLOTS / 64] }
    }

    /// Adds a result that arrives `delay` cycles, at least one, after `cycle`.
    #[inline]
    pub(super) fn add(&mut self, cycle: u64, delay: u64, result: Writeback) {
        debug_assert!(delay > 0 && (delay as usize) < SLOTS, "a latency fits the ring");
        let slot = (cycle + delay) as usize % SLOTS;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.slots[slot].push(result);
    }

    /// Moves the results of this cycle into `results`, which must be empty.
    #[inline]
    pub(super) fn take(&mut self, cycle: u64, results: &mut Vec<Writeback>) {
        let slot = cycle as usize % SLOTS;
        let bit = 1 << (slot % 64);
        if self.occupied[slot / 64] & bit != 0 {
            self.occupied[slot / 64] &= !bit;
            std::mem::swap(&mut self.slots[slot], results);
        }
    }

    /// The next cycle after this one in which a result arrives.
    pub(super) fn next_after(&self, cycle: u64) -> Option<u64> {
        let start = (cycle as usize + 1) % SLOTS;
        let first = self.occupied[start / 64] >> (start % 64);
        if first != 0 {
            return Some(cycle + 1 + u64::from(first.trailing_zeros()));
        }
        let mut distance = 64 - start % 64;
        for step in 1..=self.occupied.len() {
            let word = self.occupied[(start / 64 + step) % self.occupied.len()];
            if word != 0 {
                return Some(cycle + 1 + distance as u64 + u64::from(word.trailing_zeros()));
            }
            distance += 64;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_arrive_in_their_cycle_and_the_next_one_is_found() {
        for start in [0, 1, 63, 64, 1000, 1023, 5000] {
            for delay in [1, 2, 63, 64, 65, 700, 1023] {
                let mut ring = WritebackRing::new();
                assert_eq!(ring.next_after(start), None);
                ring.add(start, delay, Writeback { warp: 3, pc: 4 });
                assert_eq!(ring.next_after(start), Some(start + delay), "{start} {delay}");
                let mut results = Vec::new();
                ring.take(start + delay - 1, &mut results);
                assert!(results.is_empty() || delay == 1024);
                ring.take(start + delay, &mut results);
                assert_eq!(results, [Writeback { warp: 3, pc: 4 }]);
                assert_eq!(ring.next_after(start), None);
            }
        }
    }
}
