//! Warp schedulers: which of the ready warps issues.
//!
//! A policy is one file and one line in the list.

counterpoint_framework::variants! {
    /// Registers the policies.
    pub(crate) fn register, of dyn WarpPolicy;

    mod lrr::LooseRoundRobin;
    mod gto::GreedyThenOldest;
}

/// Chooses among ready warps.
pub trait WarpPolicy {
    /// The slot of the warp that issues: one whose bit is set in `ready`, which is not zero. `ages` grows with the
    /// time at which a slot's warp began.
    fn pick(&mut self, ready: u64, ages: &[u64]) -> u32;
}
