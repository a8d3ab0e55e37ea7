//! Thread blocks begin: their warps get slots, registers and code.

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::Context;
use counterpoint_protocols::launch::{Precedence, RunCta};
use counterpoint_ptx::Warp;

use crate::gpu::sm::frontend::cta::Cta;
use crate::gpu::sm::frontend::fetch::Code;
use crate::gpu::sm::frontend::spans::Spans;
use crate::gpu::sm::state::Sm;
use crate::gpu::sm::stats::SmStats;

impl Sm {
    /// Puts a block onto the SM; returns its place.
    pub(in crate::gpu::sm) fn start(
        &mut self,
        message: RunCta,
        sim: &Context<SmStats>,
    ) -> Result<usize, Fault> {
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
        cta.counts_before = sim.stats.issued.of(place).so_far();
        cta.spans = Spans::begin(span, index, place, slots, sim);
        self.ctas[place] = Some(cta);
        self.occupied |= 1 << place;
        Ok(place)
    }
}
