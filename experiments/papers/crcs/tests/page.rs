//! The page's tables are those that its studies compute: of each table the rows that take seconds.

use counterpoint_cli::SUCCESS;
use counterpoint_tests::command::call;
use counterpoint_tests::pages::{Point, Table, find, study, value};

const PAGE: &str = include_str!("../README.md");
const PAPER: &[&str] = &["--scale", "paper"];

/// The point of the run that speed-ups are over.
fn baseline(points: &[Point]) -> Option<&Point> {
    find(points, &[("run", "baseline")])
}

/// Compares a program of Figure 9.
fn assert_speed_ups(program: &str, name: &str) {
    let points = study("crcs-figure-9", PAPER, &[program]);
    let columns = [
        ("no copies", "no_copy"),
        ("one kernel", "single_kernel"),
        ("CRCS + FIFO", "crcs_fifo"),
        ("CRCS + PPCS", "crcs_ppcs"),
        ("PPCS over FIFO", "ppcs_over_fifo"),
        ("at most", "best"),
    ];
    Table::of(PAGE, "Figure 9").rows(&[name]).assert_columns(&columns, |_| baseline(&points));
}

/// Compares a program of Figure 11, in percent.
fn assert_shares(program: &str, name: &str) {
    let points = study("crcs-figure-11", PAPER, &[program]);
    Table::of(PAGE, "Figure 11").rows(&[name]).assert(|_, column| {
        let name = match column {
            "copies to the device" => "h2d",
            "copies to the host" => "d2h",
            _ => column,
        };
        Some(100.0 * value(baseline(&points)?, name)?)
    });
}

#[test]
fn a_program_is_overlapped_as_the_page_says() {
    assert_speed_ups("bfs", "BFS");
    assert_shares("bfs", "BFS");
    let points = study("crcs-overhead", PAPER, &["bfs"]);
    let profilers = Table::of(PAGE, "Pre-profilers").columns(&["BFS"]);
    profilers.assert(|_, _| value(points.first()?, "profilers_percent"));
}

#[test]
fn files_take_the_share_that_the_page_has() {
    let points = study("crcs-figure-2", PAPER, &["/ 64 /"]);
    Table::of(PAGE, "Figure 2").columns(&["64"]).assert(|row, _| {
        let program = if row == "Gaussian" { "gaussian" } else { "hotspot" };
        value(find(&points, &[("application", program)])?, "files_percent")
    });
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn programs_gain_what_the_page_says() {
        for (program, name) in [("convolution", "CONV"), ("laplace", "LPC")] {
            assert_speed_ups(program, name);
            assert_shares(program, name);
        }
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn five_launches_gain_what_the_page_says() {
        let points = study("crcs-figure-12", PAPER, &["/ 5 /"]);
        let columns = [
            ("kernels of the baseline", "kernels_percent"),
            ("one kernel", "single_kernel"),
            ("CRCS + FIFO", "crcs_fifo"),
            ("CRCS + PPCS", "crcs_ppcs"),
            ("at most", "best"),
        ];
        Table::of(PAGE, "Figure 12").rows(&["5"]).assert_columns(&columns, |_| baseline(&points));
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn a_random_order_costs_what_the_page_says() {
        let points = study("crcs-random", PAPER, &["bfs"]);
        let columns = [
            ("FIFO, in turn", "fifo_interleaved"),
            ("FIFO, random", "fifo_at_random"),
            ("PPCS, in turn", "ppcs_interleaved"),
            ("PPCS, random", "ppcs_at_random"),
        ];
        Table::of(PAGE, "Random order").rows(&["BFS"]).assert_columns(&columns, |_| baseline(&points));
    }

    /// The share of issue slots of 3MM that wait for the load-store unit, and accesses of the L2's slices.
    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn three_products_wait_for_the_load_store_units_as_the_page_says() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().display().to_string();
        let words = ["--runtime", "serial", "--policy", "fifo", "--out", &out, "--quiet"];
        let called = call(&[&["run", "crcs-64sm-pcie3-ssd", "3mm"], &words[..]].concat());
        assert_eq!(called.status, SUCCESS, "{}", called.err);
        let stats = std::fs::read_to_string(folder.path().join("stats.csv")).unwrap();
        let count = |line: &str| line.split(',').nth(2)?.parse::<f64>().ok();
        let of = |begin: &str| stats.lines().find(|line| line.starts_with(begin)).and_then(count).unwrap();
        let slots = stats.lines().filter(|line| line.starts_with("machine.sms.issue_slots,"));
        let all: f64 = slots.filter_map(count).sum();
        let waiting = 100.0 * of("machine.sms.issue_slots,memory_pipeline,") / all;
        assert!(
            PAGE.contains(&format!("{waiting:.0} % of all issue slots wait for the memory pipeline")),
            "{waiting}"
        );
        for slice in 0..6 {
            let accesses = of(&format!("gpu.l2[{slice}],L2_total_cache_accesses,")) / 1e6;
            assert!(
                PAGE.contains(&format!("with {accesses:.2} million accesses each")),
                "{slice}: {accesses}"
            );
        }
    }
}
