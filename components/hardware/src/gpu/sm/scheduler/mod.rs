//! Warp schedulers: the choice among the ready warps.
//!
//! A policy is one file and one line in the list.

counterpoint_framework::variants! {
    pub(crate) fn register, of dyn WarpPolicy;

    mod lrr::LooseRoundRobin;
    pub(super) mod gto::GreedyThenOldest;
    mod two_level::TwoLevel;
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
}
