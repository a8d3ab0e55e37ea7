//! The CTA scheduler: assigns thread blocks to SMs by its policy.
//!
//! A policy is one file with its parameters and one line in the list. It sees launches and SMs as this component
//! knows them from messages; resources, messages and the end of launches are handled here, once.

pub mod occupancy;
mod policy;
pub(super) mod running;
mod stats;

counterpoint_framework::variants! {
    pub(crate) fn register, of dyn CtaPolicy;

    mod fifo::Fifo;
    mod leftover::LeftOver;
    mod concurrent::Concurrent;
    mod fixed_split::FixedSplit;
}

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use counterpoint_framework::kernel::{Fault, HangReason, Source};
use counterpoint_framework::model::{Component, Context, Invalid, Params, Ports, Slot, Variant};
use counterpoint_framework::telemetry::{Lane, Level, Meter};
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::launch::{
    Counted, Launch, LaunchEvent, LaunchId, LaunchServer, RunCta, SmClient, SmEvent, SmResources,
    ToScheduler, ToSm,
};
use counterpoint_protocols::launch_rows::LaunchRows;
use counterpoint_protocols::page_log::PageLog;
use counterpoint_protocols::roles;

pub use occupancy::Occupancy;
pub use policy::{CtaPolicy, Departure, Placement, Turn, View, check, neighbours};
pub use running::{Resident, Running, Sm};
pub use stats::CtaSchedulerStats;

/// The policy, and the limits that it works within.
#[derive(Clone, Debug, Params)]
pub struct CtaSchedulerParams {
    /// Policy that places blocks: which one, on which SM, and when.
    #[param(default = <fifo::Fifo as Variant<dyn CtaPolicy>>::NAME)]
    policy: Slot<dyn CtaPolicy>,
    /// Kernels that run at a time at most; those beyond wait in the order of their arrival. GPGPU-Sim has 8
    /// (gpgpu_max_concurrent_kernel), Fermi 16, Kepler of compute capability 3.5 has 32.
    #[param(default = "8", min = "1", max = "1024")]
    concurrent_kernels: u32,
    /// Granularity of an SM's resource allocation to blocks.
    occupancy: Occupancy,
}

impl CtaSchedulerParams {
    /// Granularity of an SM's resource allocation.
    pub(super) fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }
}

/// The ports of a CTA scheduler.
#[derive(Ports)]
pub struct CtaSchedulerPorts {
    /// The command processor.
    launches: LaunchServer,
    /// The SMs.
    sms: Vec<SmClient>,
}

/// A launch that is to run.
struct Arrived {
    launch: Arc<Launch>,
    demand: SmResources,
    cycle: u64,
}

/// The CTA scheduler.
pub struct CtaScheduler(CtaSchedulerParams);

/// The CTA scheduler as it runs.
struct Scheduler {
    policy: Box<dyn CtaPolicy>,
    policy_name: &'static str,
    concurrent_kernels: usize,
    occupancy: Occupancy,
    /// The launches that wait for an entry of the table.
    arrived: VecDeque<Arrived>,
    /// The table of running kernels, oldest first.
    launches: Vec<Running>,
    sms: Vec<Sm>,
    done: VecDeque<LaunchEvent>,
    /// Notes of gated launches, if they are wanted.
    page_log: Option<Arc<PageLog>>,
    rows: Arc<LaunchRows>,
    /// Progress meter of the run.
    meter: Arc<Meter>,
    /// The launches with blocks that are not resident, for the report of a run that hangs.
    unplaced: Rc<RefCell<Vec<Unplaced>>>,
}

/// A launch with blocks that are not resident on an SM.
struct Unplaced {
    launch: Arc<Launch>,
    waiting: u32,
    resident: u32,
}

impl Unplaced {
    /// The reason for which the launch lets others wait, if some of its blocks are resident.
    fn reason(&self) -> Option<HangReason> {
        let Unplaced { launch, waiting, resident } = self;
        let what = if *waiting == 1 { "block has" } else { "blocks have" };
        let text = format!(
            "{waiting} of the {} {what} no place on an SM until one of the {resident} blocks of {} that have one ends: \
             blocks that wait for blocks without a place, as at a barrier of the whole grid, wait for ever",
            launch.ctas(),
            launch.name()
        );
        (*resident > 0).then(|| HangReason::new(text).among(launch.name().to_string(), ""))
    }
}

impl Scheduler {
    fn arrive(&mut self, launch: Arc<Launch>, sim: &Context<CtaSchedulerStats>) -> Result<(), Fault> {
        let demand = self.occupancy.demand(&launch);
        sim.debug(|| {
            format!("takes {} of stream {} with {} blocks", launch.name(), launch.stream, launch.ctas())
        });
        self.policy.arrived(&launch).map_err(Fault::new)?;
        if let Some(log) = &self.page_log
            && launch.precedence.is_gated()
        {
            log.launched(&launch, sim.path());
        }
        if self.launches.is_empty() && self.arrived.is_empty() {
            sim.stats.busy.begin(sim.clock(), sim.cycle());
        }
        self.arrived.push_back(Arrived { launch, demand, cycle: sim.cycle() });
        self.begin(sim)
    }

    /// Lets launches run while the table has room, the first that may of those that wait.
    fn begin(&mut self, sim: &Context<CtaSchedulerStats>) -> Result<(), Fault> {
        let mut next = 0;
        while self.launches.len() < self.concurrent_kernels && next < self.arrived.len() {
            let share = self.policy.share(&self.arrived[next].launch, self.sms.len()).map_err(Fault::new)?;
            let Some(share) = share else {
                next += 1;
                continue;
            };
            let Some(Arrived { launch, demand, cycle }) = self.arrived.remove(next) else { break };
            let lacks = |&sm: &usize| occupancy::blocks(&self.sms[sm].total, &demand) == 0;
            if let Some(sm) = share.clone().find(lacks) {
                let (name, total) = (launch.kernel.name(), &self.sms[sm].total);
                return Err(Fault::new(format!(
                    "a block of {name} needs {} threads, {} registers and {} B of shared memory; SM {sm} has {}, {} and {}",
                    demand.threads,
                    demand.registers,
                    demand.shared,
                    total.threads,
                    total.registers,
                    total.shared
                )));
            }
            let free = |slot: &u32| self.launches.iter().all(|running| running.slot != *slot);
            let slot = (0..).find(free).unwrap_or_default();
            let name = launch.name();
            let span =
                sim.open_span(Level::Kernels, launch.span, name.to_string(), Lane::Numbered("kernel", slot));
            let (stats, others) = sim.stats.of_launch(name, &self.rows);
            let stream_stats = sim.stats.streams.of(self.rows.row(launch.stream));
            stats.stream.set(launch.stream.into());
            let offers: Vec<SmResources> = self.sms[share.clone()].iter().map(|sm| sm.total).collect();
            let fit = offers.iter().map(|offer| occupancy::blocks(offer, &demand)).max();
            stats.cta_threads.set(launch.threads().into());
            stats.ctas_per_sm.set(fit.unwrap_or_default().into());
            self.launches.push(Running {
                slot,
                most_per_sm: self.occupancy.most_per_sm(launch.ctas(), &demand, &offers),
                demand,
                share,
                placed: 0,
                returned: VecDeque::new(),
                ended: 0,
                sms: 0,
                came: cycle,
                first_placed: None,
                span,
                stats,
                stream_stats,
                counts: launch.extra.get::<Counted>().map(|_| Box::default()),
                launch,
                others,
            });
        }
        Ok(())
    }

    fn event(&mut self, sm: usize, event: SmEvent, sim: &Context<CtaSchedulerStats>) -> Result<(), Fault> {
        match event {
            SmEvent::Resources(resources) => {
                self.sms[sm].total = resources;
                self.sms[sm].free = resources;
            }
            SmEvent::CtaDone { launch, index, counts } => {
                let (place, placed) = self.leave(sm, (launch, index))?;
                sim.stats.cta_cycles.record(sim.cycle() - placed);
                let running = &mut self.launches[place];
                running.ended += 1;
                sim.trace(|| format!("block {index} of {} has ended on SM {sm}", running.launch.name()));
                sim.stats.add_block(&counts);
                running.works().for_each(|work| work.add_block(&counts));
                running.add_counts(counts);
                self.meter.end(u64::from(!running.is_helper()));
                if running.ended == running.launch.ctas() {
                    self.end(place, sim)?;
                }
            }
            SmEvent::Preempted { launch, index, counts, context } => {
                let (place, _) = self.leave(sm, (launch, index))?;
                let running = &mut self.launches[place];
                sim.trace(|| format!("block {index} of {} has left SM {sm}", running.launch.name()));
                sim.stats.preempted.add(1);
                sim.stats.add_block(&counts);
                running.works().for_each(|work| work.add_part(&counts));
                running.add_counts(counts);
                running.returned.push_back((index, context));
            }
            SmEvent::Kept { launch, index } => {
                if let Some(block) = self.sms[sm].block(launch, index) {
                    block.leaves = false;
                }
                self.policy.kept(sm, launch, index);
            }
            SmEvent::Sample { launch, counts } => self.policy.sampled(sm, launch, &counts),
        }
        Ok(())
    }

    /// A block has ended on an SM, or has left it; gives the place of its launch, and the cycle in which it was placed.
    fn leave(&mut self, sm: usize, (launch, index): (LaunchId, u32)) -> Result<(usize, u64), Fault> {
        let unknown =
            || Fault::new(format!("SM {sm} ended block {index} of launch {}, which it has not", launch.0));
        let placed = self.sms[sm].block(launch, index).ok_or_else(unknown)?.since;
        let place = self.launches.iter().position(|running| running.launch.id == launch);
        let place = place.ok_or_else(unknown)?;
        let running = &mut self.launches[place];
        running.sms -= u32::from(self.sms[sm].give_back((launch, index), &running.demand));
        Ok((place, placed))
    }

    /// Notes that all blocks of a launch have ended.
    fn end(&mut self, place: usize, sim: &Context<CtaSchedulerStats>) -> Result<(), Fault> {
        let running = self.launches.remove(place);
        let Running { launch, share, came, first_placed, stats, stream_stats, .. } = &running;
        let now = sim.cycle();
        let (whole, active) = (now - *came, now - first_placed.unwrap_or(now));
        self.policy.ended(launch, active);
        running.works().for_each(|work| work.add_launch(whole, active));
        stream_stats.launches.add(1);
        sim.stats.launches.add(1);
        sim.close_span(running.span, stats.attributes(launch, share.len()));
        let id = launch.id;
        self.done.push_back(match running.counts {
            Some(counts) => LaunchEvent::Counted(id, counts),
            None => LaunchEvent::Done(id),
        });
        self.begin(sim)?;
        if self.launches.is_empty() && self.arrived.is_empty() {
            sim.stats.busy.end(now);
        }
        Ok(())
    }

    /// Lets the policy communicate through ports of its own.
    fn speak(&mut self, sim: &Context<CtaSchedulerStats>) -> Result<(), Fault> {
        while self.policy.speak().map_err(Fault::new)? {
            self.begin(sim)?;
        }
        Ok(())
    }

    /// Places the blocks that the policy selects in this cycle.
    ///
    /// # Errors
    /// If the policy places a block that does not fit: a run that continued would have a wrong time.
    fn place(&mut self, io: &mut CtaSchedulerPorts, sim: &Context<CtaSchedulerStats>) -> Result<(), Fault> {
        for (sm, socket) in self.sms.iter_mut().zip(&mut io.sms) {
            sm.ready = socket.tx.credits() > 0;
            if !sm.orders.is_empty()
                && let Some(permit) = socket.tx.try_reserve()
                && let Some(order) = sm.orders.pop_front()
            {
                permit.send(order);
                sm.ready = false;
            }
        }
        self.preempt()?;
        loop {
            let view = View { launches: &self.launches, sms: &self.sms };
            let Some(placement) = self.policy.place(&view) else { return Ok(()) };
            if let Some(reason) = view.refusal(placement) {
                return Err(Fault::new(format!("the policy `{}` {reason}", self.policy_name)));
            }
            let Placement { launch, sm } = placement;
            let running = &mut self.launches[launch];
            let (index, context) = running.returned.pop_front().unwrap_or((running.placed, None));
            if index == running.placed {
                running.placed += 1;
                self.meter.begin(u64::from(!running.is_helper()));
            }
            running.first_placed.get_or_insert(sim.cycle());
            let id = running.launch.id;
            running.sms += u32::from(self.sms[sm].take((id, index), &running.demand, sim.cycle()));
            sim.stats.ctas.add(1);
            running.works().for_each(|work| work.ctas.add(1));
            sim.trace(|| format!("places block {index} of {} on SM {sm}", running.launch.name()));
            let (number, sms) = (sm as u32, self.sms.len() as u32);
            let launch = Arc::clone(&running.launch);
            let block = RunCta { launch, index, sm: number, sms, span: running.span };
            if let Some(permit) = io.sms[sm].tx.try_reserve() {
                permit.send(match context {
                    Some(context) => ToSm::Resume(block, context),
                    None => ToSm::Run(block),
                });
            }
        }
    }

    /// Takes the blocks off their SMs that the policy selects.
    fn preempt(&mut self) -> Result<(), Fault> {
        loop {
            let view = View { launches: &self.launches, sms: &self.sms };
            let Some(Departure { sm, block, how }) = self.policy.preempt(&view) else { return Ok(()) };
            let found = self.sms.get_mut(sm).and_then(|place| {
                let resident = place.blocks.get_mut(block).filter(|resident| !resident.leaves)?;
                resident.leaves = true;
                place.orders.push_back(ToSm::Preempt(resident.launch, resident.index, how));
                Some(())
            });
            if found.is_none() {
                let name = self.policy_name;
                return Err(Fault::new(format!(
                    "the policy `{name}` takes block {block} off SM {sm}, which has none there that stays"
                )));
            }
        }
    }

    /// Notes the launches with blocks that have no place; whether there are any.
    fn note_unplaced(&self) -> bool {
        let mut noted = self.unplaced.borrow_mut();
        noted.clear();
        let unplaced = self.launches.iter().filter(|running| running.waiting() > 0);
        noted.extend(unplaced.map(|running| Unplaced {
            launch: Arc::clone(&running.launch),
            waiting: running.waiting(),
            resident: running.resident(),
        }));
        !noted.is_empty()
    }

    async fn run(
        mut self,
        io: &mut CtaSchedulerPorts,
        sim: &Context<CtaSchedulerStats>,
    ) -> Result<(), Fault> {
        self.policy.begin(self.sms.len()).map_err(Fault::new)?;
        let unplaced = Rc::clone(&self.unplaced);
        sim.explain(move || unplaced.borrow().iter().filter_map(Unplaced::reason).collect());
        if let Some(cycles) = self.policy.samples_every() {
            self.sms.iter_mut().for_each(|sm| sm.orders.push_back(ToSm::Sample(cycles)));
        }
        // Every SM introduces itself before it is given anything.
        for index in 0..io.sms.len() {
            let event = io.sms[index].rx.recv().await;
            self.event(index, event, sim)?;
        }
        io.launches
            .tx
            .send(LaunchEvent::Capacity(
                running::capacity(self.sms.iter().map(|sm| &sm.total)),
                running::least(self.sms.iter().map(|sm| &sm.total)),
            ))
            .await;
        loop {
            for index in 0..io.sms.len() {
                if let Some(event) = io.sms[index].rx.try_recv() {
                    self.event(index, event, sim)?;
                }
            }
            match io.launches.rx.try_recv() {
                Some(ToScheduler::Start(launch)) => self.arrive(launch, sim)?,
                Some(ToScheduler::Note(note)) => self.policy.noted(&note),
                None => {}
            }
            self.speak(sim)?;
            let placed = sim.stats.ctas.get();
            self.place(io, sim)?;
            if !self.done.is_empty()
                && let Some(permit) = io.launches.tx.try_reserve()
                && let Some(done) = self.done.pop_front()
            {
                permit.send(done);
            }
            let orders =
                io.sms.iter().zip(&self.sms).any(|(io, sm)| !sm.orders.is_empty() && io.tx.credits() > 0);
            if sim.stats.ctas.get() > placed || orders {
                // An SM takes one message a cycle: there may be more to place.
                sim.tick().await;
                continue;
            }
            let unplaced = self.note_unplaced();
            let events = io.sms.iter().map(|sm| sm.rx.when(true));
            let ordered = self.sms.iter().map(|sm| !sm.orders.is_empty());
            let credits = io.sms.iter().zip(ordered);
            let credits =
                credits.map(|(sm, ordered)| sm.tx.when((unplaced || ordered) && sm.tx.credits() == 0));
            let launches = [io.launches.rx.when(true), io.launches.tx.when(!self.done.is_empty())];
            sim.set_busy(!self.launches.is_empty() || !self.arrived.is_empty());
            let others = self.policy.awaits();
            sim.wait(SimTime::MAX, events.chain(credits).chain(launches).chain(others)).await;
        }
    }
}

impl Component for CtaScheduler {
    const KIND: &'static str = "gpu/cta-scheduler";
    const DOC: &'static str = "Gives thread blocks to SMs as its policy says.";
    const DAEMON: bool = true;
    const ROLE: &'static str = roles::CTA_SCHEDULER;
    type Params = CtaSchedulerParams;
    type Ports = CtaSchedulerPorts;
    type Stats = CtaSchedulerStats;

    fn new(params: CtaSchedulerParams) -> Result<Self, Invalid> {
        Ok(CtaScheduler(params))
    }

    async fn run(
        &mut self,
        io: &mut CtaSchedulerPorts,
        sim: &Context<CtaSchedulerStats>,
    ) -> Result<(), Fault> {
        let CtaSchedulerParams { policy, concurrent_kernels, occupancy } = &self.0;
        let scheduler = Scheduler {
            policy: policy.build(sim)?,
            policy_name: policy.name(),
            concurrent_kernels: *concurrent_kernels as usize,
            occupancy: occupancy.clone(),
            arrived: VecDeque::new(),
            launches: Vec::new(),
            sms: vec![Sm::default(); io.sms.len()],
            done: VecDeque::new(),
            page_log: sim.resource(),
            rows: sim.resource().unwrap_or_default(),
            meter: sim.resource().unwrap_or_default(),
            unplaced: Rc::default(),
        };
        scheduler.run(io, sim).await
    }
}
