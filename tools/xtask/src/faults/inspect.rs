//! The files left behind by a fault, and their required properties.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::fault::Fault;
use super::scene::{Ended, Whole};

/// The manifest of a run, which comes last.
const MANIFEST: &str = "manifest.yaml";

/// The beginning of the line of `stats.txt` with the duration of the simulation.
const SECONDS: &[u8] = b"host_seconds ";

/// The files of a folder with their contents, but for speeds and other properties of the computer.
pub(super) fn files(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&next) else { continue };
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("speeds.csv") && !path.ends_with("speed.json") {
                let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                let is_text = path.ends_with("stats.txt");
                let lines = bytes.split_inclusive(|byte| *byte == b'\n');
                let kept = lines.filter(|line| !(is_text && line.starts_with(SECONDS)));
                let bytes = kept.flatten().copied().collect();
                found.insert(path.strip_prefix(folder).unwrap_or(&path).to_owned(), bytes);
            }
        }
    }
    Ok(found)
}

/// Checks that a command succeeded.
pub(super) fn succeeded(ended: &Ended) -> Result<(), String> {
    let Ended { status, err } = ended;
    if *status == Some(0) { Ok(()) } else { Err(format!("status {status:?}: {err}")) }
}

/// Checks that a command reported its error, and did not panic.
pub(super) fn ended_in_order(ended: &Ended, fault: &Fault) -> Result<(), String> {
    let Ended { status, err } = ended;
    let expected: &[Option<i32>] = match fault {
        Fault::Signal("-KILL", _) => &[None, Some(0)],
        // No handler is there yet when a signal comes at once.
        Fault::Signal(..) => &[Some(130), Some(0), None],
        Fault::Full(_) | Fault::Revoked(_) => &[Some(2), Some(0)],
    };
    if err.contains("panicked") || !expected.contains(status) {
        return Err(format!("status {status:?}: {err}"));
    }
    if *status == Some(2) && !err.contains("error: cannot write `") {
        return Err(format!("no word about what cannot be written: {err}"));
    }
    Ok(())
}

/// Checks that files equal those of the whole job.
pub(super) fn same(found: &BTreeMap<PathBuf, Vec<u8>>, whole: &Whole) -> Result<(), String> {
    if !found.keys().eq(whole.files.keys()) {
        let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        return Err(format!("files {:?} instead of {:?}", names(found), names(&whole.files)));
    }
    match found.iter().find(|(path, bytes)| whole.files[*path] != **bytes) {
        Some((path, _)) => Err(format!("`{}` is another one", path.display())),
        None => Ok(()),
    }
}

/// Checks that each file of a run under its final name is complete, and that the manifest lists the missing
/// files.
pub(super) fn run(
    folder: &Path,
    ended: &Ended,
    fault: &Fault,
    whole: &Whole,
) -> Result<&'static str, String> {
    let found = files(folder)?;
    let manifest = found.get(Path::new(MANIFEST)).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let is_partial = manifest.as_ref().is_some_and(|text| text.contains("\npartial: true\n"));
    // An interrupted run has files of its own; those of all others are the same, or not there.
    let interrupted = is_partial || manifest.is_none() && fault.asks();
    for (path, bytes) in &found {
        let name = path.to_string_lossy();
        if name.ends_with(".partial") || name == ".lock" || interrupted {
            continue;
        }
        let shortened =
            name == MANIFEST && manifest.as_ref().is_some_and(|text| text.contains("\nmissing:\n"));
        if !shortened && whole.files.get(path) != Some(bytes) {
            return Err(format!("`{name}` looks whole and is not"));
        }
    }
    let Some(manifest) = manifest else {
        return if ended.status == Some(0) {
            Err("it said that all went well".to_owned())
        } else {
            Ok("no manifest")
        };
    };
    if !manifest.contains("\nchecks:") {
        return Err("the manifest is cut off".to_owned());
    }
    if is_partial {
        return if fault.asks() { Ok("marked as partial") } else { Err("partial for no reason".to_owned()) };
    }
    let lacking: Vec<_> = whole.files.keys().filter(|path| !found.contains_key(*path)).collect();
    let told = |path: &&&PathBuf| !manifest.contains(&format!("\n- {}\n", path.display()));
    match lacking.iter().find(told) {
        Some(path) => Err(format!("`{}` is missing, and the manifest does not say so", path.display())),
        None if lacking.is_empty() => Ok("whole"),
        None => Ok("marked as missing files"),
    }
}

/// Checks that each finished point of a study equals that of the whole study.
pub(super) fn study(folder: &Path, fault: &Fault, whole: &Whole) -> Result<&'static str, String> {
    let found = files(folder)?;
    let is_finished =
        |path: &Path| path.starts_with("points") && !path.to_string_lossy().contains(".unfinished/");
    for (path, bytes) in found.iter().filter(|(path, _)| is_finished(path)) {
        let half = path.to_string_lossy().ends_with(".partial");
        if half || whole.files.get(path) != Some(bytes) {
            return Err(format!("`{}` of a finished point is not whole ({fault:?})", path.display()));
        }
    }
    Ok(if same(&found, whole).is_ok() { "whole" } else { "some points" })
}
