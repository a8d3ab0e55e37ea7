//! Memory use of a run on this machine: at most one and a half times the bytes that it touches on host and
//! devices, and 50 MB.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Runs a command and gives the most memory that it had, in bytes.
fn peak(mut command: Command) -> u64 {
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
        most = most.max(peak.map_or(0, |kib| kib.parse::<u64>().unwrap() * 1024));
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    most
}

#[track_caller]
fn assert_bounded(command: Command, touched: u64) {
    let (peak, limit) = (peak(command), touched * 3 / 2 + 50_000_000);
    assert!(peak <= limit, "{:.1} MB, more than {:.1} MB", peak as f64 * 1e-6, limit as f64 * 1e-6);
}

/// A run of `vecadd`, and the bytes that it touches: three vectors on the host and on the device.
fn vecadd(folder: &Path, elements: u64, options: &[&str]) -> (Command, u64) {
    let n = format!("app.n={elements}");
    let mut all = vec!["--set", &n, "--set", "gpu.memory=256 MiB"];
    all.extend(options);
    (super::run(folder, "vecadd", &all), 2 * 3 * 4 * elements)
}

#[test]
fn a_run_without_time_takes_what_it_touches() {
    let folder = tempfile::tempdir().unwrap();
    let (command, touched) = vecadd(folder.path(), 4_000_000, &["--functional"]);
    assert_bounded(command, touched);
}

#[test]
fn a_run_with_time_takes_what_it_touches() {
    let folder = tempfile::tempdir().unwrap();
    let (command, touched) = vecadd(folder.path(), 2_000_000, &[]);
    assert_bounded(command, touched);
}

#[test]
fn what_is_not_touched_takes_nothing() {
    let tiny = ["--functional --racecheck", "--functional", ""].map(|options| ("tiny", options));
    // The machine of a paper whose memory is a run of bytes.
    let of_papers = cfg!(feature = "papers").then_some(("titanx-maxwell-model", ""));
    for (machine, options) in tiny.into_iter().chain(of_papers) {
        let folder = tempfile::tempdir().unwrap();
        let mut more = vec!["--set", "gpu.memory=16 GiB"];
        more.extend(options.split_whitespace());
        let command = super::run_on(machine, folder.path(), "vecadd", &more);
        let path = folder.path().join("vecadd.yaml");
        let text = std::fs::read_to_string(&path).unwrap();
        // Five gigabytes in front of the vectors that nobody reads or writes.
        let far = text.replacen("buffers:\n", "buffers:\n  pad: { type: u8, elements: 5368709120 }\n", 1);
        std::fs::write(&path, far).unwrap();
        assert_bounded(command, 2 * 3 * 4 * 10_000);
    }
}
