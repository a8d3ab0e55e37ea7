//! An extension: SMs that become available one after another, and the parts to try that out.
//!
//! A governor (`governor`) says how many SMs may have blocks. The CTA policy `governed` listens to it through a port of its own, and
//! `overlays/governed.yaml` brings both into any machine with a GPU. `youngest` is a warp scheduler, `one-way-ring` a topology of
//! networks, `stepwise` a runtime, `available_sms` a value of studies.

mod available;
pub mod governed;
pub mod governor;
mod one_way;
mod stepwise;
mod youngest;

use counterpoint_simulation::built_in;
use counterpoint_framework::model::Registry;
use counterpoint_hardware::gpu::cta_scheduler::CtaPolicy;
use counterpoint_hardware::gpu::sm::WarpPolicy;
use counterpoint_hardware::interconnect::topology::Topology;
use counterpoint_host_model::runtimes::Runtime;

/// Registers all of it.
pub fn register(registry: &mut Registry) {
    registry.component::<governor::Governor>();
    registry.equipped::<dyn CtaPolicy, governed::Governed>();
    registry.variant::<dyn WarpPolicy, youngest::Youngest>();
    registry.variant::<dyn Topology, one_way::OneWay>();
    registry.variant::<dyn Runtime, stepwise::Stepwise>();
    registry.add(available::AVAILABLE);
    registry.add(built_in!("example-extension"));
}
