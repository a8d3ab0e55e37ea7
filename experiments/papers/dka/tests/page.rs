//! The page's tables are those that its studies compute: of each table the rows that take seconds.

use counterpoint_tests::pages::{Point, Table, find, study};

const PAGE: &str = include_str!("../README.md");
const PAPER: &[&str] = &["--scale", "paper"];

/// The point of a serial run.
fn serial<'a>(points: &'a [Point], dimension: &str, value: &str) -> Option<&'a Point> {
    find(points, &[(dimension, value), ("run", "serial")])
}

#[test]
fn kernels_of_dct_on_two_sms_are_as_the_page_says() {
    let points = study("dka-figure-3", PAPER, &["/ 2 /"]);
    let columns = [("kernel 1", "kernel_1"), ("kernel 2", "kernel_2"), ("kernel 3", "kernel_3")];
    Table::of(PAGE, "Figures 3 and 4")
        .rows(&["2"])
        .assert_columns(&columns, |sms| serial(&points, "sms", sms));
}

mod slow {
    use super::*;

    /// Compares a program of Figure 9 on 8 SMs.
    fn assert_on_8_sms(program: &str, name: &str) {
        let points = study("dka-figure-9", PAPER, &[&format!("{program} / 8 /")]);
        let columns = [
            ("left over", "preemptive"),
            ("DKA", "dka"),
            ("and labels that flush", "dka_flush"),
            ("and protected lines", "dka_l2"),
        ];
        Table::of(PAGE, "8 SMs").rows(&[name]).assert_columns(&columns, |_| serial(&points, "sms", "8"));
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn a_light_program_gains_what_the_page_says() {
        assert_on_8_sms("pattern-match", "PM");
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn a_heavy_program_gains_what_the_page_says() {
        assert_on_8_sms("histogram-pipeline", "HG");
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn a_pair_gains_what_the_page_says() {
        let points = study("dka-figure-4-causes", PAPER, &["[12]"]);
        let columns = [
            ("its cycles", "first_cycles"),
            ("cycles of the second", "second_cycles"),
            ("accesses", "accesses"),
            ("DRAM carries data", "dram_used"),
            ("gain", "gain"),
            ("with twice the clock", "gain_with_clock"),
            ("with 3 MiB of L2", "gain_with_l2"),
        ];
        let table = Table::of(PAGE, "Figure 4: pairs");
        table.rows(&["12"]).assert_columns(&columns, |_| find(&points, &[("run", "together")]));
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn pairs_and_triples_of_equal_numbers_of_batches_are_as_the_page_says() {
        let points = study("dka-figure-12-pairs", PAPER, &["/ 6 /"]);
        let of = |run| find(&points, &[("run", run)]);
        Table::of(PAGE, "Figure 12").rows(&["6"]).assert_points(&[
            ("one after another", of("serial"), "ipc"),
            ("two, allocator", of("pairs"), "ipc"),
            ("three, [8, 7]", of("split_8_7"), "ipc"),
            ("[8, 8]", of("split_8_8"), "ipc"),
            ("[9, 7]", of("split_9_7"), "ipc"),
        ]);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn accesses_of_a_program_are_those_of_the_page() {
        let points = study("dka-figure-11", PAPER, &["pattern-match"]);
        let point = |_: &str| serial(&points, "application", "pattern-match");
        let rules = [
            ("left over", "left_over"),
            ("DKA", "dka_alone"),
            ("labels that flush", "dka_flush"),
            ("and what is read is protected", "dka_produced"),
            ("in half of the ways", "dka_half"),
            ("all labelled lines", "dka_protect"),
        ];
        Table::of(PAGE, "Figure 11").rows(&["PM"]).assert_columns(&rules, point);
        let baselines = [
            ("flush / back", "dka_flush"),
            ("protected / back", "dka_produced"),
            ("flush / through", "flush_of_through"),
            ("protected / through", "produced_of_through"),
            ("flush / around", "flush_of_around"),
            ("protected / around", "produced_of_around"),
            ("flush, no fetch / around", "no_fetch_of_around"),
            ("speed-up, protected, over around", "speed_up_of_around"),
        ];
        Table::of(PAGE, "Another L2").rows(&["PM"]).assert_columns(&baselines, point);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn what_lies_between_kernels_counts_as_the_page_says() {
        let points = study("dka-l2", PAPER, &["/ 64 /"]);
        let columns = [
            ("accesses DKA", "dka_accesses"),
            ("accesses flush", "flush_accesses"),
            ("accesses protected", "produced_accesses"),
            ("accesses in 6 of 8 ways", "three_quarters_accesses"),
            ("speed-up DKA", "dka_speed_up"),
            ("speed-up flush", "flush_speed_up"),
            ("speed-up protected", "produced_speed_up"),
            ("speed-up in 6 of 8 ways", "three_quarters_speed_up"),
        ];
        let table = Table::of(PAGE, "How much is between");
        table.rows(&["64"]).assert_columns(&columns, |_| serial(&points, "app.height", "64"));
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn a_pair_converges_as_the_page_says() {
        let points = study("dka-table-4", PAPER, &["pattern-match"]);
        let of = |run| find(&points, &[("run", run)]);
        Table::of(PAGE, "Table 4").rows(&["PM"]).assert_points(&[
            ("decisions a pair, 16 bits", of("half"), "decisions_a_pair"),
            ("double", of("double"), "decisions_a_pair"),
            ("steps of pairs", of("half"), "rounds"),
        ]);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn a_light_program_alone_is_as_the_page_says() {
        let points = study("dka-figure-2", PAPER, &["pattern-match"]);
        let of = |machine| find(&points, &[("machine", machine), ("sms", "8")]);
        Table::of(PAGE, "Figure 2").rows(&["PM"]).assert_points(&[
            ("IPC of 8 SMs, six channels", of("six channels"), "ipc"),
            ("IPC of 8 SMs, in proportion", of("in proportion"), "ipc"),
        ]);
    }
}
