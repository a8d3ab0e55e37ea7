//! An extension: SMs that become available one after another, with the parts for that experiment.
//!
//! A governor (`governor`) says how many SMs may have blocks. The CTA policy `governed` listens to it through a port of its own, and
//! `overlays/governed.yaml` brings both into any machine with a GPU. `divided` and `urgent` are CTA policies, by samples of kernels
//! and by preemption. `youngest` and `keeper` are warp schedulers, `stepwise` a runtime,
//! `available_sms` a value of studies. `reads-first` is a DRAM scheduler, `most-recent` a replacement policy and `buddy` a prefetcher of caches;
//! `overlays/memory.yaml` chooses them. `one-way-ring` is a topology of networks, which `overlays/one-way.yaml` chooses.

mod available;
mod buddy;
mod divided;
pub mod governed;
pub mod governor;
mod keeper;
mod most_recent;
mod one_way;
mod reads_first;
mod stepwise;
mod urgent;
mod youngest;

use counterpoint::application::built_in;
use counterpoint::component::Registry;
use counterpoint::gpu::cta_scheduler::CtaPolicy;
use counterpoint::gpu::warp_scheduler::WarpPolicy;
use counterpoint::host::Runtime;
use counterpoint::memory::cache::{Prefetcher, Replacement};
use counterpoint::memory::dram::DramScheduler;
use counterpoint::network::Topology;

/// Registers the parts of this crate.
pub fn register(registry: &mut Registry) {
    registry.component::<governor::Governor>();
    registry.equipped::<dyn CtaPolicy, governed::Governed>();
    registry.variant::<dyn CtaPolicy, divided::Divided>();
    registry.variant::<dyn CtaPolicy, urgent::Urgent>();
    registry.variant::<dyn WarpPolicy, youngest::Youngest>();
    registry.variant::<dyn WarpPolicy, keeper::Keeper>();
    registry.variant::<dyn Runtime, stepwise::Stepwise>();
    registry.variant::<dyn DramScheduler, reads_first::ReadsFirst>();
    registry.variant::<dyn Replacement, most_recent::MostRecent>();
    registry.variant::<dyn Prefetcher, buddy::Buddy>();
    registry.variant::<dyn Topology, one_way::OneWay>();
    registry.add(available::AVAILABLE);
    registry.add(built_in!("example-extension"));
}
