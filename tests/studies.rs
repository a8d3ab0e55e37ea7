//! Studies: the runs, the records, the computed values, the figures, and the errors of wrong ones.

use std::path::{Path, PathBuf};

use counterpoint_cli::{FAILURE, SUCCESS};
use counterpoint_tests::points::table;

use crate::cli::{Called, application, call, tiny};
use crate::support::{request, root, run_request};

/// A study in a folder, with copies of two applications.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["vecadd", "reduction"] {
            let own = folder.path().join(name);
            std::fs::create_dir(&own).unwrap();
            application(&own, name);
        }
        Folder(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path("out").join(name)).expect(name)
    }

    fn study(&self, text: &str, options: &[&str]) -> Called {
        let file = self.path("study.yaml");
        let head = format!(
            "counterpoint: 1\nstudy: trial\nmachine: {}\napplications: {{ v: {{ of: {} }}, r: {{ of: {} }} }}\n",
            tiny(),
            self.path("vecadd/vecadd.yaml").display(),
            self.path("reduction/reduction.yaml").display()
        );
        std::fs::write(&file, head + text).unwrap();
        let (file, out) = (file.display().to_string(), self.path("out").display().to_string());
        let out = if options.contains(&"--out") { vec![] } else { vec!["--out", &out] };
        call(&[&["study", &file, "--quiet"], &out[..], options].concat())
    }
}

const TRIAL: &str = "scales: { small: { size: small }, default: {} }
vary: { gpu.sms: [1, 2] }
seeds: [3]
runs:
  serial: { runtime: serial }
  lrr: { runtime: serial, gpu.sm.warp_scheduler: lrr }
statistics: { issued: \"gpu.sm[*].issue_slots.used\" }
columns:
  speedup: serial.time / time
  share: 100 * issued / warp_instructions
";

#[test]
fn a_study_runs_every_combination_once_and_computes_its_columns() {
    let folder = Folder::new();
    let called = folder.study(TRIAL, &["--jobs", "2"]);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    assert!(
        called.out.contains("8 points: 8 have run, 0 were there, 0 failed, 0 are left"),
        "{}",
        called.out
    );
    let first = folder.text("results.csv");
    let rows = table(&first);
    let names: Vec<String> = rows
        .iter()
        .map(|row| [&row["application"], &row["gpu.sms"], &row["run"]].map(String::as_str).join(" "))
        .collect();
    let expected =
        ["v 1 serial", "v 1 lrr", "v 2 serial", "v 2 lrr", "r 1 serial", "r 1 lrr", "r 2 serial", "r 2 lrr"];
    assert_eq!(names, expected);
    let number = |row: usize, name: &str| rows[row][name].parse::<f64>().unwrap();
    for row in 0..8 {
        assert!((number(row, "speedup") - number(row & !1, "time") / number(row, "time")).abs() < 1e-11);
        // Every instruction is issued in a slot of its own.
        assert!((number(row, "share") - 100.0).abs() < 1e-9);
    }
    // A point is the run that anyone can make.
    let alone = request(
        &tiny(),
        &folder.path("vecadd/vecadd.yaml").display().to_string(),
        &["app.size=small", "gpu.sms=2", "gpu.sm.warp_scheduler=lrr"],
    );
    let alone = run_request(&alone);
    assert_eq!(number(3, "time"), alone.report.outcome.time().as_ps() as f64 * 1e-12);
    assert_eq!(number(3, "cycles"), alone.figures.count("cycles").unwrap() as f64);

    // No point is run twice, even if the study requests more columns of the existing runs.
    let speeds = folder.text("speeds.csv");
    let again = folder.study(&TRIAL.replace("share:", "# told apart\n  part:"), &["--jobs", "1"]);
    assert!(again.out.contains("0 have run, 8 were there"), "{}", again.out);
    assert_eq!(folder.text("results.csv"), first.replacen("share", "part", 1));
    assert_eq!(folder.text("speeds.csv"), speeds);
    let fresh = folder.study(TRIAL, &["--fresh", "--filter", "v / 2"]);
    assert!(fresh.out.contains("2 have run, 0 were there"), "{}", fresh.out);
    assert_eq!(folder.text("results.csv"), first);
    // Another size is another point.
    let larger = folder.study(TRIAL, &["--scale", "default", "--filter", "v / 1 / 3 / lrr"]);
    assert!(larger.out.contains("1 have run, 0 were there"), "{}", larger.out);
    assert_eq!(table(&folder.text("results.csv")).len(), 1);
}

#[test]
fn a_point_that_another_study_has_can_be_taken_over() {
    let folder = Folder::new();
    let called = folder.study(TRIAL, &["--filter", "lrr"]);
    assert!(called.out.contains("4 have run, 0 were there"), "{}", called.out);
    let [first, other, third] = ["out", "other", "third"].map(|name| folder.path(name).display().to_string());
    let renamed = TRIAL.replace("lrr:", "loose:");
    let taking = folder.study(&renamed, &["--out", &other, "--take-from", &third, "--take-from", &first]);
    assert_eq!(taking.status, FAILURE);
    assert!(taking.err.contains("third` is not a folder of a study"), "{}", taking.err);
    let taking = folder.study(&renamed, &["--out", &other, "--take-from", &first]);
    assert_eq!(taking.status, SUCCESS, "{}", taking.err);
    assert!(taking.out.contains("4 have run, 4 were there"), "{}", taking.out);
    assert!(taking.out.contains("4 of those that were there are taken over"), "{}", taking.out);
    // Results equal those of a run in this folder, and the other study keeps its files.
    let text = |name: &str| std::fs::read_to_string(folder.path(name)).unwrap();
    let taken = text("other/results.csv");
    folder.study(&renamed, &["--out", &other, "--fresh"]);
    assert_eq!(text("other/results.csv"), taken);
    let again = folder.study(TRIAL, &["--filter", "lrr"]);
    assert!(again.out.contains("0 have run, 4 were there"), "{}", again.out);
    assert!(!again.out.contains("taken over"), "{}", again.out);
    // A damaged point is run again.
    let points = std::fs::read_dir(folder.path("out/points")).unwrap();
    points.for_each(|point| damage(&point.unwrap().path().join("result.json")));
    let called = folder.study(TRIAL, &["--filter", "lrr", "--out", &third, "--take-from", &first]);
    assert!(called.out.contains("4 have run, 0 were there"), "{}", called.out);
}

#[test]
fn a_point_that_fails_is_told_with_its_log_and_the_others_go_on() {
    let folder = Folder::new();
    let text = "scales: { small: { size: small } }\nruns:\n  good: { runtime: serial }\n  \
                bad: { gpu.scheduler.policy: { fixed-split: { sms: [1, 7] } } }\n";
    let called = folder.study(text, &[]);
    assert_eq!(called.status, FAILURE, "{}", called.out);
    assert!(
        called.out.contains("4 points: 2 have run, 0 were there, 2 failed, 0 are left"),
        "{}",
        called.out
    );
    assert!(called.err.contains("tiny / v / 0 / bad: "), "{}", called.err);
    assert!(called.err.contains("the shares of `fixed-split` have 8 SMs, the GPU has 2"), "{}", called.err);
    let log = called.err.lines().find_map(|line| line.trim().strip_prefix("help: see ")).unwrap();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("tiny / v / 0 / bad") && log.contains("fixed-split"), "{log}");
    assert_eq!(table(&folder.text("results.csv")).len(), 2);
    let again = folder.study(text, &[]);
    assert!(again.out.contains("0 have run, 2 were there, 2 failed"), "{}", again.out);
}

#[test]
fn everything_that_is_wrong_with_a_study_is_told_at_once_with_its_place() {
    let folder = Folder::new();
    let text = "runs: { a: {}, a: 7 }
vary: { gpu.sms: 3 }
columns: { time: 1, gain: a.tim / time, odd: \"1 +\" }
figures:
  - { title: T, kind: bars, y: gain }
  - { title: U, kind: lines, y: [gain, time], x: gpu.sms, series: runs }
";
    let called = folder.study(text, &[]);
    assert_eq!(called.status, FAILURE);
    for expected in [
        "study.yaml:5:16: error: duplicate key `a`",
        "study.yaml:6:18: error: expected a list",
        "study.yaml:9:23: error: unknown choice `bars`",
    ] {
        assert!(called.err.contains(expected), "{expected} in {}", called.err);
    }
    let text = "runs: { a: {} }
columns: { time: 1, gain: a.tim / time, odd: \"1 +\" }
figures:
  - { title: T, kind: cdf, x: run, y: gain }
  - { title: U, kind: scatter, y: [gain, time], x: gpu.sms, series: runs }
  - { title: V, kind: curves, y: \"step#*\", x: run, mark: tim }
  - { title: W, kind: lines, x: run, y: time, mark: time }
";
    let called = folder.study(text, &["--scale", "paper"]);
    for expected in [
        "error: the study has no scale `paper`",
        "study.yaml:6:12: error: `time` is a value already",
        "study.yaml:6:27: error: there is no value `a.tim`",
        "help: did you mean `time`?",
        "study.yaml:6:",
        "study.yaml:8:5: error: a cdf has no `x`",
        "study.yaml:9:35: error: only stacks, bars, lines and curves have several values",
        "study.yaml:9:52: error: there is no dimension or value `gpu.sms`",
        "study.yaml:9:69: error: there is no dimension `runs`",
        "study.yaml:10:5: error: curves have no `x`",
        "error: there is no value `tim`",
        "error: only curves have a mark",
    ] {
        assert!(called.err.contains(expected), "{expected} in {}", called.err);
    }
    let called =
        folder.study("runs: { a: { applications: { w: vecadd, r: [x] } }, b: { applications: 3 } }\n", &[]);
    for expected in [
        "error: there is no application `w`",
        "error: expected a name, found a list",
        "error: expected a map from labels to names, found",
    ] {
        assert!(called.err.contains(expected), "{expected} in {}", called.err);
    }
    // The problem with a point is reported before any is run.
    let called = folder.study("runs: { a: { gpu.smz: 3 }, b: { app.m: 3 } }\n", &[]);
    assert_eq!(called.status, FAILURE);
    for place in ["study.yaml:5:14: gpu.smz=3: error: ", "study.yaml:5:33: app.m=3: error: "] {
        assert!(called.err.contains(place), "{place} in {}", called.err);
    }
    assert!(!folder.path("out").exists());
    let called = call(&["study", "no-such-study"]);
    assert!(called.err.contains("there is no study `no-such-study`"), "{}", called.err);
}

#[test]
fn a_study_finds_files_beside_it() {
    let folder = Folder::new();
    let modules = root().join("topologies/modules/").to_string_lossy().into_owned();
    let machine = std::fs::read_to_string(tiny()).unwrap().replace("../modules/", &modules);
    std::fs::write(folder.path("mine.yaml"), machine).unwrap();
    std::fs::write(folder.path("more.yaml"), "counterpoint: 1\noverlay: more\nset: { gpu.sms: 3 }\n")
        .unwrap();
    let text = "counterpoint: 1\nstudy: beside\nmachine: [mine.yaml]\napplications: [vecadd/vecadd.yaml]\n\
                scales: { small: { size: small } }\nruns: { a: {}, b: { with: more.yaml } }\n";
    std::fs::write(folder.path("beside.yaml"), text).unwrap();
    let (file, out) = (folder.path("beside.yaml"), folder.path("out"));
    let called =
        call(&["study", &file.display().to_string(), "--quiet", "--out", &out.display().to_string()]);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    assert_eq!(folder.text("results.csv").lines().filter(|line| line.starts_with("mine,vecadd,")).count(), 2);
}

#[test]
fn a_scale_may_give_several_sizes_which_are_a_dimension() {
    let folder = Folder::new();
    let text = "scales: { two: { n: [300, 40] }, one: { n: 20 } }
vary: { gpu.sms: [1, 2] }
runs: { a: {} }
figures: [{ title: T, kind: lines, x: app.n, y: time, series: application }]
";
    let labels = |options: &[&str]| {
        let called = folder.study(text, &[&["--filter", "v / "], options].concat());
        assert_eq!(called.status, SUCCESS, "{}", called.err);
        let rows = table(&folder.text("results.csv"));
        rows.iter()
            .map(|row| [&row["app.n"], &row["gpu.sms"]].map(String::as_str).join(" "))
            .collect::<Vec<_>>()
    };
    assert_eq!(labels(&[]), ["300 1", "300 2", "40 1", "40 2"]);
    // A scale with one size has no such dimension, so the figure has no x.
    let called = folder.study(text, &["--scale", "one"]);
    assert!(called.err.contains("error: there is no dimension or value `app.n`"), "{}", called.err);
    for (wrong, expected) in [
        ("scales: { two: { n: [] } }", "study.yaml:5:21: error: at least one is needed"),
        (
            "scales: { two: { n: [1] } }\nvary: { app.n: [2] }",
            "6:9: error: `app.n` is varied by the scale already",
        ),
    ] {
        let called = folder.study(&format!("{wrong}\nruns: {{ a: {{}} }}\n"), &[]);
        assert_eq!(called.status, FAILURE);
        assert!(called.err.contains(expected), "{}", called.err);
    }
}

#[test]
fn a_run_may_have_another_application_in_place_of_one() {
    let folder = Folder::new();
    let other = folder.path("reduction/reduction.yaml").display().to_string();
    let text = format!(
        "scales: {{ small: {{ size: small }} }}\nruns: {{ a: {{}}, b: {{ applications: {{ v: {other} }} }} }}\n"
    );
    let called = folder.study(&text, &[]);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    let rows = table(&folder.text("results.csv"));
    let instructions = |application: &str, run: &str| {
        let row = rows.iter().find(|row| row["application"] == application && row["run"] == run);
        row.unwrap()["thread_instructions"].clone()
    };
    assert_eq!(instructions("v", "b"), instructions("r", "a"));
    assert_ne!(instructions("v", "b"), instructions("v", "a"));
    assert_eq!(instructions("r", "b"), instructions("r", "a"));
}

#[test]
fn a_filter_that_no_point_matches_is_an_error() {
    let called =
        Folder::new().study("scales: { small: { size: small } }\nruns: { a: {} }\n", &["--filter", "V /"]);
    assert_ne!(called.status, SUCCESS);
    assert!(called.err.contains("the name of none of 2 points has `V /` in it"), "{}", called.err);
    assert!(called.err.contains("one is `tiny / v / 0 / a`"), "{}", called.err);
}

#[test]
fn what_a_scale_sets_wins_over_what_is_set_for_an_application() {
    let folder = Folder::new();
    let path = folder.path("vecadd/vecadd.yaml").display().to_string();
    let text = "scales: { own: {}, small: { n: 20 } }\nruns: { a: {} }\n";
    let instructions = |scale: &str| {
        folder.study(text, &["--scale", scale, "--filter", "never"]);
        let study = std::fs::read_to_string(folder.path("study.yaml")).unwrap();
        let own = format!("v: {{ of: {path}, set: {{ app.n: 1000 }} }}");
        std::fs::write(folder.path("study.yaml"), study.replace(&format!("v: {{ of: {path} }}"), &own))
            .unwrap();
        let (file, out) = (folder.path("study.yaml"), folder.path("out"));
        let (file, out) = (file.display().to_string(), out.display().to_string());
        let called = call(&["study", &file, "--out", &out, "--quiet", "--scale", scale, "--filter", "v / "]);
        assert_eq!(called.status, SUCCESS, "{}", called.err);
        table(&folder.text("results.csv"))[0]["thread_instructions"].parse::<u64>().unwrap()
    };
    assert!(instructions("own") > instructions("small"));
}

#[test]
fn launches_are_drawn_over_time_and_a_line_stands_where_the_prelude_has_ended() {
    let folder = Folder::new();
    let text = "scales: { small: { size: small } }
runs: { a: {}, b: { gpu.sms: 1 } }
figures:
  - title: Blocks
    kind: curves
    y: \"vecadd#*\"
    series: run
    only: { application: v }
    mark: prelude_end
    y_title: Blocks that have ended
";
    assert_eq!(folder.study(text, &[]).status, SUCCESS);
    let rows = table(&folder.text("results.csv"));
    let value = |row: usize, name: &str| rows[row][name].parse::<f64>().unwrap();
    assert_eq!(rows[0]["application"], "v");
    // The only launch is both the first and the last, and takes at most the time in which kernels are busy.
    assert_eq!(value(0, "first_launch"), value(0, "last_launch"));
    assert!(value(0, "first_launch") > 0.0 && value(0, "first_launch") <= value(0, "busy_kernels"));
    assert!(value(0, "prelude_end") >= value(0, "busy_prelude"));

    let report = call(&["report", &folder.path("out").display().to_string()]);
    assert_eq!(report.status, SUCCESS, "{}", report.err);
    let curves = table(&folder.text("figures/1-blocks.csv"));
    for (row, run) in ["a", "b"].into_iter().enumerate() {
        let name = format!("{run}: vecadd#1");
        let own: Vec<(f64, f64)> = curves
            .iter()
            .filter(|line| line["series"] == name)
            .map(|line| (line["x"].parse().unwrap(), line["y"].parse().unwrap()))
            .collect();
        assert_eq!(own.first(), Some(&(0.0, 0.0)));
        assert_eq!(own.last(), Some(&(value(row, "time"), value(row, "ctas"))), "{own:?}");
        assert!(own.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1), "{own:?}");
        // No block ends before the inputs have been read.
        let begins = own.iter().find(|(_, blocks)| *blocks > 0.0).unwrap().0;
        assert!(begins > value(row, "prelude_end"));
    }
    let marks: Vec<f64> = curves
        .iter()
        .filter(|line| line["series"] == "prelude end")
        .map(|line| line["x"].parse().unwrap())
        .collect();
    assert_eq!(marks, [value(0, "prelude_end"), value(1, "prelude_end")]);
    let drawn = folder.text("figures/1-blocks.svg");
    assert!(drawn.contains("a: vecadd#1") && drawn.contains("Blocks that have ended"), "{drawn}");

    // Without figures of curves the points have other keys, because their records differ.
    let called =
        folder.study("scales: { small: { size: small } }\nruns: { a: {}, b: { gpu.sms: 1 } }\n", &[]);
    assert!(called.out.contains("4 have run, 0 were there"), "{}", called.out);
}

#[test]
fn several_columns_stand_side_by_side_and_the_paper_has_a_mean_only_if_it_has_all() {
    let folder = Folder::new();
    let figures = "figures:
  - title: Bars
    kind: grouped-bars
    x: application
    y: [speedup, share]
    only: { run: lrr, gpu.sms: \"2\" }
    means: [arithmetic]
    published: { speedup: { v: 1.5, r: 6 }, share: { v: 90 } }
  - { title: Both, kind: lines, x: gpu.sms, y: [speedup, share], series: application, only: { run: lrr } }
";
    assert_eq!(folder.study(&format!("{TRIAL}{figures}"), &[]).status, SUCCESS);
    assert_eq!(call(&["report", &folder.path("out").display().to_string()]).status, SUCCESS);
    let results = table(&folder.text("results.csv"));
    let bars = table(&folder.text("figures/1-bars.csv"));
    let value = |series: &str, x: &str| {
        let row = bars.iter().find(|row| row["series"] == series && row["x"] == x)?;
        row["y"].parse::<f64>().ok()
    };
    for (row, label) in [(3, "v"), (7, "r")] {
        assert_eq!(results[row]["run"], "lrr");
        for column in ["speedup", "share"] {
            assert_eq!(value(column, label), results[row][column].parse().ok(), "{column} {label}");
        }
    }
    assert_eq!([value("speedup (paper)", "mean"), value("share (paper)", "v")], [Some(3.75), Some(90.0)]);
    assert_eq!(value("share (paper)", "mean"), None);
    assert!(value("share", "mean").is_some());
    let lines = table(&folder.text("figures/2-both.csv"));
    let mut names: Vec<&str> = lines.iter().map(|row| row["series"].as_str()).collect();
    names.dedup();
    assert_eq!(names, ["v: speedup", "v: share", "r: speedup", "r: share"]);
}

#[test]
fn a_study_can_be_run_on_another_machine() {
    let folder = Folder::new();
    let on = |machine: &str| {
        folder.study("scales: { small: { size: small } }\nruns: { a: {} }\n", &["--machine", machine])
    };
    assert_eq!(on("titanx-maxwell").status, SUCCESS);
    let rows = table(&folder.text("results.csv"));
    assert!(rows.iter().all(|row| row["machine"] == "titanx-maxwell"), "{rows:?}");
    assert_eq!(rows.len(), 2);
    let out = folder.path("out").display().to_string();
    assert_eq!(call(&["report", &out]).status, SUCCESS, "the folder knows its machine");
    let page = folder.text("report.html");
    assert!(page.contains("on titanx-maxwell"), "{page}");
    let wrong = on("titanx-maxwel");
    assert_ne!(wrong.status, SUCCESS);
    assert!(wrong.err.contains("titanx-maxwel") && wrong.err.contains("titanx-maxwell"), "{}", wrong.err);
}

/// Asserts that a page needs nothing but itself.
fn assert_alone(page: &str) {
    for link in ["http:", "https:", "src=", "href=", "@import", "url("] {
        let mut places = page.match_indices(link).map(|(at, _)| &page[at.saturating_sub(40)..at + 40]);
        // The name of a format is no address that anyone opens.
        assert!(places.all(|place| place.contains("http://www.w3.org/2000/svg")), "{link}");
    }
}

#[test]
fn a_report_has_figures_with_the_papers_values_and_means_and_stands_alone() {
    let folder = Folder::new();
    let figures = "figures:
  - title: Speed-up
    kind: grouped-bars
    x: application
    y: speedup
    series: run
    only: { gpu.sms: \"2\" }
    y_title: Speed-up (×)
    means: [arithmetic, geometric]
    published: { lrr: { v: 1.5, r: 6 } }
  - { title: Parts, kind: stacks, x: application, y: [exposed_kernels, exposed_other], series: run }
  - { title: Over SMs, kind: lines, x: gpu.sms, y: time, series: application }
  - { title: Both, kind: scatter, x: cycles, y: time, series: run }
  - { title: Shares, kind: cdf, y: time, series: run }
";
    let called = folder.study(&format!("{TRIAL}{figures}"), &[]);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    let out = folder.path("out").display().to_string();
    let report = call(&["report", &out]);
    assert_eq!(report.status, SUCCESS, "{}", report.err);
    let page = folder.text("report.html");
    assert_alone(&page);
    for expected in
        ["<h2>Speed-up</h2>", "lrr (paper)", "Speed-up (×)", "geomean", "8 of 8 points", "machine: tiny"]
    {
        assert!(page.contains(expected), "{expected}");
    }
    let rows = table(&folder.text("figures/1-speed-up.csv"));
    let value = |series: &str, x: &str| {
        let row = rows.iter().find(|row| row["series"] == series && row["x"] == x).expect(x);
        row["y"].parse::<f64>().unwrap()
    };
    assert_eq!([value("lrr (paper)", "mean"), value("lrr (paper)", "v")], [3.75, 1.5]);
    assert!((value("lrr (paper)", "geomean") - 3.0).abs() < 1e-12);
    let ours = [value("lrr", "v"), value("lrr", "r")];
    assert!((value("lrr", "mean") - (ours[0] + ours[1]) / 2.0).abs() < 1e-12);
    assert!((value("lrr", "geomean").powi(2) - ours[0] * ours[1]).abs() < 1e-12);
    let stacks = table(&folder.text("figures/2-parts.csv"));
    assert_eq!(stacks.len(), 2 * 2 * 2);
    // Two points fall together at each x: the mean and both ends are printed.
    let lines = table(&folder.text("figures/3-over-sms.csv"));
    assert_eq!(lines.len(), 2 * 2);
    assert!(lines.iter().all(|row| row["least"].parse::<f64>().unwrap() <= row["y"].parse::<f64>().unwrap()));
    assert_eq!(table(&folder.text("figures/4-both.csv")).len(), 8);
    let shares = table(&folder.text("figures/5-shares.csv"));
    assert_eq!(shares.iter().filter(|row| row["y"] == "100").count(), 2);
    for name in ["1-speed-up", "2-parts", "3-over-sms", "4-both", "5-shares"] {
        let png = std::fs::read(folder.path("out").join(format!("figures/{name}.png"))).unwrap();
        assert!(png.starts_with(b"\x89PNG"), "{name}");
        assert!(folder.text(&format!("figures/{name}.svg")).starts_with("<svg"), "{name}");
    }
    assert_eq!(call(&["report", &out]).status, SUCCESS);
    assert_eq!(folder.text("report.html"), page, "the same results give the same page");
}

#[test]
fn a_folder_that_is_none_of_a_study_or_is_damaged_is_an_error() {
    let folder = Folder::new();
    let none = call(&["report", &folder.path("nowhere").display().to_string()]);
    assert_eq!(none.status, FAILURE);
    assert!(none.err.contains("is not a folder of a study"), "{}", none.err);
    assert_eq!(folder.study("scales: { small: { size: small } }\nruns: { a: {} }\n", &[]).status, SUCCESS);
    let out = folder.path("out");
    let point = std::fs::read_dir(out.join("points")).unwrap().next().unwrap().unwrap().path();
    damage(&point.join("result.json"));
    let called = call(&["report", &out.display().to_string()]);
    assert_eq!(called.status, FAILURE);
    assert!(called.err.contains("result.json` is damaged"), "{}", called.err);
}

fn damage(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    std::fs::write(path, &text[..text.len() / 2]).unwrap();
}

#[test]
fn the_figure_of_the_readme_is_the_studys() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    for command in
        [vec!["study", "sm-scaling", "--quiet", "--jobs", "2", "--out", &out], vec!["report", &out]]
    {
        let called = call(&command);
        assert_eq!(called.status, SUCCESS, "{}", called.err);
    }
    let read = |path: PathBuf| {
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let drawn = read(folder.path().join("out/figures/3-where-the-time-goes-on-15-sms.svg"));
    assert!(drawn == read(root().join("experiments/studies/sm-scaling.svg")));
}
