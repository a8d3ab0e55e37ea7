//! A machine as the kernel takes it: processes that can be started on any thread, and the links between them.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::inspect::Viewer;
use super::island::{Body, Cost, SPAN};
use super::link::LinkOptions;
use super::outcome::Fault;
use super::partition::{Cut, Partition};
use super::samples::Sampler;
use super::simulation::{RunOptions, Sharing};
use super::wiring::Wiring;
use crate::time::{Clock, Latency, SimTime};

/// A microsecond: a machine that is one island, or has short links only, need not look up more often.
pub(super) const LEAST_GRACE: u64 = 1 << 20;

/// The weight of a process that says nothing of it, in nanoseconds per cycle: a switch or a queue.
pub const DEFAULT_WEIGHT: u32 = 20;

/// One end of a link: a port of a process, with the index if the port is an array.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// Position of the process in the machine.
    pub process: usize,
    /// The port's name.
    pub port: String,
    /// Which element of an array of ports.
    pub index: Option<u32>,
}

impl Endpoint {
    /// The port with its index, such as `out[2]`.
    pub fn name(&self) -> String {
        match self.index {
            Some(index) => format!("{}[{index}]", self.port),
            None => self.port.clone(),
        }
    }
}

/// A directed link.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// The output.
    pub from: Endpoint,
    /// The input.
    pub to: Endpoint,
    /// Place among the senders of this input, from 0 without gaps; decides between simultaneous arrivals.
    pub sender: u32,
    /// Latency, capacity, bandwidth.
    pub options: LinkOptions,
}

/// A process that its thread has started.
pub struct Started {
    /// Body of the process.
    pub body: Body,
    /// Called when the run is over, on the thread that ran the process last: what it leaves behind.
    pub finish: Box<dyn FnOnce() -> Box<dyn std::any::Any + Send>>,
    /// Its statistics, for samples of the run.
    pub sampler: Option<Sampler>,
    /// Its state, for views of a held run.
    pub viewer: Option<Viewer>,
}

/// Starts a process: takes its ports from the wiring and builds its body. The body may go to another thread
/// between two polls, with all processes that run beside it: it keeps nothing that belongs to its thread,
/// such as a value of a `thread_local!`, or the guard of a lock.
pub type Start = Box<dyn FnOnce(&mut Wiring<'_>) -> Started + Send>;

/// A process to be started.
pub struct ProcessSpec {
    /// Where it is in the machine, such as `gpu.sm[3]`; unique.
    pub path: String,
    /// Clock of the process.
    pub clock: Clock,
    /// Whether the process serves others and never returns: the run does not wait for it.
    pub daemon: bool,
    /// Nanoseconds of computing per cycle when it is busy: what it weighs when the machine is cut.
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
    /// How a run with these options cuts the machine where there are cores enough. A run makes this cut by itself; this
    /// tells people.
    pub fn cut(&mut self, options: &RunOptions) -> Cut {
        self.weigh(options.weights.as_deref());
        let (threads, always) = (options.threads, options.sharing != Sharing::WhereFaster);
        let (partition, fewer) = Partition::for_run(self, threads, usize::MAX, always, options.islands);
        partition.describe(self, options.islands, fewer)
    }

    /// Runs the machine up to `until` to see what its processes weigh: nanoseconds of computing per cycle,
    /// for [`RunOptions::weights`] of the runs that count. Only the time in which a process has something to
    /// do counts: a phase in which it rests makes it no lighter, and a process that rests all the time has
    /// its declared weight. These are measured times and differ from call to call; no result depends on them.
    /// `interrupt` ends it early.
    pub fn warm_up(self, until: SimTime, interrupt: Arc<AtomicBool>) -> Arc<[u32]> {
        let cycles = |process: &ProcessSpec| process.clock.index(SimTime::from_ps(SPAN)).max(1);
        let declared: Vec<(u32, u64)> =
            self.declared().zip(&self.processes).map(|(weight, process)| (weight, cycles(process))).collect();
        let options = RunOptions { measure: true, stop_at: Some(until), interrupt, ..RunOptions::default() };
        let costs = self.run(&options).costs;
        let weight = |cost: &Cost, (declared, cycles): (u32, u64)| match cost.spans {
            0 => declared,
            spans => cost.nanos.div_ceil(spans * cycles).clamp(1, u64::from(u32::MAX)) as u32,
        };
        costs.iter().zip(declared).map(|(cost, declared)| weight(cost, declared)).collect()
    }

    /// Declared weight of each process, with its links.
    fn declared(&self) -> impl Iterator<Item = u32> {
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

    /// How long the machine goes on after its end, in picoseconds: at least a window, and the same for every cut, so that
    /// what lies before the end of the run is the same too.
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

    /// The credits of a link: the receiver's buffer, and what is on its way there and back at one message a cycle.
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
