//! The studies at their smallest scale, and the small tables of the page.

use std::collections::BTreeMap;

use counterpoint_cli::SUCCESS;
use counterpoint_tests::command::call;
use counterpoint_tests::points::{assert_sound, table};

type Rows = Vec<BTreeMap<String, String>>;

/// Runs points of a study, and returns its table.
fn study(name: &str, scale: &str, filter: &str) -> Rows {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let called = call(&["study", name, "--scale", scale, "--filter", filter, "--out", &out, "--quiet"]);
    assert_eq!(called.status, SUCCESS, "{name}: {}", called.err);
    table(&std::fs::read_to_string(folder.path().join("results.csv")).unwrap())
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap()
}

#[test]
fn studies_can_be_run_and_their_points_are_sound() {
    const ACCESSES: [&str; 4] = ["accesses", "dka_produced", "produced_of_through", "produced_of_around"];
    assert_sound(&[
        ("dka-figure-11", "mummer-matches", 10, &ACCESSES),
        ("dka-l2", "/ 64 /", 7, &["accesses", "flush_of_through", "flush_of_around"]),
        ("dka-figure-4-causes", "[12]", 6, &["gain", "gain_with_clock", "gain_with_l2", "dram_used"]),
        ("dka-figure-12-pairs", "/", 10, &["ipc", "of_pairs"]),
    ]);
}

#[test]
fn what_is_dirty_at_the_end_counts_as_written() {
    // Everything fits into the L2 and no batch shares a line with another one: each rule writes the same, now or later.
    for program in ["mersenne-twister", "dct-pipeline"] {
        let rows = study("dka-figure-11", "small", program);
        let of = |run: &str| rows.iter().find(|row| row["run"] == run).unwrap();
        let serial = number(of("serial"), "accesses");
        assert!(number(of("serial"), "left_dirty") > 0.0, "{program}");
        for run in ["flush", "produced", "half", "protect"] {
            assert_eq!(number(of(run), "left_dirty"), 0.0, "{program} {run}");
            assert_eq!(number(of(run), "accesses"), serial, "{program} {run}");
        }
    }
}

mod slow {
    use super::*;

    const PAGE: &str = include_str!("../README.md");

    fn assert_on_page(line: &str) {
        assert!(PAGE.lines().any(|known| known == line), "the page has no line\n{line}");
    }

    /// Values of a row, with a number of decimals.
    fn cells(row: &BTreeMap<String, String>, columns: &[&str], decimals: usize) -> String {
        let cell = |column: &&str| format!("{:.decimals$}", number(row, column));
        columns.iter().map(cell).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn the_page_has_the_gains_of_figure_4_and_their_causes() {
        let rows = study("dka-figure-4-causes", "paper", "/");
        for row in rows.iter().filter(|row| row["run"] == "together") {
            let policy = &row["gpu.scheduler.policy"];
            let sms: String = policy.chars().filter(char::is_ascii_digit).collect();
            let times = cells(row, &["first_cycles", "second_cycles", "accesses"], 0);
            let shares = cells(row, &["dram_used", "gain", "gain_with_clock", "gain_with_l2"], 2);
            assert_on_page(&format!("| {sms} | {times} | {shares} |"));
        }
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn the_page_has_pairs_and_triples_of_equal_numbers_of_batches() {
        let rows = study("dka-figure-12-pairs", "paper", "/");
        for batches in ["6", "12", "24"] {
            let runs = ["serial", "pairs", "split_8_7", "split_8_8", "split_9_7"].map(|run| {
                let found = rows.iter().find(|row| row["app.batches"] == batches && row["run"] == run);
                cells(found.unwrap(), &["ipc"], 0)
            });
            assert_on_page(&format!("| {batches} | {} |", runs.join(" | ")));
        }
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn the_page_has_the_accesses_of_pm_and_of_mum_with_a_small_tree() {
        for (program, name) in [("pattern-match", "PM"), ("mummer-matches", "MUM, small tree")] {
            let rows = study("dka-figure-11", "paper", program);
            let row = rows.iter().find(|row| row["run"] == "serial").unwrap();
            let rules = ["left_over", "dka_alone", "dka_flush", "dka_produced", "dka_half", "dka_protect"];
            assert_on_page(&format!("| {name} | {} |", cells(row, &rules, 2)));
            let baselines = [
                "dka_flush",
                "dka_produced",
                "flush_of_through",
                "produced_of_through",
                "flush_of_around",
                "produced_of_around",
                "no_fetch_of_around",
                "speed_up_of_around",
            ];
            assert_on_page(&format!("| {name} | {} |", cells(row, &baselines, 2)));
        }
    }
}
