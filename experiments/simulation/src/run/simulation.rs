//! A simulation under a caller's control: it advances on request, can be inspected, and ends with its
//! summary.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use counterpoint_framework::kernel::{
    Fault, Held, Outcome, RunOptions, SnapshotTimes, State, Stuck, Waits, Watchdog,
};
use counterpoint_framework::model::Registry;
use counterpoint_framework::time::SimTime;
use counterpoint_framework::topology::{self, Loaded, RunReport};
use counterpoint_host_model::Timed;
use counterpoint_protocols::preload::Contents;
use counterpoint_ptx::functional::Options;

use super::context::{RunContext, lacks, weigh};
use super::errors::RunErrors;
use super::feasible::remark;
use super::inputs::write_inputs;
use super::inspect::{Condition, Inspection, Test};
use super::loading::load;
use super::part::{Pending, split};
use super::progress::{Progress, Watching};
use super::{RunRequest, RunSummary, feasible, functional, manifest, memory};
use crate::application::LoadedApplication;
use crate::output::Folder;
use crate::run::cpu_time::cpu_seconds;

/// A simulation that advances on request, and is paused in between: its threads are then idle.
///
/// Steps, inspections and pauses have no effect on the result, which, with its hash, is that of [`run`](super::run). Dropping a
/// simulation ends its threads; its folder then has no results.
///
/// ```
/// use std::sync::Arc;
///
/// use counterpoint_framework::time::SimTime;
/// use counterpoint_simulation::registry;
/// use counterpoint_simulation::run::{Condition, RunErrors, RunRequest, start};
///
/// # fn main() -> Result<(), RunErrors> {
/// let request = RunRequest::new("tiny", "vecadd").set("app.n=4096").threads(2);
/// let mut simulation = start(&request, &Arc::new(registry()))?;
///
/// // Up to the first misses of an L2 slice, and 2 us on.
/// let misses = Condition::statistic("gpu.l2[0]", "L2_total_cache_misses", 1.0).every(SimTime::from_ns(100));
/// assert!(simulation.advance_until(misses)?.is_held());
/// let first = simulation.time();
/// simulation.advance_to(first + SimTime::from_ns(2_000))?;
///
/// let inspection = simulation.inspect();
/// let read = inspection.value("gpu.l2[0]", "L2_total_cache_accesses").unwrap_or(0.0);
/// println!("{read} sectors accessed at {}", inspection.time);
/// for port in inspection.ports().iter().filter(|port| port.level > 0) {
///     println!("{} of {} messages wait at {}", port.level, port.capacity, port.to);
/// }
/// print!("{}", inspection.waits());
///
/// simulation.advance_until(Condition::launches_ended(1))?;
/// let summary = simulation.finish();
/// assert!(summary.is_good(), "{}", summary.ending());
/// # Ok(())
/// # }
/// ```
pub struct Simulation {
    pub(super) request: RunRequest,
    pub(super) registry: Arc<Registry>,
    pub(super) machine: Arc<Loaded>,
    pub(super) application: String,
    pub(super) loaded: LoadedApplication,
    pub(super) context: RunContext,
    pub(super) created: Vec<String>,
    pub(super) remarks: Vec<String>,
    pub(super) folder: Option<Folder>,
    pub(super) course: Course,
    /// The rest of the application behind its launches with time.
    pub(super) pending: Option<Pending>,
    /// Real time and processor seconds of the simulation alone.
    pub(super) spent: (Duration, f64),
    pub(super) watching: Watching,
}

pub(super) enum Course {
    Timed {
        held: Held,
        options: Box<RunOptions>,
    },
    /// A run without time, which executes when it is finished, on devices with these contents.
    Untimed {
        contents: Contents,
        options: Box<Options>,
    },
    /// The run ended before its first event.
    Failed(Box<RunReport>),
    Ended(Box<RunReport>),
    /// A component hangs, and the observer did not want to wait for it. Statistics and spans are on its
    /// thread.
    LeftBehind(Box<RunReport>),
}

/// Loads a machine and an application and holds them before anything has happened.
///
/// # Errors
/// When the run cannot begin.
pub fn start(request: &RunRequest, registry: &Arc<Registry>) -> Result<Simulation, RunErrors> {
    start_watched(request, registry, &Progress::default())
}

/// Like [`start`]; the caller can watch or interrupt the run through `progress`.
///
/// # Errors
/// As [`start`].
pub fn start_watched(
    request: &RunRequest,
    registry: &Arc<Registry>,
    progress: &Progress,
) -> Result<Simulation, RunErrors> {
    let (machine, application, loaded) = load(request, registry)?;
    feasible(request, registry, &machine, &loaded)?;
    let timed = !request.functional;
    let of_runtime = timed.then(|| remark(registry, &machine, &loaded)).flatten();
    let remarks = machine.remarks.iter().chain(&loaded.remarks).cloned().chain(of_runtime).collect();
    memory::suffices(&loaded.application)?;
    if let Some(logs) = &request.logs {
        let paths = machine.machine.instances.iter().map(|one| one.path.as_str());
        logs.check(paths).map_err(|problem| RunErrors::usage(format!("--log: {problem}")))?;
    }
    let machine = Arc::new(machine);
    let created = write_inputs(&loaded)?;
    progress.listen();
    let is_other = |folder: &Path| manifest::is_other(folder, request, &application);
    let create = |out| match request.beside_others {
        true => Folder::create_beside(out, &loaded.outputs, is_other),
        false => Folder::create(out, &loaded.outputs),
    };
    let folder = request.out.as_deref().map(create).transpose()?;
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
    let (mut part, mut pending) = (None, None);
    let preloaded = match (&request.timed, preloaded) {
        (Some(timed), Ok(contents)) if timed != &Timed::All && !request.functional => {
            split(&loaded, contents, timed, &functional)?.map(|(application, contents, rest)| {
                (part, pending) = (Some(application), Some(rest));
                contents
            })
        }
        (_, preloaded) => preloaded,
    };
    // The application as the machine runs it.
    let own = part.as_ref().unwrap_or(&loaded);
    let nothing = Contents::new();
    let contents = preloaded.as_ref().unwrap_or(&nothing);
    let weights = match request.functional {
        true => None,
        false => weigh(request, registry, &machine, own, contents, progress.interrupt_flag()),
    };
    let context = RunContext::new(request, own, contents);
    let watching = progress.begin(&context.program, &context.journal, &context.meter);
    let course = match preloaded {
        Err(outcome) => Course::Failed(Box::new(functional::report(outcome, Vec::new()))),
        Ok(contents) if request.functional => Course::Untimed { contents, options: Box::new(functional) },
        Ok(_) => {
            let options = RunOptions { weights, ..options(request, progress) };
            let built = topology::build(&machine.machine, registry, &context.environment);
            Course::Timed { held: built.start(&options), options: Box::new(options) }
        }
    };
    Ok(Simulation {
        request: request.clone(),
        registry: Arc::clone(registry),
        machine,
        application,
        loaded,
        context,
        created,
        remarks,
        folder,
        course,
        pending,
        spent: (Duration::ZERO, 0.0),
        watching,
    })
}

fn options(request: &RunRequest, progress: &Progress) -> RunOptions {
    RunOptions {
        threads: request.threads.max(1),
        sharing: request.sharing,
        islands: request.islands,
        stop_at: request.stop_at,
        hash: request.hash,
        snapshots: request.snapshots,
        samples: request.series.map(|every| SnapshotTimes { from: SimTime::ZERO, every }),
        livelock_after: request.livelock_after,
        interrupt: progress.interrupt_flag(),
        clock: progress.clock(),
        watchdog: Watchdog {
            after: request.watchdog,
            abandon: progress.abandon_flag(),
            ..Watchdog::default()
        },
        ..RunOptions::default()
    }
}

/// Messages of the watchdog go to the log.
pub(super) fn log(stuck: Stuck) {
    (Watchdog::default().report)(stuck);
}

impl Simulation {
    /// The simulated time up to which everything has happened; of a run that has ended, its end.
    pub fn time(&self) -> SimTime {
        match &self.course {
            Course::Timed { held, .. } => match held.state() {
                State::Held(time) => *time,
                State::Ended | State::LeftBehind(_) => SimTime::ZERO,
            },
            Course::Untimed { .. } => SimTime::ZERO,
            Course::Failed(report) | Course::Ended(report) | Course::LeftBehind(report) => {
                report.outcome.time()
            }
        }
    }

    /// Outcome of the run, if it has ended.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.course {
            Course::Timed { .. } | Course::Untimed { .. } => None,
            Course::Failed(report) | Course::Ended(report) | Course::LeftBehind(report) => {
                Some(&report.outcome)
            }
        }
    }

    /// Progress of the run for another thread, which can also interrupt the run.
    pub fn progress(&self) -> &Progress {
        self.watching.progress()
    }

    /// Goes on until everything before `time` has happened, or to the end of the run if that comes first. A time that is
    /// not ahead changes nothing.
    ///
    /// # Errors
    /// For a run without time, which can only be finished.
    pub fn advance_to(&mut self, time: SimTime) -> Result<State, RunErrors> {
        self.timed()?;
        Ok(self.run_until(time, &mut log))
    }

    /// Advances until a condition holds, or to the end of the run if it never does.
    ///
    /// # Errors
    /// If the run is without time, or the condition names an unknown component or statistic.
    pub fn advance_until(&mut self, condition: Condition<'_>) -> Result<State, RunErrors> {
        self.timed()?;
        let Condition { mut test, every } = condition;
        let mut inspection = self.inspect_for(&test);
        test.check(&inspection)?;
        while self.state().is_held() && !test.holds(&inspection) {
            let passed = self.time().as_ps() / every.as_ps();
            self.run_until(SimTime::from_ps((passed + 1).saturating_mul(every.as_ps())), &mut log);
            inspection = self.inspect_for(&test);
        }
        Ok(self.state())
    }

    /// Inspection of the current state, computed on demand. For a run that has ended, or one without time, it has statistics
    /// only.
    pub fn inspect(&mut self) -> Inspection {
        let launches_ended = self.context.journal.launches_ended();
        let held = match &mut self.course {
            Course::Timed { held, .. } => held.inspect(),
            _ => None,
        };
        let Some(inspection) = held else {
            let statistics = match &self.course {
                Course::Ended(report) => report.stats.clone(),
                _ => Vec::new(),
            };
            let (ports, waits) = (Vec::new(), Waits::default());
            return Inspection { time: self.time(), launches_ended, statistics, ports, waits };
        };
        let statistics = topology::statistics(inspection.shown);
        Inspection {
            time: inspection.time,
            launches_ended,
            statistics,
            ports: inspection.ports,
            waits: inspection.waits,
        }
    }

    /// Advances to the end of the run, checks its results and writes them. Messages of the watchdog go to the log.
    pub fn finish(self) -> RunSummary {
        self.finish_watched(&mut log)
    }

    /// Finishes the run, and calls `alarm` on the calling thread when the watchdog reports.
    pub fn finish_watched(mut self, alarm: &mut dyn FnMut(Stuck)) -> RunSummary {
        self.run_until(SimTime::MAX, alarm);
        self.conclude()
    }

    fn state(&self) -> State {
        match &self.course {
            Course::Timed { held, .. } => held.state().clone(),
            Course::Untimed { .. } => State::Held(SimTime::ZERO),
            Course::Failed(_) | Course::Ended(_) | Course::LeftBehind(_) => State::Ended,
        }
    }

    fn inspect_for(&mut self, test: &Test<'_>) -> Inspection {
        let Test::Launches(_) = test else { return self.inspect() };
        Inspection {
            time: self.time(),
            launches_ended: self.context.journal.launches_ended(),
            statistics: Vec::new(),
            ports: Vec::new(),
            waits: Waits::default(),
        }
    }

    fn timed(&self) -> Result<(), RunErrors> {
        match self.course {
            Course::Untimed { .. } => Err(RunErrors::usage(
                "a run without time has no times at which it could be held: `finish` runs it as a whole",
            )),
            _ => Ok(()),
        }
    }

    fn run_until(&mut self, time: SimTime, alarm: &mut dyn FnMut(Stuck)) -> State {
        let Course::Timed { held, .. } = &mut self.course else { return self.state() };
        let (begun, cpu_before) = (Instant::now(), cpu_seconds());
        let state = held.advance_to(time, alarm).clone();
        self.spent.0 += begun.elapsed();
        self.spent.1 += cpu_seconds() - cpu_before;
        if !state.is_held() {
            self.end(alarm);
        }
        state
    }

    /// Takes what the run left.
    fn end(&mut self, alarm: &mut dyn FnMut(Stuck)) {
        let unknown = Course::Ended(Box::new(RunReport::of(Outcome::Interrupted(SimTime::ZERO))));
        self.course = match std::mem::replace(&mut self.course, unknown) {
            Course::Timed { held, options } => match held.finish(alarm) {
                Ok(finished) => Course::Ended(Box::new(RunReport::new(finished, &self.context.environment))),
                Err(stuck) => Course::LeftBehind(Box::new(self.left_behind(stuck, &options))),
            },
            other => other,
        };
    }

    /// Report of a run that a component does not let end.
    fn left_behind(&self, stuck: Stuck, options: &RunOptions) -> RunReport {
        let Stuck { path, time, elapsed } = stuck;
        let machine = topology::build(&self.machine.machine, &self.registry, &self.context.environment);
        let cut = { machine }.cut(options);
        let seconds = elapsed.as_secs_f64();
        let fault = Fault::new(format!(
            "has not come back for {seconds:.1} s of real time; the run was interrupted and left it behind"
        ));
        let mut report = RunReport::of(Outcome::Failed { time, path, fault });
        (report.islands, report.lookahead) = (cut.islands.len(), cut.lookahead);
        report
    }
}
