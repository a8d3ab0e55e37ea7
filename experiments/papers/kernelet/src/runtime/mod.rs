//! Runtimes that run a queue of kernels: instances arrive, and each runtime decides the next kernels and their slices.
//!
//! | runtime | decides |
//! | --- | --- |
//! | `kernelet` | by the Markov model, from profiles that it takes itself |
//! | `consolidation` | whole kernels in the order of their arrival; the room left on the SMs is the next
//! one's |
//! | `optimal` | as `kernelet`, by the measured rates of all pairs |
//! | `monte-carlo` | at random |
//! | `slices` | always in the slices that it is given |
//!
//! The applications that run together are the kernels, each a launch of one kernel. Instances of a kernel write the same results into
//! the same buffers, which are compared when all instances have ended. A runtime is one file with its parameters and one line in the
//! list; [`queued`] is their common part, and [`executor`] runs the queue.

mod executor;
mod flight;
mod gpu;
mod profiler;
mod program;
mod queue;
mod queued;
mod room;
mod waiting;

use counterpoint::host::Runtime;

pub(crate) use executor::{CO_SCHEDULE, QUEUE, real, side_of};
pub(crate) use gpu::GpuParams;
pub(crate) use kernelet::PROFILES;

counterpoint::component::variants! {
    pub(crate) fn register, of dyn Runtime;

    mod consolidation::Consolidation;
    mod kernelet::Kernelet;
    mod monte_carlo::MonteCarlo;
    mod optimal::Optimal;
    mod slices::Slices;
}
