//! A machine and an application give the same bits in repeated runs, on more threads, on every cut, with windows of
//! every length, and with the lines of the file shuffled. `.ci/run`, which makes both builds, checks that debug and
//! release builds agree.

use std::collections::BTreeSet;

use counterpoint_framework::kernel::{Islands, Sharing, SnapshotTimes};
use counterpoint_framework::telemetry::{Level, Recording, Span};
use counterpoint_framework::time::SimTime;
use counterpoint_framework::topology::RunReport;
use counterpoint_simulation::run::RunRequest;

use crate::support::{request, root, run_request};

fn hotspot() -> RunRequest {
    let request = request("tiny", "hotspot", &["app.n=40", "app.launches=3"]);
    RunRequest { hash: true, ..request }
}

fn hash(request: &RunRequest) -> u64 {
    run_request(request).report.hash.expect("the hash was asked for")
}

#[test]
fn ten_repeats_and_several_thread_counts_agree() {
    let first = hash(&hotspot());
    for repeat in 1..10 {
        let threads = 1 + repeat % 3;
        assert_eq!(hash(&RunRequest { threads, ..hotspot() }), first, "repeat {repeat}, {threads} threads");
    }
}

/// A program that was recorded has the same hash again, on these numbers of threads.
fn recorded(numbers: &[usize]) {
    let request = RunRequest { hash: true, ..request("tiny", "captured-stages", &[]) };
    let first = hash(&request);
    for &threads in numbers {
        assert_eq!(hash(&RunRequest { threads, ..request.clone() }), first, "{threads} threads");
    }
}

#[test]
fn a_recorded_program_has_one_hash() {
    recorded(&[3]);
}

/// Runs that differ in nothing but threads, islands and windows.
fn cuts(request: &RunRequest) -> Vec<RunRequest> {
    let at = |ps| Islands::AtLatency(SimTime::from_ps(ps));
    let mut cuts = Vec::new();
    // Every component is an island with `at(0)`; with the others, those that are near each other are one.
    for islands in [Islands::Auto, Islands::One, at(0), at(1_500), at(11_000), at(400_000)] {
        for threads in [1, 2, 3] {
            cuts.push(RunRequest { threads, islands, ..request.clone() });
        }
    }
    // Shares that change threads every few windows.
    for (threads, islands) in [(2, Islands::Auto), (3, at(0))] {
        cuts.push(RunRequest { threads, sharing: Sharing::InTurns, islands, ..request.clone() });
    }
    // A window ends before each snapshot of the hashes, here shorter than every latency, and than a clock's cycle.
    for (threads, every) in [(1, 499), (1, 10_007), (2, 983), (3, 7_919)] {
        let snapshots = Some(SnapshotTimes { from: SimTime::ZERO, every: SimTime::from_ps(every) });
        let islands = if threads == 1 { Islands::One } else { at(0) };
        cuts.push(RunRequest { threads, islands, snapshots, ..request.clone() });
    }
    cuts
}

/// Runs two programs under those of the cuts that are chosen by the place of the program and that of the cut.
fn identical(chosen: impl Fn(usize, usize) -> bool) {
    let streams = ["app.n=300", "host.cpu.runtime=streams", "gpu.scheduler.policy=leftover"];
    let streams = request("tiny", "vecadd-streams", &streams);
    let stencil = request("tiny", "hotspot", &["app.n=20", "app.launches=2"]);
    for (program, request) in [stencil, streams].into_iter().enumerate() {
        let series = Some(SimTime::from_ps(1_000_003));
        let request = RunRequest { hash: true, recording: Recording::of(Level::Warps), series, ..request };
        let first = run_request(&request).report;
        let ended = first.outcome.to_string();
        let (mut lookaheads, mut islands) = (BTreeSet::new(), BTreeSet::new());
        for (_, cut) in cuts(&request).into_iter().enumerate().filter(|(place, _)| chosen(program, *place)) {
            let report = run_request(&cut).report;
            let which = format!("{}: {} threads, {:?}", cut.application, cut.threads, cut.islands);
            assert_eq!((report.hash, report.outcome.to_string()), (first.hash, ended.clone()), "{which}");
            assert!(report.stats == first.stats, "statistics of {which}");
            let points =
                |report: &RunReport| report.series.as_ref().map(|series| series.points().collect::<Vec<_>>());
            assert!(points(&report) == points(&first), "time series of {which}");
            let times = |span: &Span| (span.path.clone(), span.name.clone(), span.start, span.end);
            assert!(
                report.trace.spans.iter().map(times).eq(first.trace.spans.iter().map(times)),
                "spans of {which}"
            );
            lookaheads.insert(report.lookahead);
            islands.insert(report.islands);
        }
        assert!(lookaheads.len() >= 4, "{lookaheads:?}");
        assert!(islands.contains(&1) && islands.last() > Some(&15), "{islands:?}");
    }
}

#[test]
fn cycles_are_identical_for_every_window_length_and_thread_count() {
    // Every second cut for one program, the others for the other.
    identical(|program, cut| cut % 2 == program);
}

#[test]
fn the_order_of_lines_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    for (name, place) in [("gpu", "modules"), ("host", "modules"), ("tiny", "systems")] {
        let text = std::fs::read_to_string(root().join(format!("topologies/{place}/{name}.yaml"))).unwrap();
        let text = text.replace("../modules/", "");
        std::fs::write(folder.path().join(format!("{name}.yaml")), reversed(&text)).unwrap();
    }
    let machine = folder.path().join("tiny.yaml").display().to_string();
    assert_eq!(hash(&RunRequest { machine, ..hotspot() }), hash(&hotspot()));
}

/// The entries of `components:` and of `links:` in reverse.
fn reversed(text: &str) -> String {
    let mut out = String::new();
    let mut entries: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let top = !line.starts_with(' ') && !line.is_empty();
        if top {
            entries.drain(..).rev().for_each(|entry| out.push_str(&entry));
            inside = line.starts_with("components:") || line.starts_with("links:");
        }
        let begins = line.starts_with("  ") && !line.starts_with("   ");
        match entries.last_mut() {
            _ if !inside || top => out.push_str(&format!("{line}\n")),
            Some(entry) if !begins => entry.push_str(&format!("{line}\n")),
            _ => entries.push(format!("{line}\n")),
        }
    }
    entries.drain(..).rev().for_each(|entry| out.push_str(&entry));
    out
}

#[test]
fn reversal_keeps_every_line() {
    let text = std::fs::read_to_string(root().join("topologies/modules/gpu.yaml")).unwrap();
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_ne!(reversed(&text), text);
    assert_eq!(sorted(&reversed(&text)), sorted(&text));
}

#[test]
fn another_run_has_another_hash() {
    let fewer = request("tiny", "hotspot", &["app.n=40", "app.launches=2"]);
    assert_ne!(hash(&RunRequest { hash: true, ..fewer }), hash(&hotspot()));
    let slower =
        request("tiny", "hotspot", &["app.n=40", "app.launches=3", "gpu.sm.shared_latency=27 cycles"]);
    assert_ne!(hash(&RunRequest { hash: true, ..slower }), hash(&hotspot()));
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn cycles_of_each_program_are_identical_under_all_cuts() {
        identical(|_, _| true);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn a_recorded_program_has_one_hash_on_any_number_of_threads() {
        recorded(&[1, 2, 3]);
    }
}
