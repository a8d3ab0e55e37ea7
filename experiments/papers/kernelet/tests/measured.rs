//! The page's tables of what is computed from measured rates are those that its studies compute.

use std::collections::BTreeMap;

use counterpoint_cli::SUCCESS;
use counterpoint_tests::command::call;
use counterpoint_tests::points::table;

const PAGE: &str = include_str!("../README.md");

/// The cells of a table, by the first cell of their row and the head of their column. A head such as `MI` behind `C2050: CI` is of the C2050.
type Cells = BTreeMap<(String, String), f64>;

/// The first table behind a heading of the page.
fn page(heading: &str) -> Cells {
    let mut lines = PAGE.lines().skip_while(|line| !line.starts_with(&format!("## {heading}")));
    let mut rows = lines.by_ref().skip_while(|line| !line.starts_with('|'));
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let mut card = String::new();
    let head: Vec<String> = cells(rows.next().unwrap())
        .into_iter()
        .map(|cell| {
            let (of, column) = cell.split_once(": ").unwrap_or((&card, &cell));
            let head = format!("{of} {column}");
            card = of.to_owned();
            head.trim().to_owned()
        })
        .collect();
    let mut found = Cells::new();
    for line in rows.skip(1).take_while(|line| line.starts_with('|')) {
        let row = cells(line);
        for (column, cell) in head.iter().zip(&row).skip(1) {
            found.insert((row[0].clone(), column.clone()), cell.parse().unwrap());
        }
    }
    found
}

/// A point of a study, by the names of dimensions and values.
type Point = BTreeMap<String, String>;

/// The points of a study whose names contain one of these texts.
fn study(name: &str, filters: &[&str]) -> Vec<Point> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    for filter in filters {
        let called = call(&["study", name, "--filter", filter, "--out", &out, "--quiet"]);
        assert_eq!(called.status, SUCCESS, "{name}: {}", called.err);
    }
    table(&std::fs::read_to_string(format!("{out}/results.csv")).unwrap())
}

fn value(point: &Point, column: &str) -> Option<f64> {
    point[column].parse().ok()
}

/// Compares cells with the values that `of` finds for them; a cell has as many digits as it shows.
#[track_caller]
fn assert_cells(cells: &Cells, digits: i32, of: impl Fn(&str, &str) -> Option<f64>) {
    let mut wrong = Vec::new();
    for ((row, column), shown) in cells {
        let found = of(row, column);
        let is_near = |found: f64| (found - shown).abs() <= 0.501 * 10_f64.powi(-digits);
        if !found.is_some_and(is_near) {
            wrong.push(format!("{row}, {column}: {shown} in the page, {found:?} found"));
        }
    }
    assert!(!cells.is_empty() && wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn kernels_alone_are_predicted_as_the_page_says() {
    let points = study("kernelet-figure-7", &["/ model"]);
    assert_cells(&page("Kernels alone"), 3, |row, kernel| {
        let (card, what) = row.split_once(", ")?;
        let of = |point: &&Point| point["machine"] == card && point["application"] == kernel;
        value(points.iter().find(of)?, &format!("{what}_ipc"))
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
    let points = study("kernelet-figure-8", &["/ balanced", "/ even"]);
    assert_cells(&page("Pairs"), 3, |row, column| {
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
    let points = study("kernelet-table-6", &["/ measured"]);
    assert_cells(&page("Pairs that are pruned"), 0, |mur, pur| {
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
    let is_own =
        |point: &&Point| point["machine"] == machine && point["application"] == mix && point["run"] == run;
    value(points.iter().find(is_own)?, value_of)
}

#[test]
fn queues_take_as_long_as_the_page_says() {
    let points = study("kernelet-figure-13", &["/ BASE", "/ Kernelet", "/ OPT"]);
    assert_cells(&page("Queues"), 1, |row, column| of_queues(&points, row, column));
}

#[test]
fn queues_by_another_fit_take_as_long_as_the_page_says() {
    let points = study("kernelet-fit", &["C2050"]);
    assert_cells(&page("The fit of L0"), 1, |row, column| of_queues(&points, row, column));
}

mod slow {
    use super::*;

    /// Fig. 14.
    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn random_plans_take_as_long_as_the_page_says() {
        let points = study("kernelet-figure-13", &["/ Kernelet", "/ MC"]);
        assert_cells(&page("Random plans"), 2, |row, column| of_queues(&points, row, column));
    }
}
