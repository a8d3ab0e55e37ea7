//! State of a study's folder, from any computer that sees it: points that are done, running, failed and left.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Study;
use super::engine::reason;
use super::index;
use super::speed::Expectation;
use super::store::{BEAT, Observer, PointKey, Verdict, Worker, claims, failure_log, failures, finished};

/// State of a study.
#[derive(Debug)]
pub struct Status {
    /// Name of the study.
    pub study: String,
    /// Number of requested points.
    pub points: usize,
    /// Points that are finished.
    pub done: usize,
    /// Points at work, with their workers.
    pub running: Vec<Running>,
    /// Points that failed.
    pub failed: Vec<Failed>,
    /// Points that nobody has begun or that a dead process has left.
    pub left: usize,
    /// Positions in the study of the points at work and of those left, each once.
    unfinished: Vec<usize>,
}

/// A point at work.
#[derive(Debug)]
pub struct Running {
    /// Name of the point.
    pub point: String,
    /// The process that runs the point, if it is known.
    pub worker: Option<Worker>,
    /// Whether it has shown itself.
    pub verdict: Verdict,
}

/// A point that failed.
#[derive(Debug)]
pub struct Failed {
    /// Name of the point.
    pub point: String,
    /// Why, in a line.
    pub reason: String,
    /// The rest.
    pub log: PathBuf,
}

impl Status {
    /// Whether all points are done.
    pub fn is_done(&self) -> bool {
        self.done == self.points
    }
}

/// The study of a folder, which is read once and looked at many times.
pub struct Observed {
    folder: PathBuf,
    study: Study,
    /// Points that are the same are one.
    points: BTreeMap<PointKey, Vec<usize>>,
    keys: Vec<PointKey>,
    observer: Observer,
}

impl Observed {
    /// Reads the study in a folder, with the points whose names contain the filter's text.
    ///
    /// # Errors
    /// The reason for which the folder is not that of a study.
    pub fn read(folder: &Path, filter: Option<&str>, stale_after: Duration) -> Result<Self, String> {
        let (study, keys) = index::read_plan(folder)?;
        let mut points: BTreeMap<PointKey, Vec<usize>> = BTreeMap::new();
        for (point, key) in keys.iter().enumerate() {
            if study.points[point].matches(filter) {
                points.entry(key.clone()).or_default().push(point);
            }
        }
        Ok(Observed {
            folder: folder.to_owned(),
            study,
            points,
            keys,
            observer: Observer::new(folder, stale_after),
        })
    }

    /// Determines the state of all points. Processes of other computers are watched until they give a sign of life, for a little more
    /// than the interval of such signs.
    pub fn inspect(&mut self) -> Status {
        let begun = Instant::now();
        let claims = loop {
            let claims: BTreeMap<PointKey, String> = claims(&self.folder).into_iter().collect();
            let is_open = |holder: &String| self.observer.inspect(holder).1 == Verdict::Open;
            // Every holder is inspected, so that all are watched.
            let open = claims
                .values()
                .cloned()
                .collect::<BTreeSet<_>>()
                .iter()
                .map(is_open)
                .filter(|open| *open)
                .count();
            if open == 0 || begun.elapsed() > BEAT + BEAT / 5 {
                break claims;
            }
            std::thread::sleep(BEAT / 20);
        };
        let (finished, failures) = (finished(&self.folder), failures(&self.folder));
        let mut status = Status {
            study: self.study.name.clone(),
            points: 0,
            done: 0,
            running: Vec::new(),
            failed: Vec::new(),
            left: 0,
            unfinished: Vec::new(),
        };
        for (key, group) in &self.points {
            let names = group.iter().map(|&point| self.study.points[point].name());
            status.points += group.len();
            if finished.contains(key) {
                status.done += group.len();
                continue;
            }
            let held = claims.get(key).map(|holder| self.observer.inspect(holder));
            match held.filter(|(_, verdict)| *verdict != Verdict::Dead) {
                Some((worker, verdict)) => status.running.extend(names.map(|point| Running {
                    point,
                    worker: worker.clone(),
                    verdict,
                })),
                None if failures.contains(key) => {
                    let log = failure_log(&self.folder, key);
                    let reason = reason(&fs::read_to_string(&log).unwrap_or_default());
                    status.failed.extend(names.map(|point| Failed {
                        point,
                        reason: reason.clone(),
                        log: log.clone(),
                    }));
                    continue;
                }
                None => status.left += group.len(),
            }
            status.unfinished.push(group[0]);
        }
        status.running.sort_by(|a, b| a.point.cmp(&b.point));
        status.failed.sort_by(|a, b| a.point.cmp(&b.point));
        status
    }

    /// Seconds of one processor that the points at work and left are expected to take in all, if points were measured.
    pub fn to_go(&self, status: &Status) -> Option<f64> {
        let expected = Expectation::of(&self.study, &self.keys, &self.folder);
        let seconds = status.unfinished.iter().map(|&point| expected.seconds[point]);
        (expected.measured > 0 && !status.unfinished.is_empty()).then(|| seconds.sum())
    }
}
