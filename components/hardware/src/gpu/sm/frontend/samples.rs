//! Samples: the counts of each launch on the SM since the last report.

use std::collections::BTreeMap;

use counterpoint_protocols::launch::{CtaCounts, LaunchId};

use super::cta::Cta;

/// Samples of an SM.
pub(in crate::gpu::sm) struct Samples {
    pub(in crate::gpu::sm) every: u64,
    /// The cycle of the next sample.
    pub(in crate::gpu::sm) next: u64,
    /// What blocks that have ended did since the last sample.
    pub(in crate::gpu::sm) ended: BTreeMap<LaunchId, CtaCounts>,
}

impl Samples {
    /// Samples after every such number of cycles, from a cycle on.
    pub(in crate::gpu::sm) fn new(every: u64, cycle: u64) -> Self {
        Samples { every, next: cycle + every, ended: BTreeMap::new() }
    }

    /// A block has ended.
    pub(in crate::gpu::sm) fn end(&mut self, cta: &Cta) {
        *self.ended.entry(cta.launch.id).or_default() += since(cta.counts, cta.sampled);
    }
}

/// What was counted since the last sample, but for counts of whole blocks.
pub(in crate::gpu::sm) fn since(counts: CtaCounts, before: CtaCounts) -> CtaCounts {
    let mut counts = CtaCounts { warp_cycles: 0, warp_slots: 0, ..counts };
    counts -= before;
    counts
}
