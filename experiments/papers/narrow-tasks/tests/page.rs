//! The page's tables are those that its studies compute: of each table the rows that take seconds.

use counterpoint_tests::pages::{Point, Table, find, study, value};

use crate::MODEL;

const PAGE: &str = include_str!("../README.md");
const HUNDREDS: &[&str] = &["--scale", "hundreds"];
const ON_MODEL: &[&str] = &["--scale", "paper", "--machine", MODEL];

/// A value of the point of a run.
fn of(points: &[Point], run: &str, column: &str) -> Option<f64> {
    value(find(points, &[("run", run)])?, column)
}

#[test]
fn cores_of_the_sparse_lu_take_as_long_as_the_page_says() {
    let runs = ["/ scalar", "/ sequential", "/ pthreads"];
    let points = study("pagoda-slud", ON_MODEL, &runs);
    let table = Table::of(PAGE, "The sparse LU").rows(&["2,678"]).columns(&["one core, vectors", "PThreads"]);
    table.assert(|_, column| {
        let run = if column == "PThreads" { "pthreads" } else { "sequential" };
        of(&points, run, "over_scalar")
    });
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn copies_take_the_share_that_the_page_has() {
        for (program, name) in [("narrow-dct", "DCT"), ("narrow-filter-bank", "FB")] {
            let points = study("pagoda-table-3", HUNDREDS, &[program]);
            let table = Table::of(PAGE, "Table 3").rows(&[name]).columns(&["here"]);
            table.assert(|_, _| of(&points, "hyperq", "copies_percent"));
        }
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn the_gain_by_size_is_what_the_page_says() {
        for (program, name, n) in [("matmul", "MM / 16 x 16", "16"), ("convolution", "CONV / 64 x 64", "64")]
        {
            let points = study("pagoda-figure-8", ON_MODEL, &[&format!("narrow-{program} / 1 / {n} /")]);
            let table = Table::of(PAGE, "Figure 8").rows(&[name]).columns(&["256 threads"]);
            table.assert(|_, _| of(&points, "pagoda", "over_hyperq"));
        }
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn latencies_are_those_of_the_page() {
        let points = study("pagoda-figure-10", ON_MODEL, &["narrow-matmul / 128 /"]);
        let table = Table::of(PAGE, "Figure 10").rows(&["128"]).columns(&["MM fused", "MM Pagoda, host"]);
        table.assert(|_, column| {
            let run = if column == "MM fused" { "fusion" } else { "pagoda" };
            of(&points, run, "latency_us")
        });
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn the_sparse_lu_gains_what_the_page_says() {
        let points = study("pagoda-slud", ON_MODEL, &["/ scalar", "/ hyperq", "/ pagoda"]);
        let table = Table::of(PAGE, "The sparse LU").rows(&["2,678"]).columns(&["HyperQ", "Pagoda"]);
        table.assert(|_, column| of(&points, &column.to_lowercase(), "over_scalar"));
    }
}
