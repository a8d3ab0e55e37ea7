//! Kernelet (Zhong and He, "Kernelet: High-Throughput GPU Kernel Executions with Dynamic Slicing and Scheduling", TPDS 25(6), 2014;
//! arXiv:1303.5164).
//!
//! Kernels that wait are cut into slices, and slices of the two run together that a Markov model says fit best.
//! [`model`] is that model, [`schedule`] chooses by it, the runtimes run queues of kernels, [`replay`] runs them by measured rates, and
//! [`paper`] has the numbers that the paper prints. `applications/` has its kernels, and `references` what those compute that no general
//! application does.

pub mod model;
pub mod paper;
mod references;
pub mod replay;
mod runtime;
pub mod schedule;
mod values;

use counterpoint_framework::model::Registry;
use counterpoint_simulation::built_in;

/// Registers all of it.
pub fn register(registry: &mut Registry) {
    references::register(registry);
    runtime::register(registry);
    for value in values::ALL {
        registry.add(value);
    }
    registry.add(built_in!("experiments/papers/kernelet"));
}
