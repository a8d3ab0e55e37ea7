//! Credits on their way back to an output.
//!
//! A few are stored inline, in the cache line that a message touches anyhow; further credits are in a ring.

use std::cell::{Cell, OnceCell};

use super::ring::Ring;
use crate::process::local::Local;
use crate::process::queue::NEVER;

/// Credits that are kept in place.
const FEW: usize = 3;

/// The times at which the first credits return, in order; [`NEVER`] behind the last one.
pub(crate) struct Few([Cell<u64>; FEW]);

/// The times of the others. There are none while fewer than [`FEW`] credits are on their way.
pub(crate) type Others = OnceCell<Box<Local<Ring<u64>>>>;

impl Few {
    pub(crate) fn new() -> Self {
        Few([const { Cell::new(NEVER) }; FEW])
    }

    /// Time at which the next credit returns; [`NEVER`] if none is on its way.
    #[inline(always)]
    pub(crate) fn first(&self) -> u64 {
        self.0[0].get()
    }

    /// Adds a credit that returns no earlier than those before it. The result is whether it is the only one.
    #[inline(always)]
    pub(crate) fn add(&self, others: &Others, time: u64) -> bool {
        for (place, known) in self.0.iter().enumerate() {
            if known.get() == NEVER {
                known.set(time);
                return place == 0;
            }
        }
        Self::add_other(others, time);
        false
    }

    #[inline(never)]
    fn add_other(others: &Others, time: u64) {
        others.get_or_init(Box::default).with(|others| others.push_back(time));
    }

    /// Removes the credits that have returned by `now`; the result is their number.
    #[inline]
    pub(crate) fn take_back(&self, others: &Others, now: u64) -> u32 {
        let mut count = 0;
        while self.first() <= now {
            let last = self.0[FEW - 1].get();
            for place in 1..FEW {
                self.0[place - 1].set(self.0[place].get());
            }
            let next = if last == NEVER { NEVER } else { Self::take_other(others) };
            self.0[FEW - 1].set(next);
            count += 1;
        }
        count
    }

    #[inline(never)]
    fn take_other(others: &Others) -> u64 {
        others.get().and_then(|others| others.with(Ring::pop_front)).unwrap_or(NEVER)
    }

    /// Number of credits that return before `now`, and number that return later.
    pub(crate) fn split(&self, others: &Others, now: u64) -> (usize, usize) {
        let here = self.0.iter().map(Cell::get).filter(|&time| time != NEVER);
        let count =
            |(before, after), time| if time < now { (before + 1, after) } else { (before, after + 1) };
        let here = here.fold((0, 0), count);
        others.get().map_or(here, |others| others.with(|others| others.iter().copied().fold(here, count)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::process::random::random;

    /// Against a queue, with few credits on their way and with many.
    #[test]
    fn credits_come_back_in_order() {
        let mut random = random(1);
        let (few, others, mut model) = (Few::new(), Others::default(), VecDeque::new());
        let (mut now, mut latest) = (0, 0);
        for step in 0..20_000 {
            if random().is_multiple_of(2) {
                latest = (latest + random() % 3).max(now + 1);
                assert_eq!(few.add(&others, latest), model.is_empty());
                model.push_back(latest);
            } else {
                now += random() % if step / 1_000 % 2 == 0 { 2 } else { 9 };
                let back = model.iter().filter(|&&time| time <= now).count();
                assert_eq!(few.split(&others, now + 1), (back, model.len() - back));
                assert_eq!(few.take_back(&others, now) as usize, back);
                model.drain(..back);
            }
            assert_eq!(few.first(), model.front().copied().unwrap_or(NEVER));
        }
    }
}
