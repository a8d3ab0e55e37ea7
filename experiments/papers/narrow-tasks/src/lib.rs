//! Narrow tasks: kernels of a few warps each, far too small to fill a GPU, of which an application has thousands.
//!
//! Pagoda (Yeh et al., "Pagoda: Fine-Grained GPU Resource Virtualization for Narrow Tasks", PPoPP 2017) keeps one kernel on the GPU, which
//! takes tasks from a table in memory. It was compared with GeMTC (Krieder et al., "Design and Evaluation of the GeMTC Framework for
//! GPU-enabled Many-Task Computing", HPDC 2014), with a kernel for each task in 32 streams (Hyper-Q), with static fusion, and with threads
//! of the CPU. Each of them is a runtime (`runtimes`). Where a model of throughput stands for SMs, the kernels that stay on the GPU are state
//! machines (`model`). What host and kernels say to each other lies in memory (`task_entry`). `overlays/` chooses a runtime and a CTA
//! policy for any machine.

pub mod model;
pub mod runtimes;
pub mod task_entry;

use counterpoint_framework::model::Registry;
use counterpoint_simulation::built_in;

/// Registers all of it.
pub fn register(registry: &mut Registry) {
    runtimes::register(registry);
    model::register(registry);
    registry.add(built_in!("experiments/papers/narrow-tasks"));
}
