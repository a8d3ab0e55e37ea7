//! Every application on a small machine, from its files to its results.

use counterpoint_framework::kernel::Outcome;
use counterpoint_framework::model::StatValue;
use counterpoint_simulation::run::RunRequest;

use crate::support::{assert_verified, request, root, run_request};

/// The applications for one device, by name.
fn names() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("experiments/applications")).unwrap();
    let folders = entries.map(|entry| entry.unwrap()).filter(|entry| entry.path().is_dir());
    let names = folders.map(|entry| entry.file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.ends_with("two-devices")).collect();
    names.sort();
    names
}

/// Local memory holds what was stored although lines leave the L1, and it is written back.
fn keeps_local_memory(size: &[&str]) {
    for stores in ["no-allocate", "allocate"] {
        let set = format!("gpu.sm.l1d.local_stores={stores}");
        let cache = [set.as_str(), "gpu.sm.l1d.capacity=4 KiB", "gpu.sm.l1d.set_index=linear"];
        let found = run_request(&request("tiny", "rank-filter", &[size, &cache].concat()));
        assert_verified(&found);
        let mut rows = found.report.stats.iter().filter(|row| row.label.name == "L1D_write_backs");
        assert!(rows.all(|row| row.value != StatValue::Count(0)), "{stores}");
    }
}

#[test]
fn local_memory_holds_what_was_stored_when_lines_leave_the_l1_and_the_network_is_full() {
    keeps_local_memory(&["app.size=small"]);
}

#[test]
fn translated_addresses_change_times_and_no_result() {
    for name in ["hotspot", "rank-filter", "tally"] {
        let run = |tlb: &[&str]| {
            let overlays = if tlb.is_empty() { Vec::new() } else { vec!["translation".to_owned()] };
            let request = request("tiny", name, &[&["app.size=small"], tlb].concat());
            let found = run_request(&RunRequest { overlays, ..request });
            assert_verified(&found);
            found.report.outcome.time()
        };
        let (without, with) = (run(&[]), run(&["gpu.sm.tlb.entries=4", "gpu.mmu.entries=8"]));
        assert!(with > without, "{name}: {without}, translated {with}");
    }
}

/// Applications whose small size still issues most instructions of all applications, with settings that
/// reduce it.
const LESS: [(&str, &[&str]); 8] = [
    ("histogram", &["app.n=600", "app.parts=1"]),
    ("mandelbrot", &["app.n=24"]),
    ("mummer", &["app.batches=1"]),
    ("narrow-mandelbrot", &["app.tasks=2"]),
    ("neural-network", &["app.batches=1"]),
    ("pattern-match", &["app.batches=1"]),
    ("reference-mandelbrot", &["app.n=16"]),
    ("reference-sad4x4", &["app.w=16", "app.h=8"]),
];

/// Runs those of the applications that are chosen by their place in the list, with time and without, in small sizes with settings.
fn run_small(chosen: impl Fn(usize) -> bool, settings: impl Fn(&str) -> &'static [&'static str]) {
    let names = names();
    assert!(names.len() >= 19, "the walk found {names:?} only");
    for (_, name) in names.into_iter().enumerate().filter(|(place, _)| chosen(*place)) {
        let request = request("tiny", &name, &[&["app.size=small"], settings(&name)].concat());
        let timed = run_request(&request);
        assert_verified(&timed);
        // A machine's timing does not change the instructions executed.
        let without_time = run_request(&RunRequest { functional: true, ..request });
        for count in ["CTAs", "warp instructions", "thread instructions"] {
            let counts = [&timed, &without_time].map(|summary| summary.figures.count(count));
            assert!(counts[0].is_some() && counts[0] == counts[1], "{name}, {count}: {counts:?}");
        }
    }
}

/// The settings that make an application short.
fn less(name: &str) -> &'static [&'static str] {
    LESS.iter().find(|(long, _)| *long == name).map_or(&[], |(_, settings)| settings)
}

// Two tests, which run side by side, each cover half of the applications.
#[test]
fn small_sizes_of_every_other_application_run_from_prelude_to_postlude() {
    run_small(|place| place % 2 == 0, less);
}

#[test]
fn small_sizes_of_the_other_applications_run_from_prelude_to_postlude() {
    run_small(|place| place % 2 == 1, less);
}

#[test]
fn a_loop_that_the_device_ends_copies_its_flag_in_every_round() {
    let summary = run_request(&request("tiny", "bfs", &["app.size=small"]));
    assert_verified(&summary);
    let phase = |name: &str| {
        let found = summary.phases.iter().find(|phase| phase.name == name);
        found.unwrap_or_else(|| panic!("{name} in {:?}", summary.phases)).count
    };
    let flags = phase("D2H more");
    assert!(flags > 3, "{flags} rounds");
    let launches = summary.report.trace.spans.iter().filter(|span| span.name.starts_with("visit")).count();
    assert_eq!(launches as u64, flags, "a copy for each round");
}

#[test]
fn atomics_and_loops_give_the_same_bits_on_two_threads() {
    for name in ["bfs", "histogram", "reduction"] {
        let hash = |threads| {
            let request = request("tiny", name, &["app.size=small"]);
            run_request(&RunRequest { hash: true, threads, ..request }).report.hash.expect("asked for")
        };
        assert_eq!(hash(1), hash(2), "{name}");
    }
}

#[test]
fn a_loop_that_does_not_end_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let own = root().join("experiments/applications/bfs");
    let text = std::fs::read_to_string(own.join("bfs.yaml")).unwrap();
    let kernel = own.join("kernel.nvrtc-sm_35.ptx").display().to_string();
    let text = text.replace("kernel.nvrtc-sm_35.ptx", &kernel).replace("at_most: \"${nodes}\"", "at_most: 2");
    let path = folder.path().join("bfs.yaml");
    std::fs::write(&path, text).unwrap();
    let summary = run_request(&request("tiny", &path.display().to_string(), &["app.size=small"]));
    assert!(matches!(summary.report.outcome, Outcome::Failed { .. }), "{}", summary.report.outcome);
    let text = summary.report.outcome.to_string();
    let expected = "a loop did not end: after 2 rounds, its limit, it is not so that more[0] equals 0";
    assert!(text.contains("host.cpu") && text.contains(expected), "{text}");
}

/// c = a + b before the run and d = c + b in it, on the second of two devices, which gets no copy.
const PRELOADED: &str = r#"counterpoint: 1
application: preloaded
parameters: { n: 500 }
code: { add: KERNEL }
buffers:
  a: { type: f32, elements: "${n}", device: 1 }
  b: { type: f32, elements: "${n}", device: 1 }
  c: { type: f32, elements: "${n}", device: 1 }
  d: { type: f32, elements: "${n}", device: 1 }
preload:
  - load: { file: a.f32, into: a, generate: { ramp: { start: 1, step: 1 } } }
  - load: { file: b.f32, into: b, generate: { ramp: { start: 0, step: 0.5 } } }
  - launch: add.vecadd
    device: 1
    grid: 2
    block: 256
    arguments: [a, b, c, "${n}"]
kernels:
  - launch: add.vecadd
    device: 1
    grid: 2
    block: 256
    arguments: [c, b, d, "${n}"]
copy_out: [d]
postlude:
  - write: { from: d, file: d.f32 }
expect:
  - { buffer: d, file: expected.f32 }
"#;

#[test]
fn a_device_begins_with_what_was_loaded_and_computed_before() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = root().join("experiments/applications/vecadd/kernel.nvrtc-sm_35.ptx").display().to_string();
    let path = folder.path().join("preloaded.yaml");
    std::fs::write(&path, PRELOADED.replace("KERNEL", &kernel)).unwrap();
    // a + b + b, with both as ramps.
    let expected: Vec<u8> = (0..500).flat_map(|index| (1.0 + 2.0 * index as f32).to_le_bytes()).collect();
    std::fs::write(folder.path().join("expected.f32"), expected).unwrap();
    let request = request("two-gpus", &path.display().to_string(), &[]);
    let timed = run_request(&request);
    assert_verified(&timed);
    let copies = timed.phases.iter().filter(|phase| phase.name.starts_with("H2D ")).count();
    let launches = timed.report.trace.spans.iter().filter(|span| span.name.starts_with("vecadd")).count();
    assert_eq!((copies, launches), (0, 1), "what comes before the run takes no time");
    let without_time = run_request(&RunRequest { functional: true, ..request });
    assert_verified(&without_time);
    assert_eq!(without_time.launched.map(|launched| launched.len()), Some(1));
}

#[test]
fn what_goes_wrong_before_the_run_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = root().join("experiments/applications/vecadd/kernel.nvrtc-sm_35.ptx").display().to_string();
    let path = folder.path().join("preloaded.yaml");
    let text = PRELOADED.replace("KERNEL", &kernel).replacen("c, \"${n}\"]", "c, \"${n + 1}\"]", 1);
    std::fs::write(&path, text).unwrap();
    std::fs::write(folder.path().join("expected.f32"), [0; 2000]).unwrap();
    for functional in [false, true] {
        let request = request("two-gpus", &path.display().to_string(), &[]);
        let summary = run_request(&RunRequest { functional, ..request });
        assert!(summary.partial && !summary.is_good());
        let text = summary.ending();
        for part in
            ["preloaded, before the run failed", ": vecadd#1, block (1, 0, 0)", "outside of every buffer"]
        {
            assert!(text.contains(part), "{text}");
        }
    }
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn small_sizes_run_whole_from_prelude_to_postlude() {
        run_small(|_| true, |_| &[]);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn local_memory_of_many_blocks_holds_what_was_stored() {
        keeps_local_memory(&[]);
    }
}
