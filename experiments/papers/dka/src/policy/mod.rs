//! Policies of the CTA scheduler for task pipelines.

mod labelled;
mod pairs;
mod steps;
mod task_split;

use counterpoint::component::Registry;
use counterpoint::gpu::cta_scheduler::CtaPolicy;

pub(crate) fn register(registry: &mut Registry) {
    registry
        .equipped::<dyn CtaPolicy, pairs::Pairs>()
        .equipped::<dyn CtaPolicy, labelled::Labelled>()
        .variant::<dyn CtaPolicy, task_split::TaskSplit>();
}
