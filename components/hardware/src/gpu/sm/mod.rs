//! A streaming multiprocessor: warps, their schedulers, execution units, load-store unit with L1, shared memory.
//!
//! One process with a plain step from cycle to cycle; its parts are structs in this folder. A step takes results,
//! then answers of memory, then makes a memory transaction, then issues, then starts a block. Values are computed at
//! issue; a load's values reach the registers when memory answers. What a step could not do because nothing was ready
//! tells when the next step is due: an SM that only waits costs nothing.

mod coalescer;
mod cta;
mod load_store;
mod params;
pub(crate) mod scheduler;
mod shared_memory;
mod units;
mod warp;
mod writeback;

use std::collections::VecDeque;

use counterpoint_framework::kernel::{Fault, Source};
use counterpoint_framework::model::{Component, Context, Counter, Invalid, Ports, Stats};
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::launch::{LaunchId, RunCta, SmEvent, SmResources, SmServer};
use counterpoint_protocols::memory::MemoryClient;
use counterpoint_ptx::{Access, Failure, Issue, Space, Unit, Waiting, Warp};

use cta::{BARRIERS, Cta};
use load_store::{LoadStore, Surroundings};
use params::SmParams;
use scheduler::WarpPolicy;
use units::Units;
use warp::{State, UNITS, Warps};
use writeback::{Writeback, WritebackRing};

/// The ports of an SM.
#[derive(Ports)]
pub struct SmPorts {
    /// Blocks from the CTA scheduler, and their ends.
    work: SmServer,
    /// The memory network.
    memory: MemoryClient,
}

/// What an SM counts.
#[derive(Default, Stats)]
pub struct SmStats {
    /// Cycles during which a block was on the SM.
    #[stat(name = "active_cycles", unit = "cycles")]
    active: Counter,
    /// Cycles of these in which no instruction was issued.
    #[stat(name = "stall_cycles", unit = "cycles")]
    stalled: Counter,
    /// Warp instructions issued, those without an active lane included.
    warp_insn: Counter,
    /// Thread instructions executed; lanes whose guard is false do not count.
    #[stat(name = "gpu_sim_insn")]
    thread_insn: Counter,
    /// Blocks that have ended.
    ctas: Counter,
    /// Load transactions that looked into the L1.
    #[stat(name = "L1D_total_cache_accesses")]
    l1_accesses: Counter,
    /// Those that found nothing.
    #[stat(name = "L1D_total_cache_misses")]
    l1_misses: Counter,
    /// Those that joined a miss under way.
    #[stat(name = "L1D_total_cache_pending_hits")]
    l1_pending_hits: Counter,
    /// Store transactions.
    #[stat(name = "L1D_writes")]
    l1_writes: Counter,
    /// Load transactions that passed the L1 by.
    #[stat(name = "L1D_bypasses")]
    l1_bypasses: Counter,
    /// Atomic transactions.
    atomics: Counter,
    /// Shared-memory instructions.
    shared_accesses: Counter,
    /// Cycles lost to bank conflicts.
    #[stat(name = "gpgpu_n_shmem_bkconflict", unit = "cycles")]
    shared_conflicts: Counter,
    /// Cycles in which the load-store unit waited for a credit or an entry.
    #[stat(unit = "cycles")]
    lsu_stalls: Counter,
    /// Warps that arrived at barriers.
    barriers: Counter,
}

/// A streaming multiprocessor.
pub struct Sm {
    resources: SmResources,
    warps: Warps,
    ctas: Vec<Option<Cta>>,
    policies: Vec<Box<dyn WarpPolicy>>,
    /// Per scheduler, the warp slots that it serves.
    shares: Vec<u64>,
    units: Units,
    pipeline: u64,
    instruction_limit: u32,
    ring: WritebackRing,
    load_store: LoadStore,
    scratch: Box<Access>,
    results: Vec<Writeback>,
    events: VecDeque<SmEvent>,
    /// Places of blocks that are occupied, and of those that may have ended: bits.
    occupied: u32,
    ended: u32,
    /// Warps that wait at a fence.
    fenced: u64,
    /// The launch whose data the L1 holds.
    launch: Option<LaunchId>,
    /// Since when `active` has not been counted.
    counted: u64,
}

impl Sm {
    fn resident(&self) -> bool {
        self.occupied != 0
    }

    /// Puts a block onto the SM.
    fn start(&mut self, message: RunCta) -> Result<(), Fault> {
        let RunCta { launch, index, sm, sms } = message;
        if self.launch != Some(launch.id) {
            self.launch = Some(launch.id);
            self.load_store.launch_changed();
        }
        let free = self.ctas.iter().position(Option::is_none);
        let place = free.ok_or_else(|| Fault::new("a block was sent to a full SM"))?;
        let mut cta = Cta::new(launch, index, sm, sms);
        let program = cta.launch.program.clone();
        for number in 0..cta.live {
            let slot = (0..self.warps.slots.len()).find(|&slot| self.warps.slots[slot].warp.is_none());
            let slot =
                slot.ok_or_else(|| Fault::new("a block was sent to an SM without warps for it"))? as u32;
            let warp = Warp::new(&program, &cta.environment, number);
            self.warps.start(slot, &program, warp, place);
            cta.warps |= 1 << slot;
        }
        self.ctas[place] = Some(cta);
        self.occupied |= 1 << place;
        Ok(())
    }

    /// Frees a block's place if nothing of it is under way any more.
    fn end_if_done(&mut self, place: usize, stats: &SmStats) {
        if !self.ctas[place].as_ref().is_some_and(Cta::is_done) {
            return;
        }
        let Some(cta) = self.ctas[place].take() else { return };
        self.occupied &= !(1 << place);
        for (slot, warp) in self.warps.slots.iter_mut().enumerate() {
            if cta.warps >> slot & 1 != 0 {
                warp.warp = None;
            }
        }
        stats.ctas.add(1);
        self.events.push_back(SmEvent::CtaDone { launch: cta.launch.id, index: cta.index });
    }

    /// Lets warps go on.
    fn resume(&mut self, slots: u64, place: usize) {
        let Some(cta) = &self.ctas[place] else { return };
        let mut rest = slots;
        while rest != 0 {
            let slot = rest.trailing_zeros();
            rest &= rest - 1;
            self.warps.slots[slot as usize].state = State::Running;
            self.warps.refresh(slot, &cta.launch.program);
        }
    }

    /// Lets the warps go on whose barriers are complete.
    fn open_barriers(&mut self, ids: std::ops::Range<usize>, place: usize) {
        for id in ids {
            let Some(cta) = &mut self.ctas[place] else { return };
            let (released, votes) = cta.open(id);
            let mut rest = released;
            while rest != 0 {
                let slot = rest.trailing_zeros();
                rest &= rest - 1;
                if let Some(warp) = &mut self.warps.slots[slot as usize].warp {
                    cta.waiting[warp.index() as usize] = None;
                    warp.pass_barrier(&cta.launch.program, votes);
                }
            }
            self.resume(released, place);
        }
    }

    /// A block of which every living warp waits at a barrier waits forever.
    fn check_standstill(&self, place: usize) -> Result<(), Fault> {
        match &self.ctas[place] {
            Some(cta) if cta.stands_still() => Err(cta.standstill()),
            _ => Ok(()),
        }
    }

    /// Lets warps go on whose stores and loads are all answered.
    fn pass_fences(&mut self) {
        let mut rest = self.fenced;
        while rest != 0 {
            let slot = rest.trailing_zeros();
            rest &= rest - 1;
            let warp = &self.warps.slots[slot as usize];
            if warp.outstanding == 0 {
                self.fenced &= !(1 << slot);
                self.resume(1 << slot, warp.cta);
            }
        }
    }

    /// The load-store unit, and what it reaches beside itself.
    fn load_store<'a>(&'a mut self, stats: &'a SmStats, cycle: u64) -> (&'a mut LoadStore, Surroundings<'a>) {
        let Sm { load_store, warps, ctas, ring, ended, .. } = self;
        (load_store, Surroundings { warps, ctas, ring, ended, stats, cycle })
    }

    /// Everything that happens in one cycle.
    fn step(&mut self, io: &mut SmPorts, sim: &Context<SmStats>) -> Result<(), Fault> {
        let (cycle, stats) = (sim.cycle(), &sim.stats);
        self.ring.take(cycle, &mut self.results);
        for result in self.results.drain(..) {
            let place = self.warps.slots[result.warp as usize].cta;
            if let Some(cta) = &mut self.ctas[place] {
                self.warps.release(result, &cta.launch.program);
                cta.outstanding -= 1;
                self.ended |= 1 << place;
            }
        }
        let (load_store, mut around) = self.load_store(stats, cycle);
        if let Some(reply) = io.memory.rx.try_recv() {
            load_store.reply(reply, &mut around);
        }
        load_store.step(&mut io.memory.tx, &mut around)?;
        self.pass_fences();
        self.issue(sim)?;
        while self.ended != 0 {
            let place = self.ended.trailing_zeros() as usize;
            self.ended &= self.ended - 1;
            self.end_if_done(place, stats);
        }
        if let Some(message) = io.work.rx.try_recv() {
            self.start(message)?;
        }
        if !self.events.is_empty()
            && let Some(permit) = io.work.tx.try_reserve()
            && let Some(event) = self.events.pop_front()
        {
            permit.send(event);
        }
        Ok(())
    }

    /// Warps that may issue now, on units that are free.
    fn candidates(&self, cycle: u64) -> u64 {
        let mut candidates = 0;
        for (index, unit) in UNITS.into_iter().enumerate() {
            let wanting = self.warps.wanting(index);
            let free = || match unit {
                Unit::LdSt => self.load_store.has_room(),
                unit => self.units.is_free(unit, cycle),
            };
            if wanting != 0 && free() {
                candidates |= wanting;
            }
        }
        candidates
    }

    fn issue(&mut self, sim: &Context<SmStats>) -> Result<(), Fault> {
        let cycle = sim.cycle();
        let mut issued = false;
        for scheduler in 0..self.policies.len() {
            let ready = self.candidates(cycle) & self.shares[scheduler];
            if ready != 0 {
                let slot = self.policies[scheduler].pick(ready, &self.warps.ages);
                self.issue_from(slot, sim)?;
                issued = true;
            }
        }
        if !issued && self.resident() {
            sim.stats.stalled.add(1);
        }
        Ok(())
    }

    fn issue_from(&mut self, slot: u32, sim: &Context<SmStats>) -> Result<(), Fault> {
        let (cycle, stats) = (sim.cycle(), &sim.stats);
        let warp_slot = &mut self.warps.slots[slot as usize];
        let place = warp_slot.cta;
        let (Some(warp), Some(cta)) = (warp_slot.warp.as_mut(), self.ctas[place].as_mut()) else {
            return Ok(());
        };
        let program = &*cta.launch.program;
        let pc = warp.pc().unwrap_or_default();
        warp_slot.issued += 1;
        if warp_slot.issued > self.instruction_limit {
            let message = format!(
                "the warp has executed {} instructions and has not ended: a loop runs forever (instruction_limit of the SM)",
                self.instruction_limit
            );
            return Err(cta.fault_at(warp.index(), warp.active().trailing_zeros(), pc, message));
        }
        let instruction = &program.instructions()[pc as usize];
        let (unit, latency, writes) = (instruction.unit, instruction.latency, instruction.writes);
        self.scratch.clock = cycle;
        let issued = warp.issue(program, &cta.environment, &mut self.scratch).map_err(|error| {
            cta.fault(Failure::of_warp(program, cta.environment.ctaid, warp.index(), *error))
        })?;
        stats.warp_insn.add(1);
        stats.thread_insn.add(u64::from(issued.lanes.count_ones()));
        match issued.kind {
            Issue::Done => {
                let latency = self.units.start(unit, latency, cycle);
                if !writes.as_slice().is_empty() {
                    self.warps.reserve(slot, &writes);
                    // The block keeps its place until the result has arrived, which would otherwise meet another one's warp.
                    cta.outstanding += 1;
                    self.ring.add(cycle, latency + self.pipeline, Writeback { warp: slot, pc });
                }
            }
            Issue::Memory => {
                if self.scratch.space == Space::Global {
                    check_bounds(&self.scratch, cta, warp.index())?;
                }
                if self.scratch.wants_value {
                    self.warps.reserve(slot, &writes);
                }
                let access = std::mem::replace(&mut self.scratch, self.load_store.empty_access());
                let (load_store, mut around) = self.load_store(stats, cycle);
                load_store.push(slot, access, &mut around);
            }
            Issue::Barrier { id, count, waits, votes } => {
                stats.barriers.add(1);
                if waits {
                    warp_slot.state = State::AtBarrier;
                    cta.waiting[warp.index() as usize] =
                        Some(Waiting { barrier: id, pc: warp.last_barrier() });
                }
                cta.arrive(slot, id, count, waits, votes);
                self.open_barriers(id as usize..id as usize + 1, place);
                self.check_standstill(place)?;
            }
            Issue::Print => {
                let message = "calls vprintf, which only a run without time has".to_owned();
                return Err(cta.fault_at(warp.index(), issued.lanes.trailing_zeros(), pc, message));
            }
            Issue::Fence => {
                if warp_slot.outstanding > 0 {
                    warp_slot.state = State::AtFence;
                    self.fenced |= 1 << slot;
                }
            }
            Issue::Exit { finished: true } => {
                warp_slot.state = State::Ended;
                // Barriers that wait for all wait for one less.
                cta.live -= 1;
                self.ended |= 1 << place;
                self.open_barriers(0..BARRIERS, place);
                self.check_standstill(place)?;
            }
            Issue::Branch | Issue::Nothing | Issue::Exit { finished: false } => {}
        }
        if let Some(cta) = &self.ctas[place] {
            self.warps.refresh(slot, &cta.launch.program);
        }
        Ok(())
    }

    /// The next cycle in which something is to do, if nothing comes by message.
    fn next(&self, cycle: u64) -> Option<u64> {
        let mut next = self.ring.next_after(cycle);
        let mut consider = |time: Option<u64>| next = [next, time].into_iter().flatten().min();
        consider(self.load_store.next(cycle));
        for (index, unit) in UNITS.into_iter().enumerate() {
            if self.warps.wanting(index) != 0 && (unit != Unit::LdSt || self.load_store.has_room()) {
                consider(Some(self.units.next_free(unit, cycle)));
            }
        }
        next
    }
}

/// Whether every lane stays within one of the allocations.
fn check_bounds(access: &Access, cta: &Cta, warp: u32) -> Result<(), Fault> {
    let (addresses, width) = (&access.addresses, u64::from(access.width));
    let memory = &cta.launch.memory;
    let (mut low, mut high) = (32, 32);
    for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
        if low == 32 || addresses[lane] < addresses[low] {
            low = lane;
        }
        if high == 32 || addresses[lane] > addresses[high] {
            high = lane;
        }
    }
    let inside = |lane: usize| memory.holds(addresses[lane], width);
    // Between two lanes in one allocation everything lies in it.
    if low == 32 || (memory.same(addresses[low], addresses[high]) && inside(low) && inside(high)) {
        return Ok(());
    }
    let Some(lane) = (0..32).find(|&lane| access.mask >> lane & 1 != 0 && !inside(lane)) else {
        return Ok(());
    };
    let message = format!("{}, {}", access.describe(lane as u32), memory.locate(addresses[lane], width));
    Err(cta.fault_at(warp, lane as u32, access.pc, message))
}

impl Component for Sm {
    const KIND: &'static str = "gpu/sm";
    const DOC: &'static str = "A streaming multiprocessor that executes PTX: warps and their schedulers, execution units, \
                               L1 data cache, shared memory, barriers.";
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
        let schedulers = params.schedulers as usize;
        let share =
            |scheduler: usize| (scheduler..slots).step_by(schedulers).fold(0, |mask, slot| mask | 1 << slot);
        Ok(Sm {
            resources: SmResources {
                threads: params.threads,
                ctas: params.ctas,
                registers: params.registers,
                shared: u32::try_from(params.shared.get()).map_err(|_| "shared is beyond 4 GiB")?,
            },
            warps: Warps::new(slots),
            ctas: (0..params.ctas).map(|_| None).collect(),
            policies: (0..schedulers).map(|_| params.warp_scheduler.build()).collect(),
            shares: (0..schedulers).map(share).collect(),
            units: Units::new(&params),
            pipeline: params.pipeline.get(),
            instruction_limit: params.instruction_limit,
            ring: WritebackRing::new(),
            load_store: LoadStore::new(&params)?,
            scratch: Box::default(),
            results: Vec::new(),
            events: VecDeque::new(),
            occupied: 0,
            ended: 0,
            fenced: 0,
            launch: None,
            counted: 0,
        })
    }

    async fn run(&mut self, io: &mut SmPorts, sim: &Context<SmStats>) -> Result<(), Fault> {
        self.events = VecDeque::from([SmEvent::Resources(self.resources)]);
        loop {
            let resident = self.resident();
            self.step(io, sim)?;
            let cycle = sim.cycle();
            if resident {
                // Cycles that were slept through are stalls as well.
                let passed = cycle - self.counted;
                sim.stats.active.add(passed);
                sim.stats.stalled.add(passed.saturating_sub(1));
            }
            self.counted = cycle;
            match self.next(cycle) {
                Some(next) if next == cycle + 1 => sim.tick().await,
                next => {
                    let deadline = next.map_or(SimTime::MAX, |next| sim.cycles_from_now(next - cycle));
                    let sources = [
                        io.memory.rx.when(true),
                        io.work.rx.when(true),
                        io.work.tx.when(!self.events.is_empty()),
                    ];
                    sim.set_busy(self.resident());
                    sim.wait(deadline, sources).await;
                }
            }
        }
    }
}
