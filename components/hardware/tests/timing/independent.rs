//! Threads that make progress by themselves (sm_70 and later), on the SM.

use super::programs::{BUFFER, Memory, kernel, launch, stored};
use super::sm::{FETCHED, Run, block, run_blocks};
use super::*;

/// Runs one block of these instructions on an architecture; the word behind the buffer's first is a counter.
fn run_on(target: u32, params: &str, body: &str, threads: u32) -> Run {
    let source = kernel(body).replace("sm_35", &format!("sm_{target}"));
    run_blocks(params, Memory::default(), vec![(5, block(&launch(1, &source, 1, threads), 0))])
}

fn run(body: &str, threads: u32) -> Run {
    let run = run_on(70, FETCHED, body, threads);
    assert_finished(&run.report);
    // The same with real instruction fetch, and without remembered polls: the same values are stored, if at other times.
    for params in
        ["{}", "{ fetch_width: 8, remember_polls: off, l1i: { perfect: on }, l1c: { perfect: on } }"]
    {
        let other = run_on(70, params, body, threads);
        assert_finished(&other.report);
    }
    run
}

/// The last value that was stored at an offset of the buffer.
fn last(run: &Run, offset: u64) -> Option<u32> {
    run.requests.iter().rev().find_map(|(_, request)| stored(request, BUFFER + offset))
}

const TAKE: &str = "A: atom.global.cas.b32 %r3, [%rd1], 0, 1;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra A;\n";
const COUNT: &str = "membar.gl;\nld.volatile.global.u32 %r4, [%rd1+256];\nadd.u32 %r4, %r4, 1;\nst.volatile.global.u32 [%rd1+256], %r4;\nmembar.gl;\n";
const GIVE: &str = "atom.global.exch.b32 %r3, [%rd1], 0;\n";

#[test]
fn a_lock_that_lanes_take_in_turn_ends() {
    for threads in [32, 64] {
        let run = run(&format!("{TAKE}{COUNT}{GIVE}"), threads);
        assert_eq!(last(&run, 256), Some(threads));
    }
}

#[test]
fn a_lock_in_shared_memory_ends_while_lanes_poll_it() {
    let body = "mov.u32 %r5, scratch;\nA: ld.volatile.shared.u32 %r3, [%r5];\nsetp.ne.u32 %p1, %r3, %r1;\n@%p1 bra A;\n\
        ld.volatile.global.u32 %r4, [%rd1+256];\nadd.u32 %r4, %r4, 1;\nst.volatile.global.u32 [%rd1+256], %r4;\nmembar.gl;\n\
        add.u32 %r3, %r3, 1;\nst.volatile.shared.u32 [%r5], %r3;";
    assert_eq!(last(&run(body, 64), 256), Some(64));
}

#[test]
fn paths_meet_at_masks_and_arrive_at_barriers_by_themselves() {
    let masks = "setp.lt.u32 %p1, %r1, 8;\n@%p1 bra L;\nmov.u32 %r3, 1;\nX: redux.sync.add.u32 %r4, %r3, -1;\nbra E;\n\
        L: mov.u32 %r3, 2;\nbra X;\nE: st.global.u32 [%rd2], %r4;";
    assert_eq!([0, 31].map(|lane| last(&run(masks, 32), 4 * lane)), [Some(40); 2]);
    // Halves of warps arrive at other instructions than the other halves, and the values are there behind the barrier.
    let barriers = "mov.u32 %r5, scratch;\nshl.b32 %r6, %r1, 2;\nadd.u32 %r6, %r6, %r5;\nand.b32 %r7, %r1, 31;\nsetp.lt.u32 %p1, %r7, 16;\n@%p1 bra L;\n\
        st.shared.u32 [%r6], %r1;\nbarrier.sync 0;\nmov.u32 %r4, 9;\nbra E;\n\
        L: xor.b32 %r6, %r6, 64;\nbarrier.sync 0;\nld.shared.u32 %r4, [%r6];\nE: st.global.u32 [%rd2], %r4;";
    let run = run(barriers, 64);
    assert_eq!([0, 15, 16, 32, 47, 63].map(|t| last(&run, 4 * t)), [16, 31, 9, 48, 63, 9].map(Some));
}

#[test]
fn halves_that_wait_at_different_barriers_stand_still() {
    let body =
        "setp.lt.u32 %p1, %r1, 8;\n@%p1 bra L;\nbarrier.sync 1, 64;\nbra E;\nL: barrier.sync 2, 32;\nE:";
    let message = fault(&run_on(70, FETCHED, body, 32).report).to_owned();
    assert!(
        message.contains(
            "no warp can go on: lanes 8 to 31 of warp 0 wait at barrier 1, which has 24 of 64 threads"
        ) && message.contains("lanes 0 to 7 of warp 0 wait at barrier 2, which has 8 of 32 threads"),
        "{message}"
    );
}

#[test]
fn a_warp_that_needs_no_other_path_keeps_its_time() {
    // A thread waits for another warp's word, the others at the barrier behind: as in step, to the cycle.
    let body = "setp.ge.u32 %p2, %r1, 32;\n@%p2 bra W;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra M;\n\
        S: ld.volatile.global.u32 %r3, [%rd1+512];\nsetp.eq.u32 %p3, %r3, 0;\n@%p3 bra S;\nbra M;\n\
        W: mov.u32 %r4, 0;\nL: add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p3, %r4, 9000;\n@%p3 bra L;\nst.volatile.global.u32 [%rd1+512], 1;\n\
        M: bar.sync 0;\nst.global.u32 [%rd2], %r1;";
    let [old, new] = [61, 70].map(|target| {
        let run = run_on(target, FETCHED, body, 64);
        assert_finished(&run.report);
        (run.report.count("warp_insn"), run.requests.last().map(|(cycle, _)| *cycle))
    });
    assert_eq!(old, new);
    assert!(old.0 > 27_500, "it waits for many rounds: {}", old.0);
}
