//! Warp schedulers: which of the ready warps issues.
//!
//! A policy is one file and one line in [`register`].

mod gto;
mod lrr;

use counterpoint_framework::model::Registry;

/// Registers the policies, in the order in which they are listed to users.
pub(crate) fn register(registry: &mut Registry) {
    registry
        .variant::<dyn WarpPolicy, lrr::LooseRoundRobin>()
        .variant::<dyn WarpPolicy, gto::GreedyThenOldest>();
}

/// Chooses among ready warps.
pub trait WarpPolicy {
    /// The slot of the warp that issues: one whose bit is set in `ready`, which is not zero. `ages` grows with the
    /// time at which a slot's warp began.
    fn pick(&mut self, ready: u64, ages: &[u64]) -> u32;
}
