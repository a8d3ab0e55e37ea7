//! Components: independent processes with parameters, ports and statistics, of a named kind.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use super::context::{Context, Resources};
use super::counters::{self, CounterName};
use super::logs::Logs;
use super::params::Params;
use super::ports::Ports;
use super::slots::{Equipment, Gear};
use super::stats::{Rows, StatRow, Stats};
use crate::kernel::{DEFAULT_WEIGHT, Fault, ProcessSpec, Started};
use crate::telemetry::collector::Parents;
use crate::telemetry::{Recording, Span};
use crate::time::Clock;

/// Parameters that are right one by one but wrong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(pub String);

impl<T: Into<String>> From<T> for Invalid {
    fn from(reason: T) -> Self {
        Invalid(reason.into())
    }
}

/// An independent part of a machine.
///
/// A component owns its state and learns about others only through ports. It is built from its parameters
/// and then runs as an asynchronous process in simulated time.
pub trait Component: Sized + 'static {
    /// The name by which YAML chooses it, such as `memory/l2-slice`.
    const KIND: &'static str;
    /// The model that it is, in a sentence or more.
    const DOC: &'static str;
    /// Whether the component serves others for ever: a run does not wait for it to return.
    const DAEMON: bool = false;
    /// Nanoseconds of computing per busy cycle, roughly: its weight when the machine is cut into islands and
    /// given to threads. Results do not depend on it.
    const WEIGHT: u32 = DEFAULT_WEIGHT;
    /// Additional weight per link that begins or ends at the component, for a component that checks all its ports in every
    /// cycle.
    const LINK_WEIGHT: u32 = 0;
    /// Role in a machine, by which others find the component whatever its kind; empty: none. The user of a role defines the
    /// statistics that its components have.
    const ROLE: &'static str = "";
    /// Parameters: a struct with `derive(Clone, Params)`, or `()`. They are read once, and every component that has them gets a copy.
    type Params: Params + Clone + Send + Sync + 'static;
    /// Ports: a struct with `derive(Ports)`.
    type Ports: Ports;
    /// Statistics: a struct with `derive(Default, Stats)`, or `()`.
    type Stats: Stats;

    /// Builds the component.
    ///
    /// # Errors
    /// When parameters contradict each other.
    fn new(params: Self::Params) -> Result<Self, Invalid>;

    /// The component's process, started at time zero. The process waits with `.await`, in simulated time; between two waits
    /// no time passes. A component that is no daemon keeps the run going until its process returns.
    ///
    /// # Errors
    /// If the component cannot continue: the run ends, with the component's path and the time.
    fn run(
        &mut self,
        io: &mut Self::Ports,
        sim: &Context<Self::Stats>,
    ) -> impl Future<Output = Result<(), Fault>>;
}

/// State shared by all components of a run: none of it changes while the run lasts.
#[derive(Clone, Default)]
pub struct Environment {
    /// Resources of the run, one of each type; see [`Context::resource`].
    pub resources: Arc<Resources>,
    /// The spans that are kept.
    pub recording: Recording,
    /// Components name their samples: only a run that takes samples needs it.
    pub sampled: bool,
    /// Components that log; without it the level is what `tracing` lets through when the run begins.
    pub logs: Option<Arc<Logs>>,
    /// Seed of all random numbers; each component draws from a stream of its own.
    pub seed: u64,
}

/// The state that a component leaves behind.
#[derive(Default)]
pub struct Remains {
    /// Its statistics.
    pub stats: Vec<StatRow>,
    /// Names of its samples, if they were requested.
    pub counters: Vec<CounterName>,
    /// Its spans.
    pub spans: Vec<Span>,
    /// Launches that are added up in these spans, each with the span that it is part of.
    pub(crate) parents: Parents,
}

/// A component as a process that the kernel can start. `make` is called on the thread that runs it.
pub fn process<C: Component>(
    path: String,
    clock: Clock,
    environment: Environment,
    make: impl FnOnce() -> C + Send + 'static,
) -> ProcessSpec {
    equipped_process(path, clock, environment, move || (make(), Arc::default()))
}

/// Like [`process`], for a component whose parameters have slots, with the equipment of the chosen variants.
pub(crate) fn equipped_process<C: Component>(
    path: String,
    clock: Clock,
    environment: Environment,
    make: impl FnOnce() -> (C, Arc<[Gear]>) + Send + 'static,
) -> ProcessSpec {
    let place = path.clone();
    let start = move |wiring: &mut crate::kernel::Wiring<'_>| {
        let (mut component, gear) = make();
        let mut io = C::Ports::wire(wiring);
        let equipment = Equipment::wire(&gear, wiring);
        let context: Rc<Context<C::Stats>> =
            Rc::new(Context::new(wiring.process(), place.clone(), &environment, equipment));
        let (sim, sampled, viewed) = (Rc::clone(&context), Rc::clone(&context), Rc::clone(&context));
        let own = place.clone();
        let finish = move || {
            let stats = Rows::of(&place, &mut |visitor| context.show(visitor));
            let wanted = environment.sampled;
            let counters =
                if wanted { counters::names(&place, |visitor| context.show(visitor)) } else { Vec::new() };
            let (spans, parents) = context.spans.take(&place);
            Box::new(Remains { stats, counters, spans, parents }) as Box<dyn std::any::Any + Send>
        };
        Started {
            body: Box::pin(async move { component.run(&mut io, &sim).await }),
            finish: Box::new(finish),
            sampler: Some(Box::new(move |until, into| {
                counters::values(until, |visitor| sampled.show(visitor), into);
            })),
            viewer: Some(Box::new(move || Box::new(Rows::of(&own, &mut |visitor| viewed.show(visitor))))),
        }
    };
    ProcessSpec {
        path,
        clock,
        daemon: C::DAEMON,
        weight: C::WEIGHT,
        link_weight: C::LINK_WEIGHT,
        start: Box::new(start),
    }
}
