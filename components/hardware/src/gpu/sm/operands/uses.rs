//! Uses of equal places by time: how many are taken in each of the next turns or cycles.
//!
//! The counts are a ring of bytes, of which a part is cleared when its times have passed, once in many: a count needs no time beside it.

/// Times of a ring.
const TIMES: usize = 2048;
/// Times that are cleared together.
const BLOCK: u64 = 128;

/// Uses of some equal places.
pub(super) struct Uses {
    counts: Box<[u8; TIMES]>,
    places: u8,
    /// The next time at which a block is cleared.
    turn_over: u64,
    /// From when until when no place is free: what the last search has seen.
    full: (u64, u64),
}

impl Uses {
    /// There are 64 places at most.
    pub(super) fn new(places: u32) -> Self {
        Uses { counts: Box::new([0; TIMES]), places: places as u8, turn_over: 2 * BLOCK, full: (0, 0) }
    }

    /// Nothing is asked any more about times before this one.
    #[inline(always)]
    pub(super) fn pass(&mut self, time: u64) {
        if time >= self.turn_over {
            self.clear(time);
        }
    }

    /// Clears all blocks but that of the present and those ahead.
    #[cold]
    #[inline(never)]
    fn clear(&mut self, time: u64) {
        let present = time / BLOCK;
        let first = (self.turn_over / BLOCK - 2).max(present.saturating_sub(TIMES as u64 / BLOCK));
        for block in first..present {
            let first = (block * BLOCK) as usize % TIMES;
            self.counts[first..first + BLOCK as usize].fill(0);
        }
        self.turn_over = (present + 2) * BLOCK;
    }

    /// The first time that is too far ahead to be taken.
    #[inline(always)]
    fn horizon(&self) -> u64 {
        self.turn_over + TIMES as u64 - 4 * BLOCK
    }

    /// Whether all places are taken at a time.
    #[inline(always)]
    pub(super) fn are_full(&self, time: u64) -> bool {
        self.counts[time as usize % TIMES] >= self.places && time < self.horizon()
    }

    /// The first time after this one, at which no place is free, at which one is.
    #[inline(always)]
    pub(super) fn free_after(&mut self, time: u64) -> u64 {
        let (begin, end) = self.full;
        let mut free = end;
        if time < begin || end <= time {
            (self.full.0, free) = (time, time + 1);
        }
        while self.are_full(free) {
            free += 1;
        }
        self.full.1 = free;
        free
    }

    /// The first time from `from` to before `end` at which no place is free.
    pub(super) fn first_full(&self, from: u64, end: u64) -> Option<u64> {
        (from..end.min(self.horizon())).find(|time| self.are_full(*time))
    }

    /// One place more is taken at a time at which one is free, unless that is too far ahead.
    #[inline(always)]
    pub(super) fn add(&mut self, time: u64) {
        if time < self.horizon() {
            self.counts[time as usize % TIMES] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_counted_as_in_a_list() {
        for places in [1, 2, 5] {
            let mut uses = Uses::new(places);
            let mut counts = vec![0; 20_000];
            let (mut now, mut random) = (0, 1_u64);
            while now < 10_000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                now += (random >> 61) * (random >> 60 & 1) * if random >> 50 & 127 == 0 { 500 } else { 1 };
                uses.pass(now);
                let free = |time: u64| counts[time as usize] < places;
                let from = now + (random >> 40) % if random >> 33 & 7 == 0 { 1300 } else { 9 };
                let first = (from..).find(|time| free(*time)).unwrap();
                assert!(first < uses.horizon());
                assert_eq!(uses.are_full(from), !free(from), "{now} {from}");
                assert_eq!(if first > from { uses.free_after(from) } else { from }, first, "{now} {from}");
                let end = from + (random >> 20) % 200;
                assert_eq!(uses.first_full(from, end), (from..end).find(|time| !free(*time)));
                uses.add(first);
                counts[first as usize] += 1;
            }
        }
    }
}
