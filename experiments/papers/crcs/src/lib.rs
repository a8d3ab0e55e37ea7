//! CRCS and PPCS (Kim et al., "Automatically Exploiting Implicit Pipeline Parallelism from Multiple Dependent Kernels for GPUs", PACT 2016).
//!
//! Prelude, copies, kernels and postlude of a program run at the same time, as far as its data allow. `overlays/` brings the parts
//! into a machine.

pub mod cost;
pub mod messages;
pub mod mmu;
mod policy;
mod runtime;
mod values;

use counterpoint_framework::model::Registry;
use counterpoint_simulation::built_in;

/// Registers all of it.
pub fn register(registry: &mut Registry) {
    policy::register(registry);
    mmu::register(registry);
    runtime::register(registry);
    registry.add(cost::REPORT).add(values::PROFILERS);
    registry.add(built_in!("experiments/papers/crcs"));
}
