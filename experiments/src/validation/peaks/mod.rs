//! Measured peaks of a machine against the values that its sources state: bandwidths of DRAM and caches,
//! rates of units and atomics, latencies. The programs are our own (`probe-rates`, `probe-chains`,
//! `probe-chase`), the stated values are in `experiments/validation/peaks.yaml`.

mod rates;
mod stated;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use counterpoint_framework::model::Registry;
use counterpoint_framework::telemetry::sinks::rounded;
use counterpoint_framework::topology::Follows;
use counterpoint_simulation::run::{RunErrors, load_machine};
use serde::{Serialize, Serializer};

use super::{latencies, request};

pub use rates::{QUANTITIES, Quantity};
pub use stated::{Figure, Known, Limit, Stated};

/// The measured value compared with the stated one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The measurement is within the limit.
    Met,
    /// The measurement is outside the limit for a known reason, and is unchanged.
    Known,
    /// The measurement is outside the limit.
    Missed,
}

/// A measured value beside the stated one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Peak {
    /// The machine.
    pub machine: String,
    /// The source that the machine follows, if it names one.
    pub follows: Option<&'static str>,
    /// The quantity measured.
    pub of: &'static str,
    /// Unit of the quantity.
    pub unit: &'static str,
    /// Ours.
    #[serde(serialize_with = "short")]
    pub ours: f64,
    /// The source's value.
    #[serde(serialize_with = "short")]
    pub stated: f64,
    /// The required agreement.
    pub limit: Limit,
    /// Their comparison.
    pub verdict: Verdict,
    /// The source of the stated value.
    pub source: String,
    /// The reason for the difference, where it is known.
    pub reason: Option<String>,
}

/// A number without digits that mean nothing.
fn short<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(rounded(*value))
}

impl Peak {
    /// Ours as a share of the stated value.
    pub fn share(&self) -> f64 {
        self.ours / self.stated
    }
}

/// The figures of one machine, or why its run failed.
type Measured = Result<Vec<Peak>, RunErrors>;

/// The part of the figures that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All figures.
    All,
    /// Rates of one SM and latencies: peaks that take no stream through memory.
    Units,
}

/// Measures the machines that `stated` has figures of, side by side, for the project in a folder.
///
/// # Errors
/// If a run cannot begin, fails, or computes a wrong result; the errors are those of the first such machine.
pub fn peaks(
    stated: &Stated,
    extent: Extent,
    folder: &Path,
    registry: &Arc<Registry>,
) -> Result<Vec<Peak>, RunErrors> {
    let machines = stated.machines();
    let (next, workers) = (AtomicUsize::new(0), std::thread::available_parallelism().map_or(1, usize::from));
    let mut measured: Vec<(usize, Measured)> = std::thread::scope(|scope| {
        let work = || {
            let mut own = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(machine) = machines.get(index) else { return own };
                own.push((index, of_machine(machine, stated, extent, folder, registry)));
            }
        };
        let workers: Vec<_> = (0..workers.min(machines.len())).map(|_| scope.spawn(work)).collect();
        // A panic of a worker goes on here.
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    measured.sort_by_key(|(index, _)| *index);
    let mut peaks = Vec::new();
    for (_, found) in measured {
        peaks.extend(found?);
    }
    Ok(peaks)
}

fn of_machine(
    machine: &str,
    stated: &Stated,
    extent: Extent,
    folder: &Path,
    registry: &Arc<Registry>,
) -> Result<Vec<Peak>, RunErrors> {
    let loaded = load_machine(&request(machine, "probe-rates", &[], folder), registry)?;
    let wanted: Vec<&Figure> = stated.of(machine).collect();
    let mut found = Vec::new();
    let of_rate = |figure: &&Figure| QUANTITIES.iter().any(|one| one.is_rate() && one.name == figure.of);
    if wanted.iter().any(of_rate) {
        found.extend(rates::rates(&loaded.machine, machine, extent, folder, registry)?);
    }
    if !wanted.iter().all(of_rate) {
        let is_stated = |name: &str| QUANTITIES.iter().any(|quantity| quantity.measured == name);
        found.extend(latencies(machine, &[], &is_stated, folder, registry)?);
    }
    let follows = loaded.machine.follows.map(Follows::as_str);
    let mut peaks = Vec::new();
    for quantity in &QUANTITIES {
        let Some((_, ours)) = found.iter().find(|(name, _)| *name == quantity.measured) else { continue };
        for figure in wanted.iter().filter(|figure| figure.of == quantity.name) {
            let Some(stated) = figure.stated.get(machine).copied() else { continue };
            let known = figure.known.get(machine);
            let verdict = match known {
                _ if figure.limit.is_met(*ours, stated) => Verdict::Met,
                Some(known) if known.holds(*ours) => Verdict::Known,
                _ => Verdict::Missed,
            };
            peaks.push(Peak {
                machine: machine.to_owned(),
                follows,
                of: quantity.name,
                unit: quantity.unit,
                ours: *ours,
                stated,
                limit: figure.limit,
                verdict,
                source: figure.source.clone(),
                reason: known.filter(|_| verdict == Verdict::Known).map(|known| known.why.clone()),
            });
        }
    }
    Ok(peaks)
}
