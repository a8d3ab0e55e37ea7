//! The greedy choices: by the model, and by what was measured.

use std::collections::BTreeMap;

use super::measured::Measured;
use super::pending::Pending;
use super::run::Selected;
use crate::model::Unsolvable;
use crate::schedule::{CoSchedule, Machine, Options, Profile, choose_by, predict};

/// The pair that the model says fits best, in the model's slices. Predictions are kept by pair.
pub(super) struct ByModel<'a> {
    pub(super) measured: &'a Measured,
    pub(super) machine: &'a Machine,
    pub(super) options: &'a Options,
    pub(super) predictions: BTreeMap<[usize; 2], Option<CoSchedule>>,
}

impl ByModel<'_> {
    pub(super) fn choose(&mut self, pending: &Pending) -> Result<Option<Selected>, Unsolvable> {
        // Two instances of a kernel stand for all of them: further ones add no other pair.
        let kernels: Vec<usize> =
            pending.kernels().flat_map(|(kernel, count)| vec![kernel; count.min(2)]).collect();
        let profile = |kernel: &usize| self.measured.kernels[*kernel].profile;
        let profiles: Vec<Profile> = kernels.iter().map(profile).collect();
        let found = choose_by(&profiles, self.machine, self.options, |places| {
            let pair = places.map(|place| kernels[place]);
            if let Some(known) = self.predictions.get(&pair) {
                return Ok(*known);
            }
            let found = predict(places.map(|place| &profiles[place]), self.machine, self.options)?;
            self.predictions.insert(pair, found);
            Ok(found)
        })?;
        Ok(found.and_then(|found| {
            let kernels = [found.first, found.second].map(|place| kernels[place]);
            let together = self.measured.at(kernels, found.slices)?;
            Some(Selected { kernels, together })
        }))
    }
}

/// The pair with the highest measured profit, of all pairs in all measured slices.
pub(super) struct ByMeasurement {
    /// The best slices of each pair.
    best: BTreeMap<[usize; 2], (Selected, f64)>,
}

impl ByMeasurement {
    pub(super) fn new(measured: &Measured) -> Self {
        let best = measured.pairs.keys().filter_map(|&kernels| {
            let (together, profit) = measured.best(kernels)?;
            Some((kernels, (Selected { kernels, together }, profit)))
        });
        ByMeasurement { best: best.collect() }
    }

    pub(super) fn choose(&self, pending: &Pending) -> Option<Selected> {
        let pairs = pending.pairs().filter_map(|kernels| self.best.get(&kernels));
        let best = pairs.reduce(|best, pair| if pair.1 > best.1 { pair } else { best });
        best.map(|(selected, _)| *selected)
    }
}
