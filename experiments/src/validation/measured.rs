//! Figures of another simulator, read from `experiments/validation`.

use std::collections::BTreeMap;

use counterpoint_simulation::find::{ProjectFiles, Sort};
use serde::Deserialize;

use super::figures::Kernel;

/// A file of figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Processor seconds of [`calibration_loop`](crate::speed::calibration_loop) where the figures were measured.
    pub calibration: f64,
    /// Machine by machine.
    pub machines: Vec<MeasuredMachine>,
}

/// Measurements of a machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredMachine {
    /// Name of the machine in this project.
    pub machine: String,
    /// The kernels, if any were run.
    #[serde(default)]
    pub kernels: Vec<Kernel>,
    /// Core cycles, by name of the probe.
    pub latencies: BTreeMap<String, f64>,
    /// Reasons why some of these are further apart than they may be, by name of the probe.
    #[serde(default)]
    pub causes: BTreeMap<String, String>,
}

impl Measured {
    /// Keeps the figures of one application, or those of latencies if it is `latency`. If there are none, all
    /// figures stay, and the result lists the available names.
    pub fn keep(&mut self, only: &str) -> Vec<String> {
        const LATENCY: &str = "latency";
        let known = |machine: &MeasuredMachine| -> Vec<String> {
            machine.kernels.iter().map(|kernel| kernel.application.clone()).collect()
        };
        let mut all: Vec<String> = self.machines.iter().flat_map(known).collect();
        all.push(LATENCY.to_owned());
        all.sort();
        all.dedup();
        if !all.iter().any(|one| one == only) {
            return all;
        }
        for machine in &mut self.machines {
            machine.kernels.retain(|kernel| kernel.application == only);
            if only != LATENCY {
                machine.latencies.clear();
            }
        }
        Vec::new()
    }

    /// Reads the file of a project, or the built-in one.
    ///
    /// # Errors
    /// If the file cannot be read or parsed.
    pub fn read(files: &ProjectFiles<'_>) -> Result<Self, String> {
        let found = files.find(Sort::Validation, "gpgpu-sim-4.2");
        let path = found.map_err(|missing| missing.to_string())?;
        let text = files.text(&path).map_err(|error| format!("{path}: {error}"))?;
        serde_yaml::from_str(&text).map_err(|error| format!("{path}: {error}"))
    }
}
