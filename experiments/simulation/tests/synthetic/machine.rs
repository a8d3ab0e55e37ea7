//! A run without time is the reference of a run on a machine: the same bytes in all buffers, the same counts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use counterpoint_simulation::registry;
use counterpoint_simulation::run::{Progress, RunRequest, RunSummary, run};

/// The page on applications, whose example runs here.
const PAGE: &str = include_str!("../../../applications/README.md");

fn example() -> &'static str {
    let example = PAGE.split("```").find_map(|block| block.strip_prefix("yaml\n")?.strip_prefix(HEAD));
    example.expect("the page has an application")
}

const HEAD: &str = "counterpoint: 1\napplication: mixed\n";

fn run_in(folder: &Path, functional: bool) -> RunSummary {
    let out = folder.join(if functional { "functional" } else { "timed" });
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned();
    let path: PathBuf = folder.join("mixed.yaml");
    let request = RunRequest {
        functional,
        folder: root,
        out: Some(out),
        ..RunRequest::new("tiny", path.display().to_string())
    };
    let summary = run(&request, &Arc::new(registry()), &Progress::default());
    summary.unwrap_or_else(|errors| panic!("{errors:?}"))
}

#[test]
fn a_machine_leaves_the_same_bytes_and_counts_as_a_run_without_time() {
    for pattern in [
        "sequential",
        "{ strided: { stride: 516 B } }",
        "random",
        "{ hot-set: { hot: 4 KiB, share: 0.75 } }",
        "{ tile: { size: 1 KiB } }",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let given = "pattern: { hot-set: { hot: 4 KiB, share: 0.75 } }";
        assert!(example().contains(given));
        let text = HEAD.to_owned() + &example().replace(given, &format!("pattern: {pattern}"));
        std::fs::write(folder.path().join("mixed.yaml"), text).unwrap();
        let (functional, timed) = (run_in(folder.path(), true), run_in(folder.path(), false));
        assert!(functional.found.is_empty() && !timed.partial, "{pattern}: {}", timed.ending());
        for file in ["written.u32", "digests.u32"] {
            let read = |run: &str| std::fs::read(folder.path().join(run).join(file)).unwrap();
            assert!(read("functional") == read("timed"), "{pattern}: {file} differs");
        }
        let count = |summary: &RunSummary| {
            let found = summary.figures.counts.iter().find(|(name, _)| *name == "warp instructions");
            found.map(|(_, count)| *count)
        };
        assert!(count(&functional).is_some());
        assert_eq!(count(&functional), count(&timed), "{pattern}");
    }
}
