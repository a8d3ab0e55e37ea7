//! The studies at their smallest scale, and pairs of kernels on one machine.

use counterpoint_cli::SUCCESS;
use counterpoint_tests::command::call;
use counterpoint_tests::points::assert_sound;

const BOTH: [&str; 5] = ["first", "second", "both", "first_round", "second_round"];

#[test]
fn every_study_can_be_run_and_its_points_are_sound() {
    const TABLE: [&str; 6] = ["alu", "mem", "density", "alu_latency", "mem_latency", "ideal_warps"];
    assert_sound(&[
        ("interleave-table-1", "/", 8, &TABLE),
        ("interleave-table-1-mixes", "/", 8, &TABLE),
        ("interleave-figure-5", "Path", 6, &["busy_kernels"]),
        ("interleave-figure-6", "/", 24, &["half_on_8", "half_on_16"]),
        ("interleave-figure-7", "BP-1/Path", 2, &BOTH),
        ("interleave-figure-7-mixes", "BP-1/Path", 2, &["first", "second", "both"]),
    ]);
}

/// A statistic of the scheduler in a folder of results.
fn count(folder: &std::path::Path, name: &str) -> u64 {
    let stats = std::fs::read_to_string(folder.join("stats.csv")).unwrap();
    let row = stats.lines().find(|line| line.starts_with(&format!("gpu.scheduler,{name},"))).unwrap();
    row.split(',').nth(2).unwrap().parse().unwrap()
}

#[test]
fn results_are_right_while_kernels_are_interleaved_on_one_thread_and_two() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let run = |pair: [&str; 2], policy: &str, more: &[&str]| {
        let arguments = [
            &["run", "fermi-16sm", pair[0], pair[1], "--policy", policy, "--set", "app.copies=4"][..],
            &["--set", "app.size=small", "--hash", "--out", &out],
            more,
        ];
        let called = call(&arguments.concat());
        assert_eq!(called.status, SUCCESS, "{pair:?}: {}", called.err);
        assert!(called.out.contains("verified"), "{}", called.out);
        called.out.lines().find(|line| line.trim().starts_with("hash ")).unwrap().to_owned()
    };
    for pair in
        [["rodinia-path", "rodinia-bp-2"], ["rodinia-cfd", "rodinia-lud"], ["rodinia-nw", "rodinia-hw"]]
    {
        let one = run(pair, "interleaved", &[]);
        assert!(count(folder.path(), "interleaved") > 0, "{pair:?}");
        assert_eq!(one, run(pair, "interleaved", &["--threads", "2", "--force-threads"]), "{pair:?}");
        run(pair, "spatial", &[]);
        assert!(count(folder.path(), "interleaved") == 0 && count(folder.path(), "apart") > 0, "{pair:?}");
    }
    // These two kernels fail the occupancy test.
    run(["rodinia-cfd", "rodinia-hot"], "interleaved", &[]);
    assert!(count(folder.path(), "interleaved") == 0 && count(folder.path(), "apart") > 0);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn all_pairs_of_figure_7_are_sound() {
        assert_sound(&[("interleave-figure-7", "/", 34, &BOTH)]);
    }
}
