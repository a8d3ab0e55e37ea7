//! The accesses of a block in flight, by epoch. A release waits for them.

/// The accesses of a block in flight, by epoch, and the warps that wait for the end of one.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::gpu::sm) struct Drain {
    /// Instructions and stores of each epoch that have not ended.
    in_flight: [u32; 2],
    /// Epoch of instructions that are issued now.
    epoch: u8,
    /// Slots that wait for the end of the last epoch.
    waiting: u64,
    /// Slots that wait for the end of this one, which begins to end when the last one has ended.
    next: u64,
}

impl Drain {
    /// Something begins in this epoch.
    #[inline]
    pub(in crate::gpu::sm) fn begin(&mut self) -> u8 {
        self.begin_in(self.epoch);
        self.epoch
    }

    /// Something begins that belongs to an instruction of an epoch.
    #[inline]
    pub(in crate::gpu::sm) fn begin_in(&mut self, epoch: u8) {
        self.in_flight[usize::from(epoch & 1)] += 1;
    }

    #[inline]
    pub(in crate::gpu::sm) fn end(&mut self, epoch: u8) {
        self.in_flight[usize::from(epoch & 1)] -= 1;
    }

    /// A warp waits for all that is in flight now.
    #[inline]
    pub(in crate::gpu::sm) fn wait(&mut self, slot: u32) {
        self.next |= 1 << slot;
    }

    /// Whether a warp waits still.
    #[inline]
    pub(in crate::gpu::sm) fn holds(&mut self, slot: u32) -> bool {
        // Ends epochs as far as nothing of them is in flight.
        while self.in_flight[usize::from(self.epoch ^ 1)] == 0 && (self.waiting | self.next) != 0 {
            self.waiting = std::mem::take(&mut self.next);
            if self.waiting != 0 {
                self.epoch ^= 1;
            }
        }
        (self.waiting | self.next) >> slot & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_waits_for_what_was_in_flight_and_for_nothing_later() {
        let mut drain = Drain::default();
        let (first, second) = (drain.begin(), drain.begin());
        drain.wait(0);
        assert!(drain.holds(0));
        // A warp that always has something in flight does not hold it up.
        let later = drain.begin();
        assert_ne!(first, later);
        drain.end(first);
        assert!(drain.holds(0));
        drain.wait(1);
        drain.end(second);
        assert!(!drain.holds(0));
        assert!(drain.holds(1), "what came after the first release came before the second");
        let last = drain.begin();
        drain.end(later);
        assert!(!drain.holds(1));
        drain.wait(2);
        assert!(drain.holds(2));
        drain.end(last);
        assert!(!drain.holds(2));
        drain.wait(3);
        assert!(!drain.holds(3), "nothing is in flight");
    }
}
