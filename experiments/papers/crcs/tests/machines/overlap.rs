//! The overlap of steps, and its possible gain.

use std::collections::BTreeSet;

use counterpoint::run::{RunRequest, RunSummary, is_launch};

use super::{FIFO, PPCS, SMALL, assert_right, on_crcs, run_request, with_blocks};
use counterpoint::time::SimTime;
use counterpoint_tests::observed::{Block, blocks, phase, seconds, total};
use counterpoint_tests::support::{application, assert_verified};

#[test]
fn no_sm_holds_blocks_of_two_launches_and_the_l1_is_flushed_between_them() {
    for overlay in [FIFO, PPCS] {
        let sets = [&SMALL[..], &["app.n=96", "app.launches=5"]].concat();
        let summary = with_blocks(on_crcs(Some(overlay), "laplace", &sets));
        assert_right(&summary, 5);
        let blocks = blocks(&summary);
        assert_eq!(blocks.len(), 2 * 5 * 36, "blocks of kernels, and of as large pre-profilers");
        let on_one_sm = |a: &&Block, b: &&Block| a.sm == b.sm;
        let mut changes = 0;
        for sm in blocks.iter().collect::<Vec<_>>().chunk_by(on_one_sm) {
            for (index, block) in sm.iter().enumerate() {
                let others = sm[..index].iter().filter(|before| before.launch != block.launch);
                others.for_each(|other| assert!(other.end <= block.start, "{other:?}, {block:?}"));
            }
            changes += sm.windows(2).filter(|pair| pair[0].launch != pair[1].launch).count() as u64;
        }
        assert!(changes > 12, "{changes} changes are too few to tell");
        assert_eq!(total(&summary, "gpu/sm", "L1D_flushes"), changes, "{overlay}");
    }
}

#[test]
fn with_irregular_kernels_both_policies_are_one_and_kernels_run_one_after_another() {
    let sets = [&SMALL[..], &["app.size=small"]].concat();
    let [fifo, ppcs] = [FIFO, PPCS].map(|overlay| with_blocks(on_crcs(Some(overlay), "bfs", &sets)));
    assert_right(&fifo, 36);
    assert_eq!(
        (fifo.report.outcome.time(), fifo.report.hash),
        (ppcs.report.outcome.time(), ppcs.report.hash)
    );
    let (mut all, (_, prelude_ends)) = (blocks(&fifo), phase(&fifo, "prelude"));
    all.retain(|block| !block.is_profiler());
    all.sort_by_key(|block| block.launch);
    assert!(all[0].kernel == "visit" && all[0].start < prelude_ends, "the first overlaps: {:?}", all[0]);
    let mut older = SimTime::ZERO;
    for launch in all.chunk_by(|a, b| a.launch == b.launch) {
        assert!(launch.iter().all(|block| block.start >= older), "{launch:?} begins before {older}");
        older = launch.iter().map(|block| block.end).max().unwrap();
    }
}

/// Serial and overlapped runs of a program.
fn compare(program: &str, sets: &[&str]) -> [RunSummary; 3] {
    let runs = [None, Some(FIFO), Some(PPCS)].map(|overlay| run_request(&on_crcs(overlay, program, sets)));
    runs.iter().for_each(assert_verified);
    runs
}

/// The time that launches of kernels have taken, one after another.
fn kernels(serial: &RunSummary) -> f64 {
    let spans = serial.report.trace.spans.iter().filter(|span| is_launch(span));
    spans.map(|span| span.end.saturating_sub(span.start).as_ps() as f64 * 1e-12).sum()
}

fn lasts(summary: &RunSummary, name: &str) -> f64 {
    let (start, end) = phase(summary, name);
    end.saturating_sub(start).as_ps() as f64 * 1e-12
}

#[test]
fn nothing_is_faster_than_its_slowest_part() {
    let programs = [
        ("hotspot", &["app.n=96", "app.launches=5"][..]),
        ("laplace", &["app.n=96", "app.launches=8"]),
        ("pathfinder", &["app.columns=2000", "app.rows=21"]),
        ("3mm", &["app.size=small"]),
    ];
    for (program, sets) in programs {
        let runs = compare(program, &[&SMALL[..], sets].concat());
        let [serial, overlapped @ ..] = &runs;
        let parts = [lasts(serial, "prelude"), kernels(serial), lasts(serial, "postlude")];
        let bound = seconds(serial) / parts.iter().fold(0.0, |most: f64, part| most.max(*part));
        for run in overlapped {
            let gain = seconds(serial) / seconds(run);
            assert!(gain <= bound && gain > 1.0, "{program} {sets:?}: {gain} of {bound}");
        }
    }
}

#[test]
fn the_gain_falls_as_kernels_become_more() {
    let gain = |launches: u32| {
        let launches = format!("app.launches={launches}");
        let [serial, _, ppcs] = compare("hotspot", &["gpu.sms=4", "app.n=64", &launches]);
        seconds(&serial) / seconds(&ppcs)
    };
    let (few, many) = (gain(4), gain(16));
    assert!(few > many + 0.1 && many > 1.0, "{few} with 4 kernels, {many} with 16");
}

#[test]
fn pre_profilers_take_a_small_share_of_the_time() {
    for (program, sets) in [
        ("hotspot", ["gpu.sms=16", "app.n=192", "app.launches=4"]),
        ("laplace", ["gpu.sms=64", "app.n=256", "app.launches=4"]),
        ("pathfinder", ["gpu.sms=64", "app.columns=4000", "app.rows=21"]),
    ] {
        let summary = with_blocks(on_crcs(Some(FIFO), program, &sets));
        assert_verified(&summary);
        let (profilers, kernels): (Vec<Block>, Vec<Block>) =
            blocks(&summary).into_iter().partition(Block::is_profiler);
        assert_eq!(profilers.len(), kernels.len());
        let spans = summary.report.trace.spans.iter().filter(|span| span.name.contains("__pre#"));
        let taken: f64 = spans.map(|span| span.end.saturating_sub(span.start).as_ps() as f64 * 1e-12).sum();
        let share = taken / seconds(&summary);
        assert!(share > 0.0 && share < 0.03, "{program}: {share}");
    }
}

#[test]
fn under_fifo_only_the_first_kernel_gets_on_during_the_prelude() {
    let kernels = |overlay| {
        let sets = ["gpu.sms=8", "app.n=128", "app.launches=5"];
        let summary = with_blocks(on_crcs(Some(overlay), "hotspot", &sets));
        assert_right(&summary, 5);
        let (start, end) = phase(&summary, "prelude");
        let half = start.as_ps() + (end.as_ps() - start.as_ps()) / 2;
        let early = blocks(&summary).into_iter().filter(|it| it.end.as_ps() < half && !it.is_profiler());
        early.map(|block| block.launch).collect::<BTreeSet<u64>>()
    };
    let (fifo, ppcs) = (kernels(FIFO), kernels(PPCS));
    assert_eq!(fifo.len(), 1, "{fifo:?}");
    assert!(ppcs.len() >= 3 && ppcs.is_superset(&fifo), "{ppcs:?}");
}

#[test]
fn a_halo_stencil_on_two_sms_needs_the_guard() {
    let run = |guard: &str| {
        let guard = format!("gpu.scheduler.policy={{ ppcs: {{ guard: {guard} }} }}");
        let sets = ["gpu.sms=2", "app.n=160", "app.launches=6", &guard];
        run_request(&RunRequest { watchdog: None, ..on_crcs(Some(PPCS), "laplace", &sets) })
    };
    let on = run("on");
    assert_right(&on, 6);
    assert!(total(&on, "gpu/cta-scheduler", "guarded") > 0);
    let off = run("off");
    let ending = off.ending();
    assert!(ending.starts_with("deadlock at ") && !off.is_good(), "{ending}");
    for part in ["SM 0 waits for page 0x", "SM 1 waits for page 0x", "; it belongs to launch "] {
        assert!(ending.contains(part), "{ending}");
    }
    assert_eq!(total(&off, "gpu/cta-scheduler", "guarded"), 0);
}

#[test]
fn a_prelude_may_compute_what_no_file_holds() {
    let folder = tempfile::tempdir().unwrap();
    let app = application(folder.path(), "vecadd");
    let text = std::fs::read_to_string(&app).unwrap();
    let computed = ["a", "b"].iter().fold(text, |text, name| {
        text.replace(&format!("read: {{ file: \"data/{name}_${{n}}.f32\","), "compute: { rate: 1 MB/s,")
    });
    // The counts are those of other sizes.
    let (computed, _) = computed.split_once("counts:").unwrap();
    assert!(computed.contains("compute:"), "{computed}");
    std::fs::write(&app, computed).unwrap();
    let summary = run_request(&on_crcs(Some(FIFO), &app, &["gpu.sms=2", "app.n=256"]));
    assert_right(&summary, 1);
    // Two vectors of 1024 bytes at a megabyte a second, whatever else happens.
    assert!(lasts(&summary, "prelude") > 2.048e-3 && lasts(&summary, "prelude") < 2.25e-3);
}
