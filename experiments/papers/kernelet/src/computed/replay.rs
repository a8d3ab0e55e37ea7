//! Queues of a mix of Table 5, replayed from measured rates: the times of Figs. 13 and 14.

use std::collections::BTreeMap;

use counterpoint::component::{Choice, Params};
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::Description;
use counterpoint::telemetry::{Attribute, Attributes};
use counterpoint::time::SimTime;

use super::{Computation, Computed};
use crate::model::Unsolvable;
use crate::paper::WORKLOADS;
use crate::replay::{Measured, Policy, Queue, monte_carlo, quantile, replay};
use crate::runtime::{GpuParams, real};

/// A mix of Table 5.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
enum Workload {
    /// Kernels that compute.
    Ci,
    /// Kernels that wait for memory.
    Mi,
    /// Two of each.
    Mix,
    /// All eight.
    All,
}

/// What decides.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
enum Decides {
    /// BASE: whole kernels in the order of arrival, whose tails overlap.
    Base,
    /// The model.
    Kernelet,
    /// The measured rates of all pairs.
    Optimal,
    /// Random plans.
    Random,
}

/// A queue.
#[derive(Clone, Debug, Params)]
pub(super) struct ReplayParams {
    /// The kernels.
    #[param(default = "all")]
    mix: Workload,
    /// What decides about the next kernels.
    #[param(default = "kernelet")]
    policy: Decides,
    /// The model's knowledge of the GPU, whose card has the rates.
    gpu: GpuParams,
    /// Whether the tails of whole kernels overlap as measured; else they do not.
    #[param(default = "on")]
    tails: bool,
    /// Instances of each kernel.
    #[param(default = "1000", min = "1", max = "100000")]
    instances: u32,
    /// Mean time between two arrivals of a kernel; a tenth of the time of one instance of each kernel if it is not given.
    every: Option<SimTime>,
    /// Seed of the arrivals and of the random plans.
    #[param(default = "1")]
    seed: u64,
    /// Random plans.
    #[param(default = "1000", min = "1", max = "100000")]
    plans: u32,
}

/// The runtime `replay`.
pub(super) type Replay = Computed<ReplayParams>;

/// The quantiles of random plans that are results.
const QUANTILES: [(&str, f64); 3] = [("plans_fastest", 0.0), ("plans_median", 0.5), ("plans_slowest", 1.0)];

impl Workload {
    fn kernels(self) -> &'static [&'static str] {
        WORKLOADS[self as usize].1
    }
}

impl Computation for ReplayParams {
    const NAME: &'static str = "replay";
    const DOC: &'static str = "No run: the time of a queue of kernels, from their rates alone and in pairs as measured on a card \
                               (Kernelet).";

    fn compute(&self, devices: &BTreeMap<u32, Description>) -> Result<Attributes, Fault> {
        let gpu = self.gpu.gpu(devices)?;
        let measured =
            Measured::of_card(&gpu.card, self.tails).map_err(|report| Fault::new(report.render()))?;
        let kernels = measured.places(self.mix.kernels()).map_err(|error| Fault::new(error.to_string()))?;
        let alone: f64 = kernels.iter().map(|kernel| measured.kernels()[*kernel].alone()).sum();
        // Milliseconds are 1e9 picoseconds.
        let gap = self.every.map_or(alone / 10.0, |every| every.as_ps() as f64 * 1e-9);
        let queue = Queue::poisson(&kernels, self.instances as usize, gap, self.seed);
        let unsolvable = |error: Unsolvable| Fault::new(format!("the model has no solution: {error}"));
        let total =
            |policy: &Policy| replay(&measured, &queue, policy).map(|it| it.total).map_err(unsolvable);
        let model = Policy::Kernelet { machine: gpu.machine, options: gpu.card.options() };
        let seconds = |milliseconds: f64| real(milliseconds * 1e-3);
        let time = match self.policy {
            Decides::Base => total(&Policy::Base)?,
            Decides::Kernelet => total(&model)?,
            Decides::Optimal => total(&Policy::Optimal)?,
            Decides::Random => {
                let kernelet = total(&model)?;
                let plans = monte_carlo(&measured, &queue, self.plans as usize, self.seed);
                let shorter = plans.iter().filter(|total| **total < kernelet).count();
                let quantiles = QUANTILES.into_iter();
                let mut results: Attributes = quantiles
                    .filter_map(|(name, part)| Some((name, seconds(quantile(&plans, part)?))))
                    .collect();
                results.push(("plans_shorter", Attribute::Number(shorter as u64)));
                return Ok(results);
            }
        };
        Ok(vec![("replay_time", seconds(time))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_are_those_of_table_5() {
        let mixes = [Workload::Ci, Workload::Mi, Workload::Mix, Workload::All];
        assert_eq!(mixes.map(|mix| format!("{mix:?}").to_uppercase()), WORKLOADS.map(|(name, _)| name));
    }
}
