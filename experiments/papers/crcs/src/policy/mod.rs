//! Policies of the CTA scheduler for kernels whose pages are tracked.

mod dependences;
mod fifo;
mod owners;
mod ppcs;

use counterpoint::component::Registry;
use counterpoint::gpu::cta_scheduler::CtaPolicy;

pub(crate) fn register(registry: &mut Registry) {
    registry.equipped::<dyn CtaPolicy, fifo::CrcsFifo>().equipped::<dyn CtaPolicy, ppcs::Ppcs>();
}
