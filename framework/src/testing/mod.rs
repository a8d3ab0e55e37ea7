//! Driving and probing a single component: exact timing without a whole machine.
//!
//! A [`Bench`] connects every port of the component under test to a script. All links take one cycle of the
//! component's clock; times in scripts and logs are edges of that clock *as the component sees them*: a message driven
//! at cycle n can be received at edge n, and one logged at cycle n was sent at edge n.
//!
//! [`run_text`] and [`pair`] make whole machines that are small enough for a test.

mod small;
pub mod toys;

pub use small::{pair, run_text};

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use crate::kernel::{
    Endpoint, Fault, LinkOptions, LinkSpec, Message, Outcome, Process, ProcessNetwork, ProcessSpec,
    RunOptions, Socket, Source,
};
use crate::model::{
    Component, Diagnostics, Environment, Families, Gear, Params, Reader, Registry, Remains, Report,
    SourceMap, StatRow, equipped_process, process, yaml,
};
use crate::time::{Clock, Hertz, Latency, SimTime};

/// Parameters as a machine file would give them.
///
/// # Panics
/// If the text is not right, with the report that a user would see.
#[track_caller]
pub fn params<P: Params>(families: &Families, text: &str) -> P {
    read(families, text).0
}

/// Reads parameters as [`params`] does, with the equipment of the variants in their slots.
#[track_caller]
fn read<P: Params>(families: &Families, text: &str) -> (P, Vec<Gear>) {
    let (mut sources, mut diagnostics) = (SourceMap::default(), Diagnostics::default());
    let file = sources.add("params.yaml", text);
    let node = yaml::parse(file, &sources, &mut diagnostics);
    let mut reader = Reader::new(families, &mut diagnostics);
    let read = node.and_then(|node| P::read(&node, &mut reader));
    let gear = reader.into_gear();
    match read.filter(|_| diagnostics.is_empty()) {
        Some(params) => (params, gear),
        None => panic!("{}", Report::new(&diagnostics, sources).render()),
    }
}

/// Messages that a component sent, with the cycle of each.
pub struct Probe<M>(Arc<Mutex<Vec<(u64, M)>>>);

impl<M> Clone for Probe<M> {
    fn clone(&self) -> Self {
        Probe(Arc::clone(&self.0))
    }
}

impl<M> Default for Probe<M> {
    fn default() -> Self {
        Probe(Arc::default())
    }
}

impl<M> Probe<M> {
    /// Adds a message that was sent at this cycle.
    pub fn log(&self, cycle: u64, message: M) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((cycle, message));
    }

    /// The messages sent, each with its cycle.
    pub fn take(&self) -> Vec<(u64, M)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The cycles alone.
    pub fn cycles(&self) -> Vec<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(cycle, _)| *cycle).collect()
    }

    /// Asserts that the first message that satisfies `which` was sent at exactly this cycle, and not earlier.
    ///
    /// # Panics
    /// If it was not.
    #[track_caller]
    pub fn assert_earliest(&self, cycle: u64, which: impl Fn(&M) -> bool) {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = log.iter().find(|(_, message)| which(message)).map(|(cycle, _)| *cycle);
        assert_eq!(found, Some(cycle), "the message was expected at cycle {cycle}");
    }
}

/// A component between scripts.
pub struct Bench {
    machine: ProcessNetwork,
    clock: Clock,
    /// Depth of the buffers between the component and the scripts.
    capacity: u32,
}

impl Bench {
    /// A bench for a component that runs at `clock`. The component is built on the thread that runs it.
    pub fn new<C: Component>(clock: Hertz, make: impl FnOnce() -> C + Send + 'static) -> Self {
        Self::within(clock, Environment::default(), make)
    }

    /// A bench for a component whose parameters are given as in a machine file. `register` registers the families from
    /// which the parameters choose.
    ///
    /// # Panics
    /// If the parameters are not right.
    pub fn reading<C: Component>(
        clock: Hertz,
        environment: Environment,
        register: impl FnOnce(&mut Registry) + Send + 'static,
        text: &str,
    ) -> Self {
        let text = text.to_owned();
        let make = move || {
            let mut registry = Registry::default();
            register(&mut registry);
            let (params, gear) = read(registry.families(), &text);
            let made = C::new(params).unwrap_or_else(|invalid| panic!("{}: {}", C::KIND, invalid.0));
            (made, gear.into())
        };
        let clock = Clock::new(clock);
        Self::of(clock, equipped_process::<C>("unit".into(), clock, environment, make))
    }

    /// A bench whose component sees the given environment.
    pub fn within<C: Component>(
        clock: Hertz,
        environment: Environment,
        make: impl FnOnce() -> C + Send + 'static,
    ) -> Self {
        let clock = Clock::new(clock);
        Self::of(clock, process::<C>("unit".into(), clock, environment, make))
    }

    fn of(clock: Clock, unit: ProcessSpec) -> Self {
        let mut machine = ProcessNetwork::default();
        machine.processes.push(unit);
        Bench { machine, clock, capacity: 64 }
    }

    /// Makes the buffers between the component and the scripts `capacity` messages deep.
    pub fn capacity(&mut self, capacity: u32) -> &mut Self {
        self.capacity = capacity;
        self
    }

    fn attach(
        &mut self,
        mut process: ProcessSpec,
        port: &str,
        index: Option<u32>,
        to_unit: bool,
        from_unit: bool,
    ) {
        let unit = Endpoint { process: 0, port: port.into(), index };
        let number = self.machine.processes.len();
        let script = Endpoint { process: number, port: "port".into(), index: None };
        let options = LinkOptions { latency: Latency::Cycles(1), capacity: self.capacity, bandwidth: None };
        if to_unit {
            // Scripts of one input are its senders in the order in which they are attached.
            let sender = self.machine.links.iter().filter(|link| link.to == unit).count() as u32;
            self.machine.links.push(LinkSpec { from: script.clone(), to: unit.clone(), sender, options });
        }
        if from_unit {
            self.machine.links.push(LinkSpec { from: unit, to: script, sender: 0, options });
        }
        process.path = format!("{} ({number})", process.path);
        self.machine.processes.push(process);
    }

    /// Lets the run last until this cycle at least.
    pub fn lasts(&mut self, cycle: u64) -> &mut Self {
        let (clock, path) = (self.clock, format!("timer ({})", self.machine.processes.len()));
        self.machine.processes.push(ProcessSpec::new(path, clock, false, move |wiring| {
            let process = wiring.process();
            async move {
                process.until(edge(clock, cycle)).await;
                Ok(())
            }
        }));
        self
    }

    /// Connects a socket to a script of one's own, that sees it from the other side. The run lasts until it returns,
    /// unless it is a daemon.
    pub fn script<S: Message, R: Message, F>(
        &mut self,
        port: &str,
        index: Option<u32>,
        daemon: bool,
        body: impl FnOnce(Socket<S, R>, Rc<Process>) -> F + Send + 'static,
    ) where
        F: Future<Output = Result<(), Fault>> + 'static,
    {
        let path = format!("script of {port}");
        let process = ProcessSpec::new(path, self.clock, daemon, move |wiring| {
            body(wiring.socket::<S, R>("port", None), wiring.process())
        });
        self.attach(process, port, index, true, true);
    }

    /// Sends messages into an input, each so that it can be received at the given cycle (1 or later).
    pub fn drive<M: Message>(&mut self, port: &str, index: Option<u32>, script: Vec<(u64, M)>) {
        let clock = self.clock;
        let body = ProcessSpec::new(format!("drive {port}"), clock, false, move |wiring| {
            let (mut out, process) = (wiring.output::<M>("port", None), wiring.process());
            async move {
                for (cycle, message) in script {
                    process.until(edge(clock, cycle.saturating_sub(1))).await;
                    out.send(message).await;
                }
                Ok(())
            }
        });
        self.attach(body, port, index, true, false);
    }

    /// Takes and logs the messages of an output.
    pub fn probe<M: Message>(&mut self, port: &str, index: Option<u32>) -> Probe<M> {
        let probe = Probe::default();
        let log = probe.clone();
        let body = ProcessSpec::new(format!("probe {port}"), self.clock, true, move |wiring| {
            let (mut input, process) = (wiring.input::<M>("port", None), wiring.process());
            async move {
                loop {
                    let message = input.recv().await;
                    log.log(process.clock().index(process.now()) - 1, message);
                }
            }
        });
        self.attach(body, port, index, false, true);
        probe
    }

    /// Drives a socket with a script and logs the replies. The run lasts until `replies` messages have come.
    pub fn client<S: Message, R: Message>(
        &mut self,
        port: &str,
        index: Option<u32>,
        script: Vec<(u64, S)>,
        replies: usize,
    ) -> Probe<R> {
        let probe = Probe::default();
        let (log, clock) = (probe.clone(), self.clock);
        let body = ProcessSpec::new(format!("client of {port}"), clock, false, move |wiring| {
            let (mut socket, process) = (wiring.socket::<S, R>("port", None), wiring.process());
            async move {
                let mut script: VecDeque<(u64, S)> = script.into();
                let mut missing = replies;
                while missing > 0 || !script.is_empty() {
                    while let Some(message) = socket.rx.try_recv() {
                        log.log(clock.index(process.now()) - 1, message);
                        missing = missing.saturating_sub(1);
                    }
                    let due = |(cycle, _): &(u64, S)| edge(clock, cycle.saturating_sub(1));
                    if script.front().is_some_and(|entry| due(entry) <= process.now())
                        && let Some((_, message)) = script.pop_front()
                    {
                        socket.tx.send(message).await;
                        continue;
                    }
                    if missing > 0 || !script.is_empty() {
                        process.wait(script.front().map_or(SimTime::MAX, due), [socket.rx.when(true)]).await;
                    }
                }
                Ok(())
            }
        });
        self.attach(body, port, index, true, true);
        probe
    }

    /// Answers a socket: `answer` gives for each message the answer, and the number of cycles from its
    /// arrival until the answer can be received. The log holds the component's messages.
    pub fn server<S: Message, R: Message + Clone>(
        &mut self,
        port: &str,
        index: Option<u32>,
        mut answer: impl FnMut(R) -> Option<(u64, S)> + Send + 'static,
    ) -> Probe<R> {
        let probe = Probe::default();
        let (log, clock) = (probe.clone(), self.clock);
        let body = ProcessSpec::new(format!("server of {port}"), clock, true, move |wiring| {
            let Socket { mut tx, mut rx } = wiring.socket::<S, R>("port", None);
            let process = wiring.process();
            async move {
                loop {
                    let message = rx.recv().await;
                    log.log(clock.index(process.now()) - 1, message.clone());
                    if let Some((cycles, reply)) = answer(message) {
                        let wait = clock.cycles(cycles.saturating_sub(1)).floor();
                        tx.send_after(wait, reply).await;
                    }
                }
            }
        });
        self.attach(body, port, index, true, true);
        probe
    }

    /// Runs until every script has ended (and the component, if it is not a daemon).
    pub fn run(self) -> BenchReport {
        self.run_with(&RunOptions::default())
    }

    /// Runs with options.
    pub fn run_with(self, options: &RunOptions) -> BenchReport {
        let finished = self.machine.run(options);
        let unit = finished.results.into_iter().next().and_then(|unit| unit.downcast::<Remains>().ok());
        BenchReport { outcome: finished.outcome, stats: unit.map(|unit| unit.stats).unwrap_or_default() }
    }
}

/// The end of a bench.
pub struct BenchReport {
    /// The end.
    pub outcome: Outcome,
    /// The component's statistics.
    pub stats: Vec<StatRow>,
}

impl BenchReport {
    /// The value of a counter.
    ///
    /// # Panics
    /// If there is no counter of that name.
    #[track_caller]
    pub fn count(&self, name: &str) -> u64 {
        let (part, counter) = name.rsplit_once('.').unwrap_or(("", name));
        let row = self.stats.iter().find(|row| row.label.name == counter && row.path.ends_with(part));
        match row.map(|row| row.value) {
            Some(crate::model::StatValue::Count(count)) => count,
            other => panic!("no counter {name}: {other:?}"),
        }
    }
}

fn edge(clock: Clock, cycle: u64) -> SimTime {
    clock.after(crate::time::Edge::default(), clock.cycles(cycle)).time()
}
