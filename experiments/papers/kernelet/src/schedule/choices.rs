//! Choices among many instances of few kernels: what is known of a pair of kernels is worked out once.

use std::collections::BTreeMap;

use super::{CoSchedule, Machine, Options, Profile, choose_by, predict};
use crate::model::Unsolvable;

/// Kernels, and the predictions of their pairs.
#[derive(Clone, Debug)]
pub struct Choices {
    machine: Machine,
    options: Options,
    profiles: Vec<Profile>,
    /// By the places of two kernels.
    predictions: BTreeMap<[usize; 2], Option<CoSchedule>>,
}

impl Choices {
    /// Of these kernels, on a machine.
    pub fn new(profiles: Vec<Profile>, machine: Machine, options: Options) -> Self {
        Choices { machine, options, profiles, predictions: BTreeMap::new() }
    }

    /// [`choose`](super::choose) among instances, of each of which the place of its kernel is given. The result names places of instances.
    ///
    /// # Errors
    /// As [`choose`](super::choose).
    pub fn choose(&mut self, instances: &[usize]) -> Result<Option<CoSchedule>, Unsolvable> {
        // Two instances of a kernel stand for all of them: further ones add no other pair.
        let mut seen = vec![0; self.profiles.len()];
        let mut is_needed = |place: &usize| {
            let seen: &mut u32 = &mut seen[instances[*place]];
            *seen += 1;
            *seen <= 2
        };
        let places: Vec<usize> = (0..instances.len()).filter(|place| is_needed(place)).collect();
        let profiles: Vec<Profile> = places.iter().map(|&place| self.profiles[instances[place]]).collect();
        let (machine, options, predictions) = (&self.machine, &self.options, &mut self.predictions);
        let found = choose_by(&profiles, machine, options, |two| {
            let pair = two.map(|at| instances[places[at]]);
            if let Some(known) = predictions.get(&pair) {
                return Ok(*known);
            }
            let found = predict(two.map(|at| &profiles[at]), machine, options)?;
            predictions.insert(pair, found);
            Ok(found)
        })?;
        Ok(found.map(|found| CoSchedule {
            first: places[found.first],
            second: places[found.second],
            ..found
        }))
    }

    /// The predicted IPC of a kernel alone ([`Profile::alone`]).
    ///
    /// # Errors
    /// As [`choose`](super::choose).
    pub fn alone(&self, kernel: usize) -> Result<f64, Unsolvable> {
        self.profiles[kernel].alone(&self.machine, self.options.unit)
    }
}
