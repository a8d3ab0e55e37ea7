//! The dynamic kernel allocator and the labelled L2 (Mu et al., "Exploiting the Task-Pipelined Parallelism of Stream Programs on
//! Many-Core GPUs", IEICE Transactions E96-D(10), 2013).
//!
//! Kernels of a task pipeline run two at a time, on different batches of data. A runtime sends the pairs (`runtime`), the CTA scheduler
//! splits the SMs between them (`policy`) as the allocator decides from their times (`allocator`). Data that one kernel writes for the next
//! stays in the L2 longer, by labels of lines (`labels`). `overlays/` brings the parts into a machine.
//!
//! # How it works
//!
//! A pipeline is one step of an application. `runtime/schedule.rs` is the order of kernels as a pure list of steps; `runtime/pipelined.rs`
//! sends them ahead, each batch on a stream of its own, with events as barriers. A launch's payload is its position in the pipeline.
//!
//! `policy/steps.rs` lets launches of one step begin and gives each its SMs. The policy `dka` asks the allocator before each step, across a
//! link, and reports the cycles that the pair took last, from the placement of a launch's first block to the end of its last;
//! `allocator/table.rs` is the whole rule, over `f16` or `f64`. The policy `labelled` reports to all L2 slices, at the end of a kernel, the
//! labels that no kernel will read any more.

pub mod allocator;
pub mod cost;
pub mod labels;
pub mod pipeline;
mod policy;
mod runtime;

use counterpoint::application::built_in;
use counterpoint::component::Registry;

/// Registers the parts of this crate.
pub fn register(registry: &mut Registry) {
    registry.component::<allocator::Allocator>();
    policy::register(registry);
    labels::register(registry);
    runtime::register(registry);
    registry.add(cost::REPORT);
    registry.add(built_in!("experiments/papers/dka"));
}
