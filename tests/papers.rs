//! Papers together: one program under every runtime that can take it, and overlays of several papers on one machine.

use counterpoint::{FAILURE, SUCCESS};
use counterpoint_tests::command::call_extended;
use counterpoint_tests::points::{assert_sound, table};

use crate::cli::{Called, call};

#[test]
fn one_program_runs_under_every_runtime_that_can_take_it() {
    assert_sound(&[
        ("runtimes-pipeline", "/", 7, &["whole_us", "speed_up"]),
        ("runtimes-tasks", "/", 7, &["whole_us", "speed_up"]),
    ]);
}

/// Runs an application on the tiny machine with overlays.
fn with(overlays: &[&str], application: &str, sets: &[&str]) -> Called {
    let out = tempfile::tempdir().unwrap();
    let out = out.path().display().to_string();
    let mut arguments = vec!["run", "tiny", application, "--quiet", "--out", &out, "--set", "app.size=small"];
    overlays.iter().for_each(|overlay| arguments.extend(["--with", overlay]));
    sets.iter().for_each(|set| arguments.extend(["--set", set]));
    call(&arguments)
}

#[test]
fn a_papers_value_is_read_without_the_paper() {
    let folder = tempfile::tempdir().unwrap();
    let [file, out] = ["study.yaml", "out"].map(|name| folder.path().join(name).display().to_string());
    let study = "counterpoint: 1
study: overlapped
machine: tiny
applications: [laplace]
scales: { small: { size: small } }
runs:
  baseline: {}
  crcs: { with: crcs-fifo }
columns:
  profilers_percent: 100 * profilers / time
figures:
  - { title: Profilers, kind: grouped-bars, x: application, y: profilers, series: run }
";
    std::fs::write(&file, study).unwrap();
    let called = call(&["study", &file, "--out", &out, "--quiet"]);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    let rows = table(&std::fs::read_to_string(folder.path().join("out/results.csv")).unwrap());
    let values: Vec<f64> = rows.iter().map(|row| row["profilers_percent"].parse().unwrap()).collect();
    assert!(values[0] == 0.0 && values[1] > 0.0 && values[1] < 100.0, "{values:?}");

    // Its folder says which values there are: the command with no paper draws them.
    let called = call_extended(&[], &["report", &out], false);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    let page = std::fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(page.contains("profilers (s)"));
    let called = call_extended(&[], &["study", &file, "--out", &out, "--quiet"], false);
    let why = "there is no value `profilers`";
    assert!(called.status == FAILURE && called.err.contains(why), "{}", called.err);
}

#[test]
fn overlays_of_papers_combine() {
    for (overlays, application, sets) in [
        // The later overlay has the runtime and the policy, the parts of both are there.
        (&["pagoda", "dka"][..], "histogram-pipeline", &[][..]),
        (&["fusion", "crcs-ppcs"], "histogram-pipeline", &[]),
        (&["translation", "dka-l2"], "histogram-pipeline", &["gpu.sm.tlb.entries=8"]),
        (&["translation", "pagoda"], "narrow-dct", &[]),
        (&["relaxed-ordering", "crcs-fifo"], "laplace", &[]),
    ] {
        let called = with(overlays, application, sets);
        assert_eq!(called.status, SUCCESS, "{overlays:?}: {}", called.err);
    }
}

#[test]
fn overlays_that_cannot_be_combined_say_why() {
    let called = with(&["crcs-ppcs", "dka"], "histogram-pipeline", &[]);
    assert_eq!(called.status, FAILURE);
    let why = "`pages` comes with `crcs-fifo` or `ppcs` of `policy`, which is `dka`";
    assert!(called.err.contains(why), "{}", called.err);
    let called = with(&["crcs-fifo", "crcs-ppcs"], "histogram-pipeline", &[]);
    let why = "overlay `crcs-ppcs` adds `mmu` to `gpu`, which overlay `crcs-fifo` adds, too";
    assert!(called.status == FAILURE && called.err.contains(why), "{}", called.err);
}
