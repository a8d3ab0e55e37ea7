//! The points of a study that are finished, on disk.
//!
//! A point lies in a folder named by the hash of everything that it depends on: the machine as it is resolved, the
//! application with its code and input files, the seed, the version of the program. Whatever is run again or changed,
//! a folder that is there is right; one that is not whole has another name. So a study can be killed at any time and goes on
//! where it was, and what another study has can be taken over.
//!
//! Several processes may work at one folder, on several computers (`claim.rs`, `worker.rs`). A lock keeps a study that runs alone and
//! one that runs in parts from each other where the file system has locks; nothing depends on it.

mod claim;
mod worker;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use counterpoint_framework::model::Registry;
use counterpoint_framework::telemetry::Level;
use counterpoint_framework::topology::resolve_plain;
use counterpoint_simulation::output::{WriteError, remove_halves, write_whole};
use counterpoint_simulation::run::{RunErrors, RunRequest, load_application, load_machine, write_inputs};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::part::Part;
use super::speed::{SPEED, Speed};
use super::values::PointResult;

pub use claim::{Claim, Claimed};
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
    part: Option<Part>,
    presence: Presence,
    watch: Mutex<Watch>,
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
    /// Opens the folder of a study for a process that runs a part of it, or all of it alone; that one removes what earlier ones did not
    /// finish. `study` is the study's digest: processes at work in one folder have the same. One that has not shown itself for
    /// `stale_after` is taken for dead.
    ///
    /// # Errors
    /// If it cannot be made, or another study is at work there.
    pub fn open(
        folder: &Path,
        part: Option<Part>,
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
        // After its own file is there: of two that begin together, one at least sees the other.
        meet(folder, &own, presence.token(), &mut watch).map_err(at(folder.to_owned()))?;
        Ok(Store { folder: folder.to_owned(), part, presence, watch: Mutex::new(watch), _lock: lock })
    }

    /// Where the study's files are.
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

    /// Claims a point for this process. Whoever has the claim looks whether the point is finished once more.
    ///
    /// # Errors
    /// If nothing can be written.
    pub fn claim(&self, key: &PointKey) -> Result<Claimed, WriteError> {
        let claimed = claim::claim(&self.folder, key, &self.presence, &self.watch);
        let claimed = claimed.map_err(|error| WriteError { path: self.folder.join(claim::CLAIMS), error })?;
        if let Claimed::Own(claim) = &claimed {
            // To open a folder has network file systems forget what they remember of the names in it.
            let _ = File::open(self.folder.join(POINTS));
            for token in &claim.former {
                let _ = fs::remove_dir_all(self.unfinished_of(key, token));
            }
        }
        Ok(claimed)
    }

    /// Keeps a point that is finished. If another process has kept it meanwhile, that one stays, unless it is to be `replaced`.
    ///
    /// # Errors
    /// If its result cannot be written.
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
        if replaced && finished.exists() {
            // Files of an earlier run of the same point go.
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

    /// Removes what this process has of a point that is not finished.
    pub fn discard(&self, key: &PointKey) {
        let _ = fs::remove_dir_all(self.unfinished(key));
    }

    /// Takes a finished point over from another study's folder, so that it is not run again, and tells whether it was there. Its
    /// files are files of both then: nobody writes to those of a finished point.
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
    /// Removes the files of processes that are dead and hold nothing.
    fn drop(&mut self) {
        let holders: BTreeSet<String> =
            claim::all(&self.folder).into_iter().map(|(_, _, holder)| holder).collect();
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

/// Locks the folder of a study, where the file system has locks.
fn lock(path: &Path, shared: bool) -> io::Result<File> {
    let lock = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    match if shared { lock.try_lock_shared() } else { lock.try_lock() } {
        Err(TryLockError::WouldBlock) => Err(io::Error::other(match shared {
            true => "another `counterpoint study`, which runs it alone, is at work in this folder",
            false => "another `counterpoint study` is at work in this folder",
        })),
        _ => Ok(lock),
    }
}

/// Removes what processes have left behind that are not there any more.
fn clear(folder: &Path) -> Result<(), WriteError> {
    remove_halves(folder, "")?;
    remove_halves(&folder.join(FAILED), "")?;
    let mut there = BTreeSet::new();
    for token in worker::tokens(folder) {
        match worker::read(folder, &token) {
            Some(worker) if !worker.is_gone() => drop(there.insert(token)),
            _ => worker::forget(folder, &token),
        }
    }
    for (key, generation, holder) in claim::all(folder) {
        if !there.contains(&holder) {
            claim::forget(folder, &key, generation);
        }
    }
    let points = folder.join(POINTS);
    let entries = fs::read_dir(&points).map_err(|error| WriteError { path: points, error })?;
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(UNFINISHED) else { continue };
        if name.rsplit_once('.').is_none_or(|(_, token)| !there.contains(token)) {
            let removed = fs::remove_dir_all(entry.path());
            removed.map_err(|error| WriteError { path: entry.path(), error })?;
        }
    }
    Ok(())
}

/// Looks at those that are at work in the folder, and refuses to join if they work at another study.
fn meet(folder: &Path, own: &Worker, token: &str, watch: &mut Watch) -> io::Result<()> {
    let tokens = worker::tokens(folder).into_iter().filter(|other| other != token);
    for other in tokens {
        while let Some(worker) = worker::read(folder, &other).filter(|other| other.study != own.study) {
            match watch.judge(&other) {
                Verdict::Open => std::thread::sleep(BEAT / 10),
                Verdict::Dead => worker::forget(folder, &other),
                Verdict::Alive => return Err(io::Error::other(refusal(&worker, own))),
            }
        }
    }
    Ok(())
}

fn refusal(other: &Worker, own: &Worker) -> String {
    let help = "let it end, or name another folder with `--out`";
    match other.version == own.version {
        true => format!(
            "{other} is at work in this folder at a study of the same name with other points or another text\n  help: {help}"
        ),
        false => format!(
            "version {} of the command is at work in this folder ({other}), and this is version {}: points of one are none of the other\n  \
             help: {help}",
            other.version, own.version
        ),
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
        // Some network file systems cannot do this for a folder, and need not.
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

/// Where the log of a point is if it has failed.
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

/// Observations of the processes at work in a folder, by someone who does not work there.
pub struct Observer {
    folder: PathBuf,
    watch: Watch,
}

impl Observer {
    /// Takes a process for dead that has not shown itself for `stale_after`.
    pub fn new(folder: &Path, stale_after: Duration) -> Self {
        Observer { folder: folder.to_owned(), watch: Watch::new(folder, stale_after) }
    }

    /// The process of a token, as far as its file says, and whether it is alive.
    pub fn look(&mut self, token: &str) -> (Option<Worker>, Verdict) {
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

    const LONG: Duration = Duration::from_secs(100);

    fn part(text: &str) -> Option<Part> {
        Some(text.parse().unwrap())
    }

    fn result() -> PointResult {
        let values = [("time".to_owned(), 1.0)].into();
        PointResult {
            point: "p".to_owned(),
            outcome: "o".to_owned(),
            verified: true,
            values,
            growths: Vec::new(),
        }
    }

    #[test]
    fn what_an_earlier_run_did_not_finish_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let half = root.path().join(".index.json.h1.partial");
        let point = root.path().join("points/0123.00aa.unfinished");
        let open = || Store::open(root.path(), None, "s", LONG);
        drop(open().unwrap());
        fs::create_dir(&point).unwrap();
        fs::write(&half, "{").unwrap();
        fs::write(root.path().join("claims/0123.1"), "00aa").unwrap();
        let store = open().unwrap();
        assert!(!half.exists() && !point.exists());
        assert!(claims(root.path()).is_empty());
        assert_eq!(store.folder(), root.path());
        let Err(error) = open() else { panic!("a study is at work there") };
        assert!(
            error.to_string().contains("another `counterpoint study` is at work in this folder"),
            "{error}"
        );
        let Err(error) = Store::open(root.path(), part("1/2"), "s", LONG) else { panic!("so may no part") };
        assert!(error.to_string().contains("which runs it alone"), "{error}");
    }

    #[test]
    fn parts_share_a_folder_and_keep_each_others_files() {
        let root = tempfile::tempdir().unwrap();
        let key = PointKey("0a".to_owned());
        let open = |number| Store::open(root.path(), part(number), "s", LONG).unwrap();
        let (first, second) = (open("1/2"), open("2/2"));
        assert!(Store::open(root.path(), None, "s", LONG).is_err(), "none runs it alone meanwhile");
        for store in [&first, &second] {
            fs::create_dir(store.unfinished(&key)).unwrap();
            fs::write(store.unfinished(&key).join("stats.txt"), "same").unwrap();
        }
        assert_ne!(first.unfinished(&key), second.unfinished(&key));
        assert!(!first.has(&key));
        // Both have run it: the first one is kept, and the second leaves nothing.
        first.keep(&key, &result(), None, false).unwrap();
        assert!(second.has(&key));
        second.keep(&key, &result(), None, false).unwrap();
        let names = fs::read_dir(root.path().join(POINTS)).unwrap().count();
        assert_eq!(names, 1);
        assert_eq!(super::result(root.path(), &key).unwrap(), Some(result()));
    }

    /// Processor seconds of this thread.
    #[cfg(target_os = "linux")]
    fn cpu() -> f64 {
        let text = fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, fields) = text.rsplit_once(')').unwrap();
        let ticks = fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<f64>().unwrap());
        ticks.sum::<f64>() / 100.0
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_point_takes_little_of_the_processor_however_many_there_are() {
        // In memory, where there is such a folder: the disk's own time is not the store's.
        let root = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let store = Store::open(root.path(), part("1/1"), "s", LONG).unwrap();
        let each = 200;
        let batches = [0, 1, 2].map(|batch| {
            let begun = cpu();
            for number in batch * each..(batch + 1) * each {
                let key = PointKey(format!("{number:032x}"));
                assert!(!store.has(&key));
                let Claimed::Own(claim) = store.claim(&key).unwrap() else { panic!("nobody else is there") };
                // As large as the files of a short run.
                fs::create_dir(store.unfinished(&key)).unwrap();
                for file in 0..9 {
                    fs::write(store.unfinished(&key).join(format!("{file}")), [b'x'; 4096]).unwrap();
                }
                store.keep(&key, &result(), Some(&Speed::default()), false).unwrap();
                drop(claim);
                assert!(store.has(&key));
            }
            1e3 * (cpu() - begun) / f64::from(each)
        });
        assert!(batches.iter().all(|ms| *ms <= 5.0), "{batches:?} ms a point");
        assert!(batches[2] <= 2.0 * batches[0] + 0.5, "{batches:?} ms a point");
    }

    #[test]
    fn another_study_of_the_name_and_another_version_are_refused_while_they_are_at_work() {
        let root = tempfile::tempdir().unwrap();
        let open = |study: &str| Store::open(root.path(), part("1/2"), study, LONG);
        let first = open("s").unwrap();
        let put = |token: &str, version: &str, beat: u64| {
            let own = serde_json::to_value(Worker::own("other", None)).unwrap();
            let serde_json::Value::Object(mut own) = own else { panic!("a map") };
            own.insert("place".to_owned(), "another computer".into());
            own.insert("version".to_owned(), version.into());
            own.insert("beat".to_owned(), beat.into());
            fs::write(root.path().join("workers").join(token), serde_json::to_string(&own).unwrap()).unwrap();
        };
        drop(first);
        for (version, expected) in [
            ("0.0.1", "version 0.0.1 of the command is at work in this folder"),
            (env!("CARGO_PKG_VERSION"), "at a study of the same name"),
        ] {
            put("t", version, 0);
            let changes = std::thread::scope(|scope| {
                let opened = scope.spawn(|| open("s").err().map(|error| error.to_string()));
                for beat in 1.. {
                    if opened.is_finished() {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(50));
                    put("t", version, beat);
                }
                opened.join().unwrap()
            });
            let error = changes.expect("it is at work");
            assert!(error.contains(expected) && error.contains("--out"), "{error}");
        }
        // A dead one is no obstacle.
        put("t", "0.0.1", 1);
        assert!(Store::open(root.path(), part("1/2"), "s", Duration::from_millis(200)).is_ok());
        assert!(!root.path().join("workers/t").exists());
    }
}
