//! Threads that make progress by themselves (`.target sm_70` and later): CUDA C++ programming guide, Independent Thread
//! Scheduling; PTX ISA 9.7.13 for barriers and the instructions of lanes together.

use counterpoint_ptx::functional::{FlatMemory, Options, run};
use counterpoint_ptx::{ExecError, Kernel};

/// Runs a block of a kernel around these instructions, which have the number of their thread in `%r0`, the lane in `%r1`, the
/// address of 64 zero words in `%rd0` and that of the thread's own word behind them in `%rd1`; gives the words of all.
fn run_on(target: u32, threads: u32, functions: &str, body: &str) -> Result<Vec<u32>, ExecError> {
    run_grid(target, (1, threads), functions, body)
}

/// The same for some blocks, whose threads share words.
fn run_grid(
    target: u32,
    (blocks, threads): (u32, u32),
    functions: &str,
    body: &str,
) -> Result<Vec<u32>, ExecError> {
    let source = format!(
        ".version 7.8\n.target sm_{target}\n.address_size 64\n{functions}
.visible .entry k(.param .u64 out) {{
.reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .shared .align 4 .b8 words[256];
ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %laneid; mul.wide.u32 %rd1, %r0, 4;
add.u64 %rd1, %rd1, %rd0; add.u64 %rd1, %rd1, 256;
{body}
ret;
}}"
    );
    let kernel = Kernel::compile(&source, None).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
    let mut found = Vec::new();
    for baseline in [false, true] {
        let mut memory = FlatMemory::new(0);
        let out = memory.push(&vec![0; 256 + 4 * threads as usize]);
        let options = Options { baseline, limit: 2_000_000, ..Options::default() };
        run(&kernel, [blocks, 1, 1], [threads, 1, 1], &out.to_le_bytes(), &mut memory, &options)?;
        let bytes = &memory.bytes[(out - memory.base) as usize..][..256 + 4 * threads as usize];
        found.push(
            bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().expect("4 bytes"))).collect(),
        );
    }
    let plain: Vec<u32> = found.pop().expect("two runs");
    assert_eq!(found.pop().as_ref(), Some(&plain), "the two builds differ: {body}");
    Ok(plain)
}

fn words(threads: u32, body: &str) -> Vec<u32> {
    run_on(70, threads, "", body).unwrap_or_else(|error| panic!("{error}\n{body}"))
}

fn own(threads: u32, body: &str) -> Vec<u32> {
    words(threads, body).split_off(64)
}

fn fault(body: &str) -> String {
    run_on(70, 32, "", body).expect_err(body).to_string()
}

/// What each thread does to the counter at `%rd0 + 4` once it has the lock.
const CRITICAL: &str = "ld.volatile.global.u32 %r3, [%rd0+4]; add.u32 %r3, %r3, 1; st.volatile.global.u32 [%rd0+4], %r3; membar.gl;";

#[test]
fn a_lock_that_lanes_take_in_turn_ends() {
    let take = "atom.global.cas.b32 %r2, [%rd0], 0, 1; setp.ne.u32 %p1, %r2, 0;";
    let give = "atom.global.exch.b32 %r4, [%rd0], 0;";
    for threads in [32, 20, 96] {
        for body in [
            // The lock is given back behind the loop, where lanes would meet.
            format!("A: {take} @%p1 bra A; membar.gl; {CRITICAL} {give}"),
            // The way out is in the middle of the loop.
            format!("A: {take} @!%p1 bra B; nop: bra A; B: membar.gl; {CRITICAL} {give}"),
            // Within the loop, as warps in step need it.
            format!(
                "mov.u32 %r5, 0; A: {take} @%p1 bra B; {CRITICAL} {give} mov.u32 %r5, 1; B: setp.eq.u32 %p2, %r5, 0; @%p2 bra A;"
            ),
            // By a load that is not weak, and then by an exchange.
            format!(
                "A: ld.relaxed.gpu.global.u32 %r2, [%rd0]; setp.ne.u32 %p1, %r2, 0; @%p1 bra A; atom.global.exch.b32 %r2, [%rd0], 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra A; {CRITICAL} {give}"
            ),
            // By tickets.
            format!(
                "atom.global.add.u32 %r6, [%rd0+8], 1; A: ld.acquire.gpu.global.u32 %r2, [%rd0+12]; setp.ne.u32 %p1, %r2, %r6; @%p1 bra A; {CRITICAL} add.u32 %r6, %r6, 1; st.release.gpu.global.u32 [%rd0+12], %r6;"
            ),
        ] {
            assert_eq!(words(threads, &body)[1], threads, "{body}");
        }
    }
}

#[test]
fn a_lock_in_shared_memory_ends_before_it_is_taken_for_endless() {
    let body =
        "mov.u32 %r9, words; A: atom.shared.cas.b32 %r2, [%r9], 0, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra A;
        mov.u32 %r5, 0; W: add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 5000; @%p2 bra W;
        ld.volatile.shared.u32 %r3, [%r9+4]; add.u32 %r3, %r3, 1; st.volatile.shared.u32 [%r9+4], %r3;
        st.global.u32 [%rd1], %r3; membar.cta; atom.shared.exch.b32 %r4, [%r9], 0;";
    let mut found = own(64, body);
    found.sort_unstable();
    assert_eq!(found, (1..=64).collect::<Vec<u32>>());
}

#[test]
fn lanes_hand_over_to_each_other_whichever_side_runs_first() {
    // Lane 0 waits for the others, or they for it: one word, then another.
    for branch in ["@%p1 bra W;", "@!%p1 bra S; bra W;"] {
        let body = format!(
            "setp.eq.u32 %p1, %r1, 0; {branch}
            S: atom.global.add.u32 %r2, [%rd0], 1; Y: ld.volatile.global.u32 %r3, [%rd0+4]; setp.eq.u32 %p2, %r3, 0; @%p2 bra Y; bra M;
            W: ld.volatile.global.u32 %r3, [%rd0]; setp.lt.u32 %p2, %r3, 31; @%p2 bra W; st.volatile.global.u32 [%rd0+4], 77;
            M: st.global.u32 [%rd1], %r3;"
        );
        let found = own(32, &body);
        assert_eq!((found[0], &found[1..]), (31, &[77; 31][..]));
    }
}

#[test]
fn a_lock_taken_in_a_function_ends() {
    let functions = ".func acquire(.param .b64 lock) {
        .reg .pred p; .reg .b32 r; .reg .b64 l; ld.param.u64 l, [lock];
        A: atom.global.cas.b32 r, [l], 0, 1; setp.ne.u32 p, r, 0; @p bra A; membar.gl; ret; }
        .func (.param .b32 got) attempt(.param .b64 lock) {
        .reg .b32 r; .reg .b64 l; ld.param.u64 l, [lock]; atom.global.cas.b32 r, [l], 0, 1; st.param.b32 [got], r; ret; }";
    let acquire = "{ .param .b64 a; st.param.b64 [a], %rd0; call acquire, (a); }";
    let attempt = "A: { .param .b64 a; .param .b32 g; st.param.b64 [a], %rd0; call (g), attempt, (a); ld.param.b32 %r2, [g]; } setp.ne.u32 %p1, %r2, 0; @%p1 bra A;";
    let give = format!("{CRITICAL} atom.global.exch.b32 %r4, [%rd0], 0;");
    // Lanes that return wait for the others; lanes that did not call wait where the branch ends.
    let held = format!(
        "st.volatile.global.u32 [%rd0], 1; setp.eq.u32 %p3, %r1, 5; @!%p3 bra C; bra D; C: {acquire} {give} bra E; D: membar.gl; {give} E:"
    );
    for body in [format!("{acquire} {give}"), format!("{attempt} {give}"), held] {
        let found = run_on(70, 32, functions, &body).unwrap_or_else(|error| panic!("{error}\n{body}"));
        assert_eq!(found[1], 32, "{body}");
    }
}

#[test]
fn lanes_that_have_ended_are_not_waited_for() {
    // Lane 0 skips the vote, and ends later.
    let body =
        "setp.eq.u32 %p1, %r1, 0; setp.ne.u32 %p2, %r1, 0; @%p1 bra D; vote.sync.ballot.b32 %r2, %p2, -1;
        D: st.global.u32 [%rd1], %r2;";
    let found = own(32, body);
    assert_eq!((found[0], &found[1..]), (0, &[0xffff_fffe; 31][..]));
    // It ends in a function that the others do not call.
    let functions = ".func over() { exit; }";
    let called = format!(
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra D; call over; {}",
        "D: vote.sync.ballot.b32 %r2, 1, -1; st.global.u32 [%rd1], %r2;"
    );
    let found = run_on(70, 32, functions, &called).unwrap();
    assert_eq!((found[64], found[65]), (0, 0xffff_fffe));
    // It has returned from a function in which the others vote.
    let functions = ".func (.param .b32 v) votes(.param .b32 l) { .reg .pred p; .reg .b32 r, w; ld.param.b32 r, [l]; mov.u32 w, 9;
        setp.eq.u32 p, r, 0; @p bra E; vote.sync.ballot.b32 w, 1, -1; E: st.param.b32 [v], w; ret; }";
    let body = "{ .param .b32 l; .param .b32 v; st.param.b32 [l], %r1; call (v), votes, (l); ld.param.b32 %r2, [v]; } st.global.u32 [%rd1], %r2;";
    let found = run_on(70, 32, functions, body).unwrap();
    assert_eq!((found[64], found[65], found[95]), (9, 0xffff_fffe, 0xffff_fffe));
}

#[test]
fn paths_meet_at_the_instruction_that_their_masks_name() {
    // Even and odd lanes come to one shuffle in a loop on ways of different lengths.
    let body = "and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; mov.u32 %r3, 0; mov.u32 %r5, 0; @%p1 bra S;
        add.u32 %r3, %r1, 100; bra S;
        S: shfl.sync.bfly.b32 %r4, %r1, 1, 31, -1; add.u32 %r5, %r5, %r4; st.global.u32 [%rd1], %r5;";
    assert_eq!(own(32, body), (0..32).map(|l| l ^ 1).collect::<Vec<u32>>());
    // The paths of a branch meet in its middle: one jumps into the other.
    let jump = "setp.lt.u32 %p1, %r1, 8; @%p1 bra L; mov.u32 %r3, 1; X: redux.sync.add.u32 %r4, %r1, -1; setp.lt.u32 %p2, %r1, 8; @%p2 bra E; add.u32 %r4, %r4, 1000; bra E;
        L: mov.u32 %r3, 2; bra X; E: add.u32 %r4, %r4, %r3; st.global.u32 [%rd1], %r4;";
    let want: Vec<u32> = (0..32).map(|l| if l < 8 { 498 } else { 1497 }).collect();
    assert_eq!(own(32, jump), want);
    // Halves that have masks of their own do not wait for each other.
    let halves = "setp.lt.u32 %p1, %r1, 16; selp.b32 %r2, 0xffff, 0xffff0000, %p1; and.b32 %r6, %r1, 15; setp.lt.u32 %p2, %r6, 4; @%p2 bra L; mov.u32 %r3, 1;
        X: match.any.sync.b32 %r4, %r3, %r2; bra E; L: mov.u32 %r3, 2; bra X; E: st.global.u32 [%rd1], %r4;";
    let want: Vec<u32> = (0..32).map(|l| if l % 16 < 4 { 0xf } else { 0xfff0 } << (l / 16 * 16)).collect();
    assert_eq!(own(32, halves), want);
    // A guard keeps some away for a while.
    let guard = "setp.lt.u32 %p1, %r1, 4; mov.u32 %r3, 0; A: add.u32 %r3, %r3, 1; setp.ge.u32 %p2, %r1, 4; setp.ge.or.u32 %p3, %r3, 3, %p2;
        @%p3 bar.warp.sync -1; @!%p3 bra A; st.global.u32 [%rd1], %r3;";
    assert_eq!(own(32, guard)[..6], [3, 3, 3, 3, 1, 1]);
}

#[test]
fn a_meeting_orders_the_accesses_before_it() {
    // Lane 0 stores on its path, the others read behind the meeting, which lies in the middle of both paths.
    let body = "mov.u32 %r9, words; setp.eq.u32 %p1, %r1, 0; @%p1 bra L; X: bar.warp.sync -1; ld.shared.u32 %r2, [%r9]; st.global.u32 [%rd1], %r2; bra E;
        L: st.shared.u32 [%r9], 42; bra X; E:";
    assert_eq!(own(32, body), [42; 32]);
}

#[test]
fn barriers_that_are_not_aligned_take_paths_apart() {
    // Each half arrives on its own path, at another instruction.
    let body = "mov.u32 %r9, words; shl.b32 %r8, %r0, 2; add.u32 %r8, %r8, %r9; add.u32 %r7, %r0, 7; st.shared.u32 [%r8], %r7; setp.lt.u32 %p1, %r1, 16; @%p1 bra L;
        barrier.sync 0; ld.shared.u32 %r2, [%r9+8]; bra E; L: barrier.sync 0; ld.shared.u32 %r2, [%r9+16]; E: st.global.u32 [%rd1], %r2;";
    for threads in [32, 64, 48] {
        let found = own(threads, body);
        let want: Vec<u32> = (0..threads).map(|t| if t % 32 < 16 { 11 } else { 9 }).collect();
        assert_eq!(found, want);
    }
    // Votes count threads; lanes from 24 on have ended, lane 3 says no.
    let votes = "setp.ge.u32 %p1, %r1, 24; @%p1 exit; setp.ne.u32 %p2, %r1, 3; setp.lt.u32 %p1, %r1, 8; @%p1 bra L;
        barrier.red.popc.u32 %r2, 1, %p2; bra E; L: barrier.red.popc.u32 %r2, 1, %p2; E: st.global.u32 [%rd1], %r2;";
    let found = own(64, votes);
    assert_eq!((&found[..24], &found[24..32], &found[32..56]), (&[46; 24][..], &[0; 8][..], &[46; 24][..]));
    // Under a guard: half of a warp and another warp are 48 threads, and 16 more arrive from the other half and go on.
    let guard = "setp.lt.u32 %p1, %r0, 16; setp.ge.u32 %p2, %r0, 32; or.pred %p3, %p1, %p2; mov.u32 %r2, 1; @!%p3 barrier.arrive 2, 64; @%p3 barrier.sync 2, 64; st.global.u32 [%rd1], %r2;";
    assert_eq!(own(64, guard), [1; 64]);
    // Two barriers at a time: each half has its own partner in the other warp.
    let pairs = "mov.u32 %r9, words; shl.b32 %r8, %r0, 2; add.u32 %r8, %r8, %r9; setp.lt.u32 %p1, %r1, 16; setp.lt.u32 %p2, %r0, 32; @%p1 bra L;
        @!%p2 st.shared.u32 [%r8], %r0; barrier.sync 4, 32; @%p2 ld.shared.u32 %r2, [%r8+128]; bra E;
        L: @%p2 st.shared.u32 [%r8], %r0; barrier.sync 5, 32; @!%p2 ld.shared.u32 %r2, [%r8+-128]; E: st.global.u32 [%rd1], %r2;";
    let found = own(64, pairs);
    assert_eq!(
        (&found[16..32], &found[32..48]),
        (&(48..64).collect::<Vec<u32>>()[..], &(0..16).collect::<Vec<u32>>()[..])
    );
}

#[test]
fn lanes_that_left_a_loop_wait_at_a_whole_warps_barrier_for_those_in_it() {
    // The winner of the lock stores and comes to the barrier before the others.
    let body = "A: atom.global.cas.b32 %r2, [%rd0], 0, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra A; st.volatile.global.u32 [%rd0], 0; bar.sync 0;
        ld.volatile.global.u32 %r3, [%rd0]; st.global.u32 [%rd1], 5;";
    assert_eq!(own(64, body), [5; 64]);
}

#[test]
fn paths_that_wait_for_each_other_forever_are_named() {
    let two = fault(
        "setp.lt.u32 %p1, %r1, 8;\n@%p1 bra L;\nbar.warp.sync -1;\nbra E;\nL: vote.sync.ballot.b32 %r2, %p1, -1;\nE:",
    );
    assert!(
        two.contains("lanes 8 to 31 wait for lanes 0 to 7 of their mask 0xffffffff, which cannot come"),
        "{two}"
    );
    assert!(
        two.contains("lanes 0 to 7 are at PTX line 13, `L: vote.sync.ballot.b32 %r2, %p1, -1;`"),
        "{two}"
    );
    let stuck = fault(
        "setp.lt.u32 %p1, %r1, 8;\n@%p1 bra L;\nbarrier.sync 1, 64;\nbra E;\nL: barrier.sync 2, 32;\nE:",
    );
    assert_eq!(
        stuck,
        "line 0, lane 0: no warp can go on: lanes 8 to 31 of warp 0 wait at barrier 1, which has 24 of 64 threads (PTX line 11, `barrier.sync 1, 64;`); lanes 0 to 7 of warp 0 wait at barrier 2, which has 8 of 32 threads (PTX line 13, `L: barrier.sync 2, 32;`)"
    );
}

#[test]
fn warps_before_sm_70_stay_in_step() {
    let masks = "setp.lt.u32 %p1, %r1, 8; @%p1 bra L; bra E; L: bar.warp.sync -1; E:";
    let fault = run_on(60, 32, "", masks).unwrap_err().to_string();
    assert!(fault.contains("before sm_70 paths run one after another"), "{fault}");
    let spin = "A: atom.shared.cas.b32 %r2, [words], 0, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra A; atom.shared.exch.b32 %r4, [words], 0;";
    let endless = run_on(60, 32, "", spin).unwrap_err().to_string();
    assert!(endless.contains("a loop that does not end: lanes 1 to 31 go round it"), "{endless}");
    assert!(run_on(70, 32, "", spin).is_ok());
}

#[test]
fn a_lock_that_nobody_gives_back_is_named_with_those_who_wait_for_it() {
    let kept = "A: atom.global.cas.b32 %r2, [%rd0], 0, 7;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra A;";
    let found = fault(kept);
    let expected = "line 9, lane 1: a loop that does not end: lanes 1 to 31 go round it (up to line 11), and all that decides repeats every 3 instructions; it waits for the word of global memory at 0x";
    assert!(found.starts_with(expected), "{found}");
    assert!(
        found.ends_with("which holds 0x7 and which nobody can change any more: the block has no other warp"),
        "{found}"
    );
    // Two lanes wait for each other, in turns.
    let each = "setp.gt.u32 %p1, %r1, 1;\n@%p1 ret;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra Z;\nA: ld.volatile.global.u32 %r2, [%rd0];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra A;\nst.global.u32 [%rd0+4], 1;\nbra E;\n\
        Z: ld.volatile.global.u32 %r2, [%rd0+4];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra Z;\nst.global.u32 [%rd0], 1;\nE:";
    let found = fault(each);
    assert!(
        found.contains("lanes 0 and 1 go round it") && found.contains("2 words of global memory"),
        "{found}"
    );
}

#[test]
fn blocks_that_wait_for_each_other_go_on_in_turn() {
    // Three barriers of the whole grid; behind each, every block adds what its neighbour has stored before.
    let body = "mov.u32 %r5, %ctaid.x; mov.u32 %r6, %nctaid.x; mov.u32 %r7, 0; mov.u32 %r8, 1; setp.eq.u32 %p1, %r0, 0;
        mul.wide.u32 %rd2, %r5, 4; add.u64 %rd2, %rd2, %rd0; add.u32 %r9, %r5, 1; rem.u32 %r9, %r9, %r6; mul.wide.u32 %rd3, %r9, 4; add.u64 %rd3, %rd3, %rd0;
        R: add.u32 %r7, %r7, 1; @!%p1 bra M; st.global.u32 [%rd2+64], %r8; membar.gl; atom.global.add.u32 %r10, [%rd0], 1; mul.lo.u32 %r11, %r6, %r7;
        W: ld.acquire.gpu.global.u32 %r10, [%rd0]; setp.lt.u32 %p2, %r10, %r11; @%p2 bra W; ld.volatile.global.u32 %r12, [%rd3+64]; add.u32 %r8, %r8, %r12;
        membar.gl; atom.global.add.u32 %r10, [%rd0+4], 1; V: ld.acquire.gpu.global.u32 %r10, [%rd0+4]; setp.lt.u32 %p2, %r10, %r11; @%p2 bra V;
        M: bar.sync 0; setp.lt.u32 %p2, %r7, 3; @%p2 bra R; @%p1 st.global.u32 [%rd2+128], %r8;";
    for blocks in [1, 2, 8] {
        let found = run_grid(70, (blocks, 64), "", body).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found[32..32 + blocks as usize], vec![8; blocks as usize], "{blocks}");
    }
    // The second block takes a word that the first waits for, and waits for another one.
    let stuck = "mov.u32 %r5, %ctaid.x;\nsetp.ne.u32 %p1, %r0, 0;\n@%p1 ret;\nmul.wide.u32 %rd2, %r5, 4;\nadd.u64 %rd2, %rd2, %rd0;\nW: ld.volatile.global.u32 %r2, [%rd2+8];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra W;\nst.global.u32 [%rd0+8], 1;";
    let fault = run_grid(70, (2, 32), "", stuck).unwrap_err().to_string();
    assert!(
        fault.contains("a loop that does not end: lane 0 goes round it")
            && fault.contains("which holds 0x0 and which nobody can change any more"),
        "{fault}"
    );
}
