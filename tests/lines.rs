//! Machines whose caches have lines of 32 to 256 bytes: the results are right, and the same on several threads.

use counterpoint_framework::kernel::Sharing;
use counterpoint_simulation::run::RunRequest;

use crate::support::{assert_verified, refusal, request, run_request};

/// A run on the small machine with lines of a size.
fn with_lines(bytes: u32, application: &str, sets: &[&str]) -> RunRequest {
    let line = format!("gpu.line={bytes} B");
    let sets = [&[line.as_str(), "gpu.sm.l1d.set_index=linear"], sets].concat();
    RunRequest { hash: true, ..request("tiny", application, &sets) }
}

#[test]
fn results_are_right_and_have_one_hash_for_each_size() {
    // Stencils, gathers, atomics, local memory, and constants.
    let programs: [(&str, &[&str]); 5] = [
        ("hotspot", &["app.n=40", "app.launches=2"]),
        ("spmv", &["app.rows=300", "app.columns=200", "app.fewest=0", "app.most=9"]),
        ("histogram", &["app.n=6000", "app.parts=3"]),
        ("reference-local-array", &["app.blocks=2"]),
        ("convolution-constant", &["app.n=1000"]),
    ];
    for (application, sets) in programs {
        let mut ends = Vec::new();
        for bytes in [32, 64, 128, 256] {
            let one = with_lines(bytes, application, sets);
            let two = RunRequest { threads: 2, sharing: Sharing::Always, ..one.clone() };
            let first = run_request(&one);
            assert_verified(&first);
            let second = run_request(&two);
            assert_eq!(first.report.hash, second.report.hash, "{application}, {bytes} B");
            ends.push(first.report.hash);
        }
        ends.sort_unstable();
        ends.dedup();
        assert_eq!(ends.len(), 4, "{application}: each size has its own times");
    }
}

#[test]
fn lines_that_do_not_fit_are_refused_before_the_run() {
    for (sets, cause) in [
        (&["gpu.line=96 B"][..], "line must be a power of two"),
        (&["gpu.line=16 B"], "32 B"),
        (&["gpu.line=256 B", "gpu.interleave=128 B"], "lines of 256 B would be split"),
        (&["gpu.line=256 B"], "fermi-hash is for 32 or 64 sets, and these are 16"),
        (&["gpu.line=64 B", "gpu.l2.sector=128 B"], "a sector of 128 B is more than a line of 64 B"),
    ] {
        let refused = refusal(&request("tiny", "vecadd", sets));
        assert!(refused.contains(cause), "{sets:?}: {refused}");
    }
}
