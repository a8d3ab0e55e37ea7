//! A streaming multiprocessor: warps, their schedulers, execution units, load-store unit with L1, shared memory.
//!
//! The SM is one process with a plain step from cycle to cycle; its stages are folders here, and their common state is in `state.rs`. A
//! step takes an answer of memory, makes a memory transaction and a lookup in the L1, takes results, issues, fetches, and starts a block:
//! the stages of a pipeline from its end to its beginning, as GPGPU-Sim has them. Values are computed at issue; a load's values reach the
//! registers when memory answers. The next step follows from the work that was not ready in this one: an SM that only waits costs nothing.

mod answer;
mod frontend;
mod issue;
mod issued;
mod load_store;
mod operands;
pub mod params;
mod read_cache;
mod retire;
pub(crate) mod scheduler;
mod state;
mod stats;

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use counterpoint_framework::kernel::{Fault, Source};
use counterpoint_framework::model::{Component, Context, Invalid, Ports};
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::launch::{SmEvent, SmServer, ToSm};
use counterpoint_protocols::memory::{MemReply, MemResult, MemoryClient};
use counterpoint_protocols::roles;
use counterpoint_protocols::translation::TranslationClient;

use answer::Answer;
use frontend::fetch::Fetch;
use frontend::samples::Samples;
use frontend::warp::Warps;
pub use load_store::SharedBanks;
use load_store::{L1Policies, LoadStore};
use operands::collector::{OperandCollector, RegisterFile};
pub use operands::units::Units;
use operands::units::{MEMORY, PATHS};
use operands::writeback::WritebackRing;
use params::{L1Params, SmParams};
pub use scheduler::{L1Lookup, L1Result, NextInstruction, View, WarpPolicy};
use state::Scheduler;
pub use state::Sm;
pub use stats::SmStats;

/// The ports of an SM.
#[derive(Ports)]
pub struct SmPorts {
    /// Blocks from the CTA scheduler, and their ends.
    work: SmServer,
    /// The memory network.
    memory: MemoryClient,
    /// The MMU, if addresses are translated.
    translation: Option<TranslationClient>,
}

impl Sm {
    /// Everything that happens in one cycle. What few cycles have to do is in functions of its own, so that the others need few registers.
    #[inline(always)]
    fn step(&mut self, cycle: u64, io: &mut SmPorts, sim: &Context<SmStats>) -> Result<(), Fault> {
        if let Some(reply) = io.memory.rx.try_recv() {
            self.take_reply(reply, cycle, sim)?;
        }
        if self.load_store.is_due(cycle) || io.translation.is_some() {
            self.access_memory(cycle, io, sim)?;
        } else if self.load_store.is_blocked() {
            sim.stats.lsu_stalls.add(1);
        }
        self.take_results(cycle);
        self.pass_fences(cycle);
        if self.resident() {
            self.issue(cycle, sim)?;
        }
        if self.fetch.is_busy() {
            let warps = &self.warps;
            self.fetch.step(|slot| warps.pc(slot), &sim.stats.l1i);
        }
        if self.fetch.wants_credit() {
            self.fetch.send(&mut io.memory.tx);
        }
        if self.ended != 0 {
            self.end_blocks(sim);
        }
        if !self.moving.is_empty() {
            self.move_blocks(cycle, sim);
        }
        if let Some(message) = io.work.rx.try_recv() {
            self.take_order(message, sim)?;
        }
        if self.samples.is_some() {
            self.sample(cycle, sim);
        }
        if !self.events.is_empty() {
            self.report(io);
        }
        Ok(())
    }

    /// Takes an answer of memory.
    #[inline(never)]
    fn take_reply(&mut self, reply: MemReply, cycle: u64, sim: &Context<SmStats>) -> Result<(), Fault> {
        if let Answer::Instruction(miss) = Answer::of(reply.tag) {
            if let MemResult::Line(mask, data) = reply.result {
                self.fetch.fill(miss, mask, &data);
            }
            return Ok(());
        }
        let (load_store, mut sm) = self.load_store(sim, cycle);
        load_store.reply(reply, &mut sm)
    }

    /// Lets the load-store unit work, and asks the MMU.
    #[inline(never)]
    fn access_memory(&mut self, cycle: u64, io: &mut SmPorts, sim: &Context<SmStats>) -> Result<(), Fault> {
        if let Some(mmu) = &mut io.translation {
            let news = self.load_store.take_page(&mut mmu.rx);
            self.hear(news);
        }
        let (load_store, mut sm) = self.load_store(sim, cycle);
        load_store.step(&mut io.memory.tx, &mut sm)?;
        for lookup in self.load_store.heard() {
            let mine = |one: &&mut Scheduler| one.share >> lookup.slot & 1 != 0;
            self.schedulers.iter_mut().filter(mine).for_each(|one| one.policy.looked_up(&lookup));
        }
        if let Some(mmu) = &mut io.translation {
            self.load_store.ask(&mut mmu.tx);
        }
        Ok(())
    }

    /// Ends the blocks that are done.
    #[inline(never)]
    fn end_blocks(&mut self, sim: &Context<SmStats>) {
        while self.ended != 0 {
            let place = self.ended.trailing_zeros() as usize;
            self.ended &= self.ended - 1;
            self.end_if_done(place, sim);
        }
    }

    /// Reports the first event to the CTA scheduler, if there is credit.
    #[inline(never)]
    fn report(&mut self, io: &mut SmPorts) {
        if let Some(permit) = io.work.tx.try_reserve()
            && let Some(event) = self.events.pop_front()
        {
            permit.send(event);
        }
    }

    /// Takes a message of the CTA scheduler.
    #[inline(never)]
    fn take_order(&mut self, message: ToSm, sim: &Context<SmStats>) -> Result<(), Fault> {
        match message {
            ToSm::Run(block) => self.start(block, sim).map(|_| ()),
            ToSm::Resume(block, context) => self.resume_block(block, &context, sim),
            ToSm::Preempt(launch, index, how) => {
                self.preempt(launch, index, how, sim);
                Ok(())
            }
            ToSm::Sample(every) => {
                self.samples = Some(Samples::new(every, sim.cycle()));
                Ok(())
            }
        }
    }

    /// The next cycle with work to do, if no message arrives.
    fn next(&self, cycle: u64) -> Option<u64> {
        let next = self.next_work(cycle);
        if self.moving.is_empty() && self.samples.is_none() {
            return next;
        }
        let samples = self.samples.as_ref().filter(|_| self.resident()).map(|samples| samples.next);
        [next, samples, self.next_move()].into_iter().flatten().min().map(|next| next.max(cycle + 1))
    }

    /// The next cycle in which an instruction or an access goes on, if no message arrives.
    fn next_work(&self, cycle: u64) -> Option<u64> {
        if self.fetch.is_busy() {
            return Some(cycle + 1);
        }
        let of_memory = self.load_store.next(cycle).unwrap_or(u64::MAX);
        if of_memory == cycle + 1 {
            return Some(cycle + 1);
        }
        let mut next = of_memory.min(self.ring.next_after(cycle).unwrap_or(u64::MAX));
        if self.may_issue() {
            for path in 0..PATHS {
                let wanting = self.warps.wanting(path) & self.fetch.buffered();
                if wanting == 0 {
                    continue;
                }
                if path == MEMORY {
                    let room =
                        |one: &Scheduler| wanting & one.share != 0 && self.load_store.has_room(one.core);
                    next = if self.schedulers.iter().any(room) { cycle + 1 } else { next };
                    continue;
                }
                for scheduler in &self.schedulers {
                    if wanting & scheduler.share != 0 {
                        next = next.min(self.collectors.accepts_from(scheduler.core)[path].max(cycle + 1));
                    }
                }
            }
        }
        (next != u64::MAX).then_some(next)
    }

    /// Counts cycles since the last step, in which nothing changed.
    fn count_sleep(&mut self, slept: u64, stats: &SmStats) {
        stats.active.add(slept);
        for scheduler in 0..self.schedulers.len() {
            let share = self.schedulers[scheduler].share;
            self.count_slots(self.stall(share), slept, stats);
        }
        if self.load_store.is_blocked() {
            stats.lsu_stalls.add(slept);
        }
    }
}

impl Component for Sm {
    const KIND: &'static str = "gpu/sm";
    const DOC: &'static str = "A streaming multiprocessor that executes PTX: warps and their schedulers, execution units, \
                               L1 data cache, shared memory, barriers. Memory order follows the `.target` of a module: from \
                               sm_70 on it is that of PTX's memory model (acquires beyond the block invalidate the L1, releases \
                               wait for the accesses of the block); below, as on those GPUs, a fence waits for the accesses of \
                               its warp and leaves the L1 as it is, which may hold what others have changed since.";
    const DAEMON: bool = true;
    const WEIGHT: u32 = 250;
    const ROLE: &'static str = roles::SM;
    type Params = SmParams;
    type Ports = SmPorts;
    type Stats = SmStats;

    fn new(params: SmParams) -> Result<Self, Invalid> {
        let slots = params.threads as usize / 32;
        if !params.threads.is_multiple_of(32) {
            return Err("threads must be whole warps of 32".into());
        }
        let cores = if params.sub_cores { params.schedulers } else { 1 };
        let banks = params.register_banks / cores;
        if !banks.is_power_of_two() {
            return Err("register_banks, shared out among sub-cores, must be a power of two".into());
        }
        if params.sp.units == 0 || params.sfu.units == 0 {
            return Err("sp and sfu need a unit at least".into());
        }
        let count = params.schedulers as usize;
        let share = |first: usize| (first..slots).step_by(count).fold(0, |mask, slot| mask | 1 << slot);
        let paths = [&params.sp, &params.sfu, &params.dp];
        if paths.iter().map(|path| path.units).sum::<u32>() > 64 {
            return Err("sp, sfu and dp may have 64 units together".into());
        }
        let tensor = params.tensor.path();
        let mut all = paths.into_iter().chain([&tensor]);
        if all.any(|path| path.units > 0 && path.collectors + params.collectors == 0) {
            return Err("a sort of units has no operand collector".into());
        }
        Ok(Sm {
            resources: params.resources()?,
            warps: Warps::new(slots, cores as usize, Units::new(&params)),
            ctas: (0..params.ctas).map(|_| None).collect(),
            warp_scheduler: params.warp_scheduler.clone(),
            l1d: params.l1d.clone(),
            shares: (0..count).map(|index| (share(index), index % cores as usize)).collect(),
            schedulers: Vec::new(),
            issue_width: params.issue_width,
            pairing: params.pairing,
            collectors: OperandCollector::new(&params, cores),
            registers: (0..cores).map(|_| RegisterFile::new(banks, params.register_turns)).collect(),
            fetch: Fetch::new(params.fetch_width, &params.l1i)?,
            instruction_limit: params.instruction_limit(),
            remember_polls: params.remember_polls,
            ring: WritebackRing::new(),
            load_store: LoadStore::new(&params)?,
            scratch: Box::default(),
            events: VecDeque::new(),
            occupied: 0,
            ended: 0,
            fenced: 0,
            at_page: 0,
            held: BTreeMap::new(),
            repeating: 0,
            in_vain: false,
            told: Rc::default(),
            release_behind_stores: params.tlb.release_behind_stores,
            page_log: None,
            moving: Vec::new(),
            context_rate: params.context_rate.get(),
            samples: None,
            launch: None,
            counted: 0,
        })
    }

    async fn run(&mut self, io: &mut SmPorts, sim: &Context<SmStats>) -> Result<(), Fault> {
        if self.load_store.translates() && io.translation.is_none() {
            return Err(Fault::new("a TLB with entries needs `translation` to be linked to an MMU"));
        }
        for &(share, core) in &self.shares {
            self.schedulers.push(Scheduler::new(self.warp_scheduler.build(sim)?, share, core));
        }
        if self.schedulers.iter().any(|one| one.policy.listens()) {
            self.load_store.hear();
        }
        let L1Params { replacement, write, prefetcher, bypass, .. } = &self.l1d;
        let policies = L1Policies::new(write.build(sim)?, prefetcher.build(sim)?, bypass.build(sim)?);
        self.load_store.equip(replacement.build(sim)?, policies);
        self.events = VecDeque::from([SmEvent::Resources(self.resources)]);
        self.page_log = sim.resource();
        self.explain(sim);
        loop {
            let cycle = sim.cycle();
            if cycle > self.counted + 1 && self.resident() {
                self.count_sleep(cycle - self.counted - 1, &sim.stats);
            }
            self.counted = cycle;
            self.step(cycle, io, sim)?;
            match self.next(cycle) {
                Some(next) if next == cycle + 1 => sim.tick().await,
                next => {
                    let deadline = next.map_or(SimTime::MAX, |next| sim.cycles_from_now(next - cycle));
                    let sources = [
                        io.memory.rx.when(true),
                        io.memory.tx.when(self.load_store.wants_credit() || self.fetch.wants_credit()),
                        io.work.rx.when(true),
                        io.work.tx.when(!self.events.is_empty()),
                    ];
                    sim.set_busy(self.resident());
                    match &io.translation {
                        Some(mmu) if self.load_store.translates() => {
                            let asks = self.load_store.wants_to_ask();
                            let pages = [mmu.rx.when(true), mmu.tx.when(asks)];
                            sim.wait(deadline, sources.into_iter().chain(pages)).await;
                        }
                        _ => sim.wait(deadline, sources).await,
                    }
                }
            }
        }
    }
}
