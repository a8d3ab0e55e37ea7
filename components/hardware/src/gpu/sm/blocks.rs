//! Thread blocks on an SM: their start, their barriers, their end.

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::Context;
use counterpoint_protocols::launch::{Precedence, RunCta, SmEvent};
use counterpoint_ptx::Warp;

use super::cta::Cta;
use super::fetch::Code;
use super::spans::Spans;
use super::warp::State;
use super::{Sm, SmStats};

impl Sm {
    /// Puts a block onto the SM.
    pub(super) fn start(&mut self, message: RunCta, sim: &Context<SmStats>) -> Result<(), Fault> {
        let RunCta { launch, index, sm, sms, span } = message;
        if self.launch != Some(launch.id) {
            let flushed = self.load_store.launch_changed(sim.now());
            sim.stats.l1_flushes.add(u64::from(flushed && self.launch.is_some()));
            self.launch = Some(launch.id);
            self.load_store.constants_written(launch.constant_writes);
        }
        if launch.precedence != Precedence::Stream && !self.load_store.translates() {
            return Err(Fault::new("a gated launch needs an SM with a TLB (tlb.entries)"));
        }
        if launch.kernel.multiplies() && !self.warps.multiplies() {
            return Err(Fault::new(format!(
                "`{}` multiplies matrices, and the SM has no units for it (tensor.units)",
                launch.kernel.name()
            )));
        }
        let free = self.ctas.iter().position(Option::is_none);
        let place = free.ok_or_else(|| Fault::new("a block was sent to a full SM"))?;
        let mut cta = Cta::new(launch, index, sm, sms, sim.cycle());
        let kernel = cta.launch.kernel.clone();
        let program = self.warps.begin_block(&kernel, &self.registers[0]);
        let instructions = kernel.instructions().len() as u32;
        let code = Code { address: cta.launch.code, instructions, label: cta.launch.label() };
        for number in 0..cta.live {
            let slot = (0..self.warps.slots.len()).find(|&slot| self.warps.slots[slot].warp.is_none());
            let slot =
                slot.ok_or_else(|| Fault::new("a block was sent to an SM without warps for it"))? as u32;
            let warp = Warp::new(&kernel, &cta.environment, number);
            self.warps.start(slot, program, warp, place);
            self.attend_first(slot);
            self.act(1 << slot, sim);
            self.fetch.start(slot, code);
            cta.warps |= 1 << slot;
        }
        sim.debug(|| format!("begins block {index} of {} in slot {place}", kernel.name()));
        let slots = (0..u64::BITS).filter(|&slot| cta.warps >> slot & 1 != 0);
        cta.spans = Spans::begin(span, index, place, slots, sim);
        self.ctas[place] = Some(cta);
        self.occupied |= 1 << place;
        Ok(())
    }

    /// Frees a block's place if nothing of it is under way any more.
    pub(super) fn end_if_done(&mut self, place: usize, sim: &Context<SmStats>) {
        let Some(cta) = self.ctas[place].as_ref().filter(|cta| cta.is_done()) else { return };
        if let Some(log) = &self.page_log
            && cta.launch.precedence.is_gated()
        {
            log.ended(cta.launch.id, cta.index, sim.now());
        }
        if self.release_ranges(place) {
            return;
        }
        let Some(mut cta) = self.ctas[place].take() else { return };
        self.occupied &= !(1 << place);
        self.warps.end_block(cta.warps);
        // Issue slots are by scheduler, and each has its share of the warp slots.
        let warp_slots = self.warps.slots.len() as u64 / self.schedulers.len() as u64;
        cta.counts.warp_slots = cta.counts.slots.total() * warp_slots;
        sim.stats.ctas.add(1);
        sim.stats.warp_cycles.add(cta.counts.warp_cycles);
        sim.stats.warp_slots.add(cta.counts.warp_slots);
        cta.spans.end(&cta, sim);
        sim.debug(|| format!("ends block {} of {}", cta.index, cta.launch.kernel.name()));
        self.events.push_back(SmEvent::CtaDone {
            launch: cta.launch.id,
            index: cta.index,
            counts: cta.counts,
        });
    }

    /// Lets warps go on.
    pub(super) fn resume(&mut self, slots: u64) {
        let mut rest = slots;
        while rest != 0 {
            let slot = rest.trailing_zeros();
            rest &= rest - 1;
            self.warps.slots[slot as usize].state = State::Running;
            self.warps.refresh(slot);
        }
    }

    /// Lets the warps go on whose barriers are complete.
    pub(super) fn open_barriers(&mut self, ids: std::ops::Range<usize>, place: usize) {
        for id in ids {
            let Some(cta) = &mut self.ctas[place] else { return };
            let in_parts = cta.has_parts(id);
            let parts = if in_parts { self.warps.arrivals(cta.warps, id as u32) } else { 0 };
            let Some((mut released, votes)) = cta.open(id, parts) else { continue };
            let mut rest = released;
            while rest != 0 {
                let slot = rest.trailing_zeros();
                rest &= rest - 1;
                if let Some(warp) = &mut self.warps.slots[slot as usize].warp {
                    cta.waiting[warp.index() as usize] = None;
                    warp.pass_barrier(&cta.launch.kernel, votes);
                }
            }
            if in_parts {
                released |= self.warps.pass_apart(cta, id as u32, votes);
            }
            self.resume(released);
        }
    }

    /// A block waits forever if every living warp waits at a barrier.
    pub(super) fn check_standstill(&self, place: usize) -> Result<(), Fault> {
        match &self.ctas[place] {
            Some(cta) if cta.stands_still() => Err(cta.standstill(&self.warps.of(cta.warps))),
            _ => Ok(()),
        }
    }
}
