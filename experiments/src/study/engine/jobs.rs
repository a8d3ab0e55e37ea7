//! The runs of points: each under a claim, several side by side.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use counterpoint_framework::kernel::Outcome;
use counterpoint_framework::model::Registry;
use counterpoint_simulation::cpu_time::cpu_seconds;
use counterpoint_simulation::output::WriteError;
use counterpoint_simulation::run::{Progress, RunError, RunErrors, RunRequest, RunSummary, run};

use super::{Board, Settings, State};
use crate::study::plan::Study;
use crate::study::speed::{Speed, forget_peak, peak_kib};
use crate::study::store::{Claim, Claimed, PointKey, Store, Verdict, failure_log};
use crate::study::values::PointResult;

/// Time between two checks of a point that another process has claimed.
const LOOK: Duration = Duration::from_millis(500);
/// Time after which a sleeper looks whether it is to end.
const NAP: Duration = Duration::from_millis(50);

/// A point that this many processes have died of is given up, before it ends all tasks, one behind the other.
const MOST_DEAD: usize = 3;
/// Causes of such deaths.
const DEADLY: &str =
    "a task is killed when it needs more memory than it has asked for, and some time after its time limit";

/// A run, and the points whose result it is.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) key: PointKey,
    pub(super) name: String,
    pub(super) points: Vec<usize>,
    /// The job belongs to the part of this process.
    pub(super) own: bool,
    /// The job failed before this process began, and is run again.
    pub(super) retried: bool,
}

pub(super) enum End {
    Stored,
    /// The result was taken over from another study.
    TakenOver,
    Done,
    /// Another process runs the job.
    Elsewhere,
    /// The user interrupted the job.
    Left,
    Failed {
        reason: String,
        log: PathBuf,
    },
    /// The folder cannot be written to.
    Broken(WriteError),
}

/// Result of an attempt at a job.
enum Tried {
    Ended(End),
    /// Another process, which may be dead, has claimed the job.
    Claimed,
}

/// Measurement of a run.
struct Measured {
    /// When its process had the claim.
    begun: Instant,
    /// Processor seconds.
    cpu: f64,
}

/// State that all runs share.
pub(super) struct WorkerPool<'a> {
    pub(super) study: &'a Study,
    pub(super) store: &'a Store,
    pub(super) registry: &'a Arc<Registry>,
    pub(super) settings: &'a Settings,
    pub(super) board: &'a Board,
    pub(super) interrupt: &'a Arc<AtomicBool>,
}

impl WorkerPool<'_> {
    /// Runs jobs in their order, some at a time. Those that other processes have claimed are looked at again when the others are done.
    pub(super) fn run(&self, jobs: Vec<Job>) -> Vec<(Job, End)> {
        let queue: Mutex<VecDeque<(Job, Option<Instant>)>> =
            Mutex::new(jobs.into_iter().map(|job| (job, None)).collect());
        let ended: Mutex<Vec<(Job, End)>> = Mutex::default();
        let broken = AtomicBool::new(false);
        let one = || {
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                let Some((job, looked)) = next else { return };
                let stopped = || self.interrupt.load(Ordering::Relaxed) || broken.load(Ordering::Relaxed);
                while looked.is_some_and(|looked| looked.elapsed() < LOOK) && !stopped() {
                    std::thread::sleep(NAP);
                }
                let tried =
                    if stopped() { Tried::Ended(End::Left) } else { self.attempt(&job, looked.is_some()) };
                match tried {
                    Tried::Ended(end) => {
                        broken.fetch_or(matches!(end, End::Broken(_)), Ordering::Relaxed);
                        self.show(&job, &end);
                        ended.lock().unwrap_or_else(PoisonError::into_inner).push((job, end));
                    }
                    Tried::Claimed => {
                        let again = (job, Some(Instant::now()));
                        queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(again);
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            (1..self.settings.jobs.max(1)).for_each(|_| drop(scope.spawn(one)));
            one();
        });
        ended.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, job: &Job, end: &End) {
        let state = match end {
            End::Stored | End::TakenOver => State::Stored,
            End::Done => State::Done,
            End::Elsewhere => State::Elsewhere,
            End::Left => State::Waiting,
            End::Failed { reason, .. } => State::Failed(reason.clone()),
            End::Broken(error) => State::Failed(error.to_string()),
        };
        self.board.set(&job.points, &state);
    }

    /// Runs a point, unless it is finished or another process has claimed it. A part leaves the point to a living process only at the
    /// second attempt (`again`), after all other points: until then that process may die.
    fn attempt(&self, job: &Job, again: bool) -> Tried {
        if let Some(end) = self.known(job) {
            return Tried::Ended(end);
        }
        let claim = match self.store.claim(&job.key) {
            Ok(Claimed::Own(claim)) => claim,
            Ok(Claimed::By(Verdict::Alive)) if again && self.settings.part.is_some() => {
                return Tried::Ended(End::Elsewhere);
            }
            Ok(Claimed::By(_)) => return Tried::Claimed,
            Err(error) => return Tried::Ended(End::Broken(error)),
        };
        // Another process may have finished the point between the check and the claim.
        let end = self.known(job).unwrap_or_else(|| self.run_one(job, &claim));
        Tried::Ended(end)
    }

    /// The end of a point that nobody has to run.
    fn known(&self, job: &Job) -> Option<End> {
        if self.settings.fresh {
            return None;
        }
        if self.store.has(&job.key) {
            return Some(End::Stored);
        }
        // A point that failed while this process was at work is not retried.
        let log = failure_log(self.store.folder(), &job.key);
        let text = if job.retried { None } else { fs::read_to_string(&log).ok() };
        text.map(|text| End::Failed { reason: reason(&text), log })
    }

    fn run_one(&self, job: &Job, claim: &Claim) -> End {
        let first = &self.study.points[job.points[0]];
        let from = if self.settings.fresh { &[][..] } else { &self.settings.take_from[..] };
        if from.iter().any(|other| self.store.take_over(other, &job.key, &job.name)) {
            return End::TakenOver;
        }
        let dead = self.store.dead_before(claim);
        if dead.len() >= MOST_DEAD {
            let reason = format!("{} processes have died while they ran it", dead.len());
            return self.fail(job, claim, &reason, &format!("{}\n{DEADLY}\n", dead.join("\n")));
        }
        let (begun, cpu) = (Instant::now(), cpu_seconds());
        if self.settings.jobs <= 1 {
            forget_peak();
        }
        let progress = Arc::new(Progress::interrupted_by(Arc::clone(self.interrupt)));
        self.board.set(&job.points, &State::Running(Arc::clone(&progress)));
        let request = RunRequest { out: Some(self.store.unfinished(&job.key)), ..first.request.clone() };
        // A component that panics ends its run as failed; anything else that panics ends this job and no other.
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run(&request, self.registry, &progress)
        }));
        let end = match ran {
            Ok(Ok(summary)) => {
                let measured = Measured { begun, cpu: cpu_seconds() - cpu };
                self.keep(job, claim, &summary, measured)
            }
            Ok(Err(errors)) => self.stopped(job, claim, errors),
            Err(_) => self.fail(job, claim, "the run panicked", "its message is on standard error"),
        };
        if !matches!(end, End::Done) {
            self.store.discard(&job.key);
        }
        match end {
            // A process that was taken for dead may find its files gone.
            End::Broken(_) if !claim.is_held() => End::Elsewhere,
            end => end,
        }
    }

    /// A run that could not begin: a disk that is full is no property of the point.
    fn stopped(&self, job: &Job, claim: &Claim, errors: RunErrors) -> End {
        let text = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        let unwritten = errors.into_iter().find_map(|error| match error {
            RunError::Write(error) => Some(error),
            _ => None,
        });
        match unwritten {
            Some(error) => End::Broken(error),
            None => self.fail(job, claim, text.lines().next().unwrap_or_default(), &text),
        }
    }

    fn keep(&self, job: &Job, claim: &Claim, summary: &RunSummary, measured: Measured) -> End {
        if matches!(summary.report.outcome, Outcome::Interrupted(_)) {
            return End::Left;
        }
        if let Some(WriteError { path, error }) = summary.unwritten.first() {
            let error = io::Error::new(error.kind(), error.to_string());
            return End::Broken(WriteError { path: path.clone(), error });
        }
        if !summary.is_good() {
            let ending = summary.ending();
            let mut text = format!("{ending}\n");
            for check in &summary.checks {
                text.push_str(&format!("{} against {}: {}\n", check.buffer, check.against, check.verdict));
            }
            let wrong = summary.checks.iter().find(|check| !check.verdict.is_verified() && !summary.partial);
            let wrong = wrong.map(|check| format!("{} is {}", check.buffer, check.verdict));
            let reason = wrong.unwrap_or_else(|| ending.lines().next().unwrap_or_default().to_owned());
            return self.fail(job, claim, &reason, &text);
        }
        // Results are verified; the files that hold them are as large as the inputs.
        for path in &summary.outputs {
            if let Err(error) = fs::remove_file(path) {
                return End::Broken(WriteError { path: path.clone(), error });
            }
        }
        let result = PointResult::new(job.name.clone(), summary, self.registry);
        let count = |name| summary.figures.count(name).unwrap_or_default();
        let speed = Speed {
            wall_s: summary.wall.as_secs_f64(),
            cpu_s: summary.cpu_seconds,
            run_cpu_s: measured.cpu,
            whole_s: measured.begun.elapsed().as_secs_f64(),
            cycles: count("cycles"),
            warp_instructions: count("warp instructions"),
            peak_kib: peak_kib(),
        };
        match self.store.keep(&job.key, &result, Some(&speed), self.settings.fresh) {
            Ok(()) => End::Done,
            Err(error) => End::Broken(error),
        }
    }

    /// Keeps a log that begins with the point and the reason, unless this process was taken for dead: the cause of the failure is then
    /// unknown, and the other process runs the point.
    fn fail(&self, job: &Job, claim: &Claim, reason: &str, text: &str) -> End {
        if !claim.is_held() {
            return End::Elsewhere;
        }
        match self.store.keep_failure(&job.key, &format!("{}\n{reason}\n{text}", job.name)) {
            Ok(log) => End::Failed { reason: reason.to_owned(), log },
            Err(error) => End::Broken(error),
        }
    }
}

pub(in crate::study) fn reason(text: &str) -> String {
    text.lines().nth(1).unwrap_or_default().to_owned()
}
