//! The runtime that overlaps the host's work with kernels.

mod overlapped;
mod profiled;

use counterpoint::component::Registry;
use counterpoint::host::Runtime;

pub(crate) fn register(registry: &mut Registry) {
    registry.variant::<dyn Runtime, overlapped::Overlapped>();
}
