//! The greedy choices: by the model, and by measurements.

use std::collections::BTreeMap;

use super::measured::Measured;
use super::pending::Pending;
use super::run::Selected;
use crate::model::Unsolvable;
use crate::schedule::{Choices, GpuDescription, Options};

/// The pair that the model says fits best, in the model's slices.
pub(super) struct ByModel<'a> {
    measured: &'a Measured,
    choices: Choices,
}

impl<'a> ByModel<'a> {
    pub(super) fn new(measured: &'a Measured, machine: GpuDescription, options: Options) -> Self {
        let profiles = measured.kernels.iter().map(|kernel| kernel.profile).collect();
        ByModel { measured, choices: Choices::new(profiles, machine, options) }
    }

    pub(super) fn choose(&mut self, pending: &Pending) -> Result<Option<Selected>, Unsolvable> {
        // Two instances of a kernel suffice: further instances add no other pair.
        let kernels: Vec<usize> =
            pending.kernels().flat_map(|(kernel, count)| vec![kernel; count.min(2)]).collect();
        let found = self.choices.choose(&kernels)?;
        Ok(found.and_then(|found| {
            let kernels = [found.first, found.second].map(|place| kernels[place]);
            let together = self.measured.at(kernels, found.slices)?;
            Some(Selected { kernels, together })
        }))
    }
}

/// The pair with the highest measured profit, of all pairs in all measured slices.
pub(crate) struct ByMeasurement {
    /// The best slices of each pair.
    best: BTreeMap<[usize; 2], (Selected, f64)>,
}

impl ByMeasurement {
    pub(crate) fn new(measured: &Measured) -> Self {
        let best = measured.pairs.keys().filter_map(|&kernels| {
            let (together, profit) = measured.best(kernels)?;
            Some((kernels, (Selected { kernels, together }, profit)))
        });
        ByMeasurement { best: best.collect() }
    }

    pub(crate) fn choose(&self, pending: &Pending) -> Option<Selected> {
        let pairs = pending.pairs().filter_map(|kernels| self.best.get(&kernels));
        let best = pairs.reduce(|best, pair| if pair.1 > best.1 { pair } else { best });
        best.map(|(selected, _)| *selected)
    }
}
