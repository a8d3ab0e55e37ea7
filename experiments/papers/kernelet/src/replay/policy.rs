//! Policies: the decision about the next to run.

use std::convert::Infallible;

use counterpoint::application::SplitMix;

use super::greedy::{ByMeasurement, ByModel};
use super::measured::Measured;
use super::monte_carlo::by_chance;
use super::outcome::Outcome;
use super::queue::Queue;
use super::{base, run::run};
use crate::model::Unsolvable;
use crate::schedule::{GpuDescription, Options};

/// The policy of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// BASE: whole instances in the order of arrival. Their tails overlap ([`Measured::overlap`]).
    Base,
    /// Kernelet: the pair and the slices that the model chooses ([`choose`](crate::schedule::choose)), at the rates that were measured
    /// ([`Measured::at`]).
    Kernelet {
        /// The GPU as the model knows it.
        machine: GpuDescription,
        /// The pruning and prediction of pairs.
        options: Options,
    },
    /// OPT: the pair and the slices with the highest measured profit of all; nothing is pruned.
    Optimal,
    /// MC: two random instances of different kernels, in slices of random measured sizes. If all instances are of one kernel, two of them.
    Random {
        /// The seed of all choices.
        seed: u64,
    },
}

/// Runs a queue under a policy.
///
/// All but BASE follow Algorithm 1. Decisions are about kernels; among instances of one the first to arrive runs first. Two instances of
/// one kernel may form a pair as well. The chosen pair runs until one of the two has no blocks left. Arrivals in the meantime wait for the
/// next decision. An instance that is the only one pending runs alone until it ends.
///
/// # Errors
/// If the model cannot predict a pair that Kernelet considers.
///
/// # Panics
/// If the queue has a kernel that is not of the table.
pub fn replay(measured: &Measured, queue: &Queue, policy: &Policy) -> Result<Outcome, Unsolvable> {
    match policy {
        Policy::Base => Ok(base::run(measured, queue)),
        Policy::Kernelet { machine, options } => {
            let mut model = ByModel::new(measured, *machine, *options);
            run(measured, queue, |pending| model.choose(pending))
        }
        Policy::Optimal => {
            let best = ByMeasurement::new(measured);
            let Ok(outcome) = run::<Infallible>(measured, queue, |pending| Ok(best.choose(pending)));
            Ok(outcome)
        }
        Policy::Random { seed } => Ok(by_chance(measured, queue, &mut SplitMix::new(*seed))),
    }
}
