//! Timing beside other measurements: GPGPU-Sim's figures for the reference kernels, within limits, and this
//! simulator's earlier figures for small runs, to the cycle.
//!
//! `BLESS=1 cargo test -p counterpoint-tests validation` writes the cycles of today into `experiments/validation/pinned.txt`.
//! Read the difference before you commit it: a change of timing has a reason.

use std::fmt::Write;
use std::sync::Arc;

use counterpoint_experiments::validation::{Measured, Row, spread, validate};
use counterpoint_framework::model::StatValue;
use counterpoint_simulation::find::ProjectFiles;
use counterpoint_simulation::registry;

use crate::support::{assert_verified, request, root, run_request};

/// The small runs: application and setting.
const SMALL: [(&str, &str); 7] = [
    ("probe-chains", "app.size=default"),
    ("probe-chase", "app.size=l1"),
    ("probe-chase", "app.size=l2"),
    ("probe-chase", "app.size=dram"),
    ("reference-vecadd", "app.n=65536"),
    ("reference-matmul", "app.size=small"),
    ("reference-stencil", "app.size=small"),
];

#[test]
fn small_runs_take_the_cycles_that_they_took() {
    let mut found = String::new();
    for machine in ["gtx480", "titanx-sm6"] {
        for (application, set) in SMALL {
            let sets: &[&str] = if set == "app.size=default" { &[] } else { &[set] };
            let summary = run_request(&request(machine, application, sets));
            assert_verified(&summary);
            let launches =
                summary.report.stats.iter().filter(|row| {
                    row.path.contains("scheduler.kernels[") && row.label.name == "gpu_sim_cycle"
                });
            let cycles: Vec<String> = launches
                .map(|row| match row.value {
                    StatValue::Count(count) => count.to_string(),
                    _ => panic!("a count"),
                })
                .collect();
            assert!(!cycles.is_empty(), "{application} has launches");
            writeln!(found, "{machine} {application} {set}: {}", cycles.join(" ")).unwrap();
        }
    }
    let path = root().join("experiments/validation/pinned.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let pinned = std::fs::read_to_string(&path).unwrap();
    for (pinned, found) in pinned.lines().zip(found.lines()) {
        assert_eq!(pinned, found, "a change of timing; see the head of this file");
    }
    assert_eq!(pinned.lines().count(), found.lines().count());
}

/// Kernels that take long in unoptimised builds: `counterpoint validate` runs all of them, in continuous integration too.
const LONG: [&str; 12] = [
    "reference-bfs",
    "reference-conv-rows",
    "reference-lu-panel",
    "reference-mandelbrot",
    "reference-mandelbrot-f64",
    "reference-matmul-naive",
    "reference-matmul-shared",
    "reference-reduction",
    "reference-sad4x4",
    "reference-stencil",
    "reference-stencil3d",
    "reference-vector-add",
];

/// Two more that most tests leave out: they issue three quarters of the instructions of the rest.
const LARGE: [&str; 2] = ["reference-matmul", "reference-vecadd"];

/// Runs the kernels that were measured of a machine, but for some and the long ones, and its latencies: at least `least` figures.
fn compared(machine: &str, without: &[&str], least: usize) -> Vec<Row> {
    let mut measured = Measured::read(&ProjectFiles::new(&root(), &registry())).unwrap();
    measured.machines.retain(|one| one.machine == machine);
    measured.machines[0].kernels.retain(|kernel| {
        let name = kernel.application.as_str();
        !LONG.contains(&name) && !without.contains(&name)
    });
    let validation = validate(&measured, None, &root(), &Arc::new(registry()));
    let rows = validation.unwrap_or_else(|errors| panic!("{}", errors[0])).rows;
    assert!(rows.len() >= least, "{machine}: {} rows only", rows.len());
    rows
}

/// Every figure that is off has a cause, and every cause a figure that is off. Cycles are close on average.
fn assert_close(rows: &[Row]) {
    for row in rows {
        assert_eq!(row.is_off(), row.cause.is_some(), "{row:?}");
    }
    if let Some((mean, worst)) = spread(rows.iter().filter(|row| row.counts())) {
        assert!(mean <= 0.06 && worst <= 0.15, "cycles are {mean} apart on average, {worst} at worst");
    }
}

#[test]
fn the_gtx_480_is_close_to_gpgpu_sim() {
    assert_close(&compared("gtx480", &LARGE, 40));
}

#[test]
fn the_titan_x_is_close_to_gpgpu_sim() {
    assert_close(&compared("titanx-sm6", &LARGE, 40));
}

#[test]
fn the_gtx_titan_is_close_to_gpgpu_sim() {
    assert_close(&compared("kepler-titan", &[], 20));
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn the_gtx_480_is_close_to_gpgpu_sim_with_large_kernels() {
        assert_close(&compared("gtx480", &[], 56));
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn the_titan_x_is_close_to_gpgpu_sim_with_large_kernels() {
        assert_close(&compared("titanx-sm6", &[], 52));
    }

    /// Blocks of `reference-mandelbrot` differ in length, and its last ones decide when it ends: a latency that hardly matters moves its end, and
    /// not the work.
    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn the_end_of_unequal_blocks_is_a_matter_of_their_order() {
        let runs = [33, 34, 35, 36, 37].map(|latency| {
            let set = format!("gpu.sm.l1d.latency={latency} cycles");
            let summary = run_request(&request("gtx480", "reference-mandelbrot", &[&set]));
            assert_verified(&summary);
            let count = |path: &str, name: &str| -> u64 {
                let rows = summary.report.stats.iter();
                let own = rows.filter(|row| row.path.contains(path) && row.label.name == name);
                own.map(|row| if let StatValue::Count(count) = row.value { count } else { 0 }).sum()
            };
            [count("scheduler.kernels[", "gpu_sim_cycle"), count("gpu.sm[", "active_cycles")]
        });
        let spread = |place: usize| {
            let values = runs.map(|run| run[place] as f64);
            values.iter().copied().fold(0.0, f64::max) / values.iter().copied().fold(f64::MAX, f64::min)
        };
        assert!(spread(0) > 1.15 && spread(1) < 1.03, "{runs:?}");
    }
}
