//! Runs the points of a study side by side: all of them, or a part of them beside other processes that share the folder.
//!
//! The points that are expected to take longest come first. A process that runs a part begins with its own points, then takes
//! unclaimed points of other parts, and ends when other processes are running all remaining points.

mod jobs;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use counterpoint_framework::model::Registry;
use counterpoint_simulation::output::WriteError;
use counterpoint_simulation::run::{Progress, RunError, RunErrors};

use super::index::Index;
use super::part::StudyPart;
use super::plan::Study;
use super::speed::Expectation;
use super::store::{PointKey, Store, failures};
pub(super) use jobs::reason;
use jobs::{End, Job, WorkerPool};

/// Settings of a study's run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Points at a time.
    pub jobs: usize,
    /// Text that the names of the points to run must contain.
    pub filter: Option<String>,
    /// Run finished points again.
    pub fresh: bool,
    /// The folder of the study.
    pub folder: PathBuf,
    /// Folders of other studies from which equal points are taken over.
    pub take_from: Vec<PathBuf>,
    /// The part to run, beside processes that run the others; all, and alone, if none is given.
    pub part: Option<StudyPart>,
    /// Time without a sign of life after which another process at work in the folder is taken for dead.
    pub stale_after: Duration,
}

/// State of a point.
#[derive(Clone, Default)]
pub enum State {
    /// The point waits for its turn.
    #[default]
    Waiting,
    /// The filter leaves it out.
    LeftOut,
    /// The point was finished before.
    Stored,
    /// The point runs.
    Running(Arc<Progress>),
    /// Another process runs the point.
    Elsewhere,
    /// The point has run.
    Done,
    /// The point could not be finished, with the reason in a line.
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
#[non_exhaustive]
pub struct Failure {
    /// Name of the point.
    pub point: String,
    /// Why.
    pub reason: String,
    /// Path of the log with all details.
    pub log: PathBuf,
}

/// Result of a study.
#[derive(Debug)]
#[non_exhaustive]
pub struct Ran {
    /// Points that were finished before.
    pub stored: usize,
    /// Points that were taken over from another study.
    pub taken_over: usize,
    /// Points that have run.
    pub done: usize,
    /// Points that could not be finished.
    pub failed: Vec<Failure>,
    /// Points that another process runs.
    pub elsewhere: usize,
    /// Points that were not begun, or not ended, because someone interrupted the study.
    pub left: usize,
    /// Key of each point of the study.
    pub keys: Vec<PointKey>,
    /// Version of the command whose points were in the folder, if it differs from this one.
    pub other_version: Option<String>,
}

/// Reason for which a study could not continue.
#[derive(Debug)]
pub enum StudyError {
    /// Points whose machine or application is wrong; nothing was run.
    Points(RunErrors),
    /// The study's folder cannot be written.
    Write(WriteError),
}

/// Runs the points that are not finished. Observers use `board`; `interrupt` ends the study.
///
/// # Errors
/// If a point cannot begin, before any does; and if the folder cannot be written to.
pub fn run_points(
    study: &Study,
    registry: &Arc<Registry>,
    settings: &Settings,
    board: &Board,
    interrupt: &Arc<AtomicBool>,
) -> Result<Ran, StudyError> {
    board.begin(study.points.len());
    let keys = keys(study, registry)?;
    let index = Index::of(study, &keys);
    let store = Store::open(&settings.folder, settings.part, &index.digest(), settings.stale_after);
    let store = store.map_err(StudyError::Write)?;
    let other_version = index.write(&settings.folder).map_err(StudyError::Write)?;
    // Each process runs again those points of its own part that failed before.
    let failed_before = failures(&settings.folder);
    let mut jobs: Vec<Job> = Vec::new();
    for (place, group) in in_order(study, &keys, settings).into_iter().enumerate() {
        let first = &study.points[group[0]];
        let key = &keys[group[0]];
        let own = settings.part.is_none_or(|part| part.takes(place));
        let retried = own && failed_before.contains(key);
        jobs.push(Job { key: key.clone(), name: first.name(), points: group, own, retried });
    }
    // Own points come first; the order is otherwise unchanged.
    jobs.sort_by_key(|job| !job.own);
    let wanted: usize = jobs.iter().map(|job| job.points.len()).sum();
    let left_out = |point: &usize| left_out(study, *point, settings);
    board.set(&(0..study.points.len()).filter(left_out).collect::<Vec<_>>(), &State::LeftOut);
    let pool = WorkerPool { study, store: &store, registry, settings, board, interrupt };
    let mut ran = Ran {
        stored: 0,
        taken_over: 0,
        done: 0,
        failed: Vec::new(),
        elsewhere: 0,
        left: wanted,
        keys,
        other_version,
    };
    for (job, end) in pool.run(jobs) {
        let points = job.points.len();
        match end {
            End::Stored => ran.stored += points,
            End::TakenOver => (ran.stored, ran.taken_over) = (ran.stored + points, ran.taken_over + points),
            End::Done => ran.done += points,
            End::Elsewhere => ran.elsewhere += points,
            End::Failed { reason, log } => ran.failed.push(Failure { point: job.name, reason, log }),
            End::Broken(error) => return Err(StudyError::Write(error)),
            // An interrupted point stays in the count `left`.
            End::Left => continue,
        }
        ran.left -= points;
    }
    Ok(ran)
}

/// Whether the filter leaves a point out.
fn left_out(study: &Study, point: usize, settings: &Settings) -> bool {
    !study.points[point].matches(settings.filter.as_deref())
}

/// The points that are wanted, those that are the same together, since they are run once; those that take longest come first.
fn in_order(study: &Study, keys: &[PointKey], settings: &Settings) -> Vec<Vec<usize>> {
    let mut places: BTreeMap<&PointKey, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (point, key) in keys.iter().enumerate().filter(|(point, _)| !left_out(study, *point, settings)) {
        let place = *places.entry(key).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(point);
    }
    let seconds = Expectation::of(study, keys, &settings.folder).seconds;
    groups.sort_by(|a, b| seconds[b[0]].total_cmp(&seconds[a[0]]));
    groups
}

/// Key of each point: its inputs. The problems of all points are reported together, each once.
///
/// # Errors
/// Errors of machines and applications.
pub fn keys(study: &Study, registry: &Registry) -> Result<Vec<PointKey>, StudyError> {
    let mut problems: Vec<RunError> = Vec::new();
    let mut keys = Vec::new();
    for point in &study.points {
        match PointKey::new(&point.request, registry) {
            Ok(key) => keys.push(key),
            Err(errors) => {
                for mut error in errors {
                    if let RunError::Input(report) = &mut error {
                        report.sources.rename(&study.places);
                    }
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
