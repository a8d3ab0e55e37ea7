//! The CTA scheduler: gives thread blocks to SMs as its policy says.
//!
//! A policy is one file with its parameters and one line in the list. It sees launches and SMs as this component
//! knows them from messages; resources, messages and the end of launches are handled here, once.

counterpoint_framework::variants! {
    /// Registers the policies.
    pub(crate) fn register, of dyn CtaPolicy;

    mod fifo::Fifo;
}

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use counterpoint_framework::kernel::{Fault, Source};
use counterpoint_framework::model::{
    Choose, Component, Context, Counter, Distribution, Invalid, Params, Ports, Stats,
};
use counterpoint_framework::telemetry::{Attribute, Level, Meter, SpanId};
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::launch::{
    Launch, LaunchDone, LaunchId, LaunchServer, RunCta, SmClient, SmEvent, SmResources, Start,
};

/// Decides which thread block goes where.
pub trait CtaPolicy {
    /// The next block to place, if any can and should be placed now. Called until it gives nothing; every placement is
    /// in effect when it is called again.
    fn place(&mut self, view: &View<'_>) -> Option<Placement>;
}

/// The next block of a launch goes to an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Index among the launches in view.
    pub launch: usize,
    /// Index of the SM.
    pub sm: usize,
}

/// What a policy sees.
pub struct View<'a> {
    /// The launches that have not ended, oldest first.
    pub launches: &'a [Running],
    /// The SMs.
    pub sms: &'a [Sm],
}

impl View<'_> {
    /// Whether the SM can take a block of the launch in this cycle.
    pub fn fits(&self, launch: usize, sm: usize) -> bool {
        let (sm, demand) = (&self.sms[sm], &self.launches[launch].demand);
        sm.ready && covers(&sm.free, demand)
    }
}

/// A launch that has not ended.
#[derive(Clone, Debug)]
pub struct Running {
    /// The launch.
    pub launch: Arc<Launch>,
    /// What one block needs.
    pub demand: SmResources,
    /// Blocks placed so far; they are placed in the order of their index.
    pub placed: u32,
    /// Blocks that have ended.
    pub ended: u32,
    span: SpanId,
}

impl Running {
    /// Blocks that have not been placed.
    pub fn waiting(&self) -> u32 {
        self.launch.ctas() - self.placed
    }
}

/// An SM as the scheduler knows it.
#[derive(Clone, Debug, Default)]
pub struct Sm {
    /// What is left of its resources.
    pub free: SmResources,
    /// Blocks on it, per launch.
    pub resident: BTreeMap<LaunchId, u32>,
    /// It can take a block in this cycle: one block a cycle, and a credit for the message.
    pub ready: bool,
    total: SmResources,
}

/// What one block of a launch needs, threads in whole warps.
pub fn demand(launch: &Launch) -> SmResources {
    let threads = launch.threads().next_multiple_of(32);
    // Registers are allotted to warps in units of four a thread (GPGPU-Sim 3.x).
    let registers = threads * launch.program.registers_per_thread().next_multiple_of(4);
    SmResources { threads, ctas: 1, registers, shared: launch.program.shared_bytes() + launch.dynamic_shared }
}

fn covers(free: &SmResources, demand: &SmResources) -> bool {
    free.threads >= demand.threads
        && free.ctas >= demand.ctas
        && free.registers >= demand.registers
        && free.shared >= demand.shared
}

fn take(free: &mut SmResources, demand: &SmResources) {
    free.threads -= demand.threads;
    free.ctas -= demand.ctas;
    free.registers -= demand.registers;
    free.shared -= demand.shared;
}

fn give_back(free: &mut SmResources, demand: &SmResources) {
    free.threads += demand.threads;
    free.ctas += demand.ctas;
    free.registers += demand.registers;
    free.shared += demand.shared;
}

/// The policy.
#[derive(Clone, Debug, Params)]
pub struct CtaSchedulerParams {
    /// Which block goes where, and when.
    #[param(default = "fifo")]
    policy: Choose<dyn CtaPolicy>,
}

/// The ports of a CTA scheduler.
#[derive(Ports)]
pub struct CtaSchedulerPorts {
    /// The command processor.
    launches: LaunchServer,
    /// The SMs.
    sms: Vec<SmClient>,
}

/// What a CTA scheduler counts.
#[derive(Default, Stats)]
pub struct CtaSchedulerStats {
    /// Launches that have ended.
    launches: Counter,
    /// Blocks placed.
    ctas: Counter,
    /// Cycles from a block's placement to the message of its end.
    cta_cycles: Distribution,
}

/// The CTA scheduler.
pub struct CtaScheduler {
    policy: Box<dyn CtaPolicy>,
    launches: Vec<Running>,
    sms: Vec<Sm>,
    /// When each block under way was placed, and its span.
    under_way: BTreeMap<(LaunchId, u32), (u64, SpanId)>,
    done: VecDeque<LaunchDone>,
    /// Tells how far the run is.
    meter: Arc<Meter>,
}

impl CtaScheduler {
    fn begin(&mut self, launch: Arc<Launch>, sim: &Context<CtaSchedulerStats>) -> Result<(), Fault> {
        let demand = demand(&launch);
        let name = launch.program.name();
        if let Some(sm) = self.sms.iter().position(|sm| !covers(&sm.total, &demand)) {
            let total = &self.sms[sm].total;
            return Err(Fault::new(format!(
                "a block of {name} needs {} threads, {} registers and {} B of shared memory; SM {sm} has {}, {} and {}",
                demand.threads, demand.registers, demand.shared, total.threads, total.registers, total.shared
            )));
        }
        let title = format!("{name} #{}", launch.id.0);
        let span = sim.open_span(Level::Kernels, launch.span, title, 0);
        self.launches.push(Running { launch, demand, placed: 0, ended: 0, span });
        Ok(())
    }

    fn event(&mut self, sm: usize, event: SmEvent, sim: &Context<CtaSchedulerStats>) -> Result<(), Fault> {
        match event {
            SmEvent::Resources(resources) => {
                self.sms[sm].total = resources;
                self.sms[sm].free = resources;
            }
            SmEvent::CtaDone { launch, index } => {
                let unknown = || {
                    Fault::new(format!(
                        "SM {sm} ended block {index} of launch {}, which it has not",
                        launch.0
                    ))
                };
                let (placed, span) = self.under_way.remove(&(launch, index)).ok_or_else(unknown)?;
                let place = self
                    .launches
                    .iter()
                    .position(|running| running.launch.id == launch)
                    .ok_or_else(unknown)?;
                sim.stats.cta_cycles.record(sim.cycle() - placed);
                sim.close_span(span, Vec::new());
                let running = &mut self.launches[place];
                give_back(&mut self.sms[sm].free, &running.demand);
                let resident = self.sms[sm].resident.entry(launch).or_default();
                *resident -= 1;
                if *resident == 0 {
                    self.sms[sm].resident.remove(&launch);
                }
                running.ended += 1;
                self.meter.add(1);
                if running.ended == running.launch.ctas() {
                    sim.stats.launches.add(1);
                    let ctas = Attribute::Number(u64::from(running.ended));
                    let stream = Attribute::Number(u64::from(running.launch.stream));
                    sim.close_span(running.span, vec![("ctas", ctas), ("stream", stream)]);
                    self.done.push_back(LaunchDone(launch));
                    self.launches.remove(place);
                }
            }
        }
        Ok(())
    }

    /// Places what the policy wants placed in this cycle.
    fn place(&mut self, io: &mut CtaSchedulerPorts, sim: &Context<CtaSchedulerStats>) {
        for (sm, socket) in self.sms.iter_mut().zip(&io.sms) {
            sm.ready = socket.tx.credits() > 0;
        }
        loop {
            let view = View { launches: &self.launches, sms: &self.sms };
            let Some(Placement { launch, sm }) = self.policy.place(&view) else { return };
            debug_assert!(view.fits(launch, sm), "a policy places only what fits");
            let running = &mut self.launches[launch];
            let index = running.placed;
            running.placed += 1;
            let id = running.launch.id;
            take(&mut self.sms[sm].free, &running.demand);
            *self.sms[sm].resident.entry(id).or_default() += 1;
            self.sms[sm].ready = false;
            sim.stats.ctas.add(1);
            let span = if sim.wants_spans(Level::Ctas) {
                sim.open_span(Level::Ctas, Some(running.span), format!("cta {index}"), sm as u32)
            } else {
                SpanId(0)
            };
            self.under_way.insert((id, index), (sim.cycle(), span));
            let (number, sms) = (sm as u32, self.sms.len() as u32);
            let message = RunCta { launch: Arc::clone(&running.launch), index, sm: number, sms };
            if let Some(permit) = io.sms[sm].tx.try_reserve() {
                permit.send(message);
            }
        }
    }
}

impl Component for CtaScheduler {
    const KIND: &'static str = "gpu/cta-scheduler";
    const DOC: &'static str = "Gives thread blocks to SMs as its policy says.";
    const DAEMON: bool = true;
    type Params = CtaSchedulerParams;
    type Ports = CtaSchedulerPorts;
    type Stats = CtaSchedulerStats;

    fn new(params: CtaSchedulerParams) -> Result<Self, Invalid> {
        let policy = params.policy.build();
        Ok(CtaScheduler {
            policy,
            launches: Vec::new(),
            sms: Vec::new(),
            under_way: BTreeMap::new(),
            done: VecDeque::new(),
            meter: Arc::default(),
        })
    }

    async fn run(
        &mut self,
        io: &mut CtaSchedulerPorts,
        sim: &Context<CtaSchedulerStats>,
    ) -> Result<(), Fault> {
        self.sms = vec![Sm::default(); io.sms.len()];
        self.meter = sim.resource().unwrap_or_default();
        // Every SM introduces itself before it is given anything.
        for index in 0..io.sms.len() {
            let event = io.sms[index].rx.recv().await;
            self.event(index, event, sim)?;
        }
        loop {
            for index in 0..io.sms.len() {
                if let Some(event) = io.sms[index].rx.try_recv() {
                    self.event(index, event, sim)?;
                }
            }
            if let Some(Start(launch)) = io.launches.rx.try_recv() {
                self.begin(launch, sim)?;
            }
            let placed = sim.stats.ctas.get();
            self.place(io, sim);
            if !self.done.is_empty()
                && let Some(permit) = io.launches.tx.try_reserve()
                && let Some(done) = self.done.pop_front()
            {
                permit.send(done);
            }
            if sim.stats.ctas.get() > placed {
                // An SM takes one block a cycle: there may be more to place.
                sim.tick().await;
                continue;
            }
            let unplaced = self.launches.iter().any(|running| running.waiting() > 0);
            let events = io.sms.iter().map(|sm| sm.rx.when(true));
            let credits = io.sms.iter().map(|sm| sm.tx.when(unplaced && sm.tx.credits() == 0));
            let launches = [io.launches.rx.when(true), io.launches.tx.when(!self.done.is_empty())];
            sim.set_busy(!self.launches.is_empty());
            sim.wait(SimTime::MAX, events.chain(credits).chain(launches)).await;
        }
    }
}
