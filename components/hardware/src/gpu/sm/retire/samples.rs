//! Samples of what the blocks of each launch do, which a policy of the CTA scheduler wants at times.

use counterpoint_framework::model::Context;
use counterpoint_protocols::launch::{CtaCounts, SmEvent};

use crate::gpu::sm::frontend::samples::since;
use crate::gpu::sm::state::Sm;
use crate::gpu::sm::stats::SmStats;

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
