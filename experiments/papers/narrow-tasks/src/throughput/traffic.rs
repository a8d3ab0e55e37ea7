//! Traffic between SMs and slices of the L2: its amount and its waits.

/// Messages between an SM and a slice of the L2, in all or in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Traffic {
    /// Messages: the sectors of a line that an access touches are one.
    pub(super) messages: f64,
    /// Their sectors: one cycle each.
    pub(super) sectors: f64,
    /// The squares of the sectors of each, summed up.
    pub(super) squares: f64,
}

impl Traffic {
    pub(super) fn add(&mut self, more: &Traffic, times: f64) {
        self.messages += more.messages * times;
        self.sectors += more.sectors * times;
        self.squares += more.squares * times;
    }

    /// `times` times as much.
    pub(super) fn times(&self, times: f64) -> Traffic {
        let mut traffic = Traffic::default();
        traffic.add(self, times);
        traffic
    }

    /// The rest without `some`.
    pub(super) fn without(mut self, some: &Traffic) -> Traffic {
        self.add(some, -1.0);
        self
    }
}

/// Wait of a message to a slice of the L2 for messages of other SMs (`network.rs`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Wait {
    /// At the head of the SM's port.
    pub(super) head: f64,
    /// The answer, at the head of the slice's.
    pub(super) answer: f64,
}

impl Wait {
    pub(super) fn towards(self, other: &Wait, part: f64) -> Wait {
        let between = |from: f64, to: f64| from + (to - from) * part;
        Wait { head: between(self.head, other.head), answer: between(self.answer, other.answer) }
    }
}
