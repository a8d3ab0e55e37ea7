//! Runs without time: what they tell, what they leave, and how they end.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use counterpoint_experiments::registry;
use counterpoint_experiments::run::{Progress, RunRequest, RunSummary, run};
use counterpoint_framework::kernel::Outcome;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A run without time of an application that was copied into this folder, with one text replaced.
fn run_in(folder: &Path, name: &str, change: (&str, &str), progress: &Progress) -> RunSummary {
    let from = root().join("experiments/applications").join(name);
    std::fs::copy(from.join("kernel.nvrtc-sm_35.ptx"), folder.join("kernel.nvrtc-sm_35.ptx")).unwrap();
    let text = std::fs::read_to_string(from.join(format!("{name}.yaml"))).unwrap();
    assert!(text.contains(change.0), "{}", change.0);
    let path = folder.join(format!("{name}.yaml"));
    std::fs::write(&path, text.replace(change.0, change.1)).unwrap();
    let request = RunRequest {
        functional: true,
        folder: root(),
        sets: vec!["app.size=small".to_owned()],
        out: Some(folder.join("out")),
        ..RunRequest::new("tiny", path.display().to_string())
    };
    run(&request, &Arc::new(registry()), progress).unwrap_or_else(|errors| panic!("{errors:?}"))
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
    assert!(read("stats.txt").contains("visit #1.warp_insn"));
    assert_eq!(std::fs::metadata(folder.path().join("out/distance.s32")).unwrap().len(), 4 * 500);
}

#[test]
fn a_failure_names_kernel_block_warp_lane_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let change = ("distance, more, \"${nodes}\"]", "distance, more, \"${2 * nodes}\"]");
    let summary = run_in(folder.path(), "bfs", change, &Progress::default());
    assert!(matches!(summary.report.outcome, Outcome::Failed { .. }) && summary.partial);
    let ending = summary.ending();
    let expected = "bfs failed: visit #1, block (3, 0, 0), warp 3, lane 20: PTX line ";
    assert!(ending.starts_with(expected), "{ending}");
    assert!(
        ending.contains("accesses 1 bytes at ") && ending.ends_with("outside of every buffer"),
        "{ending}"
    );
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
