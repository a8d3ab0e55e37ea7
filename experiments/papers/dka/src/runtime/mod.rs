//! Runtimes that send task pipelines in steps of several kernels.

mod pairs;
mod pipelined;
mod preemptive;
mod schedule;

use counterpoint_framework::model::Registry;
use counterpoint_host_model::runtimes::Runtime;

pub(crate) fn register(registry: &mut Registry) {
    registry.variant::<dyn Runtime, pairs::Pairs>().variant::<dyn Runtime, preemptive::Preemptive>();
}
