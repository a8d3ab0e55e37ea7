//! A streaming multiprocessor: warps, their schedulers, execution units, load-store unit with L1, shared memory.
//!
//! One process with a plain step from cycle to cycle; its parts are structs in this folder. A step takes an
//! answer of memory, makes a memory transaction and a lookup in the L1, takes results, issues, fetches, and
//! starts a block: the stages of a pipeline from its end to its beginning, as GPGPU-Sim has them. Values are
//! computed at issue; a load's values reach the registers when memory answers. The next step follows from the
//! work that was not ready in this one: an SM that only waits costs nothing.

mod answer;
mod blocks;
mod copies;
pub(super) mod cta;
mod endless;
mod facts;
pub(super) mod fetch;
mod gate;
mod issue;
pub(super) mod load_store;
mod mix;
mod operands;
mod order;
pub(crate) mod params;
mod pipeline_path;
mod pipeline_slots;
mod read_cache;
pub(crate) mod scheduler;
mod spans;
mod stalls;
pub(super) mod units;
mod warp;
mod writeback;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use counterpoint_framework::kernel::{Fault, HangReason, Source};
use counterpoint_framework::model::{
    Component, Context, Counter, Distribution, Invalid, PartStats, Ports, Ratio, Slot, Stats,
};
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::launch::{LaunchId, SmEvent, SmResources, SmServer};
use counterpoint_protocols::memory::{MemResult, MemoryClient};
use counterpoint_protocols::page_log::PageLog;
use counterpoint_protocols::translation::TranslationClient;
use counterpoint_ptx::Access;

use super::issue_slots::IssueSlots;
use answer::Answer;
use cta::Cta;
use fetch::Fetch;
use gate::Held;
use load_store::{LoadStore, SmContext, TlbStats};
use mix::InstructionMix;
use operands::{OperandCollector, RegisterFile};
use params::{Pairing, SmParams};
use read_cache::ReadCacheStats;
pub use scheduler::{View, WarpPolicy};
use units::{MEMORY, PATHS, Units};
use warp::Warps;
use writeback::WritebackRing;

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

/// Statistics of an SM.
#[derive(Default, Stats)]
pub struct SmStats {
    /// Cycles during which a block was on the SM.
    #[stat(name = "active_cycles", unit = "cycles")]
    active: Counter,
    /// Issue slots by what became of them.
    issue_slots: PartStats<IssueSlots>,
    /// Warp instructions issued, those without an active lane included.
    #[stat(unit = "instructions")]
    warp_insn: Counter,
    /// Thread instructions executed; lanes whose guard is false do not count.
    #[stat(name = "gpu_sim_insn", unit = "instructions")]
    thread_insn: Counter,
    /// Warp instructions by class.
    #[stat(unit = "instructions")]
    mix: InstructionMix,
    /// Blocks that have ended.
    #[stat(unit = "CTAs")]
    ctas: Counter,
    /// Cycles of the warps of blocks that have ended, summed up.
    #[stat(unit = "cycles")]
    warp_cycles: Counter,
    /// Cycles of warp slots while these blocks were there.
    #[stat(unit = "cycles")]
    warp_slots: Counter,
    /// Warps that were there, of the SM's warp slots.
    #[stat(name = "gpu_occupancy", unit = "of 1", part = "warp_cycles", whole = "warp_slots")]
    occupancy: Ratio,
    /// Load transactions that looked into the L1.
    #[stat(name = "L1D_total_cache_accesses", unit = "transactions")]
    l1_accesses: Counter,
    /// Load transactions that missed in the L1.
    #[stat(name = "L1D_total_cache_misses", unit = "transactions")]
    l1_misses: Counter,
    /// The share of the misses.
    #[stat(name = "L1D_total_cache_miss_rate", unit = "of 1", part = "l1_misses", whole = "l1_accesses")]
    l1_miss_rate: Ratio,
    /// Load transactions that joined a miss of the L1 under way.
    #[stat(name = "L1D_total_cache_pending_hits", unit = "transactions")]
    l1_pending_hits: Counter,
    /// Store transactions.
    #[stat(name = "L1D_writes", unit = "transactions")]
    l1_writes: Counter,
    /// Times that everything was invalidated because another launch began.
    #[stat(name = "L1D_flushes", unit = "times")]
    l1_flushes: Counter,
    /// Lines of local memory that were written back.
    #[stat(name = "L1D_write_backs", unit = "lines")]
    l1_write_backs: Counter,
    /// Load transactions that passed the L1 by.
    #[stat(name = "L1D_bypasses", unit = "transactions")]
    l1_bypasses: Counter,
    /// Atomic transactions.
    #[stat(unit = "transactions")]
    atomics: Counter,
    /// Shared-memory instructions.
    #[stat(unit = "instructions")]
    shared_accesses: Counter,
    /// Cycles lost to bank conflicts.
    #[stat(name = "gpgpu_n_shmem_bkconflict", unit = "cycles")]
    shared_conflicts: Counter,
    /// Cycles in which the load-store unit waited for credit, for an entry of a cache, or for a page.
    #[stat(unit = "cycles")]
    lsu_stalls: Counter,
    /// Cycles from the issue of a global load or atomic to its last value.
    #[stat(unit = "cycles")]
    load_latency: Distribution,
    /// Warps that arrived at barriers.
    #[stat(unit = "warps")]
    barriers: Counter,
    /// The instruction cache.
    #[stat(name = "L1I")]
    l1i: PartStats<ReadCacheStats>,
    /// The cache of constants and kernel parameters.
    #[stat(name = "L1C")]
    l1c: PartStats<ReadCacheStats>,
    /// The texture cache.
    #[stat(name = "L1T")]
    l1t: PartStats<ReadCacheStats>,
    /// The TLB.
    #[stat(name = "TLB")]
    tlb: PartStats<TlbStats>,
}

/// A warp scheduler with its share of the warps.
struct Scheduler {
    policy: Box<dyn WarpPolicy>,
    share: u64,
    /// Its part of the SM: 0 but for sub-cores.
    core: usize,
}

/// A streaming multiprocessor.
pub struct Sm {
    resources: SmResources,
    warps: Warps,
    ctas: Vec<Option<Cta>>,
    warp_scheduler: Slot<dyn WarpPolicy>,
    /// Per warp scheduler its warps and its part of the SM, from which `schedulers` are built when the SM runs.
    shares: Vec<(u64, usize)>,
    schedulers: Vec<Scheduler>,
    issue_width: u32,
    pairing: Pairing,
    /// The paths of instructions, and per part of the SM its register file.
    collectors: OperandCollector,
    registers: Vec<RegisterFile>,
    fetch: Fetch,
    /// No limit is `u64::MAX`.
    instruction_limit: u64,
    remember_polls: bool,
    ring: WritebackRing,
    load_store: LoadStore,
    scratch: Box<Access>,
    events: VecDeque<SmEvent>,
    /// Places of blocks that are occupied, and of those that may have ended: bits.
    occupied: u32,
    ended: u32,
    /// Warps that wait at a fence, a release or an acquire, and those that wait for pages.
    fenced: u64,
    at_page: u64,
    /// For each slot, accesses that have had to wait for pages.
    held: BTreeMap<u32, Held>,
    /// Warps that have come back to a state in which they were, without an effect since; whether all have, or wait at barriers; and
    /// where each of them goes round.
    repeating: u64,
    in_vain: bool,
    told: Rc<RefCell<BTreeMap<u32, HangReason>>>,
    /// Blocks release their pages behind their stores.
    release_behind_stores: bool,
    /// Observer of accesses to pages and of ends of blocks.
    page_log: Option<Arc<PageLog>>,
    /// The launch whose data the L1 holds.
    launch: Option<LaunchId>,
    /// Up to which cycle `active` and the issue slots have been counted.
    counted: u64,
}

impl Sm {
    fn resident(&self) -> bool {
        self.occupied != 0
    }

    /// The load-store unit, and what it reaches beside itself.
    fn load_store<'a>(
        &'a mut self,
        sim: &'a Context<SmStats>,
        cycle: u64,
    ) -> (&'a mut LoadStore, SmContext<'a>) {
        let Sm { load_store, warps, ctas, registers, collectors, ring, ended, .. } = self;
        (load_store, SmContext { warps, ctas, registers, collectors, ring, ended, sim, cycle })
    }

    /// Everything that happens in one cycle.
    fn step(&mut self, cycle: u64, io: &mut SmPorts, sim: &Context<SmStats>) -> Result<(), Fault> {
        let mut fetched = None;
        if let Some(reply) = io.memory.rx.try_recv() {
            match Answer::of(reply.tag) {
                Answer::Instruction(miss) => fetched = Some((miss, reply.result)),
                _ => {
                    let (load_store, mut sm) = self.load_store(sim, cycle);
                    load_store.reply(reply, &mut sm)?;
                }
            }
        }
        if let Some(mmu) = &mut io.translation {
            let news = self.load_store.take_page(&mut mmu.rx);
            self.hear(news);
        }
        if !self.load_store.is_idle() {
            let (load_store, mut sm) = self.load_store(sim, cycle);
            load_store.step(&mut io.memory.tx, &mut sm)?;
        }
        if let Some(mmu) = &mut io.translation {
            self.load_store.ask(&mut mmu.tx);
        }
        if let Some((miss, MemResult::Line(mask, data))) = fetched {
            self.fetch.fill(miss, mask, &data);
        }
        while let Some(result) = self.ring.take(cycle) {
            let place = self.warps.release(result);
            if let Some(cta) = &mut self.ctas[place] {
                cta.outstanding -= 1;
                self.ended |= u32::from(cta.is_done()) << place;
            }
        }
        self.pass_fences(cycle);
        self.issue(cycle, sim)?;
        if self.fetch.is_busy() {
            let warps = &self.warps;
            self.fetch.step(|slot| warps.pc(slot), &sim.stats.l1i);
        }
        self.fetch.send(&mut io.memory.tx);
        while self.ended != 0 {
            let place = self.ended.trailing_zeros() as usize;
            self.ended &= self.ended - 1;
            self.end_if_done(place, sim);
        }
        if let Some(message) = io.work.rx.try_recv() {
            self.start(message, sim)?;
        }
        if !self.events.is_empty()
            && let Some(permit) = io.work.tx.try_reserve()
            && let Some(event) = self.events.pop_front()
        {
            permit.send(event);
        }
        Ok(())
    }

    /// The next cycle in which something is to do, if nothing comes by message.
    fn next(&self, cycle: u64) -> Option<u64> {
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
            launch: None,
            counted: 0,
        })
    }

    async fn run(&mut self, io: &mut SmPorts, sim: &Context<SmStats>) -> Result<(), Fault> {
        if self.load_store.translates() && io.translation.is_none() {
            return Err(Fault::new("a TLB with entries needs `translation` to be linked to an MMU"));
        }
        for &(share, core) in &self.shares {
            self.schedulers.push(Scheduler { policy: self.warp_scheduler.build(sim)?, share, core });
        }
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
