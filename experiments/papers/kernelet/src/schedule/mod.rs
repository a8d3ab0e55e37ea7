//! The scheduler's arithmetic chooses the two waiting kernels that run together next, and their slices (Algorithm 1,
//! `FindCoSchedule`). The arithmetic knows no time and no launch.
//!
//! Pairs of kernels that fit on an SM are pruned by the utilisation of each kernel alone. The Markov model predicts
//! the others: each in slices that end together, and the pair that saves most time is chosen. With blocks as units
//! all 28 pairs of eight kernels take 4 to 40 ms as tests are built; with warps as units the 18 that are not pruned
//! take 2 s on a C2050, without uncoalesced accesses.

mod choices;
pub mod cut;
mod machine;
pub mod prune;
pub mod slices;

use counterpoint::messages::launch::SmResources;

pub use choices::Choices;
pub use machine::{Card, GpuDescription};

use crate::model::{Resident, Unit, Unsolvable};
use crate::paper::C2050;
use prune::{Thresholds, Use};
use slices::{Candidate, Fill};

/// The profile of a kernel from a run of a few of its blocks alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Warp instructions of a block.
    pub instructions_per_block: f64,
    /// `R_m`: memory instructions in all instructions, 0 to 1.
    pub memory_fraction: f64,
    /// Uncoalesced accesses in all memory instructions, 0 to 1.
    pub uncoalesced_fraction: f64,
    /// Warps of a block.
    pub warps_per_block: u32,
    /// The needs of a block on an SM.
    pub resources: SmResources,
    /// Pipeline utilisation ratio at full occupancy ([`GpuDescription::pur`]).
    pub pur: f64,
    /// Memory bandwidth utilisation ratio at full occupancy ([`GpuDescription::mur`]).
    pub mur: f64,
    /// Blocks of the smallest slice that costs little ([`slices::minimum`]); 0 if it is not known.
    pub minimum_slice: u32,
}

/// The pruning and prediction of pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Pairs that are alike by less are pruned.
    pub thresholds: Thresholds,
    /// The slices compared.
    pub fill: Fill,
    /// The unit of the model.
    pub unit: Unit,
}

/// Two kernels and their slices. The slices stay the same until one of the kernels has no blocks left; its last slice may be shorter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoSchedule {
    /// Index of the first kernel among the candidates.
    pub first: usize,
    /// Index of the second kernel, higher than the first.
    pub second: usize,
    /// Blocks of a slice of each on all SMs: multiples of the number of SMs.
    pub slices: [u32; 2],
    /// `cIPC`: warp instructions per cycle of each on an SM, together.
    pub predicted: [f64; 2],
    /// `CP`: the saved fraction of the time that the kernels take one after the other. Below 0 if the pair is slower
    /// together.
    pub profit: f64,
}

impl Default for Options {
    /// The thresholds of the C2050, slices that fill the SMs, blocks as units.
    fn default() -> Self {
        Options {
            thresholds: Thresholds { pur: C2050.alpha_p, mur: C2050.alpha_m },
            fill: Fill::default(),
            unit: Unit::default(),
        }
    }
}

/// The co-scheduling profit of kernels with these IPCs, each alone and all together (Eq. 1): `1 - 1 / sum(cIPC / IPC)`.
///
/// The profit is the saved fraction of the time that the kernels take one after the other, if all end together. A
/// kernel alone has all the blocks that the SM can hold, not only the blocks that it has beside others.
pub fn profit<const N: usize>(alone: [f64; N], together: [f64; N]) -> f64 {
    let speeds = together.iter().zip(&alone).map(|(together, alone)| together / alone);
    1.0 - 1.0 / speeds.sum::<f64>()
}

/// The pair of kernels with the highest profit, of those that are not pruned; of equal ones the first. `None` if
/// there are fewer than two, or no two kernels fit on an SM in their smallest slices.
///
/// # Errors
/// If a fraction of a kernel is not in 0 to 1, or a chain has too many states for the [`Unit`], or several steady
/// states.
///
/// ```
/// use counterpoint_kernelet::model::Memory;
/// use counterpoint_kernelet::schedule::{GpuDescription, Options, Profile, choose};
/// use counterpoint::messages::launch::SmResources;
///
/// let computes = Profile {
///     instructions_per_block: 40_000.0,
///     memory_fraction: 0.01,
///     uncoalesced_fraction: 0.0,
///     warps_per_block: 4,
///     resources: SmResources { threads: 128, ctas: 1, registers: 2560, shared: 0 },
///     pur: 0.95,
///     mur: 0.02,
///     minimum_slice: 14,
/// };
/// let loads = Profile { instructions_per_block: 8_000.0, memory_fraction: 0.3, pur: 0.2, mur: 0.12, ..computes };
/// let machine = GpuDescription::c2050(Memory::constant(400.0));
/// let found = choose(&[computes, computes, loads], &machine, &Options::default())?.expect("two that fit");
/// assert_eq!((found.first, found.second), (0, 2));
/// assert!(found.profit > 0.05);
/// # Ok::<(), counterpoint_kernelet::model::Unsolvable>(())
/// ```
pub fn choose(
    kernels: &[Profile],
    machine: &GpuDescription,
    options: &Options,
) -> Result<Option<CoSchedule>, Unsolvable> {
    choose_by(kernels, machine, options, |places| predict(places.map(|at| &kernels[at]), machine, options))
}

/// [`choose`] with predictions that the caller may have kept: of the kernels at two places, as [`predict`] gives them.
fn choose_by(
    kernels: &[Profile],
    machine: &GpuDescription,
    options: &Options,
    mut predict: impl FnMut([usize; 2]) -> Result<Option<CoSchedule>, Unsolvable>,
) -> Result<Option<CoSchedule>, Unsolvable> {
    let uses: Vec<Use> = kernels.iter().map(|kernel| Use { pur: kernel.pur, mur: kernel.mur }).collect();
    let fits = |places: &[usize; 2]| !feasible(places.map(|at| &kernels[at]), machine, options).is_empty();
    let pairs: Vec<[usize; 2]> = prune::pairs(kernels.len()).into_iter().filter(fits).collect();
    let mut best: Option<CoSchedule> = None;
    for places in options.thresholds.prune(&uses, &pairs) {
        let found = predict(places)?;
        let found = found.map(|found| CoSchedule { first: places[0], second: places[1], ..found });
        best = match (best, found) {
            (Some(best), Some(found)) if found.profit > best.profit => Some(found),
            (best, found) => best.or(found),
        };
    }
    Ok(best)
}

/// Two kernels in their balanced slices, as places 0 and 1. `None` if they do not fit on an SM in their smallest slices.
///
/// The prediction depends on the two profiles only: a runtime with many instances of few kernels can cache it.
///
/// # Errors
/// As [`choose`].
pub fn predict(
    kernels: [&Profile; 2],
    machine: &GpuDescription,
    options: &Options,
) -> Result<Option<CoSchedule>, Unsolvable> {
    let feasible = feasible(kernels, machine, options);
    let sm = machine.sm();
    let resident = |blocks: [u32; 2]| [0, 1].map(|at| kernels[at].resident(blocks[at]));
    let predicted: Vec<[f64; 2]> = feasible
        .iter()
        .map(|&blocks| sm.ipc(resident(blocks), options.unit))
        .collect::<Result<_, Unsolvable>>()?;
    let instructions = kernels.map(|kernel| kernel.instructions_per_block);
    let candidate = |(&blocks, &ipc): (&[u32; 2], &[f64; 2])| Candidate {
        times: slices::times(instructions, blocks, ipc),
        warps: [0, 1].map(|at| blocks[at] * kernels[at].warps_per_block),
    };
    let candidates: Vec<Candidate> = feasible.iter().zip(&predicted).map(candidate).collect();
    let Some(at) = slices::balanced(&candidates) else { return Ok(None) };
    let alone = [kernels[0].alone(machine, options.unit)?, kernels[1].alone(machine, options.unit)?];
    Ok(Some(CoSchedule {
        first: 0,
        second: 1,
        slices: feasible[at].map(|blocks| blocks * machine.sms),
        predicted: predicted[at],
        profit: profit(alone, predicted[at]),
    }))
}

/// Blocks of two kernels on an SM, of all slices that are compared.
fn feasible(kernels: [&Profile; 2], machine: &GpuDescription, options: &Options) -> Vec<[u32; 2]> {
    let demands = kernels.map(|kernel| &kernel.resources);
    let mut fits = slices::feasible(&machine.offer, demands, options.fill);
    fits.retain(|blocks| (0..2).all(|at| blocks[at] * machine.sms >= kernels[at].minimum_slice));
    fits
}

impl Profile {
    /// IPC of an SM that holds the largest number of the kernel's blocks that fits.
    ///
    /// # Errors
    /// As [`choose`].
    pub fn alone(&self, machine: &GpuDescription, unit: Unit) -> Result<f64, Unsolvable> {
        let blocks = slices::most(&machine.offer, &self.resources);
        Ok(machine.sm().ipc([self.resident(blocks)], unit)?[0])
    }

    fn resident(&self, blocks: u32) -> Resident {
        Resident {
            blocks,
            warps_per_block: self.warps_per_block,
            memory: self.memory_fraction,
            uncoalesced: self.uncoalesced_fraction,
        }
    }
}

#[cfg(test)]
mod tests;
