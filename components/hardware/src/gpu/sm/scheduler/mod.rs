//! Warp schedulers: the choice among the ready warps.
//!
//! A policy is one file and one line in the list.

counterpoint_framework::variants! {
    pub(crate) fn register, of dyn WarpPolicy;

    mod lrr::LooseRoundRobin;
    pub(super) mod gto::GreedyThenOldest;
    mod gty::GreedyThenYoungest;
    mod two_level::TwoLevel;
}

mod greedy;

use counterpoint_ptx::Class;

/// The next instruction of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NextInstruction {
    /// Index of the instruction in its kernel.
    pub pc: u32,
    /// Its class, such as a load from global memory.
    pub class: Class,
}

/// A lookup of the L1 data cache by a load from global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct L1Lookup {
    /// Slot of the warp.
    pub slot: u32,
    /// Address of the line.
    pub line: u64,
    /// The result of the lookup.
    pub result: L1Result,
}

/// The result of a lookup of the L1 data cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum L1Result {
    /// The line is here.
    Hit,
    /// The line is on its way, for an earlier load.
    Pending,
    /// The line is not here.
    Miss,
}

/// A policy's view of its scheduler's warps: bits of their slots.
#[derive(Clone, Copy, Default)]
#[non_exhaustive]
pub struct View<'a> {
    /// Warps that can issue now; one at least where one is picked.
    pub ready: u64,
    /// Warps that have not ended.
    pub live: u64,
    /// Live warps that wait for memory, at a barrier or at a fence.
    pub waiting: u64,
    /// For each slot, numbers that grow with the time at which its warp began.
    pub ages: &'a [u64],
    /// For each slot, the warps that began before its own; bits of warps that have ended mean nothing.
    pub older: &'a [u64],
    /// For each slot, the number that its block has on the SM. Warps of a block have the same.
    pub blocks: &'a [u8],
    pub(super) instructions: Option<&'a dyn NextInstructions>,
}

impl View<'_> {
    /// The next instruction of a live warp. A warp that waits at a barrier or a fence has the one at which it waits.
    ///
    /// # Panics
    /// If the SM has no such slot, or the view is none of an SM.
    pub fn next(&self, slot: u32) -> NextInstruction {
        self.instructions.expect("a view of an SM's warps").of(slot)
    }
}

/// The next instructions of the warps of an SM, by their slots.
pub(super) trait NextInstructions {
    fn of(&self, slot: u32) -> NextInstruction;
}

/// Chooses among ready warps.
pub trait WarpPolicy {
    /// The slot of the warp that issues, one of those that are ready, or none if the policy keeps all of them back.
    fn pick(&mut self, warps: &View<'_>) -> Option<u32>;

    /// Whether [`pick`](WarpPolicy::pick) returns the warp that it returned last while that is ready, and changes nothing then: it is not
    /// called for this.
    fn is_greedy(&self) -> bool {
        false
    }

    /// The warps among `others`, which are not ready, that the policy examines in this cycle before the warp that
    /// [`pick`](WarpPolicy::pick) would return; all of them if no warp is ready.
    fn examines(&self, warps: &View<'_>, others: u64) -> u64;

    /// Whether [`looked_up`](WarpPolicy::looked_up) is to be called; asked once, at the start.
    fn listens(&self) -> bool {
        false
    }

    /// A load of one of the scheduler's warps has looked up the L1 data cache.
    fn looked_up(&mut self, _lookup: &L1Lookup) {}
}
