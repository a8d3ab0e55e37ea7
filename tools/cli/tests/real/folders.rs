//! Runs side by side: whatever they share, no result of one is mixed with another's.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::real::{ENDLESS, out, run};

/// Exit status of a finished command, and its output on standard error.
fn ended(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn runs_that_begin_together_make_their_input_once() {
    // A copy of the application, whose input is not there.
    let folder = tempfile::tempdir().unwrap();
    let options = ["--functional", "--set", "app.n=512", "--set", "app.launches=1"];
    let own = run(folder.path(), "hotspot", &options);
    let words: Vec<_> = own.get_args().take_while(|word| *word != "--out").collect();
    let start = |number: usize| {
        let mut command = Command::new(own.get_program());
        command
            .current_dir(own.get_current_dir().unwrap())
            .args(&words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.arg("--out").arg(folder.path().join(format!("out{number}"))).spawn().unwrap()
    };
    let running: Vec<_> = (0..6).map(start).collect();
    let ended: Vec<_> = running.into_iter().map(|child| ended(&child.wait_with_output().unwrap())).collect();
    assert!(ended.iter().all(|(status, _)| *status == Some(0)), "{ended:?}");
    let made = ended.iter().filter(|(_, err)| err.contains("temperature_512.f32 did not exist")).count();
    assert_eq!(made, 1, "{ended:?}");
    let data = std::fs::read_dir(folder.path().join("data")).unwrap();
    let mut names: Vec<_> = data.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["power_512.f32", "temperature_512.f32"]);
}

#[test]
fn a_folder_that_is_in_use_is_refused_and_free_when_its_run_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = run(folder.path(), "hotspot", &ENDLESS).spawn().unwrap();
    while !out(folder.path()).join(".lock").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let short = ["--set", "app.n=32", "--set", "app.launches=1"];
    let (status, err) = ended(&run(folder.path(), "hotspot", &short).output().unwrap());
    assert_eq!(status, Some(2));
    let holder = format!("another run writes there (process {})", child.id());
    assert!(err.starts_with("error: cannot write `") && err.contains(&holder), "{err}");
    child.kill().unwrap();
    child.wait().unwrap();
    let (status, err) = ended(&run(folder.path(), "hotspot", &short).output().unwrap());
    assert_eq!((status, err.as_str()), (Some(0), ""));
}

/// A run into the default folder of a working directory.
fn by_default(folder: &Path, set: &str) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_counterpoint"));
    command.current_dir(folder).arg("run").arg(root.join("topologies/systems/tiny.yaml"));
    command.arg(root.join("experiments/applications/hotspot/hotspot.yaml"));
    command
        .args(["--set", "app.size=small", "--quiet", "--set", set])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[test]
fn settings_do_not_replace_each_other_in_the_default_folder() {
    let folder = tempfile::tempdir().unwrap();
    let sets = ["gpu.sm.warp_scheduler=lrr", "gpu.sm.warp_scheduler=gto"];
    let time_and_scheduler = |name: &str| {
        let read = |file: &str| {
            std::fs::read_to_string(folder.path().join("out/tiny").join(name).join(file)).unwrap()
        };
        let time = read("manifest.yaml").lines().find(|line| line.starts_with("time_ps")).unwrap().to_owned();
        (time, read("machine.yaml").contains("warp_scheduler: lrr"))
    };
    let mut alone = Vec::new();
    for set in sets {
        let (status, err) = ended(&by_default(folder.path(), set).output().unwrap());
        assert_eq!(status, Some(0), "{err}");
        alone.push(err.contains("those of this run are in `out/tiny/hotspot-2`"));
    }
    assert_eq!(alone, [false, true]);
    let [lrr, gto] = ["hotspot", "hotspot-2"].map(time_and_scheduler);
    assert!(lrr.1 && !gto.1 && lrr.0 != gto.0, "{lrr:?} {gto:?}");
    // Each goes to its own once more, and so do both at a time in an empty folder.
    for _ in 0..3 {
        let running = sets.map(|set| by_default(folder.path(), set).spawn().unwrap());
        let statuses = running.map(|child| child.wait_with_output().unwrap().status.code());
        assert_eq!(statuses, [Some(0); 2]);
        let mut found = ["hotspot", "hotspot-2"].map(time_and_scheduler);
        found.sort_by_key(|(_, is_lrr)| !is_lrr);
        assert_eq!(found, [lrr.clone(), gto.clone()]);
        std::fs::remove_dir_all(folder.path().join("out")).unwrap();
    }
}
