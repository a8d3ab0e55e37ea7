//! When each of a set of sleepers wakes next.
//!
//! Sleepers are numbered slots, times are 64-bit keys: cycle numbers for the processes of a clock domain, picoseconds
//! for the islands of a thread. A sleeper has at most one wake-up, the earliest asked for. A few sleepers are kept as a
//! plain array that is scanned; many go into a hierarchical timing wheel of 64 slots a level, whose lists are threaded
//! through the sleepers, so that scheduling never allocates however sparse the times are. Wake-ups at the very next key
//! need no order among each other and go into a plain list.

/// Position of a sleeper in its set.
pub(crate) type Slot = u32;

/// No wake-up.
pub(crate) const NEVER: u64 = u64::MAX;

/// Up to this many sleepers a scan beats the wheel.
const SCAN_LIMIT: usize = 8;

/// The wake-ups of one set.
pub(crate) struct Queue {
    /// Per sleeper its wake-up, or [`NEVER`].
    keys: Box<[u64]>,
    /// The slots that wake at `soon_key`, in no order.
    soon: Vec<Slot>,
    soon_key: u64,
    /// The slots that wake at the key begun. At the front those that were taken and wake at the next key again, then a gap,
    /// then those that have not been taken yet.
    batch: Vec<Slot>,
    kept: usize,
    taken: usize,
    /// The key after the one begun.
    next_key: u64,
    /// The order of all others; a few are found by looking at `keys`.
    wheel: Option<Box<Wheel>>,
    /// Number of the others.
    others: usize,
}

impl Queue {
    pub(crate) fn new(sleepers: usize) -> Self {
        Self::with_wheel(sleepers, sleepers > SCAN_LIMIT)
    }

    fn with_wheel(sleepers: usize, wheel: bool) -> Self {
        Queue {
            keys: vec![NEVER; sleepers].into_boxed_slice(),
            soon: Vec::with_capacity(sleepers),
            soon_key: 0,
            batch: Vec::with_capacity(sleepers),
            kept: 0,
            taken: 0,
            next_key: 0,
            wheel: wheel.then(|| Box::new(Wheel::new(sleepers))),
            others: 0,
        }
    }

    /// Wakes `slot` at `key`, unless it wakes by then already, which the result tells. Keys lie behind the last one begun.
    #[inline]
    pub(crate) fn schedule(&mut self, slot: Slot, key: u64) -> bool {
        let known = self.keys[slot as usize];
        if known <= key {
            return false;
        }
        self.others += usize::from(known == NEVER);
        if let Some(wheel) = &mut self.wheel {
            if known != NEVER {
                wheel.unlink(slot, known);
            }
            wheel.link(slot, key);
        }
        self.keys[slot as usize] = key;
        true
    }

    /// As [`Queue::schedule`], where nothing can be asked for before `key` any more.
    #[inline(always)]
    pub(crate) fn schedule_soon(&mut self, slot: Slot, key: u64) {
        let known = self.keys[slot as usize];
        if known <= key {
            return;
        }
        if known != NEVER || (self.soon_key != key && !self.soon.is_empty()) {
            return self.reschedule_soon(slot, key);
        }
        self.keys[slot as usize] = key;
        self.soon_key = key;
        self.soon.push(slot);
    }

    /// The rare cases: the sleeper is among the others already, or the list belongs to another key.
    #[inline(never)]
    fn reschedule_soon(&mut self, slot: Slot, key: u64) {
        if self.soon_key != key && !self.soon.is_empty() {
            self.schedule(slot, key);
            return;
        }
        self.others -= 1;
        if let Some(wheel) = &mut self.wheel {
            wheel.unlink(slot, self.keys[slot as usize]);
        }
        self.keys[slot as usize] = NEVER;
        self.schedule_soon(slot, key);
    }

    /// Withdraws the wake-up of a slot, if it has one.
    pub(crate) fn cancel(&mut self, slot: Slot) {
        let known = std::mem::replace(&mut self.keys[slot as usize], NEVER);
        // One that wakes at the key begun is in the batch, and will be taken for nothing.
        if known == NEVER || known < self.next_key {
            return;
        }
        if let Some(place) = self.soon.iter().position(|&other| other == slot) {
            self.soon.swap_remove(place);
            return;
        }
        self.others -= 1;
        if let Some(wheel) = &mut self.wheel {
            wheel.unlink(slot, known);
        }
    }

    /// The earliest wake-up with a slot that it wakes; [`NEVER`] with any slot if there is none.
    #[inline]
    pub(crate) fn earliest(&self) -> (u64, Slot) {
        match self.soon.first() {
            Some(&slot) if self.soon_key == self.next_key => (self.soon_key, slot),
            // The list was made by a sleeper that had gone ahead: others may wake before.
            Some(&slot) => self.earliest_other().min((self.soon_key, slot)),
            None => self.earliest_other(),
        }
    }

    #[inline]
    fn earliest_other(&self) -> (u64, Slot) {
        if self.others == 0 {
            return (NEVER, 0);
        }
        match &self.wheel {
            Some(wheel) => wheel.earliest(&self.keys),
            None => {
                let keys = self.keys.iter().copied().zip(0..);
                keys.fold((NEVER, 0), |best, next| if next.0 < best.0 { next } else { best })
            }
        }
    }

    /// Goes to `key`, before which nothing wakes; all slots of the key before must have been taken. [`Queue::take`] gives
    /// the slots that wake now.
    #[inline]
    pub(crate) fn begin(&mut self, key: u64) {
        debug_assert!(self.batch.is_empty(), "a batch was not finished");
        self.next_key = key + 1;
        if self.soon_key == key {
            std::mem::swap(&mut self.batch, &mut self.soon);
        }
        if self.others == 0 {
            if let Some(wheel) = &mut self.wheel {
                wheel.base = key;
            }
            return;
        }
        let before = self.batch.len();
        match &mut self.wheel {
            Some(wheel) => wheel.begin(key, &self.keys, &mut self.batch),
            None => {
                for slot in 0..self.keys.len() as Slot {
                    if self.keys[slot as usize] == key && !self.batch[..before].contains(&slot) {
                        self.batch.push(slot);
                    }
                }
            }
        }
        self.others -= self.batch.len() - before;
    }

    /// The next slot that wakes at the key begun, and whether it is the last one.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Option<(Slot, bool)> {
        let &slot = self.batch.get(self.taken)?;
        self.taken += 1;
        self.keys[slot as usize] = NEVER;
        let last = self.taken == self.batch.len();
        if last {
            self.close();
        }
        Some((slot, last))
    }

    /// Whether a slot is to wake.
    pub(crate) fn is_scheduled(&self, slot: Slot) -> bool {
        self.keys[slot as usize] != NEVER
    }

    /// Wakes the slot that was taken just now, and was not the last one, at the next key again.
    #[inline(always)]
    pub(crate) fn keep(&mut self, slot: Slot) {
        debug_assert!(self.kept < self.taken && self.taken < self.batch.len());
        if self.keys[slot as usize] != NEVER {
            // It has asked for a later wake-up, too.
            return self.schedule_soon(slot, self.next_key);
        }
        self.keys[slot as usize] = self.next_key;
        self.batch[self.kept] = slot;
        self.kept += 1;
    }

    /// All slots of a key have been taken: those that wake at the next one join the others that do.
    fn close(&mut self) {
        self.batch.truncate(self.kept);
        (self.kept, self.taken) = (0, 0);
        if self.soon.is_empty() {
            std::mem::swap(&mut self.batch, &mut self.soon);
            self.soon_key = self.next_key;
        } else {
            debug_assert!(self.batch.is_empty() || self.soon_key == self.next_key);
            self.soon.append(&mut self.batch);
        }
    }
}

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
const NONE: u32 = u32::MAX;

/// A sleeper's neighbours in its list.
#[derive(Clone, Copy)]
struct Node {
    next: u32,
    previous: u32,
}

#[derive(Clone, Copy)]
struct Level {
    occupied: u64,
    heads: [u32; SLOTS],
}

/// A hierarchical timing wheel. Level l holds the keys that differ from `base` first in the l-th group of six bits.
struct Wheel {
    base: u64,
    /// The levels that were ever needed.
    levels: Vec<Level>,
    /// Which of them hold anything.
    occupied: u32,
    nodes: Box<[Node]>,
}

impl Wheel {
    fn new(sleepers: usize) -> Self {
        let nodes = vec![Node { next: NONE, previous: NONE }; sleepers].into_boxed_slice();
        Wheel { base: 0, levels: Vec::new(), occupied: 0, nodes }
    }

    #[inline]
    fn place(&self, key: u64) -> (usize, usize) {
        let level = (((key ^ self.base) | (SLOTS as u64 - 1)).ilog2() / BITS) as usize;
        (level, ((key >> (level as u32 * BITS)) as usize) & (SLOTS - 1))
    }

    #[inline]
    fn link(&mut self, slot: Slot, key: u64) {
        debug_assert!(key >= self.base, "a wake-up in the past");
        let (level, place) = self.place(key);
        if level >= self.levels.len() {
            self.grow(level);
        }
        let head = std::mem::replace(&mut self.levels[level].heads[place], slot);
        if head == NONE {
            self.levels[level].occupied |= 1 << place;
            self.occupied |= 1 << level;
        } else {
            self.nodes[head as usize].previous = slot;
        }
        self.nodes[slot as usize] = Node { next: head, previous: NONE };
    }

    #[cold]
    fn grow(&mut self, level: usize) {
        self.levels.resize(level + 1, Level { occupied: 0, heads: [NONE; SLOTS] });
    }

    fn unlink(&mut self, slot: Slot, key: u64) {
        let node = self.nodes[slot as usize];
        if node.next != NONE {
            self.nodes[node.next as usize].previous = node.previous;
        }
        if node.previous != NONE {
            self.nodes[node.previous as usize].next = node.next;
        } else {
            let (level, place) = self.place(key);
            debug_assert_eq!(self.levels[level].heads[place], slot);
            self.levels[level].heads[place] = node.next;
            if node.next == NONE {
                self.vacate(level, place);
            }
        }
    }

    #[inline]
    fn vacate(&mut self, level: usize, place: usize) {
        self.levels[level].occupied &= !(1 << place);
        if self.levels[level].occupied == 0 {
            self.occupied &= !(1 << level);
        }
    }

    /// Takes the whole list of a place.
    #[inline]
    fn detach(&mut self, level: usize, place: usize) -> u32 {
        let head = std::mem::replace(&mut self.levels[level].heads[place], NONE);
        if head != NONE {
            self.vacate(level, place);
        }
        head
    }

    fn earliest(&self, keys: &[u64]) -> (u64, Slot) {
        let level = &self.levels[self.occupied.trailing_zeros() as usize];
        let mut slot = level.heads[level.occupied.trailing_zeros() as usize];
        let mut best = (keys[slot as usize], slot);
        if self.occupied & 1 == 0 {
            // Above the lowest level a list holds different keys. It is walked once more, when it comes down.
            while slot != NONE {
                if keys[slot as usize] < best.0 {
                    best = (keys[slot as usize], slot);
                }
                slot = self.nodes[slot as usize].next;
            }
        }
        best
    }

    fn begin(&mut self, key: u64, keys: &[u64], batch: &mut Vec<Slot>) {
        self.advance(key, keys);
        if self.levels.is_empty() {
            return;
        }
        let mut slot = self.detach(0, key as usize & (SLOTS - 1));
        while slot != NONE {
            batch.push(slot);
            slot = self.nodes[slot as usize].next;
        }
    }

    /// Moves the base to `key`: lists on the way down to it are spread over the lower levels.
    #[inline]
    fn advance(&mut self, key: u64, keys: &[u64]) {
        while (self.base ^ key) >= SLOTS as u64 {
            let (level, place) = self.place(key);
            let shift = level as u32 * BITS;
            self.base = key >> shift << shift;
            if level >= self.levels.len() {
                continue;
            }
            let mut slot = self.detach(level, place);
            while slot != NONE {
                let next = self.nodes[slot as usize].next;
                self.link(slot, keys[slot as usize]);
                slot = next;
            }
        }
        self.base = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both queues against a plain list of keys, over sparse and dense keys, with sleepers that go ahead of the others.
    #[test]
    fn scan_and_wheel_agree_with_a_list() {
        let mut state = 7_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let mut queues = [true, false].map(|wheel| Queue::with_wheel(40, wheel));
        let mut list = [NEVER; 40];
        let mut now = 0;
        for round in 0..40_000_u64 {
            let slot = (random() % 40) as Slot;
            let distance = 1 + random() % [1, 3, 90, 5_000, 1 << 30][(round % 5) as usize];
            let key = &mut list[slot as usize];
            *key = if round % 7 == 0 { NEVER } else { (now + distance).min(*key) };
            for queue in &mut queues {
                if round % 7 == 0 {
                    queue.cancel(slot);
                } else if distance == 1 {
                    queue.schedule_soon(slot, now + 1);
                } else {
                    queue.schedule(slot, now + distance);
                }
                let (earliest, woken) = queue.earliest();
                assert_eq!(earliest, *list.iter().min().unwrap());
                assert!(earliest == NEVER || list[woken as usize] == earliest);
            }
            let earliest = queues[0].earliest().0;
            match random() % 6 {
                _ if earliest == NEVER => {}
                // The last sleeper of a batch may go on as far as the next one's time.
                0 => now += random() % (earliest - now + 1),
                1 | 2 => {
                    now = earliest;
                    let expected: Vec<Slot> = (0..40).filter(|&slot| list[slot as usize] == now).collect();
                    expected.iter().for_each(|&slot| list[slot as usize] = NEVER);
                    for queue in &mut queues {
                        queue.begin(now);
                        let mut woken = Vec::new();
                        while let Some((slot, last)) = queue.take() {
                            woken.push(slot);
                            assert_eq!(last, woken.len() == expected.len());
                        }
                        woken.sort_unstable();
                        assert_eq!(woken, expected);
                    }
                }
                _ => {}
            }
        }
    }
}
