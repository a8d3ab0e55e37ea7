//! What a CTA scheduler counts: in all, of each launch, and of each stream.

use counterpoint_framework::model::{Counter, Distribution, Keyed, Stats};
use counterpoint_protocols::launch::LaunchName;

/// What a CTA scheduler counts.
#[derive(Default, Stats)]
pub struct CtaSchedulerStats {
    /// Launches that have ended.
    pub(super) launches: Counter,
    /// Blocks placed.
    pub(super) ctas: Counter,
    /// Cycles from a block's placement to the message of its end.
    pub(super) cta_cycles: Distribution,
    /// Of each launch.
    pub(super) kernels: Keyed<LaunchName, KernelStats>,
    /// Of each stream, by its number.
    pub(super) streams: Keyed<u32, StreamStats>,
}

/// What is counted of a launch. Cycles are those of the scheduler; they are 0 until the launch has ended.
#[derive(Default, Stats)]
pub(super) struct KernelStats {
    /// Number of its stream.
    pub(super) stream: Counter,
    /// Blocks placed.
    pub(super) ctas: Counter,
    /// From the launch's arrival to its end.
    #[stat(unit = "cycles")]
    pub(super) gpu_sim_cycle: Counter,
    /// From the placement of the first block to the end of the last one.
    #[stat(unit = "cycles")]
    pub(super) active_cycles: Counter,
}

/// What is counted of a stream, whose launches come one after another.
#[derive(Default, Stats)]
pub(super) struct StreamStats {
    /// Launches that have ended.
    pub(super) launches: Counter,
    /// Blocks placed.
    pub(super) ctas: Counter,
    /// From the arrival of a launch to its end, summed up.
    #[stat(unit = "cycles")]
    pub(super) gpu_sim_cycle: Counter,
    /// From the placement of a launch's first block to the end of its last one, summed up.
    #[stat(unit = "cycles")]
    pub(super) active_cycles: Counter,
}
