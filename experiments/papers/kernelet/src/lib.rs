//! Kernelet (Zhong and He, "Kernelet: High-Throughput GPU Kernel Executions with Dynamic Slicing and Scheduling", TPDS 25(6), 2014;
//! arXiv:1303.5164).
//!
//! Waiting kernels are cut into slices, and slices of two kernels run together: the pair that a Markov model predicts to fit best.
//! [`model`] is that model, [`schedule`] chooses by it, the runtimes run queues of kernels, [`replay`] runs them by measured rates, and
//! [`paper`] has the numbers that the paper prints. `applications/` has the paper's kernels, and `references` the expected results of those
//! that no general application has.
//!
//! # How it works
//!
//! [`model`], [`schedule`] and [`replay`] are arithmetic without time; the runtimes of `computed` give their results to studies. The runtimes `kernelet`, `optimal`, `monte-carlo`, `consolidation`
//! and `slices` are each a `Policy` with its parameters; `runtime/queued.rs` wraps the policy into a runtime, `program.rs` rewrites the
//! launches, and `executor.rs` admits instances, asks for decisions, and sends slices so that each kernel's share of the SMs stays filled
//! ([`schedule::cut`]). Arrivals are those of [`replay::Queue`]: a queue that runs and its replay are the same. A
//! profile comes from the device itself, as counts that a launch requests.

mod computed;
pub mod model;
pub mod paper;
mod references;
pub mod replay;
mod runtime;
pub mod schedule;
mod values;

use counterpoint::application::built_in;
use counterpoint::component::Registry;

/// Registers the parts of this crate.
pub fn register(registry: &mut Registry) {
    computed::register(registry);
    references::register(registry);
    runtime::register(registry);
    for value in values::ALL {
        registry.add(value);
    }
    registry.add(built_in!("experiments/papers/kernelet"));
}
