//! The page's tables are those that its studies compute.

use counterpoint_tests::pages::{Point, Table, find, study, value};

const PAGE: &str = include_str!("../README.md");
const PAPER: &[&str] = &["--scale", "paper"];

fn of<'a>(points: &'a [Point], application: &str, run: &str) -> Option<&'a Point> {
    find(points, &[("application", application), ("run", run)])
}

/// Compares rows of Table I.
fn assert_table_1(kernels: &[&str]) {
    let points = study("interleave-table-1", PAPER, kernels);
    let columns = [
        ("ALU", "alu"),
        ("MEM", "mem"),
        ("density", "density"),
        ("ALU latency", "alu_latency"),
        ("MEM latency", "mem_latency"),
        ("ideal warps", "ideal_warps"),
        ("L1 misses", "l1_miss_rate"),
    ];
    Table::of(PAGE, "Table I").rows(kernels).assert_columns(&columns, |kernel| of(&points, kernel, "alone"));
}

/// Compares rows of Figure 5.
fn assert_figure_5(kernels: &[&str]) {
    let points = study("interleave-figure-5", PAPER, kernels);
    let columns = [
        ("1 to 2", "gain_2"),
        ("2 to 3", "gain_3"),
        ("3 to 4", "gain_4"),
        ("4 to 5", "gain_5"),
        ("5 to 6", "gain_6"),
    ];
    Table::of(PAGE, "Figure 5")
        .rows(kernels)
        .assert_columns(&columns, |kernel| of(&points, kernel, "blocks_1"));
}

/// Compares columns of Figure 6.
fn assert_figure_6(kernels: &[&str]) {
    let points = study("interleave-figure-6", PAPER, kernels);
    Table::of(PAGE, "Figure 6").columns(kernels).assert(|row, kernel| {
        let name = if row == "half, 8 SMs" { "half_on_8" } else { "half_on_16" };
        value(of(&points, kernel, "full_8")?, name)
    });
}

/// Compares rows of Figure 7.
fn assert_figure_7(pairs: &[&str]) {
    let points = study("interleave-figure-7", PAPER, pairs);
    let columns = [("first", "first"), ("second", "second"), ("both", "both"), ("by rounds", "both_round")];
    Table::of(PAGE, "Figure 7").rows(pairs).assert_columns(&columns, |pair| of(&points, pair, "spatial"));
}

#[test]
fn two_kernels_are_as_the_page_says() {
    assert_table_1(&["HW", "LUD"]);
    assert_figure_5(&["LUD"]);
    assert_figure_6(&["LUD"]);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn table_1_is_as_the_page_says() {
        assert_table_1(&["Path", "BP-1", "Hot", "BP-2", "CFD", "NW"]);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn more_blocks_gain_what_the_page_says() {
        assert_figure_5(&["BP-2", "HW"]);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn half_of_the_blocks_are_as_fast_as_the_page_says() {
        assert_figure_6(&["Hot", "HW", "NW"]);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn pairs_gain_what_the_page_says() {
        assert_figure_7(&["BP-1/LUD"]);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn a_pair_that_loses_is_as_the_page_says() {
        assert_figure_7(&["BP-1/CFD"]);
    }
}
