//! The lock of GeMTC's queue: its holder, the blocks that spin on the lock, and the time for which each holds it.
//!
//! This models the `atomicCAS` in a loop on which `cuda/gemtc` spins. Every waiting block polls the lock once per period, and the L2
//! answers one poll per cycle: with more blocks than cycles in a period, the period becomes longer. The first poll after a release depends
//! on the cycle at which each block polls, and on the exact time of the release, which the model does not know: the model draws one of the
//! waiting blocks. The holder's data is in the same part of the L2 as the lock, and the holder's requests wait behind the polls in their
//! path.

/// The purpose for which a block takes the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    /// The next task, which there is.
    Take,
    /// The next task, when there is none.
    Empty,
    /// Entering a result.
    Enter,
}

/// Times of actions at the lock, in cycles; each is described in `costs`.
#[derive(Clone, Copy, Debug)]
pub(super) struct LockCosts {
    pub(super) take: u64,
    pub(super) empty: u64,
    pub(super) enter: u64,
    pub(super) again: u64,
    pub(super) spin: u64,
    pub(super) path: u32,
}

impl LockCosts {
    /// Cycles of the section without contention, and the number of waits for memory in it.
    fn section(&self, section: Section) -> (u64, u64) {
        match section {
            Section::Take => (self.take, 3),
            Section::Empty => (self.empty, 2),
            Section::Enter => (self.enter, 3),
        }
    }
}

/// A block, and its SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spinner {
    pub(super) block: u32,
    pub(super) sm: usize,
}

#[derive(Debug)]
pub(super) struct Lock {
    costs: LockCosts,
    spinners: Vec<Spinner>,
    /// Number of spinning blocks on each SM.
    waiting: Vec<u32>,
    holder: Option<Spinner>,
    /// Times at which the holder gets it and gives it back.
    since: u64,
    until: Option<u64>,
}

impl Lock {
    /// A free lock, on a device with `sms` SMs.
    pub(super) fn new(costs: LockCosts, sms: usize) -> Self {
        Lock { costs, spinners: Vec::new(), waiting: vec![0; sms], holder: None, since: 0, until: None }
    }

    /// Requests the lock for a block. Returns true if the block now holds the lock; otherwise the block waits.
    pub(super) fn ask(&mut self, spinner: Spinner, cycle: u64) -> bool {
        if self.holder.is_some() {
            self.join(spinner);
            return false;
        }
        (self.holder, self.since) = (Some(spinner), cycle);
        true
    }

    /// Sets the end of the holder's section, whose kind is now known.
    pub(super) fn hold(&mut self, section: Section) {
        let (alone, trips) = self.costs.section(section);
        self.until = Some(self.since + alone.max(trips * self.looks()));
    }

    pub(super) fn holder(&self) -> Option<Spinner> {
        self.holder
    }

    /// Time of its release.
    pub(super) fn due(&self) -> Option<u64> {
        self.until
    }

    /// Releases the lock; the holder requests it again at once if `again`. Returns the next holder, which may be the same block, or a
    /// waiting block chosen by a random number of 64 bits.
    pub(super) fn release(&mut self, again: bool, cycle: u64, random: u64) -> Option<Spinner> {
        let before = self.holder.take();
        self.until = None;
        // The first of the evenly spread looks.
        let gap = (self.period() / (self.spinners.len() as u64 + 1)).max(1);
        let before = before.filter(|_| again);
        if self.spinners.is_empty() || before.is_some() && self.costs.again < gap {
            (self.holder, self.since) = (before, cycle + self.costs.again);
            return before;
        }
        let next = self.spinners.swap_remove((random % self.spinners.len() as u64) as usize);
        self.waiting[next.sm] -= 1;
        if let Some(before) = before {
            self.join(before);
        }
        (self.holder, self.since) = (Some(next), cycle + gap);
        Some(next)
    }

    /// Cycles from a look of a block to its next.
    pub(super) fn period(&self) -> u64 {
        self.costs.spin.max(self.spinners.len() as u64)
    }

    fn join(&mut self, spinner: Spinner) {
        self.spinners.push(spinner);
        self.waiting[spinner.sm] += 1;
    }

    /// Polls in front of a request: the polls of each SM that its path to the lock holds.
    fn looks(&self) -> u64 {
        self.waiting.iter().map(|&waiting| u64::from(waiting.min(self.costs.path))).sum()
    }

    /// Polls that the L2 answers before a request of a given SM: polls of an SM leave one at a time, in turn with all other SMs that spin.
    pub(super) fn looks_before(&self, sm: usize) -> u64 {
        let spinning = self.waiting.iter().filter(|&&waiting| waiting > 0).count() as u64;
        spinning * u64::from(self.waiting[sm].min(self.costs.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: LockCosts = LockCosts { take: 475, empty: 331, enter: 476, again: 30, spin: 171, path: 16 };

    /// A lock that block 0 holds from cycle 1000 on, and `each` others wait for on each of `sms` SMs.
    fn held(sms: usize, each: u32) -> Lock {
        let mut lock = Lock::new(COSTS, sms);
        assert!(lock.ask(Spinner { block: 0, sm: 0 }, 1000));
        for block in 1..=each * sms as u32 {
            assert!(!lock.ask(Spinner { block, sm: block as usize % sms }, 1000));
        }
        lock
    }

    fn time(mut lock: Lock, section: Section) -> u64 {
        lock.hold(section);
        lock.due().unwrap() - 1000
    }

    #[test]
    fn looks_on_the_way_delay_the_holder() {
        assert_eq!(time(held(1, 0), Section::Take), 475);
        assert_eq!(time(held(8, 16), Section::Take), 475, "8 x 16 looks take less than memory does");
        assert_eq!(time(held(16, 16), Section::Take), 3 * 256);
        assert_eq!(time(held(24, 16), Section::Enter), 3 * 384);
        assert_eq!(time(held(24, 32), Section::Empty), 2 * 384, "the path of an SM is full");
        assert_eq!([held(24, 32), held(24, 2), held(2, 5)].map(|lock| lock.looks_before(1)), [384, 48, 10]);
    }

    #[test]
    fn who_asks_again_is_the_first_while_few_wait() {
        let next = |waiting| {
            let mut lock = held(1, waiting);
            lock.hold(Section::Enter);
            let next = lock.release(true, lock.due().unwrap(), 0).unwrap();
            (next.block == 0, lock.since - 1476)
        };
        assert_eq!(next(0), (true, 30));
        assert_eq!(next(4), (true, 30), "a look comes every 34 cycles");
        assert_eq!(next(8), (false, 19));
        assert_eq!(next(400), (false, 1));
    }

    #[test]
    fn any_that_waits_may_be_the_next() {
        let mut lock = held(5, 2);
        let mut had: Vec<Spinner> = (0..10)
            .map(|random| {
                lock.hold(Section::Empty);
                lock.release(false, lock.due().unwrap(), 3 * random + 7).unwrap()
            })
            .collect();
        assert_eq!(had[..2], [Spinner { block: 8, sm: 3 }, Spinner { block: 2, sm: 2 }]);
        assert_eq!(lock.looks_before(3), 0, "nobody is left");
        had.sort_by_key(|spinner| spinner.block);
        assert_eq!(had.iter().map(|spinner| spinner.block).collect::<Vec<_>>(), (1..=10).collect::<Vec<_>>());
        assert_eq!(held(1, 10).period(), 171);
        assert_eq!(held(24, 32).period(), 768);
    }

    #[test]
    fn nobody_has_a_lock_that_nobody_wants() {
        let mut lock = held(1, 0);
        lock.hold(Section::Empty);
        assert_eq!(lock.release(false, 1331, 0), None);
        assert_eq!(lock.due(), None);
        assert!(lock.ask(Spinner { block: 3, sm: 0 }, 2000));
    }
}
