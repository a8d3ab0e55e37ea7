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
use counterpoint_simulation::find::{Folder, Sort};

/// Registers all of it.
pub fn register(registry: &mut Registry) {
    policy::register(registry);
    mmu::register(registry);
    runtime::register(registry);
    registry.add(cost::REPORT).add(values::PROFILERS);
    for (sort, folder) in [(Sort::Overlay, "overlays"), (Sort::Study, "studies")] {
        registry.add(Folder::new(sort, env!("CARGO_MANIFEST_DIR"), folder));
    }
}
