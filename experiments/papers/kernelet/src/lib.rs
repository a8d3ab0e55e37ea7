//! Kernelet (Zhong and He, "Kernelet: High-Throughput GPU Kernel Executions with Dynamic Slicing and Scheduling", TPDS 25(6), 2014;
//! arXiv:1303.5164).
//!
//! Kernels that wait are cut into slices, and slices of the two run together that a Markov model says fit best.
//! [`model`] is that model, [`schedule`] chooses by it, and [`paper`] has the numbers that the paper prints. `applications/` has its
//! kernels, and `references` what those compute that no general application does.

pub mod model;
pub mod paper;
mod references;
pub mod schedule;
mod values;

use counterpoint_framework::model::Registry;
use counterpoint_simulation::find::{Folder, Sort};

/// Registers all of it.
pub fn register(registry: &mut Registry) {
    references::register(registry);
    registry.add(values::PEAK);
    for (sort, folder) in
        [(Sort::Application, "applications"), (Sort::Overlay, "overlays"), (Sort::Study, "studies")]
    {
        registry.add(Folder::new(sort, env!("CARGO_MANIFEST_DIR"), folder));
    }
}
