//! A machine as the kernel takes it: processes that can be started on any thread, and the links between them.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;

use crate::channel::ends::LinkSpec;
use crate::channel::wiring::{Figures, Wiring};
use crate::process::fault::Fault;
use crate::time::{Clock, Latency, SimTime};

/// A microsecond: a machine that is one island, or has short links only, need not check more often.
pub(crate) const LEAST_GRACE: u64 = 1 << 20;

/// Gives the counts of a process up to a time, always of the same number and in the same order.
pub type Sampler = Box<dyn Fn(SimTime, &mut Vec<u64>)>;

/// State that a process shows while the run is held: the type is that of its model.
pub type Shown = Box<dyn Any + Send>;

/// Gives the state that a process shows.
pub type Viewer = Box<dyn Fn() -> Shown>;

/// The body of a process, with its result.
pub type Body = Pin<Box<dyn Future<Output = Result<(), Fault>>>>;

/// The weight of a process that says nothing of it, in nanoseconds per cycle: a switch or a queue.
pub const DEFAULT_WEIGHT: u32 = 20;

/// A process that its thread has started.
pub struct Started {
    /// Body of the process.
    pub body: Body,
    /// Gives the result of the process; called when the run is over, on the thread that ran the process last.
    pub finish: Box<dyn FnOnce() -> Box<dyn Any + Send>>,
    /// Statistics of the process, for samples of the run.
    pub sampler: Option<Sampler>,
    /// State of the process, for views of a held run.
    pub viewer: Option<Viewer>,
}

/// Starts a process: takes its ports from the wiring and builds its body. The body may go to another thread
/// between two polls, with all processes that run beside it: it keeps nothing that belongs to its thread,
/// such as a value of a `thread_local!`, or the guard of a lock.
pub type Start = Box<dyn FnOnce(&mut Wiring<'_>) -> Started + Send>;

/// A process to be started.
pub struct ProcessSpec {
    /// Path of the process in the machine, such as `gpu.sm[3]`; unique.
    pub path: String,
    /// Clock of the process.
    pub clock: Clock,
    /// Whether the process serves others and never returns: the run does not wait for it.
    pub daemon: bool,
    /// Nanoseconds of computing per cycle when the process is busy: its weight when the machine is cut.
    pub weight: u32,
    /// Additional weight for every link that begins or ends at it.
    pub link_weight: u32,
    /// Starts it, on the thread that will run it.
    pub start: Start,
}

impl ProcessSpec {
    /// A process that is nothing but a body, made from its ports.
    pub fn new<B>(
        path: impl Into<String>,
        clock: Clock,
        daemon: bool,
        body: impl FnOnce(&mut Wiring<'_>) -> B + Send + 'static,
    ) -> Self
    where
        B: Future<Output = Result<(), Fault>> + 'static,
    {
        let start: Start = Box::new(move |wiring| Started {
            body: Box::pin(body(wiring)),
            finish: Box::new(|| Box::new(())),
            sampler: None,
            viewer: None,
        });
        ProcessSpec { path: path.into(), clock, daemon, weight: DEFAULT_WEIGHT, link_weight: 0, start }
    }
}

/// A machine as the kernel runs it: processes and the links between them.
#[derive(Default)]
pub struct ProcessNetwork {
    /// The processes, in an order that belongs to the machine (not to the file that it was read from).
    pub processes: Vec<ProcessSpec>,
    /// The links.
    pub links: Vec<LinkSpec>,
}

impl ProcessNetwork {
    /// Declared weight of each process, with its links.
    pub(crate) fn declared(&self) -> impl Iterator<Item = u32> {
        let mut links = vec![0_u32; self.processes.len()];
        for link in &self.links {
            links[link.from.process] += 1;
            links[link.to.process] += 1;
        }
        let weights = self.processes.iter().zip(links);
        weights
            .map(|(process, links)| process.weight.saturating_add(process.link_weight.saturating_mul(links)))
    }

    pub(crate) fn weigh(&mut self, weights: Option<&[u32]>) {
        for (process, &weight) in self.processes.iter_mut().zip(weights.unwrap_or_default()) {
            (process.weight, process.link_weight) = (weight, 0);
        }
    }

    /// Time for which the machine continues after its end, in picoseconds: at least a window, and the same for every cut,
    /// so that the events before the end of the run are the same too.
    pub(crate) fn grace(&self) -> u64 {
        self.links.iter().map(|link| self.latency(link)).fold(LEAST_GRACE, u64::max)
    }

    /// The latency of a link, rounded down to whole picoseconds.
    pub(crate) fn latency(&self, link: &LinkSpec) -> u64 {
        match link.options.latency {
            Latency::Cycles(cycles) => self.processes[link.from.process].clock.cycles(cycles).floor().as_ps(),
            Latency::Time(time) => time.as_ps(),
        }
    }

    /// The numbers of a link that both of its ends need.
    pub(crate) fn figures(&self, link: &LinkSpec) -> Figures {
        Figures { latency: self.latency(link), credits: self.credits(link), sender: link.sender }
    }

    /// The credits of a link: the receiver's buffer, plus the messages and credits on their way at one message a cycle.
    pub(crate) fn credits(&self, link: &LinkSpec) -> u32 {
        let round_trip = match link.options.latency {
            Latency::Cycles(cycles) => 2 * cycles,
            Latency::Time(time) => {
                let cycle = self.processes[link.from.process].clock.cycles(1).floor().as_ps();
                (2 * time.as_ps()).div_ceil(cycle.max(1))
            }
        };
        u32::try_from(round_trip).unwrap_or(u32::MAX).saturating_add(link.options.capacity)
    }
}
