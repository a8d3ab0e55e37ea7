//! Warps that loop forever are found, and others are not reported.

use std::sync::Arc;

use super::*;
use crate::execute::{Access, Issue};
use crate::program::Row;

/// A kernel of two warps, with registers and shared memory to use.
fn kernel(body: &str) -> Kernel {
    let text = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n\
         .reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .pred %p<9>;\n\
         .shared .align 4 .b8 words[256]; .local .align 4 .b8 stack[16];\nmov.u32 %r1, %tid.x;\n{body}\nret;\n}}"
    );
    Kernel::compile(&text, Some("k")).unwrap()
}

/// Local memory and constants that nobody knows.
struct Unknown;

impl Memories for Unknown {
    fn local(&mut self, _: usize, _: usize, _: usize, _: &mut [u8]) -> bool {
        false
    }

    fn constant(&mut self, _: u64, _: &mut [u8]) -> bool {
        false
    }

    fn global(&mut self, _: u64, _: &mut [u8]) -> bool {
        false
    }
}

fn environment() -> CtaEnvironment {
    CtaEnvironment::new([1, 1, 1], [64, 1, 1], Arc::from([0; 8]))
}

/// The verdict on warp 0 after it has executed some instructions, beside a warp that does `other`.
fn judged(kernel: &Kernel, executed: u32, other: Doing, budget: u64) -> Verdict {
    let env = environment();
    let mut warp = Warp::new(kernel, &env, 0);
    let mut access = Access::default();
    for _ in 0..executed {
        let issued = warp.issue(kernel, &env, &mut access).unwrap();
        if issued.kind == Issue::Memory {
            warp.complete_load(kernel, access.pc, access.mask, &[Row([0; 32]); 4]);
        }
    }
    let moment = Moment {
        kernel,
        env: &env,
        shared: vec![0; 256],
        warps: vec![Doing::Running(Box::new(warp)), other],
    };
    moment.judge(0, &mut Unknown, budget)
}

fn running(kernel: &Kernel) -> Doing {
    Doing::Running(Box::new(Warp::new(kernel, &environment(), 1)))
}

fn message(verdict: Verdict) -> String {
    match verdict {
        Verdict::Endless(failure) => failure.to_string(),
        verdict => panic!("{verdict:?}"),
    }
}

const SPIN: &str = "A: ld.volatile.shared.u32 %r2, [words+8]; setp.eq.s32 %p1, %r2, 0; @%p1 bra A;";

#[test]
fn a_loop_of_registers_is_endless_whatever_counts_beside_it() {
    for (body, period) in [
        ("A: bra A;", 1),
        ("A: add.u32 %r2, %r2, 1; bra A;", 2),
        ("A: add.u32 %r2, %r2, 1; and.b32 %r2, %r2, 3; setp.eq.u32 %p1, %r2, 0; @%p1 bra A; bra A;", 19),
        ("A: xor.b32 %r2, %r2, %r1; setp.eq.u32 %p1, %r2, 77; @%p1 bra B; bra A; B:", 8),
        ("A: membar.gl; add.u32 %r2, %r2, 1; ld.param.u64 %rd1, [p]; bra A;", 4),
    ] {
        let found = message(judged(&kernel(body), 4, Doing::InFlight, 4096));
        let each = if period == 1 {
            "repeats every instruction".to_owned()
        } else {
            format!("repeats every {period} instructions")
        };
        assert!(found.contains(&each) && found.contains("reads nothing"), "{body}: {found}");
        assert!(found.starts_with("block (0, 0, 0), warp 0, lane 0: PTX line 8"), "{found}");
    }
}

#[test]
fn a_loop_that_ends_or_may_end_is_open() {
    for body in [
        // The loop counts.
        "A: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 1000000; @%p1 bra A;",
        // Others or time may change the values that it reads.
        "ld.param.u64 %rd1, [p]; A: ld.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra A;",
        "A: mov.u32 %r2, %clock; bra A;",
        "A: mov.u64 %rd2, %clock64; bra A;",
        "A: bar.sync 0; bra A;",
        "ld.param.u64 %rd1, [p]; A: st.global.u32 [%rd1], %r2; bra A;",
        // The address leaves shared memory eventually.
        "A: add.u32 %r2, %r2, 4; ld.shared.u32 %r3, [%r2]; bra A;",
        // The program ends.
        "",
    ] {
        assert_eq!(judged(&kernel(body), 1, Doing::Ended, 65536), Verdict::Open, "{body}");
    }
}

#[test]
fn lanes_that_loop_are_named() {
    let body =
        "setp.lt.u32 %p2, %r1, 16; @%p2 bra B; setp.eq.u32 %p1, %r1, 3;\nA: add.u32 %r2, %r2, 1;\nbra A;\nB:";
    let found = message(judged(&kernel(body), 40, Doing::Ended, 4096));
    assert!(found.contains("lane 16: PTX line 9, `A: add.u32 %r2, %r2, 1;`"), "{found}");
    assert!(found.contains("lanes 16 to 31 go round it (up to line 10)"), "{found}");
}

#[test]
fn a_word_that_nobody_can_change_is_named_with_those_who_do_not() {
    let kernel = kernel(SPIN);
    let ended = message(judged(&kernel, 7, Doing::Ended, 4096));
    assert!(
        ended.contains("waits for the word of shared memory at 0x8 (`words`), which holds 0x0 and which nobody can change any more: warp 1 has ended"),
        "{ended}"
    );
    let waiting = Doing::Waiting(Waiting::whole(3, 0));
    let found = message(judged(&kernel, 7, waiting, 4096));
    assert!(found.ends_with("any more: warp 1 waits at barrier 3"), "{found}");
    let found = message(judged(&kernel, 7, running(&kernel), 4096));
    assert!(found.ends_with("any more: warp 1 is in such a loop, too"), "{found}");
    assert_eq!(judged(&kernel, 7, Doing::InFlight, 4096), Verdict::Later);
}

#[test]
fn a_warp_that_may_still_write_leaves_it_open() {
    let writes = |place: &str| {
        format!(
            "setp.ge.u32 %p2, %r1, 32; @%p2 bra B; {SPIN} ret;\n\
             B: mov.u32 %r5, 0; C: add.u32 %r5, %r5, 1; st.shared.u32 [words+{place}], %r5; and.b32 %r5, %r5, 7; bra C;"
        )
    };
    // The other warp goes round forever, too; it changes the word, or another one.
    for (place, is_endless) in [("8", false), ("12", true), ("4", true)] {
        let kernel = kernel(&writes(place));
        let verdict = judged(&kernel, 12, running(&kernel), 4096);
        assert_eq!(matches!(verdict, Verdict::Endless(_)), is_endless, "{place}: {verdict:?}");
    }
    // The warp ends eventually, or its result is unpredictable.
    for other in [
        "B: add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 99999; @%p1 bra B; st.shared.u32 [words+8], %r5;",
        "B: ld.param.u64 %rd1, [p]; ld.global.u32 %r2, [%rd1]; bra B;",
    ] {
        let body = format!("setp.ge.u32 %p2, %r1, 32; @%p2 bra B; {SPIN} ret;\n{other}");
        let kernel = kernel(&body);
        assert_eq!(judged(&kernel, 12, running(&kernel), 4096), Verdict::Open, "{other}");
    }
}

#[test]
fn a_lock_that_is_never_free_is_endless() {
    let body = "A: atom.shared.cas.b32 %r2, [words+4], 1, 2; setp.ne.u32 %p1, %r2, 1; @%p1 bra A;";
    let found = message(judged(&kernel(body), 7, Doing::Ended, 4096));
    assert!(found.contains("shared memory at 0x4"), "{found}");
}

#[test]
fn local_memory_belongs_to_the_state() {
    // The counter is in local memory: the loop ends. A loop that only stores and loads the same value
    // repeats.
    let counts = "st.local.u32 [stack], %r3;\nA: ld.local.u32 %r2, [stack]; add.u32 %r2, %r2, 1; st.local.u32 [stack], %r2; setp.lt.u32 %p1, %r2, 99999; @%p1 bra A;";
    let repeats =
        "A: st.local.u32 [stack+4], %r1; ld.local.u32 %r2, [stack+4]; setp.eq.u32 %p1, %r2, %r1; @%p1 bra A;";
    assert_eq!(judged(&kernel(counts), 1, Doing::Ended, 4096), Verdict::Open);
    let found = message(judged(&kernel(repeats), 1, Doing::Ended, 4096));
    assert!(found.contains("every 4 instructions"), "{found}");
    // A value that is unknown now may be known later.
    let unknown = "A: ld.local.u32 %r2, [stack+8]; setp.eq.u32 %p1, %r2, 0; @%p1 bra A;";
    assert_eq!(judged(&kernel(unknown), 1, Doing::Ended, 4096), Verdict::Later);
}
