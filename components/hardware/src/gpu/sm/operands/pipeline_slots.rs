//! Equal slots of a pipeline, of which each instruction takes the one that is free first.

/// A time that is not known yet: an instruction waits for memory.
pub(in crate::gpu::sm) const NEVER: u64 = u64::MAX;

/// The times from which on equal slots are free, in order: a part of a ring that begins with the earliest. Which of the slots is free
/// then makes no difference.
pub(in crate::gpu::sm) struct PipelineSlots {
    times: [u64; PipelineSlots::MOST],
    count: u32,
    first: u32,
    latest: u64,
}

impl PipelineSlots {
    /// The most slots of a sort (`params.rs`).
    const MOST: usize = 64;

    pub(in crate::gpu::sm) fn new(count: u32) -> Self {
        let none = if count == 0 { NEVER } else { 0 };
        PipelineSlots { times: [none; PipelineSlots::MOST], count, first: 0, latest: none }
    }

    /// From when on one is free: never, where there is none.
    #[inline]
    pub(in crate::gpu::sm) fn earliest(&self) -> u64 {
        self.times[self.first as usize % PipelineSlots::MOST]
    }

    /// The slot that is free first is taken until a time. Most are taken in the order in which they are free again.
    #[inline]
    pub(in crate::gpu::sm) fn take_until(&mut self, time: u64) {
        let at = (self.first + self.count) as usize % PipelineSlots::MOST;
        self.times[at] = time;
        self.first = (self.first + 1) % PipelineSlots::MOST as u32;
        if time < self.latest {
            self.sort_in(at);
        } else {
            self.latest = time;
        }
    }

    /// A slot that was taken until an unknown time is free at `time`.
    pub(in crate::gpu::sm) fn give_back(&mut self, time: u64) {
        let last = (self.first + self.count - 1) as usize % PipelineSlots::MOST;
        debug_assert_eq!(self.times[last], NEVER, "unknown times come last");
        self.times[last] = time;
        self.sort_in(last);
    }

    /// Moves the last time to its position in the order.
    fn sort_in(&mut self, mut at: usize) {
        let last = at;
        while at != self.first as usize {
            let before = (at + PipelineSlots::MOST - 1) % PipelineSlots::MOST;
            if self.times[before] <= self.times[at] {
                break;
            }
            self.times.swap(before, at);
            at = before;
        }
        self.latest = self.times[last];
    }
}

/// Equal slots that are free again in the order in which they were taken.
pub(super) struct InOrderSlots {
    times: [u64; PipelineSlots::MOST],
    count: u32,
    first: u32,
}

impl InOrderSlots {
    /// There must be a slot at least.
    pub(super) fn new(count: u32) -> Self {
        InOrderSlots { times: [0; PipelineSlots::MOST], count, first: 0 }
    }

    /// From when on one is free.
    #[inline(always)]
    pub(super) fn earliest(&self) -> u64 {
        self.times[self.first as usize % PipelineSlots::MOST]
    }

    /// The slot that is free first is taken until a time, at which no slot taken before is taken any more.
    #[inline(always)]
    pub(super) fn take_until(&mut self, time: u64) {
        self.times[self.first as usize % PipelineSlots::MOST] = time;
        self.first = if self.first + 1 == self.count { 0 } else { self.first + 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference for the test: a search among all slots.
    struct Naive(Vec<u64>);

    impl Naive {
        fn earliest(&mut self) -> Option<&mut u64> {
            self.0.iter_mut().min()
        }
    }

    #[test]
    fn the_earliest_of_all_is_first() {
        for count in [0, 1, 2, 3, 7, 64] {
            let (mut slots, mut naive) = (PipelineSlots::new(count), Naive(vec![0; count as usize]));
            let mut random = 1_u64;
            for round in 0..1000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                assert_eq!(slots.earliest(), naive.earliest().map_or(NEVER, |time| *time), "{count} {round}");
                let time = match random >> 62 {
                    0 => NEVER,
                    _ => round + (random >> 40) % 9,
                };
                if let Some(unknown) =
                    naive.0.iter_mut().find(|time| **time == NEVER && random >> 61 & 1 == 0)
                {
                    *unknown = round;
                    slots.give_back(round);
                }
                if let Some(earliest) = naive.earliest().filter(|earliest| **earliest != NEVER) {
                    let time = time.max(*earliest);
                    *earliest = time;
                    slots.take_until(time);
                }
            }
        }
    }
}
