//! Where issue slots go: in every cycle with a block on the SM, each scheduler either issues or has a reason not to.

use counterpoint_framework::model::{Counter, Stats};

/// Issue slots of an SM by what became of them. Together they are the cycles with a block times the schedulers.
#[derive(Default, Stats)]
pub(crate) struct IssueSlots {
    /// Slots in which an instruction was issued.
    pub(super) used: Counter,
    /// Slots lost because a unit's collectors or pipeline registers were occupied.
    pipeline: Counter,
    /// Slots lost because the load-store unit was occupied.
    memory_pipeline: Counter,
    /// Slots lost because the next instruction had not been fetched.
    fetch: Counter,
    /// Slots lost because a result of a unit was awaited.
    data: Counter,
    /// Slots lost because memory was awaited.
    memory: Counter,
    /// Slots lost because all warps waited at a barrier or a fence.
    barrier: Counter,
    /// Slots of schedulers without a warp.
    idle: Counter,
}

/// Why a scheduler issues nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stall {
    Pipeline,
    MemoryPipeline,
    Fetch,
    Data,
    Memory,
    Barrier,
    Idle,
}

/// A scheduler's warps, as bits.
pub(super) struct Held {
    /// Those that have not ended.
    pub(super) live: u64,
    pub(super) running: u64,
    /// Those whose next instruction has its operands.
    pub(super) ready: u64,
    pub(super) buffered: u64,
    /// Those whose next instruction is for the load-store unit.
    pub(super) wants_memory: u64,
    pub(super) accessing: u64,
}

impl Held {
    /// What keeps the warp back that comes nearest to issuing.
    #[inline]
    pub(super) fn stall(&self) -> Stall {
        let held_back = self.ready & self.buffered;
        if held_back & !self.wants_memory != 0 {
            Stall::Pipeline
        } else if held_back != 0 {
            Stall::MemoryPipeline
        } else if self.ready != 0 {
            Stall::Fetch
        } else if self.running & !self.accessing != 0 {
            Stall::Data
        } else if self.running != 0 {
            Stall::Memory
        } else if self.live != 0 {
            Stall::Barrier
        } else {
            Stall::Idle
        }
    }
}

impl IssueSlots {
    /// So many slots were lost for this reason.
    #[inline]
    pub(super) fn lost(&self, stall: Stall, slots: u64) {
        let counter = match stall {
            Stall::Pipeline => &self.pipeline,
            Stall::MemoryPipeline => &self.memory_pipeline,
            Stall::Fetch => &self.fetch,
            Stall::Data => &self.data,
            Stall::Memory => &self.memory,
            Stall::Barrier => &self.barrier,
            Stall::Idle => &self.idle,
        };
        counter.add(slots);
    }
}
