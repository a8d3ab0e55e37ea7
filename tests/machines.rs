//! Whole machines run whole applications with right results.

use counterpoint_framework::time::SimTime;
use counterpoint_simulation::find::{Sort, list};
use counterpoint_simulation::registry;

use crate::support::{assert_verified, in_dialect, request, root, run_request};

#[test]
fn hotspot_runs_on_the_tiny_machine_in_both_dialects() {
    let nvrtc = run_request(&request("tiny", "hotspot", &["app.n=64", "app.launches=4"]));
    assert_verified(&nvrtc);
    let folder = tempfile::tempdir().unwrap();
    let clang = in_dialect(folder.path(), "hotspot", "clang-sm_35");
    assert_verified(&run_request(&request("tiny", &clang, &["app.n=64", "app.launches=4"])));
}

#[test]
fn every_machine_runs_a_small_application() {
    let machines = list(Sort::Machine, &root(), &registry());
    assert!(machines.len() >= 11, "the walk found {machines:?} only");
    for machine in machines {
        assert_verified(&run_request(&request(&machine, "vecadd", &["app.size=small"])));
    }
}

#[test]
fn two_gpus_each_do_their_half() {
    let summary = run_request(&request("two-gpus", "vecadd-two-devices", &[]));
    assert_verified(&summary);
    assert_eq!(summary.checks.len(), 2);
    let ctas = |path: &str| {
        let row = summary.report.stats.iter().find(|row| row.path == path && row.label.name == "ctas");
        format!("{:?}", row.unwrap().value)
    };
    assert_eq!(
        (ctas("gpu[0].scheduler"), ctas("gpu[1].scheduler")),
        ("Count(64)".into(), "Count(64)".into())
    );
}

#[test]
fn a_gpu_beside_the_cpu_needs_no_pcie() {
    let summary = run_request(&request("integrated", "vecadd", &["app.n=20000"]));
    assert_verified(&summary);
    let discrete = run_request(&request("tiny", "vecadd", &["app.n=20000"]));
    assert_verified(&discrete);
    let copies = |summary: &counterpoint_simulation::run::RunSummary| {
        let phase = summary.report.trace.spans.iter().find(|span| span.name == "H2D").unwrap();
        phase.end - phase.start
    };
    assert!(copies(&summary) < copies(&discrete), "the bus is shorter than PCIe");
}

#[test]
fn phases_take_what_bandwidths_say_and_do_not_overlap() {
    let sets = ["app.n=128", "app.launches=2", "pcie.header=0 B"];
    let summary = run_request(&request("tiny", "hotspot", &sets));
    assert_verified(&summary);
    let span = |name: &str| summary.report.trace.spans.iter().find(|span| span.name == name).unwrap();
    let close = |found: SimTime, bytes: f64, rate: f64, slack_ns: f64| {
        let (found, expected) = (found.as_secs_f64() * 1e9, bytes / rate * 1e9);
        assert!(found >= expected && found < expected + slack_ns, "{found} ns, expected {expected} ns");
    };
    let bytes = f64::from(128 * 128 * 4);
    let phase = |name: &str| span(name).end - span(name).start;
    close(phase("prelude"), 2.0 * bytes, 500e6, 2_000.0);
    close(phase("postlude"), bytes, 500e6, 2_000.0);
    close(phase("D2H"), bytes, 15.75e9, 5_000.0);
    close(phase("H2D"), 2.0 * bytes, 15.75e9, 10_000.0);
    // The runtime `serial` overlaps no phases.
    let order = ["prelude", "H2D", "kernels", "D2H", "postlude"];
    for pair in order.windows(2) {
        assert!(span(pair[0]).end <= span(pair[1]).start, "{} overlaps {}", pair[0], pair[1]);
    }
    let kernels: Vec<_> =
        summary.report.trace.spans.iter().filter(|span| span.name.starts_with("hotspot#")).collect();
    assert_eq!(kernels.len(), 2);
    assert!(kernels[0].start >= span("H2D").end && kernels[0].end <= kernels[1].start);
    assert!(kernels[1].end <= span("D2H").start);
}

#[test]
fn a_plain_gpu_has_no_part_of_an_extension() {
    let resolved = crate::cli::call(&["resolve", "gtx480"]);
    assert!(resolved.out.contains("gpu/cta-scheduler"), "{}{}", resolved.out, resolved.err);
    for part in ["gpu/mmu", "allocator", "labels", "pages", "owners"] {
        assert!(!resolved.out.contains(part), "{part} is there");
    }
}
