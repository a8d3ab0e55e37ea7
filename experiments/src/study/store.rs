//! The points of a study that are finished, on disk.
//!
//! A point lies in a folder named by the hash of everything that it depends on: the machine as it is resolved, the
//! application with its code and input files, the seed, the version of the program. Whatever is run again or changed,
//! a folder that is there is right; one that is not whole has another name. So a study can be killed at any time and goes on
//! where it was, and what another study has can be taken over.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use counterpoint_framework::model::Registry;
use counterpoint_framework::telemetry::Level;
use counterpoint_framework::topology::resolve_plain;
use counterpoint_simulation::output::{WriteError, remove_halves};
use counterpoint_simulation::run::{RunErrors, RunRequest, load_application, load_machine, write_inputs};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::values::PointResult;

/// File of a point's result, besides the files of its run.
pub const RESULT: &str = "result.json";
/// The folder of finished points.
const POINTS: &str = "points";
/// The folder of the logs of points that failed.
const FAILED: &str = "failed";
/// Held while a study runs.
const LOCK: &str = "lock";
/// How fast the points ran, which is no result.
pub const SPEEDS: &str = "speeds.csv";

/// The folder of a study.
pub struct Store {
    folder: PathBuf,
    /// Released when the program ends, however it does.
    _lock: File,
}

/// Names a point by what it depends on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PointKey(String);

impl std::fmt::Display for PointKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl PointKey {
    /// The key of a run, whose input files are made if they are not there: so they are the same for all points, whichever
    /// comes first.
    ///
    /// # Errors
    /// Everything that is wrong with its machine and its application, and files that cannot be written.
    pub fn new(request: &RunRequest, registry: &Registry) -> Result<Self, RunErrors> {
        let (machine, application) = (load_machine(request, registry), load_application(request, registry));
        let (machine, application) = match (machine, application) {
            (Ok(machine), Ok((_, application))) => (machine, application),
            (machine, application) => {
                return Err(machine.err().into_iter().chain(application.err()).collect());
            }
        };
        write_inputs(&application)?;
        let mut hasher = Sha256::new();
        let mut part = |name: &str, bytes: &[u8]| {
            hasher.update(format!("{name} {}\n", bytes.len()));
            hasher.update(bytes);
        };
        part("version", env!("CARGO_PKG_VERSION").as_bytes());
        part("machine", resolve_plain(&machine.machine, &machine.sources).as_bytes());
        part("seed", &request.seed.to_le_bytes());
        // More spans change nothing in the run, but they change its files.
        if request.recording.level != Level::default() {
            part("spans", format!("{:?}", request.recording.level).as_bytes());
        }
        for text in &application.texts {
            part("text", text.as_bytes());
        }
        for (name, value) in &application.parameters {
            part(name, &value.to_le_bytes());
        }
        for file in application.files() {
            let read = |error| WriteError { path: file.place.clone(), error };
            // By the name that the application has for it: the same in the program and wherever else the application is.
            part(&file.name, &file.contents().map_err(read)?);
        }
        Ok(PointKey(hasher.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()))
    }
}

impl Store {
    /// Opens the folder of a study, and removes what an earlier run did not finish.
    ///
    /// # Errors
    /// If it cannot be made, or another study is at work there.
    pub fn open(folder: &Path) -> Result<Self, WriteError> {
        let at = |path: PathBuf| move |error: io::Error| WriteError { path, error };
        for name in [POINTS, FAILED] {
            let path = folder.join(name);
            fs::create_dir_all(&path).map_err(at(path.clone()))?;
        }
        let path = folder.join(LOCK);
        let lock = File::create(&path).map_err(at(path.clone()))?;
        lock.try_lock().map_err(|_| WriteError {
            path: path.clone(),
            error: io::Error::other("another `counterpoint study` is at work in this folder"),
        })?;
        let store = Store { folder: folder.to_owned(), _lock: lock };
        remove_halves(folder, "")?;
        let points = folder.join(POINTS);
        let entries = fs::read_dir(&points).map_err(at(points.clone()))?;
        for entry in entries.filter_map(Result::ok) {
            if entry.file_name().to_string_lossy().ends_with(UNFINISHED) {
                fs::remove_dir_all(entry.path()).map_err(at(entry.path()))?;
            }
        }
        Ok(store)
    }

    /// Where the study's files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder in which a point's run leaves its files, until [`Store::keep`] gives it its name.
    pub fn unfinished(&self, key: &PointKey) -> PathBuf {
        self.folder.join(POINTS).join(format!("{key}{UNFINISHED}"))
    }

    /// Keeps a point that is finished.
    ///
    /// # Errors
    /// If its result cannot be written.
    pub fn keep(&self, key: &PointKey, result: &PointResult) -> Result<(), WriteError> {
        let unfinished = self.unfinished(key);
        let path = unfinished.join(RESULT);
        let text = serde_json::to_string_pretty(result).map_err(io::Error::other);
        let written = text.and_then(|text| fs::write(&path, text + "\n"));
        written.map_err(|error| WriteError { path, error })?;
        let finished = point_folder(&self.folder, key);
        // Files of an earlier run of the same point go.
        if finished.exists() {
            fs::remove_dir_all(&finished).map_err(|error| WriteError { path: finished.clone(), error })?;
        }
        fs::rename(&unfinished, &finished).map_err(|error| WriteError { path: finished, error })?;
        let log = self.log(key);
        match fs::remove_file(&log) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(WriteError { path: log, error }),
            _ => Ok(()),
        }
    }

    /// Takes a finished point over from another study's folder, so that it is not run again, and tells whether it was there. Its
    /// files are files of both then: nobody writes to those of a finished point.
    pub fn take_over(&self, study: &Path, key: &PointKey, name: &str) -> bool {
        // A result that is damaged, or goes away meanwhile, is run again.
        let Ok(Some(result)) = result(study, key) else { return false };
        let unfinished = self.unfinished(key);
        let kept = link_files(&point_folder(study, key), &unfinished).is_ok()
            && self.keep(key, &PointResult { point: name.to_owned(), ..result }).is_ok();
        if !kept {
            let _ = fs::remove_dir_all(&unfinished);
        }
        kept
    }

    /// Keeps why a point failed, and gives the log's path.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep_failure(&self, key: &PointKey, text: &str) -> Result<PathBuf, WriteError> {
        let path = self.log(key);
        fs::write(&path, text).map_err(|error| WriteError { path: path.clone(), error })?;
        Ok(path)
    }

    fn log(&self, key: &PointKey) -> PathBuf {
        self.folder.join(FAILED).join(format!("{key}.log"))
    }

    /// Whether a point is finished.
    pub fn has(&self, key: &PointKey) -> bool {
        point_folder(&self.folder, key).join(RESULT).is_file()
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
        // Not every file system has links.
        fs::hard_link(entry.path(), &there).or_else(|_| fs::copy(entry.path(), &there).map(|_| ()))?;
    }
    Ok(())
}

/// Result of a finished point, if it is there.
///
/// # Errors
/// If it is damaged.
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
mod tests {
    use super::*;

    #[test]
    fn what_an_earlier_run_did_not_finish_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let half = root.path().join(".index.json.h1.partial");
        let point = root.path().join("points/0123.unfinished");
        drop(Store::open(root.path()).unwrap());
        fs::create_dir(&point).unwrap();
        fs::write(&half, "{").unwrap();
        let store = Store::open(root.path()).unwrap();
        assert!(!half.exists() && !point.exists());
        assert!(Store::open(root.path()).is_err(), "a study is at work there");
        assert_eq!(store.folder(), root.path());
    }
}
