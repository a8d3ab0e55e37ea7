//! Timing beside other measurements: what GPGPU-Sim says of the reference kernels, within limits, and what this simulator said
//! of small runs before, to the cycle.
//!
//! `BLESS=1 cargo test -p counterpoint-tests validation` writes the cycles of today into `experiments/validation/pinned.txt`.
//! Read the difference before you commit it: a change of timing has a reason.

use std::fmt::Write;
use std::sync::Arc;

use counterpoint_experiments::registry;
use counterpoint_experiments::validation::{Measured, Row, spread, validate};
use counterpoint_framework::model::StatValue;

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

/// Runs what was measured of one machine, so many figures at least.
fn compared(machine: &str, least: usize) -> Vec<Row> {
    let mut measured = Measured::read(&root()).unwrap();
    measured.machines.retain(|one| one.machine == machine);
    let validation = validate(&measured, &root(), &Arc::new(registry()));
    let rows = validation.unwrap_or_else(|errors| panic!("{}", errors[0])).rows;
    assert!(rows.len() >= least, "{machine}: {} rows only", rows.len());
    rows
}

/// Asserts the limits of every figure, but for those whose difference is known and explained in `DEVIATIONS.md`.
fn assert_close(rows: &[Row], known: &[(&str, &str)]) {
    let accesses = |of: &str| {
        let found = rows.iter().find(|row| row.of == of && row.quantity == "l2_accesses");
        found.map_or(0.0, |row| row.theirs)
    };
    for row in rows {
        let limit = match &*row.quantity {
            _ if row.of == "latency" => 0.1 * row.theirs,
            "warp_insn" | "gpu_sim_insn" | "l1_accesses" => 0.0,
            "cycles" => 0.3 * row.theirs,
            // A hundredth of the accesses is nothing, where all find their data in the L2.
            _ => (0.05 * row.theirs).max(0.01 * accesses(&row.of)),
        };
        let close = (row.ours - row.theirs).abs() <= limit;
        let is_known = known.contains(&(&row.of, &row.quantity));
        assert_eq!(close, !is_known, "{row:?}, limit {limit}");
    }
    if let Some((mean, _)) = spread(rows.iter().filter(|row| row.quantity == "cycles")) {
        assert!(mean <= 0.15, "cycles are {mean} apart on average");
    }
}

#[test]
fn the_gtx_480_is_close_to_gpgpu_sim() {
    assert_close(&compared("gtx480", 25), &[]);
}

#[test]
fn the_titan_x_is_close_to_gpgpu_sim() {
    let evictions = [("reference-stencil", "dram_reads"), ("reference-stencil", "dram_writes")];
    assert_close(&compared("titanx-sm6", 25), &evictions);
}

#[test]
fn the_gtx_titan_is_close_to_gpgpu_sim() {
    // GPGPU-Sim's register file works twice a cycle there.
    let chains = ["add.s32", "mul.f32", "mad.lo.s32", "fma.f32"].map(|chain| ("latency", chain));
    assert_close(&compared("kepler-titan", 9), &chains);
}
