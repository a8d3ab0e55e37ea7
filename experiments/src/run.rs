//! A run of an application on a machine: loading both, simulating, checking and writing what came out.

mod functional;
mod manifest;
mod progress;
mod record;
mod simulation;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use counterpoint_framework::kernel::{Cut, Outcome, RunOptions, SnapshotTimes, Stuck, Watchdog};
use counterpoint_framework::model::{Environment, Registry, Report, Resources};
use counterpoint_framework::telemetry::{Level, Meter};
use counterpoint_framework::time::{Hertz, SimTime};
use counterpoint_framework::topology::{self, Disk as MachineFiles, Loaded, Machine, RunReport};
use counterpoint_hardware::io::storage::Disk;
use counterpoint_host_model::Journal;
use counterpoint_host_model::functional::{Found, Launched};
use counterpoint_host_model::program::Application;
use counterpoint_protocols::preload::Preloaded;
use counterpoint_ptx::functional::{DEFAULT_LIMIT, Options};

use crate::application::{self, LoadedApplication, RealFiles, SETTING_PREFIX};
use crate::find::{Sort, find};
use crate::hashes::{Hashed, Hashes};
use crate::output::{Folder, RECORDS, WriteError};
use crate::summary::{Figures, Phase, phases};
use crate::verify::Verdict;

pub use progress::{Progress, Snapshot};
use simulation::{Ended, Simulation};

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The machine: a file, or a name.
    pub machine: String,
    /// The application: a file, or a name.
    pub application: String,
    /// Overlays in the order in which they apply: files or names.
    pub overlays: Vec<String>,
    /// Settings `path=value`; those whose path begins with `app.` are the application's.
    pub sets: Vec<String>,
    /// The runtime of every host.
    pub runtime: Option<String>,
    /// The policy of every CTA scheduler.
    pub policy: Option<String>,
    /// Without time: kernels run on the functional executor; of the machine nothing is asked but whether its devices hold
    /// the buffers.
    pub functional: bool,
    /// Look for races in shared memory, in a run without time.
    pub racecheck: bool,
    /// Warp instructions that a block may execute in a run without time.
    pub instruction_limit: u64,
    /// Threads to simulate with.
    pub threads: usize,
    /// Run up to this time first to see what the components weigh, so that threads get even shares.
    pub warm_up: Option<SimTime>,
    /// The folder for the results; without one they are only returned.
    pub out: Option<PathBuf>,
    /// Compute the hash of all events.
    pub hash: bool,
    /// Note the hash of each component at these times.
    pub snapshots: Option<SnapshotTimes>,
    /// Leave out everything at or after this time.
    pub stop_at: Option<SimTime>,
    /// End with a report when time passes but no message has been taken for this long; [`SimTime::MAX`] for never.
    pub livelock_after: SimTime,
    /// Finest spans that are kept.
    pub level: Level,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Wall-clock time after which a component that does not come back is named; `None` for never.
    pub watchdog: Option<Duration>,
    /// The folder from which names are looked up.
    pub folder: PathBuf,
    /// What the user typed, for the manifest.
    pub command_line: Vec<String>,
}

impl RunRequest {
    /// A run with the defaults.
    pub fn new(machine: impl Into<String>, application: impl Into<String>) -> Self {
        RunRequest {
            machine: machine.into(),
            application: application.into(),
            overlays: Vec::new(),
            sets: Vec::new(),
            runtime: None,
            policy: None,
            functional: false,
            racecheck: false,
            instruction_limit: DEFAULT_LIMIT,
            threads: 1,
            warm_up: None,
            out: None,
            hash: false,
            snapshots: None,
            stop_at: None,
            livelock_after: RunOptions::default().livelock_after,
            level: Level::default(),
            seed: 0,
            watchdog: Watchdog::default().after,
            folder: std::env::current_dir().unwrap_or_default(),
            command_line: Vec::new(),
        }
    }
}

/// Why a run did not begin, or its results could not be kept.
#[derive(Debug)]
pub enum RunError {
    /// A name, or a combination of options.
    Usage(String),
    /// Problems in files or settings.
    Input(Box<Report>),
    /// A file could not be written.
    Write(WriteError),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Usage(message) => write!(f, "error: {message}"),
            RunError::Input(report) => report.fmt(f),
            RunError::Write(error) => write!(f, "error: {error}"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<Report> for RunError {
    fn from(report: Report) -> Self {
        RunError::Input(Box::new(report))
    }
}

impl From<WriteError> for RunError {
    fn from(error: WriteError) -> Self {
        RunError::Write(error)
    }
}

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
    /// Statistics, spans, how it ended.
    pub report: RunReport,
    /// It ended before everything was done.
    pub partial: bool,
    /// Files that could not be written because a component that hangs was left behind with what belongs into them.
    pub missing: &'static [&'static str],
    /// The comparisons that the application asks for.
    pub checks: Vec<Check>,
    /// The hashes of the components at the times asked for; empty if none were.
    pub hashes: Hashes,
    /// Where the time went.
    pub phases: Vec<Phase>,
    /// What kernels did that they should not, of a run without time.
    pub found: Vec<Found>,
    /// What each launch executed, of a run without time.
    pub launched: Option<Vec<Launched>>,
    /// The most wanted numbers.
    pub figures: Figures,
    /// Input files that were made.
    pub created: Vec<String>,
    /// Files that the application wrote.
    pub outputs: Vec<PathBuf>,
    /// The folder of the results.
    pub folder: Option<PathBuf>,
    /// Wall-clock time of the simulation alone.
    pub wall: Duration,
}

impl RunSummary {
    /// How the run ended, in words; without time no moment is told.
    pub fn ending(&self) -> String {
        functional::ending(&self.report.outcome, self.launched.is_some())
    }

    /// Whether the run finished and everything is as expected.
    pub fn is_good(&self) -> bool {
        let verified = self.checks.iter().all(|check| check.verdict.is_verified());
        !self.partial && verified && self.found.is_empty()
    }
}

/// Loads the machine of a request, with overlays, settings and shorthands applied.
pub fn load_machine(request: &RunRequest, registry: &Registry) -> Result<Loaded, RunError> {
    let path = find(Sort::Machine, &request.machine, &request.folder).map_err(RunError::Usage)?;
    let mut overlays = Vec::new();
    for overlay in &request.overlays {
        overlays.push(find(Sort::Overlay, overlay, &request.folder).map_err(RunError::Usage)?);
    }
    let (own, _) = split(&request.sets);
    let load = |sets: &[String]| topology::load(&path, &overlays, sets, &registry.catalogue, &MachineFiles);
    let loaded = load(&own)?;
    let shorthands =
        [(&request.runtime, "host/cpu", "runtime"), (&request.policy, "gpu/cta-scheduler", "policy")];
    let mut sets = Vec::new();
    for (value, kind, parameter) in shorthands {
        let Some(value) = value else { continue };
        let places = loaded.machine.instances.iter().filter(|instance| instance.kind == kind);
        let before = sets.len();
        sets.extend(places.map(|instance| format!("{}.{parameter}={value}", instance.path)));
        if sets.len() == before {
            return Err(RunError::Usage(format!(
                "--{parameter}: the machine has no component of kind {kind}"
            )));
        }
    }
    if sets.is_empty() {
        return Ok(loaded);
    }
    // What was set by its full path wins over a shorthand.
    sets.extend(own);
    Ok(load(&sets)?)
}

/// Loads the application of a request.
pub fn load_application(request: &RunRequest) -> Result<(String, LoadedApplication), RunError> {
    let path = find(Sort::Application, &request.application, &request.folder).map_err(RunError::Usage)?;
    let (_, sets) = split(&request.sets);
    let loaded = application::load(&path, &sets, &RealFiles)?;
    Ok((path, loaded))
}

/// The settings of the machine, and those of the application.
fn split(sets: &[String]) -> (Vec<String>, Vec<String>) {
    sets.iter().cloned().partition(|set| !set.trim_start().starts_with(SETTING_PREFIX))
}

/// Loads both files; the problems of both are reported together.
fn load(
    request: &RunRequest,
    registry: &Registry,
) -> Result<(Loaded, String, LoadedApplication), Vec<RunError>> {
    match (load_machine(request, registry), load_application(request)) {
        (Ok(machine), Ok((path, application))) => Ok((machine, path, application)),
        (machine, application) => Err(machine.err().into_iter().chain(application.err()).collect()),
    }
}

/// Runs an application on a machine. Whoever watches does it through `progress`; what the watchdog says goes to the log.
///
/// # Errors
/// When the run cannot begin, or its results cannot be written. A run that ends badly is a summary.
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
    let machine = Arc::new(machine);
    let one = |error: WriteError| vec![RunError::Write(error)];
    let created = write_inputs(&loaded).map_err(one)?;
    let folder = request.out.as_deref().map(|out| Folder::create(out, &loaded.outputs)).transpose();
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
    let contents = preloaded.as_deref().unwrap_or_default();
    let weights = match request.functional {
        true => None,
        false => weigh(request, registry, &machine, &loaded, contents, progress.interrupt_flag()),
    };
    let Surroundings { program, journal, disk, meter, environment } =
        Surroundings::new(request, &loaded, contents);
    let options = RunOptions {
        threads: request.threads.max(1),
        weights,
        stop_at: request.stop_at,
        hash: request.hash,
        snapshots: request.snapshots,
        livelock_after: request.livelock_after,
        interrupt: progress.interrupt_flag(),
        clock: progress.clock(),
        ..RunOptions::default()
    };
    progress.begin(&program, &journal, &meter);
    let begun = Instant::now();
    let watchdog =
        Watchdog { after: request.watchdog, abandon: progress.abandon_flag(), ..Watchdog::default() };
    let simulation =
        Simulation { machine: Arc::clone(&machine), registry: Arc::clone(registry), environment };
    let (mut launched, mut found) = (None, Vec::new());
    let (report, missing) = if let Err(outcome) = &preloaded {
        launched = request.functional.then(Vec::new);
        (functional::report(outcome.clone(), Vec::new()), [].as_slice())
    } else if request.functional {
        let ran = functional::run(&loaded, contents, &journal, &meter, &disk, functional);
        (launched, found) = (Some(ran.launched), ran.found);
        (ran.report, [].as_slice())
    } else {
        match simulation.run(options, watchdog, alarm) {
            Ended::ByItself(report) => (report, [].as_slice()),
            Ended::LeftBehind(report) => (report, RECORDS.as_slice()),
        }
    };
    let wall = begun.elapsed();
    progress.end();

    let partial = !matches!(report.outcome, Outcome::Finished(_));
    let checks = record::checks(&loaded, &program, &journal, partial);
    let outputs = match &folder {
        Some(folder) => {
            let facts = record::Facts {
                request,
                machine: &machine,
                application: &path,
                loaded: &loaded,
                report: &report,
                checks: &checks,
                found: &found,
                partial,
                missing,
            };
            record::write(folder, &facts, &disk).map_err(one)?
        }
        None => Vec::new(),
    };
    Ok(RunSummary {
        machine: machine.machine.name.clone(),
        application: program.name.clone(),
        partial,
        missing,
        checks,
        hashes: Hashes {
            outcome: report.outcome.to_string().lines().next().unwrap_or_default().to_owned(),
            components: machine.machine.processes().map(hashed).collect(),
            snapshots: report.snapshots.clone(),
        },
        phases: phases(&report.spans),
        figures: match &launched {
            Some(launches) => functional::figures(launches),
            None => Figures::new(&machine.machine, &report.stats, report.outcome.time()),
        },
        found,
        launched,
        report,
        created,
        outputs,
        folder: folder.map(|folder| folder.path().to_owned()),
        wall,
    })
}

/// What a machine is built into.
struct Surroundings {
    program: Arc<Application>,
    journal: Arc<Journal>,
    disk: Arc<Disk>,
    meter: Arc<Meter>,
    environment: Environment,
}

impl Surroundings {
    fn new(request: &RunRequest, loaded: &LoadedApplication, contents: &[(u32, Vec<u8>)]) -> Self {
        let journal = Arc::new(Journal::default());
        let inputs = loaded.inputs.iter().map(|input| input.contents.clone());
        let disk = Arc::new(Disk::new(inputs.chain(loaded.outputs.iter().map(|_| Vec::new()))));
        let program = Arc::new(loaded.application.clone());
        let meter = Arc::new(Meter::default());
        let mut resources = Resources::default();
        resources.insert(Arc::clone(&program));
        resources.insert(Arc::clone(&disk));
        resources.insert(Arc::clone(&journal));
        resources.insert(Arc::clone(&meter));
        if !contents.is_empty() {
            resources.insert(Arc::new(Preloaded::new(contents.iter().cloned())));
        }
        let environment =
            Environment { resources: Arc::new(resources), level: request.level, seed: request.seed };
        Surroundings { program, journal, disk, meter, environment }
    }
}

/// How a run ends at once because devices of the application are not there, or too small: the machine itself says it, in a
/// run with time that only allocates.
fn lacks(
    request: &RunRequest,
    registry: &Arc<Registry>,
    machine: &Loaded,
    loaded: &LoadedApplication,
) -> Option<Outcome> {
    let Application { name, buffers, .. } = &loaded.application;
    let application = Application { name: name.clone(), buffers: buffers.clone(), ..Application::default() };
    let nothing = LoadedApplication { application, ..LoadedApplication::default() };
    let environment = Surroundings::new(request, &nothing, &[]).environment;
    let report = topology::run(&machine.machine, registry, &environment, &RunOptions::default());
    (!matches!(report.outcome, Outcome::Finished(_))).then_some(report.outcome)
}

/// What the components weigh, if a warm-up was asked for.
fn weigh(
    request: &RunRequest,
    registry: &Arc<Registry>,
    machine: &Loaded,
    loaded: &LoadedApplication,
    contents: &[(u32, Vec<u8>)],
    interrupt: Arc<AtomicBool>,
) -> Option<Arc<[u32]>> {
    let until = request.warm_up?;
    let environment = Surroundings::new(request, loaded, contents).environment;
    Some(topology::build(&machine.machine, registry, &environment).warm_up(until, interrupt))
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
    let options = RunOptions { threads: request.threads.max(1), weights, ..RunOptions::default() };
    let cut = topology::build(&machine.machine, registry, &Environment::default()).cut(&options);
    Ok((machine.machine, cut))
}

fn hashed((path, clock): (String, Hertz)) -> Hashed {
    Hashed { path, hertz: clock.get() }
}

/// Writes the input files that generators made; a user who wants others replaces them.
fn write_inputs(loaded: &LoadedApplication) -> Result<Vec<String>, WriteError> {
    let mut created = Vec::new();
    for input in loaded.files().filter(|input| input.generated) {
        if created.contains(&input.path) {
            continue;
        }
        let path = Path::new(&input.path);
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Folder::at(folder)?.write_output(&name, &input.contents, true)?;
        created.push(input.path.clone());
    }
    Ok(created)
}
