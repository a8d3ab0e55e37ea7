//! Result of a replay: the total time, and the decisions with their counts.

use std::collections::BTreeMap;

/// A queue that has run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The end of the last instance, in milliseconds of the queue's time.
    pub total: f64,
    /// The decisions, in the order of the kernels' places; each decision once.
    pub decisions: Vec<Used>,
}

/// A decision, and how often it was made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Used {
    /// The decision.
    pub choice: Choice,
    /// Number of times.
    pub count: u64,
    /// Milliseconds for which the decision held. Whole kernels whose tails overlap count their time alone.
    pub time: f64,
    /// Blocks that ran meanwhile, of each kernel; the second is 0 for one alone.
    pub blocks: [u64; 2],
}

/// The next to run. Kernels are places in [`Measured::kernels`](super::Measured::kernels).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Choice {
    /// A kernel until it ends.
    Alone(usize),
    /// Two kernels, the first not behind the second in the table, until one of them ends.
    CoSchedule {
        /// The kernels; the same twice if two of its instances run.
        kernels: [usize; 2],
        /// Blocks of a slice of each.
        slices: [u32; 2],
    },
}

#[derive(Default)]
pub(super) struct Decisions(BTreeMap<Choice, Used>);

impl Decisions {
    pub(super) fn add(&mut self, choice: Choice, time: f64, blocks: [u64; 2]) {
        let used = self.0.entry(choice).or_insert(Used { choice, count: 0, time: 0.0, blocks: [0; 2] });
        used.count += 1;
        used.time += time;
        used.blocks = [0, 1].map(|at| used.blocks[at] + blocks[at]);
    }

    pub(super) fn outcome(self, total: f64) -> Outcome {
        Outcome { total, decisions: self.0.into_values().collect() }
    }
}
