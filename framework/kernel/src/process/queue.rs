//! Times at which each island of a thread runs next.
//!
//! Sleepers are numbered slots, keys are times. A sleeper has at most one wake-up, the earliest asked for. A few sleepers are kept as a
//! plain array that is scanned; many go into a timing wheel.

use super::wheel::Wheel;

/// Position of a sleeper in its set.
pub(crate) type Slot = u32;

/// No wake-up.
pub(crate) const NEVER: u64 = u64::MAX;

/// Up to this many sleepers a scan beats the wheel.
pub(crate) const SCAN_LIMIT: usize = 8;

/// The wake-ups of one set.
pub(crate) struct Queue {
    /// Per sleeper its wake-up, or [`NEVER`].
    keys: Box<[u64]>,
    /// The slots that wake at the key begun and have not been taken.
    batch: Vec<Slot>,
    /// Order of the sleepers, if there are many.
    wheel: Option<Box<Wheel>>,
}

impl Queue {
    pub(crate) fn new(sleepers: usize) -> Self {
        Self::with_wheel(sleepers, sleepers > SCAN_LIMIT)
    }

    fn with_wheel(sleepers: usize, wheel: bool) -> Self {
        Queue {
            keys: vec![NEVER; sleepers].into_boxed_slice(),
            batch: Vec::with_capacity(sleepers),
            wheel: wheel.then(|| Box::new(Wheel::new(sleepers))),
        }
    }

    /// Wakes `slot` at `key`, unless it wakes by then already. `key` is after the key begun last.
    #[inline]
    pub(crate) fn schedule(&mut self, slot: Slot, key: u64) {
        let known = self.keys[slot as usize];
        if known <= key {
            return;
        }
        if let Some(wheel) = &mut self.wheel {
            if known != NEVER {
                wheel.unlink(slot, known);
            }
            wheel.link(slot, key);
        }
        self.keys[slot as usize] = key;
    }

    /// The earliest wake-up; [`NEVER`] if there is none.
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        match &self.wheel {
            Some(wheel) => match wheel.first() {
                Some(slot) => self.keys[slot as usize],
                None => wheel.earliest(|slot| self.keys[slot as usize]),
            },
            None => self.keys.iter().copied().min().unwrap_or(NEVER),
        }
    }

    /// Goes to `key`, before which nothing wakes; all slots of the key before must have been taken. [`Queue::take`] gives
    /// the slots that wake now.
    #[inline]
    pub(crate) fn begin(&mut self, key: u64) {
        debug_assert!(self.batch.is_empty(), "a batch was not finished");
        let Queue { keys, batch, wheel } = self;
        match wheel {
            Some(wheel) => wheel.take(key, |slot| keys[slot as usize], |slot| batch.push(slot)),
            None => batch.extend((0..keys.len() as Slot).filter(|&slot| keys[slot as usize] == key)),
        }
    }

    /// The next slot that wakes at the key begun.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Option<Slot> {
        let slot = self.batch.pop()?;
        self.keys[slot as usize] = NEVER;
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::random::random;

    /// Both queues against a plain list of keys, sparse and dense.
    #[test]
    fn scan_and_wheel_agree_with_a_list() {
        let mut random = random(7);
        let mut queues = [true, false].map(|wheel| Queue::with_wheel(40, wheel));
        let mut list = [NEVER; 40];
        let mut now = 0;
        for round in 0..40_000_u64 {
            let slot = (random() % 40) as Slot;
            let key = now + 1 + random() % [1, 3, 90, 5_000, 1 << 30][(round % 5) as usize];
            list[slot as usize] = key.min(list[slot as usize]);
            let earliest = *list.iter().min().unwrap();
            for queue in &mut queues {
                queue.schedule(slot, key);
                assert_eq!(queue.earliest(), earliest);
            }
            if random().is_multiple_of(2) {
                now = earliest;
                let expected: Vec<Slot> = (0..40).filter(|&slot| list[slot as usize] == now).collect();
                expected.iter().for_each(|&slot| list[slot as usize] = NEVER);
                for queue in &mut queues {
                    queue.begin(now);
                    let mut woken: Vec<Slot> = std::iter::from_fn(|| queue.take()).collect();
                    woken.sort_unstable();
                    assert_eq!(woken, expected);
                }
            }
        }
    }
}
