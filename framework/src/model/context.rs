//! The simulation as a component's `run` sees it, besides its ports.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use super::component::Environment;
use super::logs::LogLevel;
use super::slots::Equipment;
use super::stats::{StatVisitor, Stats};
use crate::kernel::{EventHasher, Process};
use crate::telemetry::collector::{Beginning, Collector};
use crate::telemetry::{Attributes, BusyTrack, Lane, Level, SpanId};

/// The target under which a simulation logs.
const LOG: &str = "simulation";

/// The level that `tracing` lets through.
fn listened() -> LogLevel {
    match () {
        () if tracing::enabled!(target: LOG, tracing::Level::TRACE) => LogLevel::Trace,
        () if tracing::enabled!(target: LOG, tracing::Level::DEBUG) => LogLevel::Debug,
        () => LogLevel::Info,
    }
}

/// Resources of a run: the program to execute, the files of the host. Immutable or an edge to the outside
/// world, never a channel between components.
#[derive(Clone, Default)]
pub struct Resources(BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Resources {
    /// Adds a resource; one of each type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, resource: Arc<T>) {
        self.0.insert(TypeId::of::<T>(), resource);
    }

    /// The resource of type `T`.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.get(&TypeId::of::<T>()).and_then(|resource| Arc::clone(resource).downcast().ok())
    }
}

/// The simulation as a component sees it: simulated time (through [`Process`]), its statistics, spans, random numbers.
pub struct Context<S> {
    process: Rc<Process>,
    path: String,
    /// Fixed when the run begins.
    log: LogLevel,
    /// The component's statistics.
    pub stats: S,
    pub(super) equipment: Equipment,
    pub(crate) spans: Collector,
    resources: Arc<Resources>,
    random: Cell<u64>,
}

impl<S: Stats> Context<S> {
    pub(super) fn new(
        process: Rc<Process>,
        path: String,
        environment: &Environment,
        equipment: Equipment,
    ) -> Self {
        let Environment { resources, recording, seed, .. } = environment;
        let mut hasher = EventHasher::default();
        (seed, &path).hash(&mut hasher);
        let spans = Collector::new(*recording, process.index());
        let (resources, random) = (Arc::clone(resources), Cell::new(hasher.finish()));
        let log = environment.logs.as_ref().map_or_else(listened, |logs| logs.level(&path));
        Context { process, path, log, stats: S::default(), equipment, spans, resources, random }
    }

    /// Shows the statistics of the component, and those of the variants in its slots.
    pub(super) fn show(&self, visitor: &mut dyn StatVisitor) {
        self.stats.visit(visitor);
        self.equipment.visit(visitor);
    }

    /// The component's place in the machine.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The run's resource of this type, if there is one.
    pub fn resource<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.resources.get()
    }

    /// The next random number, 64 uniform bits, of this component's own stream, seeded by the run's seed and
    /// the component's path. Draws of other components do not change it.
    pub fn random(&self) -> u64 {
        // SplitMix64.
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Writes a line of level `debug` to the simulator's log, with simulated time and path: for what happens rarely, such as
    /// the begin of a launch. The message is made only if the component logs at this level; otherwise this is a comparison.
    #[inline]
    pub fn debug(&self, message: impl FnOnce() -> String) {
        if self.log >= LogLevel::Debug {
            self.write_debug(message);
        }
    }

    /// Logs a message of level `trace`: for every message, miss or command.
    #[inline]
    pub fn trace(&self, message: impl FnOnce() -> String) {
        if self.log >= LogLevel::Trace {
            self.write_trace(message);
        }
    }

    #[cold]
    #[inline(never)]
    fn write_debug(&self, message: impl FnOnce() -> String) {
        let (time, path) = (self.process.now(), self.path.as_str());
        tracing::debug!(target: LOG, %time, path, "{}", message());
    }

    #[cold]
    #[inline(never)]
    fn write_trace(&self, message: impl FnOnce() -> String) {
        let (time, path) = (self.process.now(), self.path.as_str());
        tracing::trace!(target: LOG, %time, path, "{}", message());
    }

    /// Whether spans of this level are kept; lets a component skip making names for nothing.
    pub fn wants_spans(&self, level: Level) -> bool {
        self.spans.wants(level)
    }

    /// Begins a span now, on a track of this component.
    pub fn open_span(
        &self,
        level: Level,
        parent: Option<SpanId>,
        name: impl Into<Cow<'static, str>>,
        lane: Lane,
    ) -> SpanId {
        let name = name.into();
        self.debug(|| format!("begin {name}"));
        self.spans.open(Beginning { level, parent, name, lane, start: self.process.now() })
    }

    /// Ends a span now; `attributes` are its other properties, by name.
    pub fn close_span(&self, id: SpanId, attributes: Attributes) {
        if self.log >= LogLevel::Debug
            && let Some(name) = self.spans.name(id)
        {
            self.debug(|| format!("end {name}"));
        }
        self.spans.close(id, self.process.now(), attributes);
    }

    /// A track for the busy periods of a part of this component, with the counts of each, by name.
    pub fn busy_track(&self, name: &'static str, counts: &'static [&'static str]) -> Rc<BusyTrack> {
        self.spans.track(name, counts)
    }
}

impl<S> Deref for Context<S> {
    type Target = Process;
    fn deref(&self) -> &Process {
        &self.process
    }
}
