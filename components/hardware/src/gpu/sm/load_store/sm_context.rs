//! The parts of the SM that the load-store unit uses.

use counterpoint_framework::model::Context;
use counterpoint_protocols::memory::Label;
use counterpoint_ptx::{Access, Reach, Row};

use crate::gpu::sm::frontend::cta::Cta;
use crate::gpu::sm::frontend::warp::Warps;
use crate::gpu::sm::operands::collector::{OperandCollector, RegisterFile};
use crate::gpu::sm::operands::facts::Fact;
use crate::gpu::sm::operands::writeback::{Writeback, WritebackRing};
use crate::gpu::sm::stats::SmStats;

/// The parts of its SM that the unit uses.
pub(in crate::gpu::sm) struct SmContext<'a> {
    pub(in crate::gpu::sm) warps: &'a mut Warps,
    pub(in crate::gpu::sm) ctas: &'a mut [Option<Cta>],
    pub(in crate::gpu::sm) registers: &'a mut [RegisterFile],
    pub(in crate::gpu::sm) collectors: &'a mut OperandCollector,
    pub(in crate::gpu::sm) ring: &'a mut WritebackRing,
    /// Bits of the blocks that may have ended.
    pub(in crate::gpu::sm) ended: &'a mut u32,
    pub(in crate::gpu::sm) sim: &'a Context<SmStats>,
    pub(in crate::gpu::sm) cycle: u64,
}

impl SmContext<'_> {
    pub(super) fn cta(&mut self, warp: u32) -> &mut Cta {
        let cta = self.warps.cta_slot(warp);
        self.ctas[cta].as_mut().expect("a warp with an access under way has a block")
    }

    /// On whose behalf a warp's accesses happen.
    pub(super) fn label(&mut self, warp: u32) -> Label {
        self.cta(warp).launch.label()
    }

    /// The number in its block of the warp in a slot.
    pub(super) fn number(&self, slot: u32) -> u32 {
        self.warps.slots[slot as usize].warp.as_ref().map_or(0, |warp| warp.index())
    }

    /// The warp waits for one more event: an instruction's end or a store's answer.
    pub(super) fn expect(&mut self, warp: u32) {
        self.warps.slots[warp as usize].outstanding += 1;
        self.warps.accessing |= 1 << warp;
        self.cta(warp).outstanding += 1;
    }

    /// An access has its values; its warp may continue if it waits for them.
    #[inline]
    pub(super) fn acquired(&mut self, warp: u32, access: &Access) {
        if access.acquires != Reach::None {
            self.warps.slots[warp as usize].acquiring = false;
        }
    }

    pub(super) fn done(&mut self, warp: u32) {
        let place = self.warps.cta_slot(warp);
        let slot = &mut self.warps.slots[warp as usize];
        slot.outstanding -= 1;
        if slot.outstanding == 0 {
            self.warps.accessing &= !(1 << warp);
        }
        let cta = self.cta(warp);
        cta.outstanding -= 1;
        let is_done = cta.is_done();
        *self.ended |= u32::from(is_done) << place;
    }

    /// Puts loaded words into the registers of a warp, and those of a copy into the shared memory of its block.
    pub(super) fn deliver(&mut self, warp: u32, access: &Access, lanes: u32, words: &[Row; 4]) {
        if access.copies {
            let landed = access.land(lanes, words, &mut self.cta(warp).shared);
            debug_assert!(landed.is_ok(), "that it fits was seen at the issue");
            return;
        }
        let place = self.warps.cta_slot(warp);
        let slot = &mut self.warps.slots[warp as usize];
        if let Some(watch) = &mut slot.watch {
            watch.loaded(access, lanes, words);
        }
        if let (Some(cta), Some(warp)) = (self.ctas[place].as_ref(), slot.warp.as_mut()) {
            warp.complete_load(&cta.launch.kernel, access.pc, lanes, words);
        }
    }

    /// A warp has loaded a word again.
    pub(super) fn polled(&mut self, warp: u32, word: u32) {
        let place = self.warps.cta_slot(warp);
        let slot = &mut self.warps.slots[warp as usize];
        if let (Some(cta), Some(warp)) = (self.ctas[place].as_ref(), slot.warp.as_mut()) {
            warp.polled(&cta.launch.kernel, word);
        }
    }

    /// Puts the channels of texels into the registers of a warp.
    pub(super) fn deliver_texture(&mut self, warp: u32, pc: u32, lanes: u32, words: &[Row; 4]) {
        let place = self.warps.cta_slot(warp);
        let slot = &mut self.warps.slots[warp as usize];
        if let (Some(cta), Some(warp)) = (self.ctas[place].as_ref(), slot.warp.as_mut()) {
            warp.complete_texture(&cta.launch.kernel, pc, lanes, words);
        }
    }

    /// The registers that an instruction writes have their values at a given cycle, or as soon after it as their banks are free.
    /// An access says in which cycle it was issued; a parameter is none.
    pub(super) fn write_back(&mut self, warp: u32, pc: u32, issued: Option<u64>, from: u64) {
        let Some(cta) = self.ctas[self.warps.cta_slot(warp)].as_mut() else { return };
        let &Fact { sets, ref operands, .. } = self.warps.fact(warp, pc);
        let at = self.registers[self.warps.core(warp)].write_loaded(warp, operands, self.cycle, from);
        // The block waits for the result: the scoreboard does, if registers are written.
        cta.outstanding += u32::from(sets == 0);
        if let Some(issued) = issued {
            cta.counts.memory_results += 1;
            cta.counts.memory_cycles += at - issued;
        }
        self.ring.add(self.cycle, at, Writeback::of(warp, pc, sets));
    }
}
