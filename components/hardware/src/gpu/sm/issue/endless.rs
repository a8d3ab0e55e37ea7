//! Warps that have executed many instructions: warps beyond the limit, and warps in a loop that provably does not end.
//!
//! A warp is checked when it has issued a power of two of instructions: at [`FIRST_LOOK`] or more, or at [`FIRST_CHECK`] or more in a
//! loop that may wait for others. Until then an issue only compares two numbers. A unit that writes to shared memory or registers by
//! itself, asynchronously, must count as in flight here ([`LoadStore::unsettled`]). A check reads only the state of the warp's block and
//! changes nothing.
//!
//! A warp that may end is watched from then on for a while ([`Watch`]). While all warps of an SM return to the same states, or wait at
//! barriers for warps that do, the SM does not act ([`set_acts`](counterpoint_framework::kernel::Process::set_acts)); the kernel of the
//! simulation knows whether anybody else does.

use std::rc::Rc;

use counterpoint_framework::kernel::{Fault, HangReason};
use counterpoint_framework::model::Context;
use counterpoint_ptx::endless::{Doing, FIRST_LOOK, Memories, Moment, Sight, Verdict, Watch, budget};
use counterpoint_ptx::{FaultKind, Row, Warp};

use crate::gpu::sm::frontend::cta::Cta;
use crate::gpu::sm::frontend::warp::State;
use crate::gpu::sm::load_store::{LoadStore, Pending, shared_access, shared_word};
use crate::gpu::sm::state::Sm;
use crate::gpu::sm::stats::SmStats;

/// Instructions after which a warp is checked for the first time if it is in a loop that may wait for others.
const FIRST_CHECK: u64 = 1 << 8;
/// Number of repeated checks of a warp with accesses in flight, before the check is postponed to the next power of two.
const TRIES: u64 = 32;
/// Instructions from one repeated check to the next: a prime, so that the checks meet different instructions of a loop.
const APART: u64 = 61;

/// Local memory and constants, as far as the SM's caches have them.
struct Cached<'a> {
    load_store: &'a LoadStore,
    cta: &'a Cta,
    /// The slot of each warp of the block.
    slots: Vec<u32>,
}

impl Memories for Cached<'_> {
    fn local(&mut self, warp: usize, lane: usize, offset: usize, bytes: &mut [u8]) -> bool {
        let (local, sm) = (&self.cta.launch.local, self.cta.environment.sm);
        // Words of four bytes take turns among the lanes.
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done;
            let end = bytes.len().min(done + 4 - at % 4);
            let address = local.address(sm, self.slots[warp], lane as u32, at as u32);
            if !self.load_store.local_bytes(address, &mut bytes[done..end]) {
                return false;
            }
            done = end;
        }
        true
    }

    fn constant(&mut self, address: u64, bytes: &mut [u8]) -> bool {
        self.load_store.constant_bytes(address, bytes)
    }

    fn global(&mut self, _: u64, _: &mut [u8]) -> bool {
        false
    }
}

impl Sm {
    /// A warp has begun: sets the instruction count of its first check.
    pub(in crate::gpu::sm) fn attend_first(&mut self, slot: u32) {
        self.warps.slots[slot as usize].attention = FIRST_CHECK.min(self.instruction_limit);
    }

    /// Checks a warp whose issued instructions, the next one included, have reached the count in its slot.
    #[cold]
    pub(in crate::gpu::sm) fn check_endless(
        &mut self,
        slot: u32,
        sim: &Context<SmStats>,
    ) -> Result<(), Fault> {
        let warp = &self.warps.slots[slot as usize];
        let (issued, place) = (warp.issued - 1, self.warps.cta_slot(slot));
        let Some(cta) = &self.ctas[place] else { return Ok(()) };
        if issued >= self.instruction_limit {
            return Err(self.beyond_the_limit(slot, cta));
        }
        if warp.watch.is_some() {
            self.keep_watching(slot, place, sim);
            return Ok(());
        }
        let next =
            warp.warp.as_ref().and_then(Warp::pc).map(|pc| &cta.launch.kernel.instructions()[pc as usize]);
        if issued < FIRST_LOOK && !next.is_some_and(|next| next.waits) {
            self.warps.slots[slot as usize].attention = next_check(issued).min(self.instruction_limit);
            return Ok(());
        }
        let next = match self.judge(slot, cta, budget(issued)) {
            Verdict::Endless(failure) | Verdict::Waits(failure) => return Err(cta.fault(*failure)),
            // A warp that is checked just after a power of two has been checked in vain.
            Verdict::Later if issued - (1 << issued.ilog2()) < TRIES * APART => issued + APART,
            Verdict::Later | Verdict::Open => {
                // Others may change the data that the warp reads: from now on every instruction is checked.
                let warp = &mut self.warps.slots[slot as usize];
                warp.watch = warp.warp.as_ref().map(|warp| Box::new(Watch::new(warp)));
                0
            }
        };
        self.warps.slots[slot as usize].attention = next.min(self.instruction_limit);
        Ok(())
    }

    /// Checks a warp that is watched, and updates whether the SM acts.
    fn keep_watching(&mut self, slot: u32, place: usize, sim: &Context<SmStats>) {
        let settled = self.warps.is_settled(slot) && self.warps.accessing >> slot & 1 == 0;
        let at = &mut self.warps.slots[slot as usize];
        let (Some(cta), Some(watch), Some(warp)) = (&self.ctas[place], &mut at.watch, &at.warp) else {
            return;
        };
        match watch.inspect(&cta.launch.kernel, warp, settled) {
            Sight::Open => {}
            Sight::Repeats => {
                if self.repeating >> slot & 1 == 0 {
                    let reason = reason(cta, watch, &self.load_store, sim);
                    self.told.borrow_mut().insert(slot, reason);
                    self.repeating |= 1 << slot;
                }
                if !self.in_vain {
                    self.in_vain = self.all_repeat();
                    sim.set_acts(!self.in_vain);
                }
            }
            Sight::Acts => {
                at.watch = None;
                at.attention = next_check(at.issued).min(self.instruction_limit);
                self.act(1 << slot, sim);
            }
        }
    }

    /// The warps in these slots act, or are about to.
    #[inline]
    pub(in crate::gpu::sm) fn act(&mut self, slots: u64, sim: &Context<SmStats>) {
        if self.repeating & slots != 0 {
            self.repeating &= !slots;
            self.told.borrow_mut().retain(|slot, _| slots >> slot & 1 == 0);
        }
        if self.in_vain {
            self.in_vain = false;
            sim.set_acts(true);
        }
    }

    /// Whether every warp that has not ended repeats itself or waits at a barrier for warps that do.
    fn all_repeat(&self) -> bool {
        let mut others = self.warps.live & !self.repeating;
        while others != 0 {
            let slot = others.trailing_zeros() as usize;
            others &= others - 1;
            if self.warps.slots[slot].state != State::AtBarrier {
                return false;
            }
        }
        // Stores of warps at a barrier may be on their way: they change memory when they arrive.
        let in_flight = self.warps.accessing & !self.repeating;
        let arrived = |cta: &Cta| cta.live > 0 && cta.warps & in_flight == 0;
        self.ended == 0 && self.ctas.iter().flatten().all(arrived)
    }

    /// Explains a run that hangs: the warps that loop forever.
    pub(in crate::gpu::sm) fn explain(&self, sim: &Context<SmStats>) {
        let told = Rc::clone(&self.told);
        sim.explain(move || told.borrow().values().cloned().collect());
    }

    /// Whether the warp in a slot loops forever. Most warps that may end show this by themselves, before any other warp is
    /// copied.
    fn judge(&self, slot: u32, cta: &Cta, budget: u64) -> Verdict {
        let unsettled = self.load_store.unsettled();
        if unsettled >> slot & 1 != 0 {
            return Verdict::Later;
        }
        match self.judge_among(1 << slot, (slot, cta), budget) {
            Verdict::Later if unsettled & self.warps.running & cta.warps == 0 => {
                self.judge_among(!unsettled, (slot, cta), budget)
            }
            verdict => verdict,
        }
    }

    /// Like `judge`, where among the running warps only those in the slots `known` have a known state.
    fn judge_among(&self, known: u64, (slot, cta): (u32, &Cta), budget: u64) -> Verdict {
        let mut slots = vec![0; cta.waiting.len()];
        let mut subject = 0;
        let mut warps = vec![Doing::Ended; cta.waiting.len()];
        for at in (0..u64::BITS).filter(|at| cta.warps >> at & 1 != 0) {
            let place = &self.warps.slots[at as usize];
            let Some(warp) = &place.warp else { continue };
            let index = warp.index() as usize;
            slots[index] = at;
            if at == slot {
                subject = index;
            }
            warps[index] = match (place.state, cta.waiting[index]) {
                (State::Ended, _) => Doing::Ended,
                (State::AtBarrier, Some(waiting)) => Doing::Waiting(waiting),
                (State::AtPage, _) => Doing::InFlight,
                _ if known >> at & 1 == 0 => Doing::InFlight,
                _ => Doing::Running(Box::new(warp.clone())),
            };
        }
        let kernel = &*cta.launch.kernel;
        let mut shared = cta.shared.clone();
        let mut words = [Row::ZERO; 4];
        for (at, pending) in self.load_store.pending().filter(|(at, _)| cta.warps >> at & 1 != 0) {
            let Some(index) = slots.iter().position(|slot| *slot == at) else { continue };
            if let Pending::Access(access) = pending
                && !shared_access(access, &mut shared, &mut words)
            {
                return Verdict::Open;
            }
            let Doing::Running(warp) = &mut warps[index] else { continue };
            match pending {
                Pending::Access(access) if access.wants_value => {
                    warp.complete_load(kernel, access.pc, access.mask, &words);
                }
                Pending::Access(_) => {}
                Pending::Poll(address) => warp.polled(kernel, shared_word(&shared, address)),
            }
        }
        let mut memories = Cached { load_store: &self.load_store, cta, slots };
        let moment = Moment { kernel, env: &cta.environment, shared, warps };
        moment.judge(subject, &mut memories, budget)
    }

    fn beyond_the_limit(&self, slot: u32, cta: &Cta) -> Fault {
        let limit = self.instruction_limit;
        let message = format!(
            "the warp has executed {limit} instructions and has not ended: it is taken to run forever (instruction_limit of the SM)"
        );
        let warp = self.warps.slots[slot as usize].warp.as_ref();
        let index = warp.map_or(0, Warp::index);
        let (active, pc) = warp.map_or((1, 0), |warp| (warp.active(), warp.pc().unwrap_or_default()));
        cta.fault_at(index, active.trailing_zeros(), pc, FaultKind::Other, message)
    }
}

/// The number of instructions after which a warp is checked again.
fn next_check(issued: u64) -> u64 {
    1 << (u64::BITS - issued.leading_zeros())
}

/// Reason of a warp in an endless loop, for the report of a hang: the loop, the words that it reads, and the age of the L1's copy.
fn reason(cta: &Cta, watch: &Watch, load_store: &LoadStore, sim: &Context<SmStats>) -> HangReason {
    let failure = watch.failure(&cta.launch.kernel, &cta.environment);
    let name = cta.launch.name();
    let ([x, y, z], warp) = (failure.ctaid, failure.warp.unwrap_or_default());
    let own = format!("block ({x}, {y}, {z}), warp {warp}");
    let mut reason = HangReason::new(format!("{name}, {failure}"))
        .among(format!("{name}, line {}", failure.error.line), own);
    let copy = watch.global_words().find_map(|word| Some((word, load_store.filled(word)?)));
    let Some((word, since)) = copy else { return reason };
    sim.ask(word);
    reason.text += &format!("; the L1 has had its copy of {word:#x} since {} ns", since.as_ps() / 1000);
    reason.about(word, since)
}
