//! Ctrl-C, as a real signal to a real process.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// Hotspot on the tiny machine for as long as nobody ends it.
fn start(folder: &Path) -> Child {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let application = root.join("experiments/applications/hotspot");
    for file in ["hotspot.yaml", "kernel.nvrtc-sm_35.ptx"] {
        std::fs::copy(application.join(file), folder.join(file)).unwrap();
    }
    Command::new(env!("CARGO_BIN_EXE_counterpoint"))
        .current_dir(root)
        .args(["run", "tiny"])
        .arg(folder.join("hotspot.yaml"))
        .args(["--set", "app.n=32", "--set", "app.launches=100000000", "--out"])
        .arg(out(folder))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn out(folder: &Path) -> PathBuf {
    folder.join("out")
}

/// Sends a signal; whether there was a process to take it.
fn signal(child: &Child, name: &str) -> bool {
    Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success()
}

#[test]
fn ctrl_c_ends_a_run_with_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(folder.path());
    // The folder is made right before the simulation begins, and the handler is set long before.
    while !out(folder.path()).exists() {
        assert!(child.try_wait().unwrap().is_none(), "the run does not end by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(signal(&child, "-INT"));
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert_eq!(status.code(), Some(130), "{stdout}{stderr}");
    assert!(stderr.contains("interrupted: the results so far are partial"), "{stderr}");
    assert!(stdout.contains("interrupted at "), "{stdout}");
    let read = |name: &str| std::fs::read_to_string(out(folder.path()).join(name)).expect(name);
    assert!(read("manifest.yaml").contains("partial: true"));
    assert!(read("manifest.yaml").contains("outcome: interrupted at "), "{}", read("manifest.yaml"));
    assert!(read("stats.txt").contains("(partial)"));
    for name in ["stats.json", "spans.perfetto.json", "machine.yaml"] {
        assert!(!read(name).is_empty(), "{name}");
    }
    assert!(!out(folder.path()).join("temperature_out.f32").exists(), "no output looks complete");
}
