//! Other processes in the folder of a study: processes that must not work at the same time, and files left by
//! processes that have ended.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use counterpoint_simulation::output::{WriteError, remove_halves};

use super::worker::{self, BEAT, Verdict, Watch, Worker};
use super::{FAILED, POINTS, UNFINISHED, claim};

/// Locks the folder of a study, where the file system has locks.
pub(super) fn lock(path: &Path, shared: bool) -> io::Result<File> {
    let lock = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    match if shared { lock.try_lock_shared() } else { lock.try_lock() } {
        Err(TryLockError::WouldBlock) => Err(io::Error::other(match shared {
            true => "another `counterpoint study`, which runs it alone, is at work in this folder",
            false => "another `counterpoint study` is at work in this folder",
        })),
        _ => Ok(lock),
    }
}

/// Removes files left by processes that have ended.
pub(super) fn clear(folder: &Path) -> Result<(), WriteError> {
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

/// Checks the processes at work in the folder, and refuses to join if they work at another study.
pub(super) fn meet(folder: &Path, own: &Worker, token: &str, watch: &mut Watch) -> io::Result<()> {
    let tokens = worker::tokens(folder).into_iter().filter(|other| other != token);
    for other in tokens {
        while let Some(worker) = worker::read(folder, &other).filter(|other| other.study != own.study) {
            match watch.judge(&other) {
                Verdict::Open => std::thread::sleep(BEAT / 10),
                // The dead process's file is needed until its claims are taken over.
                Verdict::Dead => break,
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
