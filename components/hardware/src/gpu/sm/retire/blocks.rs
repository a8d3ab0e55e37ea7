//! Thread blocks on an SM: their barriers and their end.

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::Context;
use counterpoint_protocols::launch::SmEvent;

use crate::gpu::sm::frontend::cta::Cta;
use crate::gpu::sm::frontend::warp::State;
use crate::gpu::sm::operands::writeback::{NO_REGISTERS, Writeback};
use crate::gpu::sm::state::Sm;
use crate::gpu::sm::stats::SmStats;

impl Sm {
    /// Takes the results that reach their registers in a cycle.
    #[inline(always)]
    pub(in crate::gpu::sm) fn take_results(&mut self, cycle: u64) {
        for number in 0..self.ring.begin(cycle) {
            self.take_result(self.ring.result(cycle, number));
        }
        if self.ring.has_far(cycle) {
            self.take_far_results(cycle);
        }
    }

    #[cold]
    #[inline(never)]
    fn take_far_results(&mut self, cycle: u64) {
        while let Some(result) = self.ring.take_far(cycle) {
            self.take_result(result);
        }
    }

    #[inline(always)]
    fn take_result(&mut self, result: Writeback) {
        let (place, is_last) = self.warps.release(result);
        if is_last {
            self.ended |= 1 << place;
        }
        if result.pc == NO_REGISTERS
            && let Some(cta) = &mut self.ctas[place]
        {
            cta.outstanding -= 1;
            self.ended |= u32::from(cta.is_done()) << place;
        }
    }

    /// Frees a block's place if nothing of it is under way any more.
    pub(in crate::gpu::sm) fn end_if_done(&mut self, place: usize, sim: &Context<SmStats>) {
        let Some(cta) = self.ctas[place].as_ref().filter(|cta| cta.is_done()) else { return };
        // A result would otherwise reach a warp of another block.
        if !self.warps.are_settled(cta.warps) {
            return;
        }
        if let Some(log) = &self.page_log
            && cta.launch.precedence.is_gated()
        {
            log.ended(cta.launch.id, cta.index, sim.now());
        }
        if self.release_ranges(place) {
            return;
        }
        let Some(cta) = self.remove(place, sim) else { return };
        sim.stats.ctas.add(1);
        self.events.push_back(SmEvent::CtaDone {
            launch: cta.launch.id,
            index: cta.index,
            counts: cta.counts,
        });
    }

    /// Removes a block nothing of which is under way, and adds up its counts.
    pub(in crate::gpu::sm) fn remove(&mut self, place: usize, sim: &Context<SmStats>) -> Option<Cta> {
        let mut cta = self.ctas[place].take()?;
        self.occupied &= !(1 << place);
        self.warps.end_block(cta.warps);
        cta.counts = cta.so_far(sim.stats.issued.of(place));
        // Issue slots are by scheduler, and each has its share of the warp slots.
        let warp_slots = self.warps.slots.len() as u64 / self.schedulers.len() as u64;
        cta.counts.warp_slots = cta.counts.slots.total() * warp_slots;
        sim.stats.warp_cycles.add(cta.counts.warp_cycles);
        sim.stats.warp_slots.add(cta.counts.warp_slots);
        cta.spans.end(&cta, sim);
        if let Some(samples) = &mut self.samples {
            samples.end(&cta);
        }
        sim.debug(|| format!("ends block {} of {}", cta.index, cta.launch.kernel.name()));
        Some(cta)
    }

    /// Resumes the warps in these slots.
    pub(in crate::gpu::sm) fn resume(&mut self, slots: u64) {
        let mut rest = slots;
        while rest != 0 {
            let slot = rest.trailing_zeros();
            rest &= rest - 1;
            self.warps.slots[slot as usize].state = State::Running;
            self.warps.refresh(slot);
        }
    }

    /// Resumes the warps whose barriers are complete.
    pub(in crate::gpu::sm) fn open_barriers(&mut self, ids: std::ops::Range<usize>, place: usize) {
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
    pub(in crate::gpu::sm) fn check_standstill(&self, place: usize) -> Result<(), Fault> {
        match &self.ctas[place] {
            Some(cta) if cta.stands_still() => Err(cta.standstill(&self.warps.of(cta.warps))),
            _ => Ok(()),
        }
    }
}
