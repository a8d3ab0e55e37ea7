//! The dynamic kernel allocator and the labelled L2 (Mu et al., "Exploiting the Task-Pipelined Parallelism of Stream Programs on
//! Many-Core GPUs", IEICE Transactions E96-D(10), 2013).
//!
//! Kernels of a task pipeline run two at a time, on different batches of data. A runtime sends the pairs (`runtime`), the CTA
//! scheduler splits the SMs between them (`policy`) as the allocator decides by how long they took (`allocator`). What one
//! kernel writes for the next stays in the L2 longer, by labels of lines (`labels`). `overlays/` brings the parts into a machine.

pub mod allocator;
pub mod cost;
pub mod labels;
pub mod pipeline;
mod policy;
mod runtime;

use counterpoint_framework::model::Registry;
use counterpoint_simulation::built_in;

/// Registers all of it.
pub fn register(registry: &mut Registry) {
    registry.component::<allocator::Allocator>();
    policy::register(registry);
    labels::register(registry);
    runtime::register(registry);
    registry.add(cost::REPORT);
    registry.add(built_in!("experiments/papers/dka"));
}
