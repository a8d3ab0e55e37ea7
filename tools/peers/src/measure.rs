//! Measurements: a workload, its size, and the result.

use cpu_time::ProcessTime;

use crate::graph::{PROCESSES, RING, STAGES, TOKENS, Work};

/// Components of the clocked workload.
pub(crate) const COMPONENTS: usize = 256;

/// A workload; each is described in `graph.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    Ring,
    /// A pipeline with back-pressure.
    Pipeline,
    /// Random messages, many to one.
    Phold,
    /// Components woken at every cycle.
    Clocked,
}

impl Workload {
    /// All, in the order of the table.
    pub(crate) const ALL: [Workload; 4] =
        [Workload::Ring, Workload::Pipeline, Workload::Phold, Workload::Clocked];

    /// Name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Workload::Ring => "ring",
            Workload::Pipeline => "pipeline",
            Workload::Phold => "phold",
            Workload::Clocked => "clocked",
        }
    }

    /// A `share`-th of the full size: hops, items, events or cycles.
    pub(crate) fn size(self, share: u64) -> u64 {
        match self {
            // Every component must see every token equally often.
            Workload::Ring => 10_000_000 / share / (RING * RING) as u64 * (RING * RING) as u64,
            Workload::Pipeline => 1_000_000 / share,
            Workload::Phold => 5_000_000 / share,
            Workload::Clocked => 40_000 / share,
        }
    }

    /// The workload in words, with its full size.
    pub(crate) fn describe(self) -> String {
        let millions = self.size(1) as f64 / 1e6;
        match self {
            Workload::Ring => format!("{RING} components, {RING} tokens, {millions:.0} M hops"),
            Workload::Pipeline => {
                format!("a source, {} stages and a sink, {millions:.0} M items; times {STAGES}", STAGES - 1)
            }
            Workload::Phold => {
                format!(
                    "{PROCESSES} processes on a random graph, {TOKENS} tokens, about {millions:.0} M hops"
                )
            }
            Workload::Clocked => format!("{COMPONENTS} components, {} cycles; wake-ups", self.size(1)),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) work: Work,
    /// Processor time of the process, in seconds.
    pub(crate) seconds: f64,
}

impl Run {
    /// Times `run`, which does the workload and nothing else.
    pub(crate) fn time(run: impl FnOnce() -> Work) -> Run {
        let start = ProcessTime::now();
        let work = run();
        Run { work, seconds: start.elapsed().as_secs_f64() }
    }

    /// Million operations per second.
    pub(crate) fn rate(&self) -> f64 {
        self.work.operations as f64 / self.seconds / 1e6
    }
}
