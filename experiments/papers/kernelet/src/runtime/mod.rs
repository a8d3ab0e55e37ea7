//! Runtimes that run a queue of kernels: instances arrive, and each runtime decides which run next and in which slices.
//!
//! | runtime | decides |
//! | --- | --- |
//! | `kernelet` | by the Markov model, from profiles that it takes itself |
//! | `consolidation` | whole kernels in the order of their arrival; what is left over of the SMs is the next one's |
//! | `optimal` | as `kernelet`, by what all pairs came to when they ran |
//! | `monte-carlo` | at random |
//! | `slices` | always in the slices that it is given |
//!
//! The applications that run together are the kernels, each a launch of one kernel. Instances of a kernel write the same results into
//! the same buffers, which are looked at when all have ended. A runtime is one file with its parameters; [`executor`] runs the queue.

mod consolidation;
mod executor;
mod gpu;
mod kernelet;
mod profiler;
mod program;
mod queue;
mod slices;

use counterpoint_framework::model::Registry;
use counterpoint_host_model::runtimes::Runtime;

pub(crate) use executor::{CO_SCHEDULE, QUEUE};
pub(crate) use kernelet::PROFILES;

/// Registers the runtimes.
pub(crate) fn register(registry: &mut Registry) {
    registry.variant::<dyn Runtime, consolidation::Consolidation>();
    registry.variant::<dyn Runtime, kernelet::Kernelet>();
    registry.variant::<dyn Runtime, slices::Slices>();
}
