//! An SM that only waits costs nothing, however long: the cycles are counted and nobody goes through them.

use counterpoint_hardware::gpu::sm::Sm;
use counterpoint_protocols::launch::{SmEvent, ToSm};
use counterpoint_protocols::memory::MemRequest;

use super::programs::{Memory, kernel, launch};
use super::sm::block;
use super::*;

/// If only a few nanoseconds were spent on each of these, the tests would take as many seconds.
const LONG: u64 = 900_000_000;

/// Runs one block of these instructions before a memory that takes that long, and gives the cycles that the block was there, with
/// those of them in which its warps waited for memory, of both schedulers.
fn run(body: &str, threads: u32) -> (u64, u64) {
    let mut bench = bench::<Sm>("{ fetch_width: 8, l1i: { perfect: on }, l1c: { perfect: on } }");
    let block = block(&launch(1, &kernel(body), 1, threads), 0);
    bench.client::<ToSm, SmEvent>("work", None, vec![(5, block)], 2);
    let mut memory = Memory::default();
    bench.server("memory", None, move |request: MemRequest| Some((LONG, memory.answer(&request))));
    let report = bench.run();
    assert_finished(&report);
    (report.count("active_cycles"), report.count("memory"))
}

/// Cycles for which the kernels compute, at most: two schedulers issue ten or twelve instructions of 32 warps, and the last ones
/// of a warp wait for each other.
const SHORT: u64 = 32 * 12 / 2 + 30;

#[test]
fn waiting_for_memory_costs_nothing() {
    let (active, waited) = run("ld.global.u32 %r3, [%rd2];\nadd.u32 %r3, %r3, 1;", 1024);
    assert!((LONG..LONG + SHORT).contains(&active), "{active} cycles");
    assert!((2 * (LONG - SHORT)..=2 * LONG).contains(&waited), "{waited} slots");
}

#[test]
fn waiting_at_a_barrier_costs_nothing() {
    // Warp 0 loads; the others wait for it.
    let body =
        "setp.lt.u32 %p1, %r1, 32;\n@%p1 ld.global.u32 %r3, [%rd2];\n@%p1 add.u32 %r3, %r3, 1;\nbar.sync 0;";
    let (active, waited) = run(body, 1024);
    assert!((LONG..LONG + SHORT).contains(&active), "{active} cycles");
    // The other scheduler's warps are all at the barrier.
    assert!((LONG - SHORT..=LONG).contains(&waited), "{waited} slots");
}

#[test]
fn an_sm_without_a_block_costs_nothing() {
    let mut bench = bench::<Sm>("{}");
    let events = bench.probe::<SmEvent>("work", None);
    bench.server("memory", None, |request: MemRequest| Some((1, numbered(&request))));
    bench.lasts(LONG);
    let report = bench.run();
    assert_finished(&report);
    assert_eq!(report.count("active_cycles"), 0);
    assert_eq!(events.cycles(), [0], "what it has, and nothing more");
}
