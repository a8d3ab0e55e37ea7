//! Narrow tasks: kernels of a few warps each, far too small to fill a GPU; an application has thousands of
//! them.
//!
//! Pagoda (Yeh et al., "Pagoda: Fine-Grained GPU Resource Virtualization for Narrow Tasks", PPoPP 2017) keeps one kernel on the GPU, which
//! takes tasks from a table in memory. The paper compares Pagoda with GeMTC (Krieder et al., "Design and Evaluation of the GeMTC Framework
//! for GPU-enabled Many-Task Computing", HPDC 2014), with a kernel for each task in 32 streams (Hyper-Q), with static fusion, and with
//! threads of the CPU. Each system is a runtime (`runtimes`). On the model of throughput of SMs (`throughput`), the resident kernels are
//! state machines (`state_machines`). The messages between host and kernels are in memory (`task_entry`). `overlays/` chooses a
//! runtime and a CTA policy for any machine.
//!
//! # How it works
//!
//! Under `pagoda` tasks are entries of a table, with one copy in host memory and one in device memory. The
//! MasterKernel (`cuda/pagoda`) is CUDA C like any other kernel: its polling, its placing of warps and its
//! allocator are instructions on the SMs. It is a module of its own, which the runtime links with the application's (`runtimes/resident.rs`).
//! The application has a table of its task functions, which the kernel calls through pointers; the runtime finds a function's number in
//! that table's first values. `task_entry.rs` has entries and their states, `runtimes/pagoda/` the host's table, `state_machines/pagoda/`
//! pure twins of the MasterKernel's structures; both ends are tested against them.
//!
//! The start of a task travels with the entry of the next one. Where the bus lets answers to reads pass one another (`relaxed-ordering`),
//! the reason is visible: with `protocol: single-copy` tasks find parameters of other tasks. All blocks of the MasterKernel must be
//! resident, so devices report the capacity of their SMs. The paper's scheduler warp looks at one row of its table after another; with
//! `scan: lanes` each lane looks at a row, in a kernel of its own, so that the paper's is unchanged.
//!
//! GeMTC's SuperKernel (`cuda/gemtc`) takes tasks from a queue under a lock; under `fusion` each block of a kernel does the task at its
//! place; under `hyperq` each task is a kernel, and the policy `concurrent` lets blocks of several share an SM. `runtimes/narrow.rs` and
//! `runtimes/batches.rs` hold their common parts.
//!
//! The component `gpu/throughput-model` (`throughput/`) stands for SMs and device memory, for task counts at which stepped SMs would take
//! hours. `state_machines/` has the two kernels there as state machines: the MasterKernel's machine advances the pure twins in time, and
//! the SuperKernel's machine contends for the one lock of its queue (`lock.rs`). Their costs are parameters, which `tests/measured/`
//! measures on the stepped machine.

pub mod runtimes;
pub mod state_machines;
pub mod task_entry;
pub mod throughput;

use counterpoint::application::built_in;
use counterpoint::component::Registry;

/// Registers the parts of this crate.
pub fn register(registry: &mut Registry) {
    throughput::register(registry);
    state_machines::register(registry);
    runtimes::register(registry);
    registry.add(built_in!("experiments/papers/narrow-tasks"));
}
