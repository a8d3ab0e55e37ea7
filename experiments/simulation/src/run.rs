//! A run of an application on a machine: loading both, simulating, checking and writing the results.
//!
//! [`run`] does all of it. [`start`] gives a [`Simulation`] that advances on request and can be inspected in
//! between; its end gives the same [`RunSummary`].

mod choices;
mod coherence;
mod conclude;
mod context;
pub mod cpu_time;
mod errors;
#[cfg(feature = "otlp")]
pub mod export;
mod feasible;
mod forecast;
mod functional;
mod inputs;
mod inspect;
mod loading;
mod manifest;
mod memory;
mod page_races;
mod part;
mod progress;
mod record;
mod request;
pub mod run_value;
mod simulation;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
pub use counterpoint_framework::kernel::State;
use counterpoint_framework::kernel::{Cut, RunOptions, Stuck};
use counterpoint_framework::model::{Environment, Registry};
use counterpoint_framework::telemetry::Curve;
use counterpoint_framework::topology::{self, Machine, RunReport};
use counterpoint_host_model::Printed;
pub use counterpoint_host_model::Timed;
use counterpoint_host_model::functional::{Found, Launched};
use counterpoint_protocols::write_log::Written;
use counterpoint_ptx::functional::Options;

use crate::output::WriteError;
use crate::results::co_run::CoRun;
use crate::results::hashes::Hashes;
use crate::results::launches::LaunchTime;
use crate::results::summary::{Figures, Phase};
use crate::results::waits::Waits;
use crate::workloads::verify::Verdict;

use context::weigh;
pub use errors::{Cause, CausePlace, RunError, RunErrors};
pub use feasible::feasible;
pub use forecast::Forecast;
pub use inputs::write_inputs;
pub use inspect::{Condition, Inspection};
use loading::load;
pub use loading::{load_application, load_machine};
pub use part::TimedLaunches;
pub use progress::{Progress, Snapshot};
pub use request::{LAUNCH_ROWS, RunRequest};
pub use simulation::{Simulation, start, start_watched};

/// A buffer that was compared.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Check {
    /// The buffer.
    pub buffer: String,
    /// The expectation that the buffer was compared with.
    pub against: String,
    /// Verdict of the comparison.
    pub verdict: Verdict,
}

/// Result of a run.
#[non_exhaustive]
pub struct RunSummary {
    /// Name of the machine.
    pub machine: String,
    /// Name of the application.
    pub application: String,
    /// The kind of each component, by path.
    pub kinds: BTreeMap<String, String>,
    /// Roles of the components by path; empty: none.
    pub roles: BTreeMap<String, &'static str>,
    /// Statistics, spans, how it ended.
    pub report: RunReport,
    /// Whether the run ended before everything was done.
    pub partial: bool,
    /// Files that could not be written because a hanging component kept their contents.
    pub missing: &'static [&'static str],
    /// Output of the application, by name of the file.
    pub results: Vec<(String, Bytes)>,
    /// The comparisons that the application requests.
    pub checks: Vec<Check>,
    /// Hashes of the components at the requested times; empty if none were requested.
    pub hashes: Hashes,
    /// Phases of the run, with their times.
    pub phases: Vec<Phase>,
    /// Waits of the run.
    pub waits: Waits,
    /// The machine's activity over time, if requested.
    pub curves: Vec<Curve>,
    /// Errors of kernels: always of a run without time, and of a run with time if the search for races was
    /// on.
    pub found: Vec<Found>,
    /// Number of launches whose pages were checked for races, if the check was requested in a run with time.
    pub race_checked: Option<usize>,
    /// Writes to the buffers that were watched, in the order of time.
    pub writes: Vec<Written>,
    /// Text that kernels printed.
    pub printed: Printed,
    /// Execution of each launch, of a run without time.
    pub launched: Option<Vec<Launched>>,
    /// The launches that have ended, by number.
    pub launches: Vec<LaunchTime>,
    /// The launches that had time, if they were chosen.
    pub timed: Option<TimedLaunches>,
    /// Result of applications that ran together.
    pub co_run: Option<CoRun>,
    /// The most wanted numbers.
    pub figures: Figures,
    /// Input files that were made.
    pub created: Vec<String>,
    /// Remarks: overlays that overwrite others, assumptions about files, and parts of the application that
    /// the runtime ignores.
    pub remarks: Vec<String>,
    /// Files that the application wrote.
    pub outputs: Vec<PathBuf>,
    /// Files of the folder that could not be written.
    pub unwritten: Vec<WriteError>,
    /// The folder of the results.
    pub folder: Option<PathBuf>,
    /// Number of threads that ran the simulation, and the reason, if fewer than requested.
    pub threads: Option<String>,
    /// Wall-clock time of the simulation alone.
    pub wall: Duration,
    /// Processor seconds of the simulation alone, of all threads, in the ticks of [`cpu_seconds`](crate::run::cpu_time::cpu_seconds).
    pub cpu_seconds: f64,
}

impl RunSummary {
    /// Outcome of the run in words; without a simulated time if the run had none.
    pub fn ending(&self) -> String {
        functional::ending(&self.report.outcome, self.launched.is_some())
    }

    /// Whether the run finished, and everything is as expected and has been written.
    pub fn is_good(&self) -> bool {
        let verified = self.checks.iter().all(|check| check.verdict.is_verified());
        !self.partial && verified && self.found.is_empty() && self.unwritten.is_empty()
    }
}

/// Runs an application on a machine: [`start`] and [`Simulation::finish`]. Observers use `progress`; messages
/// of the watchdog go to the log.
///
/// # Errors
/// If the run cannot begin. A run that ends badly, or whose results cannot be written, is a summary.
pub fn run(
    request: &RunRequest,
    registry: &Arc<Registry>,
    progress: &Progress,
) -> Result<RunSummary, RunErrors> {
    Ok(start_watched(request, registry, progress)?.finish())
}

/// Like [`run`], and calls `alarm` on the calling thread when the watchdog reports.
///
/// # Errors
/// As [`run`].
pub fn run_watched(
    request: &RunRequest,
    registry: &Arc<Registry>,
    progress: &Progress,
    alarm: &mut dyn FnMut(Stuck),
) -> Result<RunSummary, RunErrors> {
    Ok(start_watched(request, registry, progress)?.finish_watched(alarm))
}

/// Cut of the machine into islands that a run would use.
///
/// # Errors
/// If the run could not begin.
pub fn cut(request: &RunRequest, registry: &Arc<Registry>) -> Result<(Machine, Cut), RunErrors> {
    let (machine, weights) = if request.application.is_empty() {
        (load_machine(request, registry)?, None)
    } else {
        let (machine, _, loaded) = load(request, registry)?;
        let contents = functional::preload(&loaded, Options::default()).unwrap_or_default();
        let weights = weigh(request, registry, &machine, &loaded, &contents, Arc::default());
        (machine, weights)
    };
    let (threads, sharing, islands) = (request.threads.max(1), request.sharing, request.islands);
    let options = RunOptions { threads, sharing, islands, weights, ..RunOptions::default() };
    let cut = topology::build(&machine.machine, registry, &Environment::default()).cut(&options);
    Ok((machine.machine, cut))
}
