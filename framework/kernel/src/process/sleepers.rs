//! Wake-up cycles of the processes of a clock domain.
//!
//! A sleeper has at most one wake-up, the earliest asked for. The wake-ups of a few sleepers are an array that is scanned. The wake-ups
//! of many sleepers are one bit each in a circular buffer of rows by cycle, which covers two chunks of cycles; later wake-ups wait in a
//! timing wheel of chunks.

use std::cell::Cell;

use super::local::Local;
use super::queue::{NEVER, SCAN_LIMIT, Slot};
use super::wheel::Wheel;

/// Cycles of a chunk, a power of two.
const CHUNK: u64 = 128;
/// Rows of bits: those of the chunk that time is in and of the next one.
const ROWS: usize = 2 * CHUNK as usize;
const BITS: usize = u64::BITS as usize;

/// The wake-ups of a domain.
pub(crate) struct Sleepers {
    /// Per sleeper its wake-up, or [`NEVER`].
    wakes: Box<[Cell<u64>]>,
    /// The cycle begun.
    now: Cell<u64>,
    /// Sleepers of the current word that are left.
    left: Cell<u64>,
    /// Those that wake at the next cycle again. Rows take them in when the word is done; without rows the next search for the earliest
    /// wake-up forgets them.
    kept: Cell<u64>,
    /// The first slot of this word, and of the last one that has any.
    base: Cell<u32>,
    last_base: Cell<u32>,
    rows: Option<Box<Rows>>,
}

/// Sleepers of one word, to be taken one after another. The sleepers that are left stay in their set, where the next
/// call of [`Sleepers::woken`] finds them.
pub(crate) struct Woken<'a> {
    sleepers: &'a Sleepers,
    /// The wake-ups, beginning with the word's first slot.
    wakes: &'a [Cell<u64>],
    left: u64,
    is_last: bool,
}

/// The order of many sleepers.
struct Rows {
    width: usize,
    words: Box<[Cell<u64>]>,
    occupied: [Cell<u64>; ROWS / BITS],
    /// The first cycle that has no row yet.
    horizon: Cell<u64>,
    /// Later wake-ups, by chunk.
    far: Local<Wheel>,
}

impl Sleepers {
    pub(crate) fn new(sleepers: usize) -> Self {
        Self::with_rows(sleepers, sleepers > SCAN_LIMIT)
    }

    fn with_rows(sleepers: usize, rows: bool) -> Self {
        Sleepers {
            wakes: vec![Cell::new(NEVER); sleepers].into_boxed_slice(),
            now: Cell::new(0),
            left: Cell::new(0),
            kept: Cell::new(0),
            base: Cell::new(0),
            last_base: Cell::new(0),
            rows: rows.then(|| Box::new(Rows::new(sleepers))),
        }
    }

    /// Wakes `slot` at `cycle`, which is after the cycle begun, unless it wakes by then already.
    #[inline(always)]
    pub(crate) fn schedule(&self, slot: Slot, cycle: u64) {
        let wake = &self.wakes[slot as usize];
        let known = wake.get();
        if known <= cycle {
            return;
        }
        wake.set(cycle);
        if let Some(rows) = &self.rows {
            if known != NEVER {
                rows.remove(slot, known);
            }
            rows.insert(slot, cycle);
        }
    }

    /// Wakes the sleeper that was taken just now, and was not the last one, at the next cycle again.
    #[inline(always)]
    pub(crate) fn keep(&self, slot: Slot) {
        let (wake, next) = (&self.wakes[slot as usize], self.now.get() + 1);
        if wake.get() == NEVER {
            wake.set(next);
            self.kept.set(self.kept.get() | 1 << (slot % u64::BITS));
        } else {
            self.advance(slot, next);
        }
    }

    /// Wakes a sleeper at `cycle` that has a wake-up already, perhaps a later one.
    #[cold]
    #[inline(never)]
    fn advance(&self, slot: Slot, cycle: u64) {
        self.schedule(slot, cycle);
    }

    /// Withdraws the wake-up of a sleeper, if it has one.
    pub(crate) fn cancel(&self, slot: Slot) {
        let known = self.wakes[slot as usize].replace(NEVER);
        if known == NEVER {
            return;
        }
        // A sleeper that was kept has no bit in its row yet.
        self.kept.set(self.kept.get() & !(1 << (slot % u64::BITS)));
        if let Some(rows) = &self.rows {
            rows.remove(slot, known);
        }
    }

    pub(crate) fn is_scheduled(&self, slot: Slot) -> bool {
        self.wakes[slot as usize].get() != NEVER
    }

    /// The earliest wake-up; [`NEVER`] if there is none. No wake-up is before the cycle begun.
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        match &self.rows {
            Some(rows) => rows.earliest(self.now.get(), &self.wakes),
            None if self.kept.take() != 0 => self.now.get() + 1,
            None => self.wakes.iter().fold(NEVER, |earliest, wake| earliest.min(wake.get())),
        }
    }

    /// Goes to `cycle`, before which nothing wakes; all sleepers of the cycle before must have been taken. [`Sleepers::woken`] gives
    /// those that wake now.
    #[inline]
    pub(crate) fn begin(&self, cycle: u64) {
        debug_assert!(
            self.left.get() == 0 && self.base.get() == self.last_base.get(),
            "a batch was not finished"
        );
        self.now.set(cycle);
        let Some(rows) = &self.rows else {
            let woken = |(place, wake): (usize, &Cell<u64>)| u64::from(wake.get() == cycle) << place;
            self.left.set(self.wakes.iter().enumerate().map(woken).fold(0, |left, bit| left | bit));
            return;
        };
        rows.reach(cycle, &self.wakes);
        let last = (BITS * rows.last_word(cycle)) as u32;
        self.last_base.set(last);
        self.base.set(if last == 0 { 0 } else { 0_u32.wrapping_sub(u64::BITS) });
        if last == 0 {
            self.left.set(rows.take_word(cycle, 0));
        }
    }

    /// The sleepers that wake at the cycle begun and have not been taken, as far as they are of one word.
    #[inline(always)]
    pub(crate) fn woken(&self) -> Option<Woken<'_>> {
        let mut left = self.left.get();
        if left == 0 {
            left = self.next_word()?;
        }
        let base = self.base.get();
        Some(Woken {
            sleepers: self,
            wakes: &self.wakes[base as usize..],
            left,
            is_last: base == self.last_base.get(),
        })
    }

    /// Goes to the next word that has any sleepers, and gives these.
    #[inline(never)]
    fn next_word(&self) -> Option<u64> {
        let rows = self.rows.as_ref()?;
        while self.base.get() != self.last_base.get() {
            self.flush();
            self.base.set(self.base.get().wrapping_add(u64::BITS));
            let left = rows.take_word(self.now.get(), self.word());
            if left != 0 {
                return Some(left);
            }
        }
        None
    }

    /// The number of the current word.
    #[inline(always)]
    fn word(&self) -> usize {
        self.base.get() as usize / BITS
    }

    /// Puts in those of the word that wake at the next cycle again.
    #[inline]
    fn flush(&self) {
        if let Some(rows) = &self.rows {
            match self.kept.take() {
                0 => {}
                kept => rows.add(self.now.get() + 1, self.word(), kept),
            }
        }
    }
}

impl Woken<'_> {
    /// The first slot of the word.
    #[inline(always)]
    pub(crate) fn base(&self) -> Slot {
        self.sleepers.base.get()
    }

    /// No other word has sleepers that wake at this cycle.
    #[inline(always)]
    pub(crate) fn is_last(&self) -> bool {
        self.is_last
    }

    /// Takes the next sleeper; returns its position in the word and whether it is the last one of all.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Option<(u32, bool)> {
        if self.left == 0 {
            return None;
        }
        let place = self.left.trailing_zeros();
        self.left &= self.left - 1;
        self.sleepers.left.set(self.left);
        self.wakes[place as usize].set(NEVER);
        let last = self.left == 0 && self.is_last;
        if last {
            self.sleepers.flush();
        }
        Some((place, last))
    }
}

impl Rows {
    fn new(sleepers: usize) -> Self {
        let width = sleepers.div_ceil(BITS);
        Rows {
            width,
            words: vec![Cell::new(0); width * ROWS].into_boxed_slice(),
            occupied: Default::default(),
            horizon: Cell::new(2 * CHUNK),
            far: Local::new(Wheel::new(sleepers)),
        }
    }

    #[inline(always)]
    fn insert(&self, slot: Slot, cycle: u64) {
        if cycle < self.horizon.get() {
            self.add(cycle, slot as usize / BITS, 1 << (slot % u64::BITS));
        } else {
            self.far.with(|far| far.link(slot, cycle / CHUNK));
        }
    }

    #[inline(always)]
    fn add(&self, cycle: u64, word: usize, bits: u64) {
        let row = cycle as usize % ROWS;
        let word = &self.words[row * self.width + word];
        word.set(word.get() | bits);
        let occupied = &self.occupied[row / BITS];
        occupied.set(occupied.get() | 1 << (row % BITS));
    }

    fn remove(&self, slot: Slot, cycle: u64) {
        if cycle >= self.horizon.get() {
            return self.far.with(|far| far.unlink(slot, cycle / CHUNK));
        }
        let row = self.row(cycle);
        let word = &row[slot as usize / BITS];
        word.set(word.get() & !(1 << (slot % u64::BITS)));
        if row.iter().all(|word| word.get() == 0) {
            self.vacate(cycle);
        }
    }

    #[inline]
    fn row(&self, cycle: u64) -> &[Cell<u64>] {
        let first = cycle as usize % ROWS * self.width;
        &self.words[first..first + self.width]
    }

    #[inline]
    fn vacate(&self, cycle: u64) {
        let row = cycle as usize % ROWS;
        let occupied = &self.occupied[row / BITS];
        occupied.set(occupied.get() & !(1 << (row % BITS)));
    }

    /// The number of the last word of a row with bits. The row does not count as occupied any more.
    #[inline]
    fn last_word(&self, cycle: u64) -> usize {
        self.vacate(cycle);
        match self.width {
            1 => 0,
            _ => self.row(cycle).iter().rposition(|word| word.get() != 0).unwrap_or(0),
        }
    }

    #[inline]
    fn take_word(&self, cycle: u64, word: usize) -> u64 {
        self.words[cycle as usize % ROWS * self.width + word].take()
    }

    /// The earliest wake-up. No wake-up is before `now`.
    #[inline]
    fn earliest(&self, now: u64, wakes: &[Cell<u64>]) -> u64 {
        let first = now as usize % ROWS;
        for step in 0..=self.occupied.len() {
            let number = (first / BITS + step) % self.occupied.len();
            let before = (1_u64 << (first % BITS)) - 1;
            let wanted = match step {
                0 => !before,
                _ if step == self.occupied.len() => before,
                _ => u64::MAX,
            };
            let bits = self.occupied[number].get() & wanted;
            if bits != 0 {
                let row = BITS * number + bits.trailing_zeros() as usize;
                return now + (row.wrapping_sub(first) % ROWS) as u64;
            }
        }
        self.far.with(|far| far.earliest(|slot| wakes[slot as usize].get()))
    }

    /// Advances time to `cycle`: later wake-ups that are near now move into rows.
    #[inline]
    fn reach(&self, cycle: u64, wakes: &[Cell<u64>]) {
        let horizon = (cycle / CHUNK + 2) * CHUNK;
        if horizon != self.horizon.get() {
            self.come_near(horizon, wakes);
        }
    }

    #[inline(never)]
    fn come_near(&self, horizon: u64, wakes: &[Cell<u64>]) {
        let known = self.horizon.replace(horizon);
        for chunk in [horizon / CHUNK - 2, horizon / CHUNK - 1] {
            if chunk * CHUNK >= known {
                let chunk_of = |slot: Slot| wakes[slot as usize].get() / CHUNK;
                let near = |slot: Slot| self.insert(slot, wakes[slot as usize].get());
                self.far.with(|far| far.take(chunk, chunk_of, near));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::random::random;

    /// The sleepers against a plain list, over near and far wake-ups, with some that go ahead of the others.
    #[test]
    fn scan_and_rows_agree_with_a_list() {
        for sleepers in [8, 40, 200] {
            let both = [true, false].map(|rows| Sleepers::with_rows(sleepers, rows || sleepers > BITS));
            agree(&both, sleepers);
        }
    }

    fn agree(both: &[Sleepers], sleepers: usize) {
        let mut random = random(7);
        let mut list = vec![NEVER; sleepers];
        let mut now = 0;
        for round in 0..40_000_u64 {
            let slot = (random() % sleepers as u64) as Slot;
            let cycle = now + 1 + random() % [1, 3, 90, 300, 5_000, 1 << 30][(round % 6) as usize];
            let wake = &mut list[slot as usize];
            *wake = if round % 7 == 0 { NEVER } else { cycle.min(*wake) };
            let earliest = *list.iter().min().unwrap();
            for sleepers in both {
                if round % 7 == 0 {
                    sleepers.cancel(slot);
                } else {
                    sleepers.schedule(slot, cycle);
                }
                assert_eq!(sleepers.earliest(), earliest);
            }
            match random() % 6 {
                _ if earliest == NEVER => {}
                // The last sleeper of a batch may go on as far as the next one's time.
                0 => now += random() % (earliest - now + 1),
                1 | 2 => {
                    now = earliest;
                    let expected: Vec<Slot> =
                        (0..).zip(&list).filter(|&(_, wake)| *wake == now).map(|(slot, _)| slot).collect();
                    let again = random() % 4;
                    for (&slot, place) in expected.iter().zip(1..) {
                        let kept = place < expected.len() && u64::from(slot) % 4 == again;
                        list[slot as usize] = if kept { now + 1 } else { NEVER };
                    }
                    for sleepers in both {
                        sleepers.begin(now);
                        let mut woken = Vec::new();
                        while let Some(mut word) = sleepers.woken() {
                            while let Some((place, last)) = word.take() {
                                let slot = word.base() + place;
                                woken.push(slot);
                                assert_eq!(last, woken.len() == expected.len());
                                if !last && u64::from(slot) % 4 == again {
                                    sleepers.keep(slot);
                                }
                            }
                            assert_eq!(word.is_last(), woken.len() == expected.len());
                        }
                        assert_eq!(woken, expected);
                        assert!(
                            expected
                                .iter()
                                .all(|&slot| sleepers.is_scheduled(slot) == (list[slot as usize] != NEVER))
                        );
                    }
                }
                _ => {}
            }
        }
    }
}
