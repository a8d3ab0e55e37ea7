//! Runs without time: their reports, their results, and their ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use counterpoint_framework::kernel::Outcome;
use counterpoint_simulation::registry;
use counterpoint_simulation::run::{Progress, RunRequest, RunSummary, run};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// A run without time of an application that was copied into this folder, with one text replaced.
fn request_in(folder: &Path, name: &str, change: (&str, &str)) -> RunRequest {
    let from = root().join("experiments/applications").join(name);
    std::fs::copy(from.join("kernel.nvrtc-sm_35.ptx"), folder.join("kernel.nvrtc-sm_35.ptx")).unwrap();
    let text = std::fs::read_to_string(from.join(format!("{name}.yaml"))).unwrap();
    assert!(text.contains(change.0), "{}", change.0);
    let path = folder.join(format!("{name}.yaml"));
    std::fs::write(&path, text.replace(change.0, change.1)).unwrap();
    RunRequest {
        functional: true,
        folder: root(),
        sets: vec!["app.size=small".to_owned()],
        out: Some(folder.join("out")),
        ..RunRequest::new("tiny", path.display().to_string())
    }
}

fn run_request(request: &RunRequest, progress: &Progress) -> RunSummary {
    run(request, &Arc::new(registry()), progress).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn run_in(folder: &Path, name: &str, change: (&str, &str), progress: &Progress) -> RunSummary {
    run_request(&request_in(folder, name, change), progress)
}

#[test]
fn a_run_is_verified_and_counts_launches() {
    let folder = tempfile::tempdir().unwrap();
    let summary = run_in(folder.path(), "bfs", ("", ""), &Progress::default());
    assert!(summary.is_good() && !summary.checks.is_empty(), "{}", summary.ending());
    let launched = summary.launched.unwrap();
    assert!(launched.len() > 4 && launched[0].kernel == "visit" && launched[1].kernel == "advance");
    assert!(launched.iter().all(|launch| launch.ctas == 4 && launch.warp_instructions > 0));
    let read = |name: &str| std::fs::read_to_string(folder.path().join("out").join(name)).unwrap();
    let manifest = read("manifest.yaml");
    assert!(manifest.contains("functional: true") && !manifest.contains("time_ps"), "{manifest}");
    assert!(read("stats.txt").contains("kernels[visit#1].warp_insn"));
    assert_eq!(std::fs::metadata(folder.path().join("out/distance.s32")).unwrap().len(), 4 * 500);
}

#[test]
fn a_failure_names_kernel_block_warp_lane_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let change = ("distance, more, \"${nodes}\"]", "distance, more, \"${2 * nodes}\"]");
    let summary = run_in(folder.path(), "bfs", change, &Progress::default());
    assert!(matches!(summary.report.outcome, Outcome::Failed { .. }) && summary.partial);
    let ending = summary.ending();
    let expected = "bfs failed: visit#1, block (3, 0, 0), warp 3, lane 20: ";
    assert!(ending.starts_with(expected), "{ending}");
    let parts = ["/kernel.nvrtc-sm_35.ptx:", ", `ld.global.", "`: reads 1 byte at 0x"];
    assert!(parts.iter().all(|part| ending.contains(part)), "{ending}");
    let place = "outside of every buffer: right behind the end of `frontier` (500 bytes)";
    assert!(ending.ends_with(place), "{ending}");
    assert!(!folder.path().join("out/distance.s32").exists(), "no half of a result");
}

#[test]
fn a_loop_that_does_not_end_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let summary = run_in(folder.path(), "bfs", ("at_most: \"${nodes}\"", "at_most: 2"), &Progress::default());
    let expected = "after 2 rounds, its limit, it is not so that more[0] equals 0";
    assert!(summary.ending().contains(expected), "{}", summary.ending());
}

#[test]
fn an_interrupted_run_is_partial() {
    let folder = tempfile::tempdir().unwrap();
    let progress = Progress::interrupted_by(Arc::new(AtomicBool::new(true)));
    let summary = run_in(folder.path(), "bfs", ("", ""), &progress);
    assert!(matches!(summary.report.outcome, Outcome::Interrupted(_)) && summary.partial);
    assert_eq!(summary.ending(), "interrupted");
    assert!(!folder.path().join("out/distance.s32").exists(), "no half of a result");
}

#[test]
fn a_read_of_what_nobody_wrote_is_a_finding_and_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let change = ("copy_in: [starts, edges, frontier, found,", "copy_in: [starts, edges, frontier,");
    let summary = run_in(folder.path(), "bfs", change, &Progress::default());
    assert!(!summary.partial && !summary.is_good(), "{}", summary.ending());
    let [first, ..] = &summary.found[..] else { panic!("a finding") };
    let text = first.to_string();
    let expected = "uninitialised memory: advance#2, block (0, 0, 0), warp 0, lane 0: ";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains(" in `found` (500 bytes), not all of which have ever been written ("), "{text}");
    let manifest = std::fs::read_to_string(folder.path().join("out/manifest.yaml")).unwrap();
    assert!(manifest.contains("findings:\n- ") && manifest.contains(expected), "{manifest}");
    assert!(folder.path().join("out/distance.s32").exists(), "the run went on");
}

#[test]
fn a_kernel_that_touches_freed_memory_fails() {
    let folder = tempfile::tempdir().unwrap();
    let early = ("kernels:\n", "kernels:\n  - free: visited\n");
    let summary = run_in(folder.path(), "bfs", early, &Progress::default());
    let ending = summary.ending();
    assert!(ending.ends_with(" in `visited`, which was freed before the first launch"), "{ending}");
    let folder = tempfile::tempdir().unwrap();
    let late = ("copy_out:", "  - free: visited\ncopy_out:");
    let summary = run_in(folder.path(), "bfs", late, &Progress::default());
    assert!(summary.is_good(), "{}", summary.ending());
}

#[test]
fn the_machine_must_have_the_devices_and_their_memory() {
    for (buffer, expected) in [
        ("other: { type: u8, elements: 4, device: 3 }", "device 3 of 1 does not exist"),
        ("other: { type: u64, elements: 1000000000000 }", " bytes on device 0, which has room for "),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let change = ("buffers:\n", format!("buffers:\n  {buffer}\n"));
        let request = request_in(folder.path(), "bfs", (change.0, &change.1));
        let refused = run(&request, &Arc::new(registry()), &Progress::default()).err().unwrap();
        assert!(refused[0].to_string().contains(expected), "{}", refused[0]);
    }
}

#[test]
fn a_block_that_runs_in_circles_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let request = RunRequest { instruction_limit: 10, ..request_in(folder.path(), "bfs", ("", "")) };
    let ending = run_request(&request, &Progress::default()).ending();
    assert!(ending.starts_with("bfs failed: visit#1, block (0, 0, 0), warp "), "{ending}");
    assert!(ending.contains("more than 10 warp instructions and has not ended"), "{ending}");
}
