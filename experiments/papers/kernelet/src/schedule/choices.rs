//! Choices among many instances of few kernels: results for a pair of kernels are computed once.

use std::collections::BTreeMap;

use super::{CoSchedule, GpuDescription, Options, Profile, choose_by, predict};
use crate::model::Unsolvable;

/// Kernels, and the predictions of their pairs.
#[derive(Clone, Debug)]
pub struct Choices {
    machine: GpuDescription,
    options: Options,
    profiles: Vec<Profile>,
    /// Predictions by the indices of two kernels, the smaller index first. In the other order the profit would differ by rounding, and the
    /// rounding would decide which instances run.
    predictions: BTreeMap<[usize; 2], Option<CoSchedule>>,
}

impl Choices {
    /// The choices among these kernels, on a GPU.
    pub fn new(profiles: Vec<Profile>, machine: GpuDescription, options: Options) -> Self {
        Choices { machine, options, profiles, predictions: BTreeMap::new() }
    }

    /// [`choose`](super::choose) among instances, each given by the index of its kernel. The result names indices of instances, the first
    /// instances of a kernel.
    ///
    /// # Errors
    /// As [`choose`](super::choose).
    pub fn choose(&mut self, instances: &[usize]) -> Result<Option<CoSchedule>, Unsolvable> {
        // Two instances of a kernel suffice: further instances add no other pair.
        let mut seen = vec![0; self.profiles.len()];
        let mut is_needed = |place: &usize| {
            let seen: &mut u32 = &mut seen[instances[*place]];
            *seen += 1;
            *seen <= 2
        };
        let places: Vec<usize> = (0..instances.len()).filter(|place| is_needed(place)).collect();
        let profiles: Vec<Profile> = places.iter().map(|&place| self.profiles[instances[place]]).collect();
        let Choices { machine, options, profiles: known, predictions } = self;
        let found = choose_by(&profiles, machine, options, |two| {
            let [first, second] = two.map(|at| instances[places[at]]);
            let pair = [first.min(second), first.max(second)];
            let found = match predictions.get(&pair) {
                Some(found) => *found,
                None => {
                    let found = predict(pair.map(|kernel| &known[kernel]), machine, options)?;
                    *predictions.entry(pair).or_insert(found)
                }
            };
            Ok(if first > second { found.map(CoSchedule::turned) } else { found })
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

impl CoSchedule {
    /// The slices and their values, the other way round.
    fn turned(mut self) -> Self {
        self.slices.reverse();
        self.predicted.reverse();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Memory;
    use counterpoint::messages::launch::SmResources;

    /// Choices between two kernels with odd values, so that sums are rounded.
    fn choices() -> Choices {
        let resources = SmResources { threads: 192, ctas: 1, registers: 0, shared: 0 };
        let computes = Profile {
            instructions_per_block: 4571.3,
            memory_fraction: 0.013,
            uncoalesced_fraction: 0.0,
            warps_per_block: 6,
            resources,
            pur: 0.97,
            mur: 0.02,
            minimum_slice: 0,
        };
        let loads = Profile {
            instructions_per_block: 739.1,
            memory_fraction: 0.287,
            pur: 0.21,
            mur: 0.33,
            ..computes
        };
        Choices::new(
            vec![computes, loads],
            GpuDescription::c2050(Memory::constant(417.0)),
            Options::default(),
        )
    }

    #[test]
    fn the_first_instances_of_two_kernels_run_in_the_same_slices_whichever_comes_first() {
        let mut choices = choices();
        let found = choices.choose(&[0, 0, 1, 1]).unwrap().unwrap();
        assert_eq!((found.first, found.second), (0, 2));
        let turned = CoSchedule { first: 0, second: 1, ..found.turned() };
        assert_eq!(choices.choose(&[1, 0, 1, 0, 0]), Ok(Some(turned)));
        assert_eq!(choices.choose(&[1, 0, 0, 1, 0]), Ok(Some(turned)));
        assert_eq!(choices.choose(&[1, 1, 0]), Ok(Some(CoSchedule { second: 2, ..turned })));
    }
}
