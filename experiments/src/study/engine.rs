//! Runs the points of a study side by side.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use counterpoint_framework::kernel::Outcome;
use counterpoint_framework::model::Registry;
use counterpoint_simulation::output::WriteError;
use counterpoint_simulation::run::{Progress, RunError, RunErrors, RunRequest, RunSummary, run};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::index;
use super::plan::Study;
use super::store::{PointKey, SPEEDS, Store};
use super::values::PointResult;

/// How to run a study.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Points at a time.
    pub jobs: usize,
    /// Only points whose name has this in it.
    pub filter: Option<String>,
    /// Run points again that are there.
    pub fresh: bool,
    /// The folder of the study.
    pub folder: PathBuf,
    /// Folders of other studies whose points are taken over if they are the same.
    pub take_from: Vec<PathBuf>,
}

/// State of a point.
#[derive(Clone, Default)]
pub enum State {
    /// It waits for its turn.
    #[default]
    Waiting,
    /// The filter leaves it out.
    LeftOut,
    /// It was there.
    Stored,
    /// It runs.
    Running(Arc<Progress>),
    /// It has run.
    Done,
    /// It could not be finished; why, in a line.
    Failed(String),
}

/// State of all points, for an observer.
#[derive(Clone, Default)]
pub struct Board(Arc<Mutex<Vec<State>>>);

impl Board {
    /// The states of the points, in the order of the study.
    pub fn states(&self) -> Vec<State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn begin(&self, points: usize) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = vec![State::Waiting; points];
    }

    fn set(&self, points: &[usize], state: &State) {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        points.iter().for_each(|&point| states[point] = state.clone());
    }
}

/// A point that could not be finished.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which.
    pub point: String,
    /// Why.
    pub reason: String,
    /// Where all that is known of it stands.
    pub log: PathBuf,
}

/// Result of a study.
#[derive(Debug)]
pub struct Ran {
    /// Points that were there.
    pub stored: usize,
    /// Those of them that another study had.
    pub taken_over: usize,
    /// Points that have run.
    pub done: usize,
    /// Points that could not be finished.
    pub failed: Vec<Failure>,
    /// Points that were not begun, or not ended, because someone interrupted the study.
    pub left: usize,
    /// By point of the study, its key.
    pub keys: Vec<PointKey>,
}

/// Why a study could not go on.
#[derive(Debug)]
pub enum StudyError {
    /// Points whose machine or application is wrong; nothing was run.
    Points(RunErrors),
    /// Its folder.
    Write(WriteError),
}

/// Runs the points that are not there. Observers use `board`; `interrupt` ends the study.
///
/// # Errors
/// When a point cannot begin, before any does; and when the folder cannot be written to.
pub fn run_points(
    study: &Study,
    registry: &Arc<Registry>,
    settings: &Settings,
    board: &Board,
    interrupt: &Arc<AtomicBool>,
) -> Result<Ran, StudyError> {
    board.begin(study.points.len());
    let keys = keys(study, registry)?;
    let store = Arc::new(Store::open(&settings.folder).map_err(StudyError::Write)?);
    index::write(&settings.folder, study, &keys).map_err(StudyError::Write)?;
    // Points that are the same are run once.
    let mut groups: BTreeMap<&PointKey, Vec<usize>> = BTreeMap::new();
    let mut order: Vec<&PointKey> = Vec::new();
    for (point, key) in keys.iter().enumerate() {
        let name = study.points[point].name();
        if settings.filter.as_ref().is_some_and(|filter| !name.contains(filter.as_str())) {
            board.set(&[point], &State::LeftOut);
            continue;
        }
        let group = groups.entry(key).or_default();
        if group.is_empty() {
            order.push(key);
        }
        group.push(point);
    }
    let mut ran = Ran { stored: 0, taken_over: 0, done: 0, failed: Vec::new(), left: 0, keys: keys.clone() };
    let mut jobs = Vec::new();
    for key in order {
        let points = groups.remove(key).unwrap_or_default();
        let first = &study.points[points[0]];
        let here = store.has(key);
        let elsewhere = || settings.take_from.iter().any(|other| store.take_over(other, key, &first.name()));
        if !settings.fresh && (here || elsewhere()) {
            board.set(&points, &State::Stored);
            ran.stored += points.len();
            ran.taken_over += if here { 0 } else { points.len() };
        } else {
            let request = RunRequest { out: Some(store.unfinished(key)), ..first.request.clone() };
            jobs.push(Job { key: key.clone(), name: first.name(), points, request });
        }
    }
    let workers = Workers {
        store,
        registry: Arc::clone(registry),
        board: board.clone(),
        interrupt: Arc::clone(interrupt),
    };
    let ended = workers.run(jobs, settings.jobs.max(1));
    for (job, end) in ended {
        match end {
            End::Done => ran.done += job.points.len(),
            End::Left => ran.left += job.points.len(),
            End::Failed { reason, log } => ran.failed.push(Failure { point: job.name, reason, log }),
            End::Broken(error) => return Err(StudyError::Write(error)),
        }
    }
    Ok(ran)
}

/// Key of each point: its inputs. The problems of all points are reported together, each once.
fn keys(study: &Study, registry: &Arc<Registry>) -> Result<Vec<PointKey>, StudyError> {
    let mut problems: Vec<RunError> = Vec::new();
    let mut keys = Vec::new();
    for point in &study.points {
        match PointKey::new(&point.request, registry) {
            Ok(key) => keys.push(key),
            Err(errors) => {
                for error in errors {
                    let text = error.to_string();
                    if problems.iter().all(|known| known.to_string() != text) {
                        problems.push(error);
                    }
                }
            }
        }
    }
    if problems.is_empty() { Ok(keys) } else { Err(StudyError::Points(problems.into_iter().collect())) }
}

/// A run, and the points that it is for.
#[derive(Clone)]
struct Job {
    key: PointKey,
    name: String,
    points: Vec<usize>,
    request: RunRequest,
}

/// End of a job.
enum End {
    Done,
    /// Someone interrupted it.
    Left,
    Failed {
        reason: String,
        log: PathBuf,
    },
    /// The folder cannot be written to.
    Broken(WriteError),
}

/// State that all jobs share.
#[derive(Clone)]
struct Workers {
    store: Arc<Store>,
    registry: Arc<Registry>,
    board: Board,
    interrupt: Arc<AtomicBool>,
}

impl Workers {
    /// Runs jobs in their order, at most `at_a_time` at a time.
    fn run(&self, jobs: Vec<Job>, at_a_time: usize) -> Vec<(Job, End)> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
        let runtime = runtime.unwrap_or_else(|error| panic!("no thread could be started: {error}"));
        runtime.block_on(async {
            let gate = Arc::new(Semaphore::new(at_a_time));
            let mut running = JoinSet::new();
            for job in jobs {
                let place = Arc::clone(&gate).acquire_owned().await;
                let workers = self.clone();
                running.spawn_blocking(move || {
                    let end = workers.run_one(&job);
                    drop(place);
                    (job, end)
                });
            }
            running.join_all().await
        })
    }

    fn run_one(&self, job: &Job) -> End {
        if self.interrupt.load(Ordering::Relaxed) {
            return End::Left;
        }
        let progress = Arc::new(Progress::interrupted_by(Arc::clone(&self.interrupt)));
        self.board.set(&job.points, &State::Running(Arc::clone(&progress)));
        // A component that panics ends its run as failed; anything else that panics ends this job and no other.
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run(&job.request, &self.registry, &progress)
        }));
        let end = match ran {
            Ok(Ok(summary)) => self.keep(job, &summary),
            Ok(Err(errors)) => {
                let text = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
                self.fail(job, text.lines().next().unwrap_or_default(), &text)
            }
            Err(_) => self.fail(job, "the run panicked", "its message is on standard error"),
        };
        let state = match &end {
            End::Done => State::Done,
            End::Left => State::Waiting,
            End::Failed { reason, .. } => State::Failed(reason.clone()),
            End::Broken(error) => State::Failed(error.to_string()),
        };
        self.board.set(&job.points, &state);
        end
    }

    fn keep(&self, job: &Job, summary: &RunSummary) -> End {
        if matches!(summary.report.outcome, Outcome::Interrupted(_)) {
            return End::Left;
        }
        if let Some(WriteError { path, error }) = summary.unwritten.first() {
            let error = io::Error::new(error.kind(), error.to_string());
            return End::Broken(WriteError { path: path.clone(), error });
        }
        if !summary.is_good() {
            let ending = summary.ending();
            let mut text = format!("{}\n{ending}\n", job.name);
            for check in &summary.checks {
                text.push_str(&format!("{} against {}: {}\n", check.buffer, check.against, check.verdict));
            }
            let wrong = summary.checks.iter().find(|check| !check.verdict.is_verified() && !summary.partial);
            let wrong = wrong.map(|check| format!("{} is {}", check.buffer, check.verdict));
            let reason = wrong.unwrap_or_else(|| ending.lines().next().unwrap_or_default().to_owned());
            return self.fail(job, &reason, &text);
        }
        // Results are verified; the files that hold them are as large as the inputs.
        for path in &summary.outputs {
            if let Err(error) = fs::remove_file(path) {
                return End::Broken(WriteError { path: path.clone(), error });
            }
        }
        let kept = self.store.keep(&job.key, &PointResult::new(job.name.clone(), summary, &self.registry));
        match kept.and_then(|()| self.note_speed(job, summary)) {
            Ok(()) => End::Done,
            Err(error) => End::Broken(error),
        }
    }

    fn fail(&self, job: &Job, reason: &str, text: &str) -> End {
        let reason = reason.to_owned();
        match self.store.keep_failure(&job.key, text) {
            Ok(log) => End::Failed { reason, log },
            Err(error) => End::Broken(error),
        }
    }

    /// Adds a line to the file of speeds, which is beside the results and no part of them.
    fn note_speed(&self, job: &Job, summary: &RunSummary) -> Result<(), WriteError> {
        let path = self.store.folder().join(SPEEDS);
        let count = |name| summary.figures.count(name).unwrap_or_default();
        let write = || {
            let mut file = fs::OpenOptions::new().create(true).append(true).open(&path)?;
            if file.metadata()?.len() == 0 {
                writeln!(file, "point,wall_s,cpu_s,cycles,warp_instructions")?;
            }
            let (wall, cpu) = (summary.wall.as_secs_f64(), summary.cpu_seconds);
            let name = job.name.replace('"', "'");
            writeln!(file, "\"{name}\",{wall:.3},{cpu:.2},{},{}", count("cycles"), count("warp instructions"))
        };
        write().map_err(|error| WriteError { path: path.clone(), error })
    }
}
