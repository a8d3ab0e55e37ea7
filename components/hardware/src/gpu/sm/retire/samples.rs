//! Samples of what the blocks of each launch do, which a policy of the CTA scheduler wants at times.

use std::collections::BTreeMap;

use counterpoint_framework::model::Context;
use counterpoint_protocols::launch::{CtaCounts, LaunchId, SmEvent};

use crate::gpu::sm::frontend::cta::Cta;
use crate::gpu::sm::state::Sm;
use crate::gpu::sm::stats::SmStats;

/// Samples of an SM.
pub(in crate::gpu::sm) struct Samples {
    every: u64,
    /// The cycle of the next sample.
    pub(in crate::gpu::sm) next: u64,
    /// What blocks that have ended did since the last sample.
    ended: BTreeMap<LaunchId, CtaCounts>,
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
fn since(counts: CtaCounts, before: CtaCounts) -> CtaCounts {
    let mut counts = CtaCounts { warp_cycles: 0, warp_slots: 0, ..counts };
    counts -= before;
    counts
}

impl Sm {
    /// Reports a sample of each launch, if it is time.
    #[cold]
    pub(in crate::gpu::sm) fn sample(&mut self, cycle: u64, sim: &Context<SmStats>) {
        let Some(samples) = &mut self.samples else { return };
        if cycle < samples.next {
            return;
        }
        samples.next = cycle + samples.every;
        let mut of_launch = std::mem::take(&mut samples.ended);
        for (place, cta) in self.ctas.iter_mut().enumerate() {
            let Some(cta) = cta else { continue };
            let counts = cta.so_far(sim.stats.issued.of(place));
            let before = std::mem::replace(&mut cta.sampled, since(counts, CtaCounts::default()));
            *of_launch.entry(cta.launch.id).or_default() += since(counts, before);
        }
        let events = of_launch.into_iter().map(|(launch, counts)| SmEvent::Sample { launch, counts });
        self.events.extend(events);
    }
}
