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
