//! Studies that are ended from outside, by a signal that can be handled and by one that cannot.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub(crate) const POINTS: usize = 24;

/// Writes a study of 24 points, with its applications, into the folder.
pub(crate) fn write_study(folder: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in ["vecadd", "hotspot"] {
        let from = root.join("experiments/applications").join(name);
        let to = folder.join(name);
        std::fs::create_dir_all(&to).unwrap();
        for file in [format!("{name}.yaml"), "kernel.nvrtc-sm_35.ptx".to_owned()] {
            std::fs::copy(from.join(&file), to.join(&file)).unwrap();
        }
    }
    let text = format!(
        "counterpoint: 1\nstudy: ended\nmachine: tiny\n\
         applications: {{ v: {{ of: {0}/vecadd/vecadd.yaml }}, h: {{ of: {0}/hotspot/hotspot.yaml, set: {{ app.launches: 20 }} }} }}\n\
         scales: {{ small: {{ size: small }} }}\n\
         vary: {{ gpu.sms: [1, 2, 3] }}\nseeds: [1, 2]\n\
         runs: {{ lrr: {{ gpu.sm.warp_scheduler: lrr }}, gto: {{ gpu.sm.warp_scheduler: gto }} }}\n\
         columns: {{ gain: lrr.time / time }}\n\
         figures: [{{ title: Gain, kind: grouped-bars, x: application, y: gain, series: run }}]\n",
        folder.display()
    );
    let file = folder.join("ended.yaml");
    std::fs::write(&file, text).unwrap();
    file
}

pub(crate) fn study(file: &Path, out: &Path) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_counterpoint"));
    command.current_dir(root).arg("study").arg(file).args(["--jobs", "2", "--out"]).arg(out);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Folders of finished points.
pub(crate) fn finished(out: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(out.join("points")) else { return 0 };
    let whole = entries.filter_map(Result::ok).filter(|entry| entry.path().join("result.json").exists());
    whole.filter(|entry| !entry.file_name().to_string_lossy().ends_with(".unfinished")).count()
}

/// Sends a signal to a study when a third of it is done.
fn end(file: &Path, out: &Path, signal: &str) -> (Option<i32>, usize) {
    let mut child: Child = study(file, out).spawn().unwrap();
    while finished(out) < POINTS / 3 {
        assert!(child.try_wait().unwrap().is_none(), "the study is not over yet");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let status = child.wait().unwrap().code();
    (status, finished(out))
}

/// The files of a study's folder with their contents, but for those that tell how fast it was.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("speeds.csv") && !path.ends_with("speed.json") {
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_study_that_is_killed_or_interrupted_goes_on_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_study(folder.path());
    let whole = folder.path().join("whole");
    let done = study(&file, &whole).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(finished(&whole), POINTS);
    for (signal, expected) in [("-KILL", None), ("-INT", Some(130))] {
        let out = folder.path().join(signal);
        let (status, before) = end(&file, &out, signal);
        assert_eq!(status, expected);
        assert!((POINTS / 3..POINTS).contains(&before), "{before} points were done");
        let rest = study(&file, &out).output().unwrap();
        let text = String::from_utf8_lossy(&rest.stdout).into_owned();
        assert!(rest.status.success(), "{text}{}", String::from_utf8_lossy(&rest.stderr));
        assert!(
            text.contains(&format!("{} have run, {before} were there, 0 failed", POINTS - before)),
            "{text}"
        );
        let (ours, theirs) = (files(&out), files(&whole));
        assert!(ours.keys().eq(theirs.keys()), "{signal}: other files");
        let differ: Vec<_> =
            ours.iter().filter(|(path, bytes)| theirs[*path] != **bytes).map(|(path, _)| path).collect();
        assert!(differ.is_empty(), "{signal}: {differ:?}");
    }
}
