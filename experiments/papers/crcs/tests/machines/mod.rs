//! CRCS and PPCS on whole machines, by the facts that the paper states (Kim et al., PACT 2016): kernels that
//! depend on each other and run side by side compute the same results as one after another, and each rule
//! that makes it so is needed.
//!
//! `timing` tests that single components keep these rules.

mod errors;
mod overlap;
mod recorded;
mod rules;
mod studies;

use counterpoint::run::{RunRequest, RunSummary, registry_with};
use counterpoint_tests::observed::{of_blocks, total};
use counterpoint_tests::support::{assert_verified, request, run_with};

const FIFO: &str = "crcs-fifo";
const PPCS: &str = "crcs-ppcs";

/// The machine of the paper with fewer SMs and channels, so that a run takes no time.
const SMALL: [&str; 2] = ["gpu.sms=4", "gpu.controllers=2"];

/// A run on the paper's machine with an overlay, looked at by the race checker; without one, serially.
fn on_crcs(overlay: Option<&str>, application: &str, sets: &[&str]) -> RunRequest {
    let overlays = overlay.iter().map(|name| (*name).to_owned()).collect();
    let request = request("crcs-64sm-pcie3-ssd", application, sets);
    RunRequest { overlays, racecheck: true, hash: true, ..request }
}

fn run_request(request: &RunRequest) -> RunSummary {
    run_with(request, registry_with(&[counterpoint_crcs::register]))
}

fn with_blocks(request: RunRequest) -> RunSummary {
    run_request(&of_blocks(request))
}

/// Asserts that a run computed the right results, and that the race checker looked at its launches and found
/// nothing.
#[track_caller]
fn assert_right(summary: &RunSummary, launches: usize) {
    let found: Vec<String> = summary.found.iter().map(ToString::to_string).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert_eq!(summary.race_checked, Some(launches));
    assert_verified(summary);
}

/// The paper's programs, small, and how many launches they have.
const PROGRAMS: [(&str, usize); 7] = [
    ("3mm", 3),
    ("stencil3d", 3),
    ("hotspot", 2),
    ("bfs", 36),
    ("laplace", 3),
    ("convolution", 2),
    ("pathfinder", 3),
];

#[test]
fn every_block_that_was_counted_is_counted_off_and_all_pages_are_nobodys() {
    for (program, _) in PROGRAMS {
        for overlay in [FIFO, PPCS] {
            let sets = [&SMALL[..], &["app.size=small"]].concat();
            let plain = RunRequest { racecheck: false, ..on_crcs(Some(overlay), program, &sets) };
            let summary = run_request(&plain);
            assert_verified(&summary);
            let of_mmu = |name| total(&summary, "gpu/mmu", name);
            assert_eq!(of_mmu("counts_set"), of_mmu("counts_released"), "{program} {overlay}");
            assert_eq!(of_mmu("handovers"), of_mmu("given_up"), "{program} {overlay}");
            assert!(of_mmu("counts_set") > 0 && of_mmu("handovers") > 0, "{program} {overlay}");
        }
    }
}

/// Results of some programs are right under the combinations of policy and prelude order that `chosen` selects by the indices of
/// program, policy and order.
fn values_are_right(programs: &[(&str, usize)], chosen: impl Fn(usize, usize, usize) -> bool) {
    for (place, &(program, launches)) in programs.iter().enumerate() {
        let sets = [&SMALL[..], &["app.size=small"]].concat();
        let serial = run_request(&on_crcs(None, program, &sets));
        assert_eq!(serial.race_checked, Some(0));
        assert_verified(&serial);
        for (policy, overlay) in [FIFO, PPCS].into_iter().enumerate() {
            let orders = ["interleaved", "sequential", "small-first", "random", "random-in-turn"]
                .into_iter()
                .enumerate();
            for (_, order) in orders.filter(|(order, _)| chosen(place, policy, *order)) {
                let order = format!("host.cpu.runtime={{ overlapped: {{ order: {order} }} }}");
                let sets = [&sets[..], &[&order]].concat();
                let one = on_crcs(Some(overlay), program, &sets);
                // The analysis of the stencil's ranges takes seconds.
                let racecheck = program != "stencil3d" || order.contains("interleaved");
                let two = RunRequest { threads: 2, racecheck: false, ..one.clone() };
                let one = run_request(&RunRequest { racecheck, ..one });
                let two = run_request(&two);
                assert_eq!(one.race_checked, racecheck.then_some(launches));
                assert!(one.found.is_empty(), "{program} {overlay} {order}: {}", one.found[0]);
                assert_verified(&one);
                assert_verified(&two);
                assert_eq!(one.results, serial.results, "{program} {overlay} {order}");
                assert_eq!(one.report.hash, two.report.hash, "{program} {overlay} {order}");
                assert!(one.report.hash.is_some());
            }
        }
    }
}

/// Orders take turns: two for each policy.
fn in_turns(program: usize, policy: usize, order: usize) -> bool {
    (program + policy + order).is_multiple_of(2)
}

#[test]
fn programs_compute_the_same_and_no_page_is_touched_early() {
    values_are_right(&PROGRAMS[..3], in_turns);
}

#[test]
fn more_programs_compute_the_same_and_no_page_is_touched_early() {
    values_are_right(&PROGRAMS[3..], in_turns);
}

#[test]
fn pages_may_be_large() {
    for (overlay, page) in [(FIFO, "gpu.page=16 KiB"), (PPCS, "gpu.page=64 KiB")] {
        let summary = run_request(&on_crcs(Some(overlay), "hotspot", &["gpu.sms=4", "app.n=64", page]));
        assert_right(&summary, 10);
    }
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn programs_compute_the_same_in_every_order() {
        values_are_right(&PROGRAMS, |_, _, _| true);
    }
}
