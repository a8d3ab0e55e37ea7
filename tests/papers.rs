//! Papers together: one program under every runtime that can take it, and overlays of several papers on one machine.

use counterpoint_cli::{FAILURE, SUCCESS};
use counterpoint_tests::command::call_extended;
use counterpoint_tests::points::{Sound, assert_sound, assert_sound_on_four_sms, table};
use counterpoint_tests::support::kernels;

use crate::cli::{Called, call};

/// Studies, with their points, that run one program under every runtime.
const PIPELINE: Sound = ("runtimes-pipeline", "/", 7, &["whole_us", "speed_up"]);
const TASKS: Sound = ("runtimes-tasks", "/", 7, &["whole_us", "speed_up"]);
const CAPTURED: Sound = ("runtimes-captured", "/", 9, &["whole_us", "speed_up"]);

// Three tests, which run side by side, each cover a part on four SMs.
#[test]
fn a_pipeline_runs_under_every_runtime_that_can_take_it() {
    assert_sound_on_four_sms("fermi-16sm", "sms: 16", &[PIPELINE]);
}

#[test]
fn tasks_run_under_every_runtime_that_can_take_them() {
    assert_sound_on_four_sms("titanx-maxwell", "sms: 24", &[TASKS]);
}

#[test]
fn a_recorded_program_runs_under_every_runtime_that_can_take_it() {
    assert_sound_on_four_sms("fermi-16sm", "sms: 16", &[CAPTURED]);
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

/// Steps between kernels: a fill, a part, a computation of the host and a copy on the device.
const STEPS: &str = r#"counterpoint: 1
application: steps
code: { k: KERNEL }
buffers:
  a: { type: f32, elements: 64 }
  b: { type: f32, elements: 64 }
  c: { type: f32, elements: 64 }
prelude: [ { compute: { into: a, generate: { ramp: {} }, rate: 1 GB/s } } ]
copy_in: [a]
kernels:
  - memset: { buffer: b, value: 2 }
  - { launch: k.vecadd, grid: 1, block: 64, arguments: [a, b, c, 64] }
  - synchronize: all
  - compute: { into: a, generate: { constant: { value: 100 } }, time: 2 us }
  - copy_in: { buffer: a, element: 32, elements: 16 }
  - { launch: k.vecadd, grid: 1, block: 64, arguments: [a, c, b, 64] }
  - copy: { from: b, to: c, element: 16, to_element: 48, elements: 16 }
copy_out: [c, b]
expect: [ { buffer: b, file: b.f32 }, { buffer: c, file: c.f32 } ]
"#;

#[test]
fn steps_between_kernels_run_under_every_runtime_that_can_take_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("vecadd.ptx"), kernels("vecadd", "nvrtc-sm_35").expect("a dialect")).unwrap();
    std::fs::write(path("steps.yaml"), STEPS.replace("KERNEL", "vecadd.ptx")).unwrap();
    // First i + 2; then that and i, or 100 in the part that was copied.
    let first = |i: u16| f32::from(i) + 2.0;
    let second = |i: u16| first(i) + if (32..48).contains(&i) { 100.0 } else { f32::from(i) };
    let write = |name: &str, value: &dyn Fn(u16) -> f32| {
        let bytes: Vec<u8> = (0..64).flat_map(|i| value(i).to_le_bytes()).collect();
        std::fs::write(path(name), bytes).unwrap();
    };
    write("b.f32", &second);
    write("c.f32", &|i| if i < 48 { first(i) } else { second(i - 32) });
    let run = |machine: &str, more: &[&str]| {
        let out = path("out");
        call(&[&["run", machine, &path("steps.yaml"), "--quiet", "--out", &out], more].concat())
    };
    let crcs = ["--set", "gpu.sms=4", "--set", "gpu.controllers=2", "--with"];
    for overlay in ["crcs-fifo", "crcs-ppcs"] {
        let called = run("crcs-64sm-pcie3-ssd", &[&crcs[..], &[overlay]].concat());
        assert_eq!(called.status, SUCCESS, "{overlay}: {}", called.err);
    }
    // Without steps between kernels all phases overlap; results that are written to no file are checked at
    // the end as well.
    let kernels = STEPS.find("kernels:").unwrap();
    let plain = STEPS[..kernels].to_owned()
        + "kernels: [ { launch: k.vecadd, grid: 1, block: 64, arguments: [a, a, c, 64] } ]\ncopy_out: [c]\nexpect: [ { buffer: c, \
           file: double.f32 } ]\n";
    std::fs::write(path("steps.yaml"), plain.replace("KERNEL", "vecadd.ptx")).unwrap();
    write("double.f32", &|i| 2.0 * f32::from(i));
    let called = run("crcs-64sm-pcie3-ssd", &[&crcs[..], &["crcs-fifo"]].concat());
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    std::fs::write(path("steps.yaml"), STEPS.replace("KERNEL", "vecadd.ptx")).unwrap();
    for runtime in ["dka", "preemptive", "pagoda", "gemtc", "hyperq", "fusion", "streams", "serial"] {
        let called = run("tiny", &["--runtime", runtime]);
        assert_eq!(called.status, SUCCESS, "{runtime}: {}", called.err);
    }
    for (runtime, why) in [
        ("pthreads", "`pthreads` has no device, whose memory `memset` or `copy` could write"),
        ("kernelet", "`steps` has something else, `memset`"),
        ("consolidation", "no other step on the device"),
    ] {
        let called = run("tiny", &["--runtime", runtime]);
        assert!(called.status == FAILURE && called.err.contains(why), "{runtime}: {}", called.err);
    }
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

    // The study's folder names its values: a command without papers draws them.
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

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn one_program_runs_under_every_runtime_that_can_take_it() {
        assert_sound(&[PIPELINE, TASKS, CAPTURED]);
    }
}
