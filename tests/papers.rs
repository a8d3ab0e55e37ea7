//! Papers together: one program under every runtime that can take it, and overlays of several papers on one machine.

use counterpoint::{FAILURE, SUCCESS};
use counterpoint_tests::points::assert_sound;

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
