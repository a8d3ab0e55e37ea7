//! Blocks that leave an SM before their end, or come back.

use counterpoint_protocols::launch::Preemption;

/// A block that leaves, or comes back.
pub(in crate::gpu::sm) struct Moving {
    /// Its place on the SM.
    pub(in crate::gpu::sm) place: usize,
    pub(in crate::gpu::sm) phase: Phase,
}

/// How far a block is on its way.
#[derive(Clone, Copy)]
pub(in crate::gpu::sm) enum Phase {
    /// What its warps have issued has not ended.
    Drains(Preemption),
    /// Its context is saved up to this cycle.
    Saves(u64),
    /// Its context is restored up to this cycle.
    Restores(u64),
}
