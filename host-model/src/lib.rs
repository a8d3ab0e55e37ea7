//! The host: CPU, memory, the path to the devices, and the runtimes under which an application runs.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.
//!
//! A crate adds a runtime by the trait [`runtimes::Runtime`] and what a [`Driver`] can do for it. Those of papers
//! (`experiments/papers/`) bring these:
//!
//! | crate | runtimes |
//! | --- | --- |
//! | `crcs` | `overlapped`: prelude, copies, kernels and postlude at the same time |
//! | `dka` | `dka`, `preemptive`: task pipelines in steps of several kernels |
//! | `narrow-tasks` | `pagoda`, `gemtc`, `fusion`, `hyperq`, `pthreads`: steps of many small tasks |

mod calls;
pub mod cores;
pub mod dat;
pub mod driver;
pub mod functional;
mod journal;
pub mod live;
pub mod modules;
pub mod program;
pub mod runtimes;
mod timed;

pub use driver::{Driver, Layout};
pub use journal::{Journal, Printed};
pub use timed::Timed;

use counterpoint_framework::model::Registry;

counterpoint_framework::components! {
    fn register_components;

    pub mod cpu::Cpu;
    pub mod memory::HostMemory;
    pub mod root_complex::RootComplex;
}

/// Registers the host's components and the runtimes.
pub fn register(registry: &mut Registry) {
    register_components(registry);
    runtimes::register(registry);
}
