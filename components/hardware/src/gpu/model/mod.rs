//! A GPU behind its CTA scheduler and its copy engine as a model of throughput: for so many tasks that an SM which is stepped would take
//! hours.
//!
//! It ends the CTA scheduler's ports as that many SMs, and the copy engine's as a flat memory. A block is executed without time when
//! it comes to an SM, so its values are real; while it is, `alone` reckons how long each of its warps would take if it had the SM to
//! itself. Then the warps share the SM (`sm`, `share`), SMs share network and L2 (`network`), and the block ends with the last of its warps. What is
//! not there: caches, DRAM, and which warp a scheduler prefers.
//!
//! Blocks that wait for each other in a loop never end when they are executed one after another: that is an error which says so. Blocks
//! that share out work by atomics as they go leave all of it to the first. The two
//! such kernels that are known are served as state machines: Pagoda's MasterKernel, with what its scheduler and executor warps do to the
//! TaskTable, by `pagoda`; and GeMTC's SuperKernel, with its queue under a lock, by `gemtc`.

mod blocks;
mod costs;
mod demands;
mod execute;
mod gemtc;
mod isolated;
mod memory;
mod network;
pub mod pagoda;
mod search;
mod share;
mod sm;
mod task;
mod traffic;

use std::collections::VecDeque;

use counterpoint_framework::kernel::{Fault, Source};
use counterpoint_framework::model::{
    Component, Context, Counter, Distribution, Invalid, Params, Ports, Stats,
};
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::launch::{SmEvent, SmResources, SmServer};
use counterpoint_protocols::memory::{MemAccess, MemoryServer};
use counterpoint_protocols::pagoda::{MASTER_KERNEL, MASTER_KERNEL_BY_LANES, SUPER_KERNEL};
use counterpoint_protocols::preload::Preloaded;

use super::sm::params::SmParams;
use crate::memory::address_map::AddressMapParams;
use blocks::{Blocks, Ended};
use costs::{CostParams, Costs};
use gemtc::{SuperCosts, SuperParams, Supers};
use memory::{CopyParams, DeviceMemory};
use network::Network;
use pagoda::{MasterCosts, MasterParams, Masters};
use sm::{Sm, Worker};

/// What the SMs are, and what things cost.
#[derive(Clone, Debug, Params)]
pub struct ThroughputModelParams {
    /// Each SM: what it holds, its units and their latencies. What tells of buffers, caches and schedulers is not looked at.
    sm: SmParams,
    /// What the SM's parameters do not say.
    costs: CostParams,
    /// Which slice of the L2 has an address.
    map: AddressMapParams,
    /// How memory answers the copy engine.
    copies: CopyParams,
    /// What Pagoda's MasterKernel takes.
    pagoda: MasterParams,
    /// What GeMTC's SuperKernel takes.
    gemtc: SuperParams,
}

/// The ports of the model.
#[derive(Ports)]
pub struct ThroughputModelPorts {
    /// Blocks from the CTA scheduler, and their ends: of each SM.
    sms: Vec<SmServer>,
    /// The copy engine.
    copies: MemoryServer,
}

/// What the model counts.
#[derive(Default, Stats)]
pub struct ThroughputModelStats {
    /// Cycles of blocks that have ended, from their arrival to their end, summed up.
    #[stat(unit = "cycles")]
    cta_cycles: Counter,
    /// Warp instructions of blocks that have ended; of a MasterKernel or SuperKernel those of its tasks.
    #[stat(unit = "instructions")]
    warp_insn: Counter,
    /// Thread instructions of these.
    #[stat(name = "gpu_sim_insn", unit = "instructions")]
    thread_insn: Counter,
    /// Blocks that have ended.
    #[stat(unit = "CTAs")]
    ctas: Counter,
    /// Cycles of a MasterKernel's task from when its scheduler warp finds that it may run until its entry is free.
    #[stat(unit = "cycles")]
    task_cycles: Distribution,
}

/// The model.
pub struct ThroughputModel {
    resources: SmResources,
    costs: Costs,
    limit: u64,
    memory: DeviceMemory,
    sms: Vec<Sm>,
    network: Network,
    slices: usize,
    blocks: Blocks,
    master: MasterCosts,
    masters: Masters,
    super_costs: SuperCosts,
    supers: Supers,
    /// By SM, what the CTA scheduler is to be told.
    events: Vec<VecDeque<SmEvent>>,
}

/// What blocks are executed on and take their time on.
struct Around<'a> {
    sms: &'a mut [Sm],
    memory: &'a mut DeviceMemory,
    costs: &'a Costs,
    master: &'a MasterCosts,
    supers: &'a SuperCosts,
    /// Instructions after which a warp is taken to run forever.
    limit: u64,
    cycle: u64,
}

/// Blocks of all sorts.
struct Sorts<'a> {
    blocks: &'a mut Blocks,
    masters: &'a mut Masters,
    supers: &'a mut Supers,
}

impl ThroughputModel {
    /// Blocks of all sorts, and what is around them.
    fn parts(&mut self, cycle: u64) -> (Sorts<'_>, Around<'_>) {
        let ThroughputModel {
            sms, memory, costs, master, limit, blocks, masters, super_costs, supers, ..
        } = self;
        let around = Around { sms, memory, costs, master, supers: super_costs, limit: *limit, cycle };
        (Sorts { blocks, masters, supers }, around)
    }

    /// Everything that happens in one cycle.
    fn step(
        &mut self,
        io: &mut ThroughputModelPorts,
        sim: &Context<ThroughputModelStats>,
    ) -> Result<(), Fault> {
        let cycle = sim.cycle();
        for number in 0..self.sms.len() {
            if self.sms[number].due().is_some_and(|due| due <= cycle) {
                self.finish(number, sim)?;
            }
        }
        if self.supers.due().is_some_and(|due| due <= cycle) {
            let (sorts, mut around) = self.parts(cycle);
            sorts.supers.release(&mut around, || sim.random())?;
        }
        while let Some(request) = io.copies.rx.try_recv() {
            let line = request.line;
            let writes = matches!(request.access, MemAccess::Write(..));
            self.memory.serve(request, cycle)?;
            if writes {
                let (sorts, mut around) = self.parts(cycle);
                sorts.masters.written(line, &mut around)?;
            }
        }
        for number in 0..self.sms.len() {
            while let Some(message) = io.sms[number].rx.try_recv() {
                let (sorts, mut around) = self.parts(cycle);
                around.sms[number].advance(cycle);
                match message.launch.kernel.name() {
                    MASTER_KERNEL | MASTER_KERNEL_BY_LANES => sorts.masters.begin(message, &mut around)?,
                    SUPER_KERNEL => sorts.supers.begin(message, &mut around)?,
                    _ => sorts.blocks.begin(message, &mut around)?,
                }
            }
            if !self.events[number].is_empty()
                && let Some(permit) = io.sms[number].tx.try_reserve()
                && let Some(event) = self.events[number].pop_front()
            {
                permit.send(event);
            }
        }
        if self.memory.due().is_some_and(|due| due <= cycle)
            && let Some(permit) = io.copies.tx.try_reserve()
            && let Some(reply) = self.memory.answer(cycle)
        {
            permit.send(reply);
        }
        self.network.settle(&mut self.sms, cycle);
        Ok(())
    }

    /// What has been done on an SM.
    fn finish(&mut self, number: usize, sim: &Context<ThroughputModelStats>) -> Result<(), Fault> {
        let cycle = sim.cycle();
        self.sms[number].advance(cycle);
        while let Some(worker) = self.sms[number].take_done() {
            let (sorts, mut around) = self.parts(cycle);
            let ended = match worker {
                Worker::Warp(block) => sorts.blocks.end_warp(block, cycle),
                Worker::Super(block) => sorts.supers.worker_done(block, &mut around),
                Worker::Scheduler(column) => sorts.masters.scheduler_done(column, &mut around)?,
                Worker::Executor(column, slot) => {
                    let ended = sorts.masters.executor_done(column, slot, &mut around)?;
                    ended.into_iter().for_each(|cycles| sim.stats.task_cycles.record(cycles));
                    None
                }
            };
            if let Some(Ended { launch, index, counts, cycles }) = ended {
                sim.stats.ctas.add(1);
                sim.stats.warp_insn.add(counts.warp_insn);
                sim.stats.thread_insn.add(counts.thread_insn);
                sim.stats.cta_cycles.add(cycles);
                self.events[number].push_back(SmEvent::CtaDone { launch, index, counts });
            }
        }
        Ok(())
    }

    /// The next cycle in which something is to do, if nothing comes by message.
    fn next(&mut self) -> Option<u64> {
        let of_sms = self.sms.iter_mut().filter_map(Sm::due).min();
        of_sms.into_iter().chain(self.memory.due()).chain(self.supers.due()).min()
    }
}

impl Component for ThroughputModel {
    const KIND: &'static str = "gpu/throughput-model";
    const DOC: &'static str = "SMs and device memory as a model of throughput: blocks are executed without time, and their warps then share \
                               what an SM has.";
    const DAEMON: bool = true;
    const WEIGHT: u32 = 1000;
    type Params = ThroughputModelParams;
    type Ports = ThroughputModelPorts;
    type Stats = ThroughputModelStats;

    fn new(params: ThroughputModelParams) -> Result<Self, Invalid> {
        let ThroughputModelParams { sm, costs, map, copies, pagoda, gemtc } = params;
        if !sm.threads.is_multiple_of(32) {
            return Err("threads must be whole warps of 32".into());
        }
        Ok(ThroughputModel {
            resources: sm.resources()?,
            costs: Costs::new(&sm, &costs, &map)?,
            limit: sm.instruction_limit(),
            memory: DeviceMemory::new(copies),
            sms: Vec::new(),
            network: Network::default(),
            slices: map.slices as usize,
            blocks: Blocks::default(),
            master: MasterCosts::new(&pagoda),
            masters: Masters::default(),
            super_costs: SuperCosts::new(&gemtc),
            supers: Supers::default(),
            events: Vec::new(),
        })
    }

    async fn run(
        &mut self,
        io: &mut ThroughputModelPorts,
        sim: &Context<ThroughputModelStats>,
    ) -> Result<(), Fault> {
        let packet = self.costs.packet;
        let sm = Sm::new(self.costs.capacity, self.slices).behind(packet);
        self.sms = vec![sm; io.sms.len()];
        self.network = Network::new(io.sms.len(), self.slices, packet);
        self.events = vec![VecDeque::from([SmEvent::Resources(self.resources)]); io.sms.len()];
        self.memory.begin_with(sim.resource::<Preloaded>(), sim.path());
        loop {
            self.step(io, sim)?;
            let cycle = sim.cycle();
            let next = self.next().map(|next| next.max(cycle + 1));
            sim.set_busy(!self.blocks.is_empty() || !self.supers.is_empty());
            let deadline = next.map_or(SimTime::MAX, |next| sim.cycles_from_now(next - cycle));
            let answers = self.memory.due().is_some_and(|due| due <= cycle);
            let sources = [io.copies.rx.when(true), io.copies.tx.when(answers)];
            let sms = io.sms.iter().zip(&self.events);
            let sms = sms.flat_map(|(sm, events)| [sm.rx.when(true), sm.tx.when(!events.is_empty())]);
            sim.wait(deadline, sources.into_iter().chain(sms)).await;
        }
    }
}
