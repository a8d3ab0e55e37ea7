//! The points of a study that are finished, on disk.
//!
//! A point lies in a folder named by the hash of everything that it depends on: the machine as it is resolved, the application with its
//! code and input files, the seed, the build of the program. An existing folder is always valid, whatever is run again or changed; an
//! incomplete folder has another name. A study can thus be killed at any time and resumes where it was, and results of another study
//! can be taken over.
//!
//! Several processes may work at one folder, on several computers (`claim.rs`, `worker.rs`). A lock keeps a study that runs alone and
//! one that runs in parts from each other where the file system has locks; nothing depends on it.

mod claim;
mod company;
mod key;
mod worker;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use counterpoint_simulation::output::{WriteError, write_whole};
use serde::Serialize;

use super::part::StudyPart;
use super::speed::{SPEED, Speed};
use super::values::PointResult;

pub use claim::{Claim, Claimed};
use company::{clear, lock, meet};
pub use key::PointKey;
pub use worker::{BEAT, STALE_AFTER, Verdict, Worker};
use worker::{Presence, Watch};

/// File of a point's result, besides the files of its run.
pub const RESULT: &str = "result.json";
/// The folder of finished points.
const POINTS: &str = "points";
/// The folder of the logs of points that failed.
const FAILED: &str = "failed";
/// Held while a study runs: by one process that runs it alone, or by all that run parts.
const LOCK: &str = "lock";

/// The folder of a study.
pub struct Store {
    folder: PathBuf,
    part: Option<StudyPart>,
    presence: Presence,
    watch: Mutex<Watch>,
    /// Released when the program ends, however it does.
    _lock: File,
}

impl Store {
    /// Opens the folder of a study for a process that runs a part of it, or all of it alone; a process that runs all of it removes what
    /// earlier processes did not finish. `study` is the study's digest, which is the same for all processes at work in one folder. A
    /// process without a sign of life for `stale_after` is taken for dead.
    ///
    /// # Errors
    /// If the folder cannot be created, or another study is at work there.
    pub fn open(
        folder: &Path,
        part: Option<StudyPart>,
        study: &str,
        stale_after: Duration,
    ) -> Result<Self, WriteError> {
        let at = |path: PathBuf| move |error: io::Error| WriteError { path, error };
        for name in [POINTS, FAILED, claim::CLAIMS, worker::WORKERS] {
            let path = folder.join(name);
            fs::create_dir_all(&path).map_err(at(path.clone()))?;
        }
        let path = folder.join(LOCK);
        let lock = lock(&path, part.is_some()).map_err(at(path))?;
        let mut watch = Watch::new(folder, stale_after);
        if part.is_none() {
            clear(folder)?;
        }
        let own = Worker::own(study, part.map(|part| part.to_string()));
        let path = folder.join(worker::WORKERS);
        let presence = Presence::begin(folder, own.clone()).map_err(at(path))?;
        // The check follows the creation of the own file: of two processes that begin together, at least one sees the other.
        meet(folder, &own, presence.token(), &mut watch).map_err(at(folder.to_owned()))?;
        Ok(Store { folder: folder.to_owned(), part, presence, watch: Mutex::new(watch), _lock: lock })
    }

    /// Folder of the study's files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder in which this process's run of a point leaves its files, until [`Store::keep`] gives it its name.
    pub fn unfinished(&self, key: &PointKey) -> PathBuf {
        self.unfinished_of(key, self.presence.token())
    }

    fn unfinished_of(&self, key: &PointKey, token: &str) -> PathBuf {
        self.folder.join(POINTS).join(format!("{key}.{token}{UNFINISHED}"))
    }

    /// Claims a point for this process. Its holder looks once more whether the point is finished.
    ///
    /// # Errors
    /// If nothing can be written.
    pub fn claim(&self, key: &PointKey) -> Result<Claimed, WriteError> {
        let claimed = claim::claim(&self.folder, key, &self.presence, &self.watch);
        let claimed = claimed.map_err(|error| WriteError { path: self.folder.join(claim::CLAIMS), error })?;
        if let Claimed::Own(claim) = &claimed {
            // Opening a folder makes network file systems drop their cached names in it.
            let _ = File::open(self.folder.join(POINTS));
            for token in &claim.former {
                let _ = fs::remove_dir_all(self.unfinished_of(key, token));
            }
        }
        Ok(claimed)
    }

    /// Keeps a point that is finished. If another process has kept the point meanwhile, that result stays, unless it is to be
    /// `replaced`.
    ///
    /// # Errors
    /// If the result cannot be written.
    pub fn keep(
        &self,
        key: &PointKey,
        result: &PointResult,
        speed: Option<&Speed>,
        replaced: bool,
    ) -> Result<(), WriteError> {
        let unfinished = self.unfinished(key);
        if let Some(speed) = speed {
            write_json(&unfinished.join(SPEED), speed)?;
        }
        write_json(&unfinished.join(RESULT), result)?;
        if self.part.is_some() {
            settle(&unfinished)?;
        }
        let finished = point_folder(&self.folder, key);
        let at = |error| WriteError { path: finished.clone(), error };
        if (replaced || !self.has(key)) && finished.exists() {
            // Files of an earlier run of the same point go, and a folder that somebody has taken the result from.
            let old =
                self.folder.join(POINTS).join(format!("{key}.old.{}{UNFINISHED}", self.presence.token()));
            fs::rename(&finished, &old).and_then(|()| fs::remove_dir_all(&old)).map_err(at)?;
        }
        match fs::rename(&unfinished, &finished) {
            // A network file system may say so though it was done, or someone else was first: the bytes are the same.
            Err(_) if self.has(key) => self.discard(key),
            renamed => renamed.map_err(at)?,
        }
        if self.part.is_some() {
            let points = self.folder.join(POINTS);
            sync(&points).map_err(|error| WriteError { path: points, error })?;
        }
        self.presence.count();
        let log = self.log(key);
        match fs::remove_file(&log) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(WriteError { path: log, error }),
            _ => Ok(()),
        }
    }

    /// The processes that died while they ran a claimed point, as far as their files say.
    pub fn dead_before(&self, claim: &Claim) -> Vec<String> {
        let name = |token: &String| match worker::read(&self.folder, token) {
            Some(worker) => worker.to_string(),
            None => "a process without a file".to_owned(),
        };
        claim.former.iter().map(name).collect()
    }

    /// Removes this process's files of an unfinished point.
    pub fn discard(&self, key: &PointKey) {
        let _ = fs::remove_dir_all(self.unfinished(key));
    }

    /// Takes a finished point over from another study's folder, so that it is not run again, and returns whether it was found. Both
    /// studies then share the files, which are never written again.
    pub fn take_over(&self, study: &Path, key: &PointKey, name: &str) -> bool {
        // A result that is damaged, or goes away meanwhile, is run again.
        let Ok(Some(result)) = result(study, key) else { return false };
        let unfinished = self.unfinished(key);
        let kept = link_files(&point_folder(study, key), &unfinished).is_ok()
            && self.keep(key, &PointResult { point: name.to_owned(), ..result }, None, false).is_ok();
        if !kept {
            self.discard(key);
        }
        kept
    }

    /// Keeps why a point failed, and gives the log's path.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep_failure(&self, key: &PointKey, text: &str) -> Result<PathBuf, WriteError> {
        let path = self.log(key);
        let written = write_whole(&path, |out| out.write_all(text.as_bytes()));
        written.map_err(|error| WriteError { path: path.clone(), error })?;
        Ok(path)
    }

    fn log(&self, key: &PointKey) -> PathBuf {
        failure_log(&self.folder, key)
    }

    /// Whether a point is finished.
    pub fn has(&self, key: &PointKey) -> bool {
        has(&self.folder, key)
    }
}

impl Drop for Store {
    /// Removes the files of processes that are dead and hold nothing. A claim of a finished point is nobody's: its process died between
    /// the point's publication and the claim's end, or is about to remove it itself.
    fn drop(&mut self) {
        let mut holders = BTreeSet::new();
        for (key, generation, holder) in claim::all(&self.folder) {
            match self.has(&key) {
                true => claim::forget(&self.folder, &key, generation),
                false => drop(holders.insert(holder)),
            }
        }
        let dead = self.watch.lock().unwrap_or_else(PoisonError::into_inner).dead();
        for token in worker::tokens(&self.folder).into_iter().filter(|token| !holders.contains(token)) {
            let is_gone = || worker::read(&self.folder, &token).is_some_and(|worker| worker.is_gone());
            if dead.contains(&token) || is_gone() {
                worker::forget(&self.folder, &token);
            }
        }
        if self.part.is_none() {
            let _ = clear(&self.folder);
        }
    }
}

/// Has the file system keep a folder with its files, as they are, whatever happens next.
fn settle(folder: &Path) -> Result<(), WriteError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error| WriteError { path, error }
    };
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        sync(&path).map_err(at(&path))?;
    }
    sync(folder).map_err(at(folder))
}

/// Has the file system keep a file, or the names in a folder.
fn sync(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        // Some network file systems cannot sync a folder, and need not.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        done => done,
    }
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), WriteError> {
    let text = serde_json::to_string_pretty(value).map_err(io::Error::other);
    let written = text.and_then(|text| fs::write(path, text + "\n"));
    written.map_err(|error| WriteError { path: path.to_owned(), error })
}

/// Whether the study in `folder` has finished a point.
pub fn has(folder: &Path, key: &PointKey) -> bool {
    point_folder(folder, key).join(RESULT).is_file()
}

/// The points that the study in `folder` has finished, by the names of their folders.
pub fn finished(folder: &Path) -> BTreeSet<PointKey> {
    let entries = fs::read_dir(folder.join(POINTS)).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| !name.ends_with(UNFINISHED)).map(PointKey).collect()
}

/// Path of the log of a failed point.
pub fn failure_log(folder: &Path, key: &PointKey) -> PathBuf {
    folder.join(FAILED).join(format!("{key}.log"))
}

/// The points of the study in `folder` that have failed.
pub fn failures(folder: &Path) -> BTreeSet<PointKey> {
    let entries = fs::read_dir(folder.join(FAILED)).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some(PointKey(name.strip_suffix(".log")?.to_owned()))).collect()
}

/// The last claim of each point in the study in `folder`, with the token of its holder.
pub fn claims(folder: &Path) -> Vec<(PointKey, String)> {
    let mut last: Vec<(PointKey, String)> = Vec::new();
    for (key, _, holder) in claim::all(folder) {
        last.pop_if(|(other, _)| *other == key);
        last.push((key, holder));
    }
    last
}

/// Observations of the processes at work in a folder, by a process that does not take part.
pub struct Observer {
    folder: PathBuf,
    watch: Watch,
}

impl Observer {
    /// Takes a process for dead that has not shown itself for `stale_after`.
    pub fn new(folder: &Path, stale_after: Duration) -> Self {
        Observer { folder: folder.to_owned(), watch: Watch::new(folder, stale_after) }
    }

    /// The process of a token, as described in its file, and whether it is alive.
    pub fn inspect(&mut self, token: &str) -> (Option<Worker>, Verdict) {
        let verdict = self.watch.judge(token);
        (worker::read(&self.folder, token), verdict)
    }
}

/// Suffix of a folder that is not whole.
const UNFINISHED: &str = ".unfinished";

/// The folder of a finished point of the study in `folder`.
pub fn point_folder(folder: &Path, key: &PointKey) -> PathBuf {
    folder.join(POINTS).join(&key.0)
}

/// Makes the files of one folder, but for the result, files of another one too.
fn link_files(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_name() == RESULT {
            continue;
        }
        let there = to.join(entry.file_name());
        // Some file systems have no hard links.
        fs::hard_link(entry.path(), &there).or_else(|_| fs::copy(entry.path(), &there).map(|_| ()))?;
    }
    Ok(())
}

/// Result of a point, if it is finished.
///
/// # Errors
/// If the result is damaged.
pub fn result(folder: &Path, key: &PointKey) -> Result<Option<PointResult>, String> {
    let path = point_folder(folder, key).join(RESULT);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot read `{}`: {error}", path.display())),
    };
    let damaged = |error: serde_json::Error| format!("`{}` is damaged: {error}", path.display());
    serde_json::from_str(&text).map(Some).map_err(damaged)
}

#[cfg(test)]
mod tests;
