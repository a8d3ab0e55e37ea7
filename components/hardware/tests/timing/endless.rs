//! Warps that go round a loop forever, on the SM: found where it is certain, and only there.

use counterpoint_protocols::local::{Capacity, LocalMemory};

use super::programs::{BUFFER, Memory, kernel, launch, line_of_text, stored};
use super::sm::{ENDED, FETCHED, Run, block, run_blocks};
use super::*;

/// Runs one block of two warps, or one of these threads, of a kernel with these instructions.
fn run(params: &str, body: &str, threads: u32) -> (Run, String) {
    let source = kernel(body);
    let mut launch = std::sync::Arc::unwrap_or_clone(launch(1, &source, 1, threads));
    let bytes_per_thread = launch.kernel.local_bytes(launch.stack);
    launch.local = LocalMemory { base: 0x6_0000, bytes_per_thread, capacity: Capacity { sms: 1, warps: 48 } };
    (run_blocks(params, Memory::default(), vec![(5, block(&launch.into(), 0))]), source)
}

/// The message about a kernel in which a loop does not end, and its text.
#[track_caller]
fn endless(body: &str, threads: u32) -> (String, String) {
    let (run, source) = run(FETCHED, body, threads);
    let message = fault(&run.report).to_owned();
    // The same without remembered polls, at the same time.
    let executed = self::run(&FETCHED.replacen('{', "{ remember_polls: off, ", 1), body, threads).0;
    assert_eq!(executed.report.outcome.to_string(), run.report.outcome.to_string());
    assert!(message.contains("a loop that does not end"), "{message}");
    (message, source)
}

/// A kernel that ends and says so, however often its warps have been looked at.
#[track_caller]
fn ends(body: &str, threads: u32) {
    let (run, _) = run(FETCHED, body, threads);
    assert_finished(&run.report);
    assert!(run.report.count("warp_insn") > 300_000, "{}", run.report.count("warp_insn"));
    let last = run.requests.iter().find_map(|(_, request)| stored(request, ENDED));
    assert!(last.is_some(), "it says that it has ended");
}

const END: &str = "st.global.u32 [%rd1+4096], %r1;\n";
/// Counts in %r3 to more than four powers of two at which a warp is looked at.
const LONG: &str = "mov.u32 %r3, 0;\nL: add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 110000;\n@%p1 bra L;\n";
/// Waits for the word at 16.
const SPIN: &str = "S: ld.volatile.shared.u32 %r4, [scratch+16];\nsetp.eq.u32 %p2, %r4, 0;\n@%p2 bra S;\n";

#[test]
fn a_loop_of_registers_is_named_with_its_lanes() {
    let (message, source) = endless(
        "setp.lt.u32 %p1, %r1, 35;\n@%p1 bra DONE;\nAGAIN:\nadd.u32 %r4, %r4, 1;\nbra AGAIN;\nDONE:",
        64,
    );
    let line = line_of_text(&source, "add.u32 %r4");
    let expected = format!(
        "k#1, block (0, 0, 0), warp 1, lane 3: PTX line {line}, `add.u32 %r4, %r4, 1;`: a loop that does not end: \
         lanes 3 to 31 go round it (up to line {}), and all that decides repeats every 2 instructions; the loop reads nothing",
        line + 1
    );
    assert!(message.starts_with(&expected), "{message}");
}

#[test]
fn a_loop_is_named_where_others_go_on_for_long() {
    // The other warp computes for longer and would end.
    let body = format!("setp.lt.u32 %p2, %r1, 32;\n@%p2 bra B;\n{LONG}ret;\nB: bra B;\n");
    let (message, _) = endless(&body, 64);
    assert!(message.contains("warp 0, lane 0") && message.contains("lanes 0 to 31"), "{message}");
}

#[test]
fn a_word_that_nobody_writes_any_more_is_named() {
    let (message, _) =
        endless(&format!("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra S;\nbar.sync 0;\nret;\n{SPIN}bar.sync 0;"), 64);
    assert!(
        message.contains("waits for the word of shared memory at 0x10 (`scratch`), which holds 0x0")
            && message.contains("repeats every 3 instructions")
            && message.ends_with("nobody can change any more: warp 1 waits at barrier 0"),
        "{message}"
    );
    let (message, _) = endless(&format!("setp.ge.u32 %p1, %r1, 32;\n@%p1 ret;\n{SPIN}"), 96);
    assert!(message.ends_with("nobody can change any more: warps 1 and 2 have ended"), "{message}");
    let (message, _) = endless(SPIN, 64);
    assert!(message.contains("is in such a loop, too"), "{message}");
    // A lock that was never opened; half of the lanes wait for it.
    let lock = "setp.ge.u32 %p1, %r1, 16;\n@%p1 ret;\nmov.u32 %r5, 1;\nS: atom.shared.cas.b32 %r4, [scratch], 7, %r5;\nsetp.ne.u32 %p2, %r4, 7;\n@%p2 bra S;\n";
    let (message, _) = endless(lock, 32);
    assert!(
        message.contains("lanes 0 to 15") && message.ends_with("the block has no other warp"),
        "{message}"
    );
}

#[test]
fn variables_of_a_loop_may_be_in_local_memory() {
    let body = ".local .align 4 .b8 stack[16];\nst.local.u32 [stack+4], %r2;\n\
        S: ld.local.u32 %r4, [stack+4];\nadd.u32 %r5, %r4, 1;\nst.local.u32 [stack+8], %r5;\n\
        ld.local.u32 %r6, [stack+8];\nsetp.gt.u32 %p1, %r6, %r4;\n@%p1 bra S;\n";
    let (message, _) = endless(body, 32);
    assert!(message.contains("repeats every 6 instructions"), "{message}");
}

#[test]
fn what_takes_long_is_not_endless() {
    ends(&format!("{LONG}{END}"), 32);
    // The word comes after a long time.
    let late = format!(
        "setp.lt.u32 %p3, %r1, 32;\n@%p3 bra S;\n{LONG}st.shared.u32 [scratch+16], %r3;\nret;\n{SPIN}{END}"
    );
    ends(&late, 64);
    // The clock and memory change by themselves.
    let clock = format!("C: mov.u32 %r4, %clock;\nsetp.lt.u32 %p1, %r4, 5000000;\n@%p1 bra C;\n{END}");
    ends(&clock, 32);
}

#[test]
fn somebody_may_write_to_global_memory() {
    let wait = "W: ld.volatile.global.u32 %r4, [%rd1];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra W;\n";
    for body in [
        wait.to_owned(),
        format!(
            "setp.lt.u32 %p3, %r1, 32;\n@%p3 bra S;\n{wait}st.shared.u32 [scratch+16], %r1;\nret;\n{SPIN}"
        ),
    ] {
        let params = FETCHED.replacen('{', "{ instruction_limit: 200000, ", 1);
        let (run, _) = run(&params, &body, 64);
        let message = fault(&run.report);
        assert!(message.contains("has executed 200000 instructions"), "{message}");
    }
    assert_eq!(stored(&write(0, BUFFER, ALL, 1), BUFFER), Some(0x0101_0101));
}
