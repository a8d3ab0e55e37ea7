//! The page's tables of what is computed from measured rates are those that its studies compute.

use counterpoint_tests::pages::{Point, Table, find, study, value};

const PAGE: &str = include_str!("../README.md");

#[test]
fn kernels_alone_are_predicted_as_the_page_says() {
    let points = study("kernelet-figure-7", &[], &["/ model"]);
    Table::of(PAGE, "Kernels alone").assert(|row, kernel| {
        let (card, what) = row.split_once(", ")?;
        let point = find(&points, &[("machine", card), ("application", kernel)]);
        value(point?, &format!("{what}_ipc"))
    });
}

/// Mean of a column over the points of a machine and a run.
fn mean(points: &[Point], machine: &str, run: &str, column: &str) -> Option<f64> {
    let own = points.iter().filter(|point| point["machine"] == machine && point["run"] == run);
    let values: Vec<f64> = own.filter_map(|point| value(point, column)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[test]
fn errors_of_pairs_are_those_of_the_page() {
    let points = study("kernelet-figure-8", &[], &["/ balanced", "/ even"]);
    Table::of(PAGE, "Pairs").assert(|row, column| {
        let (machine, model) = column.split_once(' ')?;
        let (slices, value) = match row {
            "balanced slices (Fig. 8)" => ("balanced", "error"),
            "as many blocks of both (Fig. 9)" => ("even", "error"),
            "profit in balanced slices (Fig. 12)" => ("balanced", "profit_error"),
            _ => return None,
        };
        let run = if model == "model" { slices.to_owned() } else { format!("{slices} {model}") };
        mean(&points, machine, &run, value)
    });
}

#[test]
fn as_many_pairs_are_pruned_as_the_page_says() {
    let points = study("kernelet-table-6", &[], &["/ measured"]);
    Table::of(PAGE, "Pairs that are pruned").assert(|mur, pur| {
        let path = "host.cpu.runtime.prune";
        let is_own = |point: &&Point| {
            let near =
                |name: &str, text: &str| value(point, &format!("{path}.{name}")) == text.parse::<f64>().ok();
            near("mur", mur) && near("pur", pur)
        };
        value(points.iter().find(is_own)?, "pruned_pairs")
    });
}

/// A cell of the table of queues.
fn of_queues(points: &[Point], row: &str, column: &str) -> Option<f64> {
    let (machine, mix) = column.split_once(' ')?;
    let (run, value_of) = match row {
        "Kernelet" => ("Kernelet", "gain_percent"),
        "OPT" => ("OPT", "gain_percent"),
        "Kernelet behind OPT" => ("Kernelet", "behind_opt_percent"),
        "Kernelet, BASE without tails" => ("Kernelet", "without_tails_percent"),
        "OPT, BASE without tails" => ("OPT", "without_tails_percent"),
        "ratios" | "differences" => (row, "gain_percent"),
        "fastest" => ("MC", "fastest_plan"),
        "median" => ("MC", "median_plan"),
        "slowest" => ("MC", "slowest_plan"),
        _ => return None,
    };
    value(find(points, &[("machine", machine), ("application", mix), ("run", run)])?, value_of)
}

#[test]
fn queues_take_as_long_as_the_page_says() {
    let points = study("kernelet-figure-13", &[], &["/ BASE", "/ Kernelet", "/ OPT"]);
    Table::of(PAGE, "Queues").assert(|row, column| of_queues(&points, row, column));
}

#[test]
fn queues_by_another_fit_take_as_long_as_the_page_says() {
    let points = study("kernelet-fit", &[], &["C2050"]);
    Table::of(PAGE, "The fit of L0").assert(|row, column| of_queues(&points, row, column));
}

mod slow {
    use super::*;

    /// Fig. 14.
    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn random_plans_take_as_long_as_the_page_says() {
        let points = study("kernelet-figure-13", &[], &["/ Kernelet", "/ MC"]);
        Table::of(PAGE, "Random plans").assert(|row, column| of_queues(&points, row, column));
    }
}
