//! Random plans, and the distribution of their total times.

use std::convert::Infallible;

use counterpoint::application::SplitMix;

use super::measured::Measured;
use super::outcome::Outcome;
use super::pending::Pending;
use super::queue::Queue;
use super::run::{Selected, run};

/// Total times of random plans in milliseconds, from the shortest to the longest: MC(`runs`).
///
/// # Panics
/// If the queue has a kernel that is not of the table.
pub fn monte_carlo(measured: &Measured, queue: &Queue, runs: usize, seed: u64) -> Vec<f64> {
    let mut random = SplitMix::new(seed);
    let mut totals: Vec<f64> = (0..runs).map(|_| by_chance(measured, queue, &mut random).total).collect();
    totals.sort_by(f64::total_cmp);
    totals
}

/// The smallest of sorted values that at least a share `part` (0 to 1) of the values does not exceed. `None` if there are no values.
pub fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

pub(super) fn by_chance(measured: &Measured, queue: &Queue, random: &mut SplitMix) -> Outcome {
    let Ok(outcome) = run::<Infallible>(measured, queue, |pending| Ok(choose(measured, pending, random)));
    outcome
}

/// Chooses random kernels, and then one of their measured slice sizes with equal probability.
fn choose(measured: &Measured, pending: &Pending, random: &mut SplitMix) -> Option<Selected> {
    let kernels = random_kernels(pending, random)?;
    let rows = measured.together(kernels);
    let together = *rows.get(random.below(rows.len() as u128) as usize)?;
    Some(Selected { kernels, together })
}

/// Kernels of two random instances: all pairs of instances of different kernels are equally likely. If all instances are of one
/// kernel, that kernel twice. `None` if fewer than two instances are pending.
pub(crate) fn random_kernels(pending: &Pending, random: &mut SplitMix) -> Option<[usize; 2]> {
    let counts: Vec<(usize, usize)> = pending.kernels().collect();
    match counts.as_slice() {
        [] | [(_, 1)] => None,
        [(only, _)] => Some([*only; 2]),
        _ => pair(&counts, random),
    }
}

/// The kernels of two instances of different ones.
fn pair(counts: &[(usize, usize)], random: &mut SplitMix) -> Option<[usize; 2]> {
    let pairs = || {
        counts.iter().enumerate().flat_map(|(at, &(first, one))| {
            counts[at + 1..].iter().map(move |&(second, other)| ([first, second], (one * other) as u128))
        })
    };
    let mut drawn = random.below(pairs().map(|(_, weight)| weight).sum()) as u128;
    for (kernels, weight) in pairs() {
        if drawn < weight {
            return Some(kernels);
        }
        drawn -= weight;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_are_there() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        let found = [0.0, 0.25, 0.26, 0.5, 0.75, 1.0].map(|part| quantile(&sorted, part));
        assert_eq!(found, [1.0, 1.0, 2.0, 2.0, 3.0, 4.0].map(Some));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn pairs_are_as_likely_as_their_instances_make_them() {
        let mut random = SplitMix::new(5);
        let mut found = [0; 3];
        for _ in 0..10_000 {
            let drawn = pair(&[(0, 1), (1, 2), (2, 3)], &mut random).unwrap();
            found[drawn[0] + drawn[1] - 1] += 1;
        }
        // 2, 3 and 6 of 11.
        for (found, part) in found.iter().zip([2.0, 3.0, 6.0]) {
            assert!((f64::from(*found) - 1e4 * part / 11.0).abs() < 200.0, "{found} {part}");
        }
    }
}
