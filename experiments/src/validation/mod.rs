//! Comparison of machines with measurements of another simulator: the reference kernels and the probes, run on the machines
//! that both simulators have, beside the figures in `experiments/validation`.
//!
//! A kernel is run to its end first, with its results compared. A second run ends with the last launch, so that its counts
//! exclude the copies back; if launches precede the measured ones, the counts of a third run up to that point are
//! subtracted.

mod figures;
mod measured;
mod page;
pub mod peaks;
mod probes;
mod process;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use counterpoint_framework::model::Registry;
use counterpoint_simulation::run::{Progress, RunError, RunErrors, RunRequest, RunSummary, run};

use crate::speed::calibration_loop;

pub use figures::{Kernel, KernelRun, QUANTITIES, Quantity, kernel};
pub use measured::{Measured, MeasuredMachine};
pub use page::page;
pub use probes::{PROBES, latencies};

/// One quantity, as measured by both simulators.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The machine.
    pub machine: String,
    /// The application, or `latency`.
    pub of: String,
    /// The quantity counted or timed.
    pub quantity: String,
    /// Ours.
    pub ours: f64,
    /// Theirs.
    pub theirs: f64,
    /// The allowed difference.
    pub limit: f64,
    /// Reason for a difference beyond the limit, if it is known.
    pub cause: Option<String>,
}

impl Row {
    /// The difference as a share of theirs; none where they counted nothing.
    pub fn difference(&self) -> Option<f64> {
        (self.theirs != 0.0).then(|| self.ours / self.theirs - 1.0)
    }

    /// Whether they are further apart than they may be.
    pub fn is_off(&self) -> bool {
        (self.ours - self.theirs).abs() > self.limit
    }

    /// Whether these are cycles that count for the average: those of kernels and not of single steps, unless their
    /// difference is meant.
    pub fn counts(&self) -> bool {
        self.quantity == "cycles" && self.cause.is_none()
    }
}

/// Largest accepted difference of a figure, to which `accesses` of the L2 belong: zero for instructions; a share of the
/// figure for latencies of steps, cycles of kernels, accesses and misses of the L1, and accesses of the L2; and for memory
/// traffic a share of it or a hundredth of the accesses, whichever is larger, since traffic may be zero where all data hit
/// in the L2.
fn limit(quantity: &str, theirs: f64, accesses: f64) -> f64 {
    match quantity {
        "cycles" => 0.15 * theirs,
        "warp_insn" | "gpu_sim_insn" => 0.0,
        "l1_accesses" | "l1_misses" | "l2_accesses" => 0.05 * theirs,
        "l2_misses" | "dram_reads" | "dram_writes" | "dram_activates" => (0.05 * theirs).max(0.01 * accesses),
        _ => 0.1 * theirs,
    }
}

/// Cost of a run of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Speed {
    /// The machine.
    pub machine: String,
    /// The application.
    pub of: String,
    /// Cycles simulated.
    pub cycles: f64,
    /// Processor seconds of a process of this simulator that runs it, of all threads.
    pub ours: f64,
    /// Processor seconds that the other simulator takes on a computer like this one, by the calibration loop beside the run.
    pub theirs: f64,
}

impl Speed {
    /// Speed of this simulator relative to the other.
    pub fn ratio(&self) -> f64 {
        self.theirs / self.ours
    }
}

/// Everything that is compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validation {
    /// Counts and cycles, then latencies, machine by machine.
    pub rows: Vec<Row>,
    /// The kernels by their cost.
    pub speeds: Vec<Speed>,
}

/// Runs everything in `measured`, for the project in a folder. With a command, processes of it run each kernel, often enough to measure
/// their processor time.
///
/// # Errors
/// If a run cannot begin, fails, or computes a wrong result.
pub fn validate(
    measured: &Measured,
    speed: Option<&Path>,
    folder: &Path,
    registry: &Arc<Registry>,
) -> Result<Validation, RunErrors> {
    let mut validation = Validation::default();
    for machine in &measured.machines {
        let row = |of: &str, quantity: &str, (ours, theirs), limit, cause: Option<&String>| Row {
            machine: machine.machine.clone(),
            of: of.to_owned(),
            quantity: quantity.to_owned(),
            ours,
            theirs,
            limit,
            cause: cause.cloned(),
        };
        for wanted in &machine.kernels {
            let found = kernel(&machine.machine, wanted, folder, registry)?;
            let accesses = wanted.figures.get("l2_accesses").copied().unwrap_or(0.0);
            for (name, value) in &found.figures {
                if let Some(&theirs) = wanted.figures.get(*name) {
                    let (limit, cause) = (limit(name, theirs, accesses), wanted.causes.get(*name));
                    let values = (*value as f64, theirs);
                    validation.rows.push(row(&wanted.application, name, values, limit, cause));
                }
            }
            if let Some(command) = speed {
                let ours = process::seconds(command, &machine.machine, wanted, folder)?;
                validation.speeds.push(Speed {
                    machine: machine.machine.clone(),
                    of: wanted.application.clone(),
                    cycles: found.cycles() as f64,
                    ours,
                    // Beside each kernel, because what else the computer does changes.
                    theirs: wanted.cpu_seconds * calibration_loop() / measured.calibration,
                });
            }
        }
        if machine.latencies.is_empty() {
            continue;
        }
        for (name, ours) in
            latencies(&machine.machine, &[], &|name| machine.latencies.contains_key(name), folder, registry)?
        {
            if let Some(&theirs) = machine.latencies.get(name) {
                let (limit, cause) = (limit("latency", theirs, 0.0), machine.causes.get(name));
                validation.rows.push(row("latency", name, (ours, theirs), limit, cause));
            }
        }
    }
    Ok(validation)
}

/// Mean and largest absolute difference of the rows that have one.
pub fn spread<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<(f64, f64)> {
    let differences: Vec<f64> = rows.filter_map(|row| Some(row.difference()?.abs())).collect();
    let worst = differences.iter().copied().reduce(f64::max)?;
    Some((differences.iter().sum::<f64>() / differences.len() as f64, worst))
}

/// A request for a run whose names are found from a folder.
fn request(machine: &str, application: &str, sets: &[String], folder: &Path) -> RunRequest {
    RunRequest { folder: PathBuf::from(folder), sets: sets.to_vec(), ..RunRequest::new(machine, application) }
}

/// Runs to the end, with results as expected.
pub(crate) fn verified(request: &RunRequest, registry: &Arc<Registry>) -> Result<RunSummary, RunErrors> {
    let summary = run(request, registry, &Progress::default())?;
    if summary.is_good() {
        return Ok(summary);
    }
    let ending = format!("{} on {}: {}", request.application, request.machine, summary.ending());
    Err(RunError::Usage(format!("{ending}; its results are not as expected")).into())
}
