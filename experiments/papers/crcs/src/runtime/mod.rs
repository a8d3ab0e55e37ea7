//! The runtime that overlaps the host's work with kernels.

mod overlapped;
mod profiled;

use counterpoint_framework::model::Registry;
use counterpoint_host_model::runtimes::Runtime;

pub(crate) fn register(registry: &mut Registry) {
    registry.variant::<dyn Runtime, overlapped::Overlapped>();
}
