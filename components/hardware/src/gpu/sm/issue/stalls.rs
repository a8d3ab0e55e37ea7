//! Reason for which a scheduler issues nothing, and the block to which this issue slot counts.

use counterpoint_protocols::launch::IssueSlot;

use crate::gpu::sm::state::Sm;
use crate::gpu::sm::stats::SmStats;

/// A scheduler's warps, as bits.
pub(in crate::gpu::sm) struct Held {
    /// Warps that have not ended.
    pub(in crate::gpu::sm) live: u64,
    pub(in crate::gpu::sm) running: u64,
    /// Warps whose next instruction has its operands.
    pub(in crate::gpu::sm) ready: u64,
    pub(in crate::gpu::sm) buffered: u64,
    /// Warps whose next instruction is for the load-store unit.
    pub(in crate::gpu::sm) wants_memory: u64,
    pub(in crate::gpu::sm) accessing: u64,
    pub(in crate::gpu::sm) at_page: u64,
}

impl Held {
    /// The stall reason of the warps that are closest to issuing, and these warps.
    #[inline]
    pub(in crate::gpu::sm) fn stall(&self) -> (IssueSlot, u64) {
        let held_back = self.ready & self.buffered;
        let (units, computing) = (held_back & !self.wants_memory, self.running & !self.accessing);
        if units != 0 {
            (IssueSlot::Pipeline, units)
        } else if held_back != 0 {
            (IssueSlot::MemoryPipeline, held_back)
        } else if self.ready != 0 {
            (IssueSlot::Fetch, self.ready)
        } else if computing != 0 {
            (IssueSlot::Data, computing)
        } else if self.running != 0 {
            (IssueSlot::Memory, self.running)
        } else if self.at_page != 0 {
            (IssueSlot::Page, self.at_page)
        } else if self.live != 0 {
            (IssueSlot::Barrier, self.live)
        } else {
            (IssueSlot::Idle, 0)
        }
    }
}

impl Sm {
    /// Counts issue slots for the block of the first of these warps; without a warp, for the block in the first
    /// occupied slot.
    #[inline(always)]
    pub(in crate::gpu::sm) fn count_slots(
        &self,
        (slot, warps): (IssueSlot, u64),
        amount: u64,
        stats: &SmStats,
    ) {
        let place = match warps {
            0 => self.occupied.trailing_zeros() as usize,
            warps => self.warps.cta_slot(warps.trailing_zeros()),
        };
        stats.issued.of(place).slots.add(slot, amount);
    }
}
