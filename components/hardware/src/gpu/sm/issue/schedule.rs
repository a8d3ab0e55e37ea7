//! Issue: the choice among warps that may issue, and the execution of the chosen instruction.

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::Context;
use counterpoint_protocols::launch::IssueSlot;
use counterpoint_ptx::{
    Access, AccessKind, Failure, FaultKind, Issue, Issued, PollStep, Reach, Space, Waiting,
};

use super::stalls::Held;
use crate::gpu::sm::frontend::copies;
use crate::gpu::sm::frontend::cta::{BARRIERS, Cta};
use crate::gpu::sm::frontend::warp::{State, Warps};
use crate::gpu::sm::issued::PlaceCounts;
use crate::gpu::sm::load_store;
use crate::gpu::sm::operands::collector::{OperandCollector, RegisterFile};
use crate::gpu::sm::operands::facts::Fact;
use crate::gpu::sm::operands::units::{MEMORY, PATHS};
use crate::gpu::sm::operands::writeback::{Writeback, WritebackRing};
use crate::gpu::sm::params::Pairing;
use crate::gpu::sm::state::{Scheduler, Sm};
use crate::gpu::sm::stats::SmStats;

impl Sm {
    /// Lets every scheduler issue: there is a block.
    #[inline(never)]
    pub(in crate::gpu::sm) fn issue(&mut self, cycle: u64, sim: &Context<SmStats>) -> Result<(), Fault> {
        sim.stats.active.add(1);
        // The schedulers take turns to be the first, which matters if they share a path (GPGPU-Sim).
        let count = self.schedulers.len();
        let mut scheduler = if count.is_power_of_two() {
            cycle as usize & (count - 1)
        } else {
            (cycle % count as u64) as usize
        };
        for _ in 0..count {
            self.issue_one(scheduler, cycle, sim)?;
            scheduler = if scheduler + 1 == count { 0 } else { scheduler + 1 };
        }
        Ok(())
    }

    #[inline(always)]
    fn issue_one(&mut self, scheduler: usize, cycle: u64, sim: &Context<SmStats>) -> Result<(), Fault> {
        let Scheduler { share, core, greedy, last, .. } = self.schedulers[scheduler];
        let candidates = self.candidates((share, core), cycle);
        let stale = self.fetch.stale() & share;
        if stale != 0 {
            self.flush(scheduler, candidates, stale);
        }
        if candidates == 0 {
            self.lose_slot(share, &sim.stats);
            return Ok(());
        }
        let slot = match greedy && candidates >> last & 1 != 0 {
            true => Some(last),
            false => self.pick(scheduler, candidates),
        };
        let Some(slot) = slot else {
            self.count_slots((IssueSlot::Policy, candidates), 1, &sim.stats);
            return Ok(());
        };
        let first = self.warps.next(slot).path;
        let outcome = self.issue_from(slot, cycle, sim)?;
        sim.stats.issued.of(self.warps.cta_slot(slot)).slots.add(outcome, 1);
        if self.issue_width > 1 { self.issue_more(slot, (core, first), cycle, sim) } else { Ok(()) }
    }

    /// Lets the policy of a scheduler choose among candidates.
    #[inline(always)]
    fn pick(&mut self, scheduler: usize, candidates: u64) -> Option<u32> {
        let one = &mut self.schedulers[scheduler];
        let slot = one.policy.pick(&self.warps.view(candidates, one.share))?;
        one.last = slot;
        Some(slot)
    }

    /// Counts an issue slot that a scheduler with a share of the warps does not use.
    #[inline(never)]
    fn lose_slot(&self, share: u64, stats: &SmStats) {
        self.count_slots(self.stall(share), 1, stats);
    }

    /// Lets a warp issue more than its first instruction, which took this path, in a cycle.
    fn issue_more(
        &mut self,
        slot: u32,
        (core, first): (usize, u8),
        cycle: u64,
        sim: &Context<SmStats>,
    ) -> Result<(), Fault> {
        for _ in 1..self.issue_width {
            if self.fetch.stale() >> slot & 1 != 0 {
                // The scheduler looks at the instruction behind a jump in the same cycle.
                self.fetch.flush(1 << slot, |slot| self.warps.pc(slot));
                break;
            }
            let next = self.warps.next(slot).path;
            let alike = self.pairing == Pairing::DifferentUnits && next == first;
            let is_there = self.fetch.buffered() & self.warps.ready & 1 << slot != 0;
            if alike || !is_there || !self.accepts(core, next.into(), cycle) {
                break;
            }
            self.issue_from(slot, cycle, sim)?;
        }
        Ok(())
    }

    /// Empties the stale instruction buffers (`stale`: their warps jumped) of the warps that a scheduler examines before it
    /// finds one of the candidates.
    #[cold]
    fn flush(&mut self, scheduler: usize, candidates: u64, stale: u64) {
        let Scheduler { policy, share, .. } = &self.schedulers[scheduler];
        let seen = stale & policy.examines(&self.warps.view(candidates, *share), stale);
        self.fetch.flush(seen, |slot| self.warps.pc(slot));
    }

    /// Whether some warp has its next instruction and the operands for it.
    #[inline]
    pub(in crate::gpu::sm) fn may_issue(&self) -> bool {
        self.fetch.buffered() & self.warps.ready != 0
    }

    /// The warps of a share that may issue now, on paths of a part of the SM that are free.
    #[inline(always)]
    fn candidates(&self, (share, core): (u64, usize), cycle: u64) -> u64 {
        let mine = self.fetch.buffered() & self.warps.ready & share;
        if mine == 0 {
            return 0;
        }
        // Most want the first path, and often all of them do.
        let (accepts, [first, ..]) = (self.collectors.accepts_from(core), self.warps.wants());
        let mut open = if accepts[0] <= cycle { mine } else { mine & !first };
        if open & !first != 0 {
            for path in 1..PATHS {
                open &= if self.accepts(core, path, cycle) { u64::MAX } else { !self.warps.wants()[path] };
            }
        }
        open
    }

    /// Whether a part of the SM can send another instruction on this path.
    #[inline]
    fn accepts(&self, core: usize, path: usize, cycle: u64) -> bool {
        match path {
            MEMORY => self.load_store.has_room(core),
            path => self.collectors.accepts_from(core)[path] <= cycle,
        }
    }

    /// Reason for which a scheduler with a share of the warps issues nothing, and the warps that are closest to issuing.
    #[inline]
    pub(in crate::gpu::sm) fn stall(&self, share: u64) -> (IssueSlot, u64) {
        let warps = &self.warps;
        let held = Held {
            live: warps.live & share,
            running: warps.running & share,
            ready: warps.ready & share,
            buffered: self.fetch.buffered(),
            wants_memory: warps.wanting(MEMORY),
            accessing: warps.accessing,
            at_page: self.at_page & share,
        };
        held.stall()
    }

    /// Sends an instruction other than a memory access to its unit; its results are written at the end.
    #[inline(never)]
    fn send(&mut self, slot: u32, place: usize, cycle: u64, stats: &SmStats) {
        let path = (&mut self.collectors, &mut *self.registers, &mut self.ring);
        send(slot, &mut self.warps, stats.issued.of(place), path, cycle);
    }

    /// Issues the next instruction of a warp, or finds that it must wait for pages.
    #[inline(never)]
    fn issue_from(&mut self, slot: u32, cycle: u64, sim: &Context<SmStats>) -> Result<IssueSlot, Fault> {
        let &Fact { releases, path, pc, class, .. } = self.warps.next(slot);
        if self.warps.held >> slot & 1 != 0 {
            return Ok(self.issue_held(slot, sim));
        }
        if releases != Reach::None && self.hold_release(slot) {
            return Ok(IssueSlot::Barrier);
        }
        let place = self.warps.cta_slot(slot);
        let warp_slot = &mut self.warps.slots[slot as usize];
        warp_slot.issued += 1;
        if warp_slot.issued > warp_slot.attention {
            self.check_endless(slot, sim)?;
        }
        let Sm { warps, ctas, fetch, scratch, collectors, registers, ring, .. } = self;
        let (Some(warp), Some(cta)) = (warps.slots[slot as usize].warp.as_mut(), ctas[place].as_mut()) else {
            return Ok(IssueSlot::Used);
        };
        if self.remember_polls
            && let Some(step) = warp.poll()
        {
            let lanes = warp.active();
            self.issue_poll((slot, place), (pc, lanes), step, cycle, sim);
            return Ok(IssueSlot::Used);
        }
        let kernel = &*cta.launch.kernel;
        scratch.clock = cycle;
        scratch.picoseconds = sim.now().as_ps();
        let issued = match warp.issue(kernel, &cta.environment, scratch) {
            Ok(issued) => issued,
            Err(error) => {
                return Err(cta.fault(Failure::of_warp(kernel, cta.environment.ctaid, warp.index(), *error)));
            }
        };
        // Most instructions only compute.
        if matches!(issued.kind, Issue::Done | Issue::Branch | Issue::Nothing) && usize::from(path) != MEMORY
        {
            let next = warp.pc();
            let counts = sim.stats.issued.of(place);
            counts.count(class, warps.number_of(slot, issued.lanes));
            fetch.issued(slot, pc, next);
            send(slot, warps, counts, (collectors, registers, ring), cycle);
            warps.continue_at(slot, next);
            return Ok(IssueSlot::Used);
        }
        self.issue_other((slot, place), pc, issued, cycle, sim)
    }

    /// Issues an instruction of a round that is the same as the one before.
    #[inline(never)]
    fn issue_poll(
        &mut self,
        (slot, place): (u32, usize),
        (pc, lanes): (u32, u32),
        step: PollStep,
        cycle: u64,
        sim: &Context<SmStats>,
    ) {
        self.count_issue(slot, place, (pc, lanes), &sim.stats);
        match step {
            PollStep::Load(address) => {
                self.warps.await_results(slot);
                let operands = self.warps.next(slot).operands;
                let (load_store, mut sm) = self.load_store(sim, cycle);
                load_store.push_poll((slot, pc), address, operands, &mut sm);
            }
            PollStep::Other => self.send(slot, place, cycle, &sim.stats),
        }
        self.warps.refresh(slot);
    }

    /// Issues an instruction, executed already, that is more than a computation.
    #[inline(never)]
    fn issue_other(
        &mut self,
        (slot, place): (u32, usize),
        pc: u32,
        issued: Issued,
        cycle: u64,
        sim: &Context<SmStats>,
    ) -> Result<IssueSlot, Fault> {
        let warp_slot = &mut self.warps.slots[slot as usize];
        let (Some(warp), Some(cta)) = (warp_slot.warp.as_mut(), self.ctas[place].as_mut()) else {
            return Ok(IssueSlot::Used);
        };
        if issued.kind == Issue::Memory {
            match self.scratch.space {
                Space::Global | Space::Const => check_bounds(&self.scratch, cta, warp.index())?,
                Space::Local => to_local(&mut self.scratch, cta, warp.index(), slot)?,
                Space::Shared => {}
            }
            if self.scratch.copies {
                copies::begin(&mut self.scratch, cta, warp.index())?;
                if self.scratch.mask != 0 {
                    self.scratch.group = warp_slot.copies.begin();
                }
            }
            if cta.launch.shift != 0 && matches!(self.scratch.space, Space::Global | Space::Const) {
                shift(&mut self.scratch, cta.launch.shift);
            }
            if self.scratch.mask != 0
                && cta.launch.precedence.is_gated()
                && self.scratch.space == Space::Global
            {
                return Ok(self.issue_gated(slot, issued.lanes, sim));
            }
            cta.has_written |= self.scratch.space == Space::Global && self.scratch.kind != AccessKind::Load;
        }
        let parameters = cta.launch.parameters;
        if matches!(issued.kind, Issue::Exit { .. }) {
            self.fetch.drop_rest(slot);
        }
        self.count_issue(slot, place, (pc, issued.lanes), &sim.stats);
        if issued.kind == Issue::Memory && self.scratch.mask != 0 {
            if self.scratch.wants_value {
                self.warps.await_results(slot);
            }
            let operands = self.warps.next(slot).operands;
            let access = std::mem::replace(&mut self.scratch, self.load_store.empty_access());
            self.meet_acquire(slot, access.acquires);
            let (load_store, mut sm) = self.load_store(sim, cycle);
            load_store.push((slot, false), access, operands, &mut sm);
        } else if issued.kind == Issue::Texture {
            self.warps.await_results(slot);
            let operands = self.warps.next(slot).operands;
            let access = std::mem::replace(&mut self.scratch, self.load_store.empty_access());
            let (load_store, mut sm) = self.load_store(sim, cycle);
            load_store.push_texture(slot, access, operands, &mut sm)?;
        } else if usize::from(self.warps.next(slot).path) == MEMORY {
            // The value is ready: a parameter, or nothing because no lane takes part.
            self.warps.await_results(slot);
            let operands = self.warps.next(slot).operands;
            let address = (issued.kind == Issue::Parameter).then(|| parameters + self.scratch.addresses[0]);
            let (load_store, mut sm) = self.load_store(sim, cycle);
            load_store.push_parameter((slot, pc), address, operands, &mut sm);
        } else {
            self.send(slot, place, cycle, &sim.stats);
        }
        self.meet(slot, place, issued.kind, sim)?;
        self.warps.refresh(slot);
        Ok(IssueSlot::Used)
    }

    /// Counts an instruction that is issued, and has the next one fetched. One that accesses one space after another stays in the
    /// buffer until the last.
    #[inline]
    pub(in crate::gpu::sm) fn count_issue(
        &mut self,
        slot: u32,
        place: usize,
        (pc, lanes): (u32, u32),
        stats: &SmStats,
    ) {
        let lanes = self.warps.number_of(slot, lanes);
        stats.issued.of(place).count(self.warps.next(slot).class, lanes);
        if !self.warps.is_between_spaces(slot) {
            self.fetch.issued(slot, pc, self.warps.pc(slot));
        }
    }

    /// Effect of an instruction on its warp's state: barriers, fences, the end.
    #[inline]
    fn meet(&mut self, slot: u32, place: usize, kind: Issue, sim: &Context<SmStats>) -> Result<(), Fault> {
        let warp_slot = &mut self.warps.slots[slot as usize];
        let (Some(warp), Some(cta)) = (warp_slot.warp.as_mut(), self.ctas[place].as_mut()) else {
            return Ok(());
        };
        match kind {
            Issue::Barrier { id, count, waits, votes, whole } => {
                sim.stats.barriers.add(1);
                sim.trace(|| format!("warp slot {slot} arrives at barrier {id} of block {}", cta.index));
                if waits {
                    warp_slot.state = State::AtBarrier;
                    cta.waiting[warp.index() as usize] = Some(Waiting::whole(id, warp.last_barrier()));
                }
                if whole {
                    cta.arrive(slot, id, count, waits);
                } else {
                    cta.arrive_apart(id, count);
                }
                if let Some(votes) = votes {
                    cta.vote(id, votes);
                }
                self.open_barriers(id as usize..id as usize + 1, place);
                self.check_standstill(place)?;
            }
            Issue::Held => {
                warp_slot.state = State::AtBarrier;
                cta.waiting[warp.index() as usize] = warp.waits_apart().first().copied();
                self.check_standstill(place)?;
            }
            Issue::Exit { finished: false } if warp.is_apart() => self.open_barriers(0..BARRIERS, place),
            Issue::Range(action) => {
                let call = self.scratch.range();
                self.claim_range(place, action, call)?;
            }
            Issue::Fence(order) => self.meet_fence(slot, order),
            Issue::CommitCopies => warp_slot.copies.commit(),
            Issue::AwaitCopies { newest } => self.await_copies(slot, newest),
            Issue::Sleep { nanoseconds } => self.put_to_sleep(slot, nanoseconds, sim),
            Issue::Exit { finished: true } => {
                warp_slot.state = State::Ended;
                self.warps.live &= !(1 << slot);
                self.fetch.stop(slot);
                // Barriers that wait for all wait for one less.
                cta.live -= 1;
                cta.counts.warp_cycles += sim.cycle() - cta.since;
                cta.spans.end_warp(warp.index(), warp_slot.issued, sim);
                self.ended |= 1 << place;
                self.open_barriers(0..BARRIERS, place);
                self.check_standstill(place)?;
            }
            Issue::Done
            | Issue::Memory
            | Issue::Parameter
            | Issue::Texture
            | Issue::Branch
            | Issue::Nothing
            | Issue::Exit { finished: false } => {}
        }
        Ok(())
    }
}

/// Sends the next instruction of a warp, which has been executed and is no access to memory, on its way.
#[inline(always)]
fn send(
    slot: u32,
    warps: &mut Warps,
    counts: &PlaceCounts,
    (collectors, registers, ring): (&mut OperandCollector, &mut [RegisterFile], &mut WritebackRing),
    cycle: u64,
) {
    warps.await_results(slot);
    let core = warps.core(slot);
    let fact = warps.next(slot);
    let at = collectors.issue((core, slot), fact, &mut registers[core], cycle);
    let &Fact { sets, pc, .. } = fact;
    if sets != 0 {
        ring.add(cycle, at, Writeback { warp: slot, pc, sets });
        counts.count_result(at - cycle);
    }
}

/// Whether every lane stays within one of the allocations.
fn check_bounds(access: &Access, cta: &Cta, warp: u32) -> Result<(), Fault> {
    let (addresses, width) = (&access.addresses, u64::from(access.width));
    let memory = &cta.launch.memory;
    let (low, high) = access.extent();
    let stores = access.kind != AccessKind::Load;
    // All addresses between two lanes in one allocation are in it.
    if memory.same(low, high) && memory.allow(low, width, stores) && memory.allow(high, width, stores) {
        return Ok(());
    }
    let inside = |lane: usize| memory.allow(addresses[lane], width, stores);
    let Some(lane) = (0..32).find(|&lane| access.mask >> lane & 1 != 0 && !inside(lane)) else {
        return Ok(());
    };
    let message = format!("{}, {}", access.describe(lane as u32), memory.locate(addresses[lane], width));
    Err(cta.fault_at(warp, lane as u32, access.pc, FaultKind::IllegalAddress, message))
}

/// Turns the addresses of a program into those of the device.
#[cold]
fn shift(access: &mut Access, shift: u64) {
    access.addresses.iter_mut().for_each(|address| *address = address.wrapping_add(shift));
}

/// Turns the offsets of an access to local memory into addresses, for the warp in a slot.
fn to_local(access: &mut Access, cta: &Cta, warp: u32, slot: u32) -> Result<(), Fault> {
    let bytes = u64::from(cta.launch.kernel.local_bytes(cta.launch.stack));
    let outside = |lane: &u32| {
        let offset = access.addresses[*lane as usize];
        access.mask >> lane & 1 != 0 && offset.saturating_add(access.width.into()) > bytes
    };
    if let Some(lane) = (0..32).find(outside) {
        let message =
            format!("{}, outside of the thread's local memory ({bytes} bytes)", access.describe(lane));
        return Err(cta.fault_at(warp, lane, access.pc, FaultKind::IllegalAddress, message));
    }
    load_store::to_local(access, &cta.launch.local, cta.environment.sm, slot);
    Ok(())
}
