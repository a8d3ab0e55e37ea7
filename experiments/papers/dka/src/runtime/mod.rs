//! Runtimes that send task pipelines in steps of several kernels.

mod pairs;
mod pipelined;
mod preemptive;
mod schedule;

use counterpoint::component::Registry;
use counterpoint::host::Runtime;

pub(crate) fn register(registry: &mut Registry) {
    registry.variant::<dyn Runtime, pairs::Pairs>().variant::<dyn Runtime, preemptive::Preemptive>();
}
