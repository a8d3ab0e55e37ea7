//! The simulator's speed: processor seconds of whole programs, beside those of a loop that distinguishes
//! computers.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use counterpoint_framework::model::Registry;
use counterpoint_simulation::cpu_time::cpu_seconds;
use counterpoint_simulation::run::{RunErrors, RunRequest};

use crate::validation::verified;

/// Rounds of the calibration loop.
const ROUNDS: u64 = 200_000_000;

/// Processor seconds of a fixed chain of dependent 64-bit multiplications and shifts, on one core.
pub fn calibration_loop() -> f64 {
    let begun = cpu_seconds();
    let mut value = black_box(1_u64);
    for _ in 0..ROUNDS {
        value = (value ^ (value >> 29)).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
    black_box(value);
    cpu_seconds() - begun
}

/// Processor seconds after which a program is not run again, a hundred ticks; and runs at most.
pub(crate) const ENOUGH: f64 = 1.0;
pub(crate) const MOST_RUNS: u32 = 100;

/// Cost of simulating a program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Speed {
    /// Cycles in which the SM that was busy for longest had a block: cycles of an idle GPU cost nothing and do not count.
    pub cycles: f64,
    /// Warp instructions.
    pub warp_instructions: f64,
    /// Sectors requested from the L2.
    pub l2_accesses: f64,
    /// Processor seconds of the simulation alone: files are read, inputs made and results compared outside of it.
    pub cpu_seconds: f64,
}

impl Speed {
    /// Runs an application on a machine on one thread, as often as it takes until the ticks of [`cpu_seconds`] do not show; counts and
    /// seconds are those of all runs.
    ///
    /// # Errors
    /// When a run cannot begin, fails, or computes something wrong.
    pub fn of(
        machine: &str,
        application: &str,
        folder: &Path,
        registry: &Arc<Registry>,
    ) -> Result<Self, RunErrors> {
        let request = RunRequest { folder: PathBuf::from(folder), ..RunRequest::new(machine, application) };
        let mut speed = Speed::default();
        // Without processor seconds from the system, a few runs must suffice.
        for _ in 0..MOST_RUNS {
            let summary = verified(&request, registry)?;
            let count = |name| summary.figures.count(name).unwrap_or_default() as f64;
            speed.cycles += count("active cycles");
            speed.warp_instructions += count("warp instructions");
            speed.l2_accesses += count("L2 accesses");
            speed.cpu_seconds += summary.cpu_seconds;
            if speed.cpu_seconds >= ENOUGH {
                break;
            }
        }
        Ok(speed)
    }

    /// The main part of the work: requests to the L2 where there are more of them than instructions.
    pub fn bound(&self) -> &'static str {
        if self.l2_accesses > self.warp_instructions { "L2" } else { "instructions" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_bound_by_what_there_is_more_of() {
        let speed =
            |warp_instructions, l2_accesses| Speed { warp_instructions, l2_accesses, ..Speed::default() };
        assert_eq!(speed(100.0, 99.0).bound(), "instructions");
        assert_eq!(speed(100.0, 101.0).bound(), "L2");
    }

    #[test]
    fn the_loop_takes_processor_time() {
        // Without `/proc` processor time is unknown.
        assert_eq!(calibration_loop() > 0.0, Path::new("/proc/self/stat").exists());
    }
}
