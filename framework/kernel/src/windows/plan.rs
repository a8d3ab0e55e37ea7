//! The plan of a run, which all of its threads share, and the results of their shares.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::{Arc, mpsc};

use super::island::Cost;
use super::options::RunOptions;
use super::partition::Partition;
use crate::channel::ends::LinkSpec;
use crate::channel::remote::Notice;
use crate::channel::wiring::{Crossings, Figures};
use crate::observe::inspect::InspectionPart;
use crate::observe::sample_log::Log;
use crate::observe::snapshot::Snapshot;
use crate::observe::standstill::Standstill;
use crate::observe::watchdog::Pulse;
use crate::process::fault::Fault;
use crate::process::hang_reasons::Places;
use crate::time::SimTime;

/// The plan of the run that all threads share.
pub(crate) struct Plan {
    pub(crate) links: Vec<LinkSpec>,
    pub(crate) figures: Vec<Figures>,
    pub(crate) paths: Vec<String>,
    pub(crate) partition: Partition,
    /// See [`ProcessNetwork::grace`](crate::machine::ProcessNetwork::grace).
    pub(crate) grace: u64,
    /// From thread i to thread j at i·threads + j.
    pub(crate) notices: Vec<Notice>,
    pub(crate) crossings: Crossings,
    /// By thread.
    pub(crate) pulses: Vec<Arc<Pulse>>,
    /// The addresses on whose contents reasons depend.
    pub(crate) places: Arc<Places>,
    /// Channel for the parts of an inspection of a held run.
    pub(crate) inspections: Option<mpsc::Sender<InspectionPart>>,
    pub(crate) options: RunOptions,
}

/// Reason for the end of the windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Done,
    Stopped,
    Interrupted,
    Deadlock,
    Livelock,
    /// Messages flow, and nobody acts by itself.
    InVain,
}

/// Results of one thread.
pub(crate) struct ShareResult {
    pub(crate) verdict: Verdict,
    pub(crate) time: u64,
    pub(crate) failure: Option<(u64, u32, Fault)>,
    pub(crate) results: Vec<(usize, Box<dyn Any + Send>)>,
    pub(crate) hashes: Vec<(usize, u64)>,
    pub(crate) costs: Vec<(u32, Cost)>,
    pub(crate) snapshots: Vec<Snapshot>,
    /// From one sample to the next; the same on all threads.
    pub(crate) every: SimTime,
    pub(crate) samples: Log,
    pub(crate) standstill: Option<Standstill>,
}

impl Plan {
    pub(crate) fn thread_of(&self, process: usize) -> usize {
        self.partition.thread[self.partition.island[process]]
    }

    /// The threads that a link joins to this one.
    pub(crate) fn linked(&self, thread: usize) -> Vec<usize> {
        let ends = self
            .links
            .iter()
            .map(|link| (self.thread_of(link.from.process), self.thread_of(link.to.process)));
        let others = ends.filter_map(|(from, to)| match thread {
            here if here == from => Some(to),
            here if here == to => Some(from),
            _ => None,
        });
        others.filter(|&other| other != thread).collect::<BTreeSet<usize>>().into_iter().collect()
    }

    pub(crate) fn notice(&self, from: usize, to: usize) -> &Notice {
        &self.notices[from * self.partition.threads + to]
    }
}
