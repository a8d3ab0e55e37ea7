//! Processes that work at a study: each has a file that identifies it, and that changes while it lives.
//!
//! No clocks of different computers are compared. A process is alive for an observer when its file changes while the observer watches,
//! and dead when the file has stayed the same for long enough on the observer's own clock; a process of this computer is dead at once
//! when it no longer exists.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::study::program::build;

/// The folder of the files of processes.
pub(super) const WORKERS: &str = "workers";
/// A process changes its file this often.
pub const BEAT: Duration = Duration::from_secs(5);
/// Default time after which an unchanged file means that its process is dead. Network file systems may show an old state for a minute.
pub const STALE_AFTER: Duration = Duration::from_secs(90);

/// A process at work, as described in its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    /// Name of the computer.
    pub host: String,
    /// Process number on that computer.
    pub process: u32,
    /// The boot and the PID namespace that the process number belongs to; empty if unknown.
    #[serde(default)]
    place: String,
    /// Start time of the process, in ticks of that system, which distinguishes it from a later process of the same number.
    #[serde(default)]
    began: u64,
    /// Version of its command.
    pub version: String,
    /// Digest of the study: its text and its points.
    pub study: String,
    /// The part that the process runs, if it runs one.
    #[serde(default)]
    pub part: Option<String>,
    /// Points that it has finished.
    #[serde(default)]
    pub done: usize,
    /// Grows while it lives.
    #[serde(default)]
    beat: u64,
}

impl std::fmt::Display for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} on {}", self.process, self.host)?;
        self.part.iter().try_for_each(|part| write!(f, ", part {part}"))
    }
}

impl Worker {
    pub(super) fn own(study: &str, part: Option<String>) -> Self {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let process = std::process::id();
        Worker {
            host: if host.trim().is_empty() { "this computer".to_owned() } else { host.trim().to_owned() },
            process,
            place: own_place(),
            began: began(process).unwrap_or_default(),
            version: build().to_owned(),
            study: study.to_owned(),
            part,
            done: 0,
            beat: 0,
        }
    }

    /// Whether it was on this computer, and is not any more.
    pub(super) fn is_gone(&self) -> bool {
        self.is_here() == Some(false)
    }

    /// Whether it is still there, if it was on this computer.
    fn is_here(&self) -> Option<bool> {
        let known = !self.place.is_empty() && self.place == own_place();
        known.then(|| began(self.process) == Some(self.began))
    }
}

/// The running system and its space of process numbers: containers of one computer have spaces of their own. Empty where nothing tells.
fn own_place() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    if boot.is_empty() { String::new() } else { format!("{} {}", boot.trim(), space.display()) }
}

/// When a process of this system began, unless there is none, or it has ended and only its number is left.
fn began(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the process, in brackets, may hold blanks. Its state comes next, and its start is the 20th field from there.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(18)?.parse().ok() }
}

/// The file of this process, which changes until it is dropped; then it is removed.
pub(super) struct Presence {
    token: String,
    path: PathBuf,
    done: Arc<AtomicUsize>,
    /// Dropping it ends the thread.
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Presence {
    /// Writes the file of a process, and starts to change it periodically.
    pub(super) fn begin(folder: &Path, worker: Worker) -> io::Result<Self> {
        // Two processes never have the same one: it is drawn, with all that tells them apart.
        let token = format!("{:016x}", RandomState::new().hash_one((&worker.host, worker.process)));
        let path = folder.join(WORKERS).join(&token);
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        write(&mut file, &worker)?;
        let done = Arc::new(AtomicUsize::new(0));
        let (end, ended) = mpsc::channel::<()>();
        let (count, mut worker) = (Arc::clone(&done), worker);
        let thread = std::thread::spawn(move || {
            while ended.recv_timeout(BEAT) == Err(mpsc::RecvTimeoutError::Timeout) {
                worker.beat += 1;
                worker.done = count.load(Ordering::Relaxed);
                // If the file cannot be written, other processes take this one for dead: its points are then run twice, with equal
                // results.
                let _ = write(&mut file, &worker);
            }
        });
        Ok(Presence { token, path, done, end: Some(end), thread: Some(thread) })
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    pub(super) fn count(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes in place: a process that opens the file sees the new state, on network file systems too. It never becomes shorter.
fn write(file: &mut File, worker: &Worker) -> io::Result<()> {
    use std::io::Seek;
    let text = serde_json::to_string(worker).map_err(io::Error::other)?;
    file.rewind()?;
    file.write_all(format!("{text:<600}\n").as_bytes())?;
    file.sync_data()
}

/// Contents of a process's file; empty if it does not exist.
fn text(folder: &Path, token: &str) -> String {
    fs::read_to_string(folder.join(WORKERS).join(token)).unwrap_or_default()
}

/// The process of a token, if its file exists and is complete.
pub(super) fn read(folder: &Path, token: &str) -> Option<Worker> {
    serde_json::from_str(&text(folder, token)).ok()
}

/// The tokens of all processes that have a file.
pub(super) fn tokens(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join(WORKERS)).into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Removes the file of a process that is dead.
pub(super) fn forget(folder: &Path, token: &str) {
    let _ = fs::remove_file(folder.join(WORKERS).join(token));
}

/// Judgement on a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The process's file has changed while it was watched, or the process runs on this computer.
    Alive,
    /// The process has not been watched for long enough.
    Open,
    /// The process's file has not changed for too long, or the process is known to have ended.
    Dead,
}

/// Observations of other processes.
pub(super) struct Watch {
    folder: PathBuf,
    stale_after: Duration,
    seen: BTreeMap<String, Seen>,
}

/// A file of a process, and since when it has been like this.
struct Seen {
    text: String,
    since: Instant,
    changed: bool,
}

impl Watch {
    pub(super) fn new(folder: &Path, stale_after: Duration) -> Self {
        Watch { folder: folder.to_owned(), stale_after, seen: BTreeMap::new() }
    }

    /// The tokens of processes that are dead.
    pub(super) fn dead(&mut self) -> Vec<String> {
        let tokens: Vec<String> = self.seen.keys().cloned().collect();
        tokens.into_iter().filter(|token| self.judge(token) == Verdict::Dead).collect()
    }

    /// Judges the process of a token. Without a token (a claim whose owner has not been written yet) the claim's name and time stand for
    /// it.
    pub(super) fn judge(&mut self, token: &str) -> Verdict {
        let text = text(&self.folder, token);
        let here = serde_json::from_str::<Worker>(&text).ok().and_then(|worker| worker.is_here());
        if here == Some(false) {
            return Verdict::Dead;
        }
        // A process's file is removed after all its claims have been released, unless another process has taken it for dead.
        if text.is_empty() && self.seen.get(token).is_some_and(|seen| !seen.text.is_empty()) {
            return Verdict::Dead;
        }
        let now = Instant::now();
        let first = || Seen { text: text.clone(), since: now, changed: false };
        let seen = self.seen.entry(token.to_owned()).or_insert_with(first);
        if seen.text != text {
            *seen = Seen { changed: !seen.text.is_empty(), text, since: now };
        }
        match () {
            () if now - seen.since >= self.stale_after => Verdict::Dead,
            () if seen.changed || here == Some(true) => Verdict::Alive,
            () => Verdict::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(WORKERS)).unwrap();
        folder
    }

    /// A process of another computer, whose file only this test changes.
    fn elsewhere(beat: u64) -> Worker {
        let place = "another boot".to_owned();
        Worker { host: "n7".to_owned(), process: 1, place, beat, ..Worker::own("s", Some("2/8".to_owned())) }
    }

    #[test]
    fn a_process_of_another_computer_is_judged_by_changes_of_its_file_alone() {
        let root = folder();
        let path = root.path().join(WORKERS).join("t");
        let put = |beat: u64| fs::write(&path, serde_json::to_string(&elsewhere(beat)).unwrap()).unwrap();
        put(1);
        let mut watch = Watch::new(root.path(), Duration::from_millis(300));
        assert_eq!(watch.judge("t"), Verdict::Open);
        // A clock on the other computer that is a year ahead or behind changes nothing.
        for year in ["2001", "2051"] {
            let date = format!("{year}-01-01");
            assert!(
                std::process::Command::new("touch")
                    .args(["-d", &date])
                    .arg(&path)
                    .status()
                    .unwrap()
                    .success()
            );
            assert_eq!(watch.judge("t"), Verdict::Open);
        }
        put(2);
        assert_eq!(watch.judge("t"), Verdict::Alive);
        std::thread::sleep(Duration::from_millis(310));
        assert_eq!(watch.judge("t"), Verdict::Dead);
        put(3);
        assert_eq!(watch.judge("t"), Verdict::Alive, "it was only slow");
        fs::remove_file(&path).unwrap();
        assert_eq!(watch.judge("t"), Verdict::Dead, "someone has taken it for dead");
        assert_eq!(watch.judge("u"), Verdict::Open, "a file that may not be seen yet");
        std::thread::sleep(Duration::from_millis(310));
        assert_eq!(watch.judge("u"), Verdict::Dead, "a process without a file");
        assert_eq!(elsewhere(0).to_string(), "process 1 on n7, part 2/8");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_has_ended_on_this_computer_is_dead_at_once() {
        let root = folder();
        let path = root.path().join(WORKERS).join("t");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let began = began(child.id()).unwrap();
        let worker = Worker { process: child.id(), began, ..Worker::own("s", None) };
        fs::write(&path, serde_json::to_string(&worker).unwrap()).unwrap();
        let mut watch = Watch::new(root.path(), Duration::from_secs(1000));
        assert_eq!(watch.judge("t"), Verdict::Alive);
        child.kill().unwrap();
        while !worker.is_gone() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(watch.judge("t"), Verdict::Dead, "before anybody has waited for it");
        child.wait().unwrap();
        assert_eq!(watch.judge("t"), Verdict::Dead);
        assert!(
            Worker { began: began + 1, ..Worker::own("s", None) }.is_gone(),
            "the number is another's now"
        );
    }

    #[test]
    fn the_file_of_a_process_goes_with_it() {
        let root = folder();
        let presence = Presence::begin(root.path(), Worker::own("s", None)).unwrap();
        presence.count();
        assert_eq!(tokens(root.path()), [presence.token()]);
        let own = read(root.path(), presence.token()).unwrap();
        assert_eq!((own.process, own.is_gone()), (std::process::id(), false));
        drop(presence);
        assert!(tokens(root.path()).is_empty());
    }
}
