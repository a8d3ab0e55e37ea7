//! A run of an application on a machine: loading both, simulating, checking and writing what came out.

mod context;
mod feasible;
mod forecast;
mod functional;
mod inputs;
mod loading;
mod manifest;
mod memory;
mod page_races;
mod progress;
mod record;
mod request;
mod simulation;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use counterpoint_framework::kernel::{Cut, Outcome, RunOptions, SnapshotTimes, Stuck, Watchdog};
use counterpoint_framework::model::{Environment, Registry};
use counterpoint_framework::telemetry::Curve;
use counterpoint_framework::time::{Hertz, SimTime};
use counterpoint_framework::topology::{self, Machine, RunReport};
use counterpoint_host_model::functional::{Found, Launched};
use counterpoint_protocols::preload::Contents;
use counterpoint_protocols::write_log::Written;
use counterpoint_ptx::functional::Options;

use crate::cpu_time::cpu_seconds;
use crate::curves::curves;
use crate::hashes::{Hashed, Hashes};
use crate::launches::{LaunchTime, launches};
use crate::output::{Folder, RECORDS, WriteError};
use crate::summary::{Figures, Phase, phases};
use crate::together::Together;
use crate::verify::Verdict;
use crate::waits::Waits;

use context::{RunContext, lacks, weigh};
pub use feasible::feasible;
pub use forecast::Forecast;
pub use inputs::write_inputs;
use loading::load;
pub use loading::{load_application, load_machine};
pub use progress::{Progress, Snapshot};
pub use request::{LAUNCH_ROWS, RunError, RunRequest};
use simulation::{Ended, Simulation};

/// A buffer that was looked at.
#[derive(Clone, Debug)]
pub struct Check {
    /// The buffer.
    pub buffer: String,
    /// What it was compared with.
    pub against: String,
    /// What that came to.
    pub verdict: Verdict,
}

/// What came of a run.
pub struct RunSummary {
    /// Name of the machine.
    pub machine: String,
    /// Name of the application.
    pub application: String,
    /// The kind of each component, by path.
    pub kinds: BTreeMap<String, String>,
    /// Statistics, spans, how it ended.
    pub report: RunReport,
    /// It ended before everything was done.
    pub partial: bool,
    /// Files that could not be written because a component that hangs was left behind with what belongs into them.
    pub missing: &'static [&'static str],
    /// What the application wrote, by name of the file.
    pub results: Vec<(String, Bytes)>,
    /// The comparisons that the application asks for.
    pub checks: Vec<Check>,
    /// The hashes of the components at the times asked for; empty if none were.
    pub hashes: Hashes,
    /// Where the time went.
    pub phases: Vec<Phase>,
    /// What it waited for.
    pub waits: Waits,
    /// What the machine did over time, if that was asked for.
    pub curves: Vec<Curve>,
    /// What kernels did that they should not, of a run without time; and of one with, if races were looked for.
    pub found: Vec<Found>,
    /// Launches whose pages were looked at for races, if that was asked for, of a run with time.
    pub race_checked: Option<usize>,
    /// Writes to the buffers that were watched, in the order of time.
    pub writes: Vec<Written>,
    /// What each launch executed, of a run without time.
    pub launched: Option<Vec<Launched>>,
    /// The launches that have ended, by number.
    pub launches: Vec<LaunchTime>,
    /// What applications that ran together came to.
    pub together: Option<Together>,
    /// The most wanted numbers.
    pub figures: Figures,
    /// Input files that were made.
    pub created: Vec<String>,
    /// Files that the application wrote.
    pub outputs: Vec<PathBuf>,
    /// Files of the folder that could not be written.
    pub unwritten: Vec<WriteError>,
    /// The folder of the results.
    pub folder: Option<PathBuf>,
    /// How many threads ran it, and why, where these were not all that were asked for.
    pub threads: Option<String>,
    /// Wall-clock time of the simulation alone.
    pub wall: Duration,
    /// Processor seconds of the simulation alone, of all threads, in the ticks of [`cpu_seconds`].
    pub cpu_seconds: f64,
}

impl RunSummary {
    /// How the run ended, in words; without time no moment is told.
    pub fn ending(&self) -> String {
        functional::ending(&self.report.outcome, self.launched.is_some())
    }

    /// Whether the run finished, and everything is as expected and has been written.
    pub fn is_good(&self) -> bool {
        let verified = self.checks.iter().all(|check| check.verdict.is_verified());
        !self.partial && verified && self.found.is_empty() && self.unwritten.is_empty()
    }
}

/// Runs an application on a machine. Whoever watches does it through `progress`; what the watchdog says goes to the log.
///
/// # Errors
/// When the run cannot begin. A run that ends badly, or whose results cannot be written, is a summary.
pub fn run(
    request: &RunRequest,
    registry: &Arc<Registry>,
    progress: &Progress,
) -> Result<RunSummary, Vec<RunError>> {
    let log = Watchdog::default().report;
    run_watched(request, registry, progress, &mut |stuck| log(stuck))
}

/// Like [`run`], with someone who listens to the watchdog, on the thread that calls.
///
/// # Errors
/// As [`run`].
pub fn run_watched(
    request: &RunRequest,
    registry: &Arc<Registry>,
    progress: &Progress,
    alarm: &mut dyn FnMut(Stuck),
) -> Result<RunSummary, Vec<RunError>> {
    let (machine, path, loaded) = load(request, registry)?;
    feasible(request, registry, &machine, &loaded)?;
    memory::suffices(&loaded.application).map_err(|error| vec![error])?;
    let machine = Arc::new(machine);
    let one = |error: WriteError| vec![RunError::Write(error)];
    let created = write_inputs(&loaded).map_err(one)?;
    progress.listen();
    let is_other = |folder: &Path| manifest::is_other(folder, request, &path);
    let create = |out: &PathBuf| match request.beside_others {
        true => Folder::create_beside(out, &loaded.outputs, is_other),
        false => Folder::create(out, &loaded.outputs),
    };
    let folder = request.out.as_ref().map(create).transpose();
    let folder = folder.map_err(one)?;

    let functional = Options {
        limit: request.instruction_limit,
        racecheck: request.racecheck,
        interrupt: progress.interrupt_flag(),
        ..Options::default()
    };
    // Devices that are too small are not filled first.
    let asks = request.functional || loaded.application.preloads();
    let lacking = if asks { lacks(request, registry, &machine, &loaded) } else { None };
    let preloaded = lacking.map_or_else(|| functional::preload(&loaded, functional.clone()), Err);
    let nothing = Contents::new();
    let contents = preloaded.as_ref().unwrap_or(&nothing);
    let weights = match request.functional {
        true => None,
        false => weigh(request, registry, &machine, &loaded, contents, progress.interrupt_flag()),
    };
    let RunContext { program, journal, disk, meter, page_log, write_log, environment } =
        RunContext::new(request, &loaded, contents);
    let options = RunOptions {
        threads: request.threads.max(1),
        sharing: request.sharing,
        islands: request.islands,
        weights,
        stop_at: request.stop_at,
        hash: request.hash,
        snapshots: request.snapshots,
        samples: request.series.map(|every| SnapshotTimes { from: SimTime::ZERO, every }),
        livelock_after: request.livelock_after,
        interrupt: progress.interrupt_flag(),
        clock: progress.clock(),
        ..RunOptions::default()
    };
    progress.begin(&program, &journal, &meter);
    let (begun, cpu_before) = (Instant::now(), cpu_seconds());
    let watchdog =
        Watchdog { after: request.watchdog, abandon: progress.abandon_flag(), ..Watchdog::default() };
    let simulation =
        Simulation { machine: Arc::clone(&machine), registry: Arc::clone(registry), environment };
    let (mut launched, mut found, mut race_checked) = (None, Vec::new(), None);
    let (report, missing) = if let Err(outcome) = &preloaded {
        launched = request.functional.then(Vec::new);
        (functional::report(outcome.clone(), Vec::new()), [].as_slice())
    } else if request.functional {
        let ran = functional::run(
            &loaded,
            contents.clone(),
            (&journal, &meter, &disk),
            functional,
            request.launch_rows,
        );
        (launched, found) = (Some(ran.launched), ran.found);
        (ran.report, [].as_slice())
    } else {
        match simulation.run(options, watchdog, alarm) {
            Ended::ByItself(report) => {
                if let Some(log) = page_log {
                    let noted = log.take();
                    race_checked = Some(noted.launches.len());
                    found = page_races::races(&program, &noted);
                }
                (report, [].as_slice())
            }
            Ended::LeftBehind(report) => (report, RECORDS),
        }
    };
    let (wall, cpu_seconds) = (begun.elapsed(), cpu_seconds() - cpu_before);
    progress.end();

    let writes = write_log.map(|log| log.take());
    let partial = !matches!(report.outcome, Outcome::Finished(_));
    let end = report.outcome.time();
    let waits = Waits::new(&report.trace.spans, end);
    let curves =
        report.series.as_ref().map(|series| curves(&machine.machine, series, end)).unwrap_or_default();
    let checks = record::checks(&loaded, &program, &journal, partial);
    let (outputs, unwritten) = match &folder {
        Some(folder) => {
            let facts = record::Facts {
                request,
                machine: &machine,
                application: &path,
                loaded: &loaded,
                report: &report,
                curves: &curves,
                waits: &waits,
                checks: &checks,
                found: &found,
                writes: writes.as_deref(),
                partial,
                missing,
                wall,
            };
            record::write(folder, &facts, &disk)
        }
        None => Default::default(),
    };
    Ok(RunSummary {
        machine: machine.machine.name.clone(),
        application: program.name.clone(),
        kinds: machine.machine.instances.iter().map(|one| (one.path.clone(), one.kind.clone())).collect(),
        partial,
        missing,
        results: record::results(&loaded, &disk),
        checks,
        hashes: Hashes {
            outcome: report.outcome.to_string().lines().next().unwrap_or_default().to_owned(),
            components: machine.machine.processes().map(hashed).collect(),
            snapshots: report.snapshots.clone(),
        },
        phases: phases(&report.trace.spans),
        launches: launches(&machine.machine, &report.trace.spans),
        together: Together::of(&program, &report.trace.spans),
        figures: match &launched {
            Some(launches) => functional::figures(launches),
            None => Figures::new(&machine.machine, &report),
        },
        waits,
        curves,
        found,
        race_checked,
        writes: writes.unwrap_or_default(),
        launched,
        threads: report.crew.fewer(request.threads).or_else(|| report.crew.asleep()),
        report,
        created,
        outputs,
        unwritten,
        folder: folder.map(|folder| folder.path().to_owned()),
        wall,
        cpu_seconds,
    })
}

/// How a run would cut the machine.
///
/// # Errors
/// When the run could not begin.
pub fn cut(request: &RunRequest, registry: &Arc<Registry>) -> Result<(Machine, Cut), Vec<RunError>> {
    let (machine, weights) = if request.application.is_empty() {
        (load_machine(request, registry).map_err(|error| vec![error])?, None)
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

fn hashed((path, clock): (String, Hertz)) -> Hashed {
    Hashed { path, hertz: clock.get() }
}
