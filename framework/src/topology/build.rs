//! From a checked machine to one that runs, and the run itself.

use std::sync::Arc;

use super::faults::sender;
use super::machine::{Endpoint, Link, Machine};
use crate::kernel::{
    self, Finished, LinkOptions, LinkSpec, Outcome, RunOptions, Shown, Snapshot, WorkerPool,
};
use crate::model::{
    Environment, INJECTOR_INPUT, INJECTOR_OUTPUT, InjectorParams, InjectorSite, Registry, Remains, StatRow,
};
use crate::telemetry::{Series, Trace};
use crate::time::{Clock, Latency, SimTime};

/// Depth of a receiver's buffer where the link gives none.
const DEFAULT_CAPACITY: u32 = 4;

/// Report of a run.
#[non_exhaustive]
pub struct RunReport {
    /// Outcome of the run.
    pub outcome: Outcome,
    /// The statistics of all components, in the order of their paths.
    pub stats: Vec<StatRow>,
    /// The spans of all components.
    pub trace: Trace,
    /// The counts of the components over time, if requested.
    pub series: Option<Series>,
    /// The hash of all events, if requested.
    pub hash: Option<u64>,
    /// The requested snapshots; processes are the machine's instances.
    pub snapshots: Vec<Snapshot>,
    /// Islands into which the machine was cut.
    pub islands: usize,
    /// The lookahead between them.
    pub lookahead: SimTime,
    /// The threads that ran the machine.
    pub workers: WorkerPool,
}

impl RunReport {
    /// The report of a machine that [`build`] made in this environment and that has run to its end.
    pub fn new(finished: Finished, environment: &Environment) -> Self {
        let (mut stats, mut spans, mut counters) = (Vec::new(), Vec::new(), Vec::new());
        let mut parents = Vec::new();
        for result in finished.results {
            let remains = result.downcast::<Remains>().map(|remains| *remains).unwrap_or_default();
            stats.extend(remains.stats);
            spans.extend(remains.spans);
            parents.extend(remains.parents);
            counters.push(remains.counters);
        }
        let series = environment.sampled.then(|| Series::new(finished.every, counters, finished.samples));
        let trace = Trace::new(spans, parents, finished.outcome.time(), environment.recording.limit);
        if trace.left_out > 0 {
            let (left_out, limit) = (trace.left_out, environment.recording.limit);
            tracing::warn!("{left_out} spans are beyond the limit of {limit} and are added up by component");
        }
        RunReport {
            outcome: finished.outcome,
            stats,
            trace,
            series,
            hash: finished.hash,
            snapshots: finished.snapshots,
            islands: finished.islands,
            lookahead: finished.lookahead,
            workers: finished.workers,
        }
    }

    /// The report of a run known only by its outcome.
    pub fn of(outcome: Outcome) -> Self {
        RunReport {
            outcome,
            stats: Vec::new(),
            trace: Trace::default(),
            series: None,
            hash: None,
            snapshots: Vec::new(),
            islands: 0,
            lookahead: SimTime::ZERO,
            workers: WorkerPool::default(),
        }
    }
}

/// The machine as the kernel takes it. A link without a capacity gets a buffer of four messages.
///
/// # Panics
/// If the registry lacks a kind of the machine: the registry must be the one with which the machine was loaded.
pub fn build(
    machine: &Machine,
    registry: &Arc<Registry>,
    environment: &Environment,
) -> kernel::ProcessNetwork {
    let processes = machine.instances.iter().map(|instance| {
        let (path, clock) = (instance.path.clone(), Clock::new(instance.clock));
        let read =
            instance.read.clone().unwrap_or_else(|| panic!("{path}: the parameters were checked before"));
        registry.build(&instance.kind, path, clock, environment.clone(), read)
    });
    let links = machine.links.iter().map(link).collect();
    let mut built = kernel::ProcessNetwork { processes: processes.collect(), links };
    for (number, link) in machine.links.iter().enumerate().filter(|(_, link)| !link.faults.is_empty()) {
        inject(&mut built, number, link, machine, registry, environment);
    }
    built
}

/// Puts an injector into the middle of a link. The link keeps its index and its bandwidth and leads to the injector;
/// the injector and the link behind it come last, so that nothing else is renumbered.
fn inject(
    built: &mut kernel::ProcessNetwork,
    number: usize,
    link: &Link,
    machine: &Machine,
    registry: &Arc<Registry>,
    environment: &Environment,
) {
    let port = sender(link, &machine.instances, &registry.catalogue);
    let message = port.and_then(|port| port.shape.sends());
    let message = message.unwrap_or_else(|| panic!("{} was checked to send", machine.path(&link.from)));
    let clock = Clock::new(machine.instances[link.from.instance].clock);
    let (first, rest) = InjectorParams::split(link.latency, clock, link.bandwidth.is_some());
    let params = InjectorParams { faults: link.faults.clone(), rest };
    let path = machine.injector(link);
    let process = built.processes.len();
    let end = |port: &str| kernel::Endpoint { process, port: port.into(), index: None };
    let before = &mut built.links[number];
    let options = LinkOptions { latency: Latency::Cycles(1), bandwidth: None, ..before.options };
    let behind = LinkSpec {
        from: end(INJECTOR_OUTPUT),
        to: std::mem::replace(&mut before.to, end(INJECTOR_INPUT)),
        sender: std::mem::take(&mut before.sender),
        options,
    };
    before.options.latency = first;
    built.links.push(behind);
    let environment = environment.clone();
    built.processes.push((message.injector)(InjectorSite { path, clock, environment, params }));
}

fn link(link: &Link) -> LinkSpec {
    let capacity = link.capacity.unwrap_or(DEFAULT_CAPACITY);
    LinkSpec {
        from: endpoint(&link.from),
        to: endpoint(&link.to),
        sender: link.sender_index,
        options: LinkOptions { latency: link.latency, capacity, bandwidth: link.bandwidth },
    }
}

fn endpoint(end: &Endpoint) -> kernel::Endpoint {
    kernel::Endpoint { process: end.instance, port: end.port.clone(), index: end.index }
}

/// Builds the machine and runs it to its end.
///
/// # Panics
/// As [`build`]. A component that panics ends the run with [`Outcome::Failed`] instead.
pub fn run(
    machine: &Machine,
    registry: &Arc<Registry>,
    environment: &Environment,
    options: &RunOptions,
) -> RunReport {
    RunReport::new(build(machine, registry, environment).run(options), environment)
}

/// The statistics that the processes of a held machine that [`build`] made show, in the order of their paths.
pub fn statistics(shown: Vec<Option<Shown>>) -> Vec<StatRow> {
    let rows = shown.into_iter().flatten().filter_map(|one| one.downcast::<Vec<StatRow>>().ok());
    rows.flat_map(|rows| *rows).collect()
}
