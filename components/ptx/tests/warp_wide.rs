//! Operations of a warp's lanes together, in full warps, partial ones and diverged ones.

use counterpoint_ptx::Kernel;

use crate::small::{HEAD, execute, outputs};

/// Runs `instructions`, which leave a result in %r3, in each of the threads.
fn words(instructions: &str, threads: u32) -> Vec<u32> {
    let body = format!("{instructions} cvt.u64.u32 %rd5, %r3; st.global.u64 [%rd3], %rd5; ret;");
    outputs(&body, threads, &[]).into_iter().map(|word| word as u32).collect()
}

#[test]
fn shuffles_of_a_full_warp() {
    for sync in [false, true] {
        let shuffle = |mode: &str, b: u32, c: u32| {
            let (name, mask) = if sync { ("shfl.sync", ", -1") } else { ("shfl", "") };
            words(&format!("{name}.{mode}.b32 %r3, %r0, {b}, {c}{mask};"), 32)
        };
        let lanes = |of: &dyn Fn(u32) -> u32| (0..32).map(of).collect::<Vec<u32>>();
        assert_eq!(shuffle("down", 4, 31), lanes(&|l| if l < 28 { l + 4 } else { l }));
        assert_eq!(shuffle("up", 4, 0), lanes(&|l| if l < 4 { l } else { l - 4 }));
        assert_eq!(shuffle("bfly", 1, 31), lanes(&|l| l ^ 1));
        assert_eq!(shuffle("idx", 7, 31), lanes(&|_| 7));
        // Segments of 16: the width of CUDA's intrinsics is the mask in bits 8 to 12.
        assert_eq!(shuffle("idx", 3, 0x101f), lanes(&|l| l / 16 * 16 + 3));
        assert_eq!(shuffle("down", 8, 0x101f), lanes(&|l| if l % 16 < 8 { l + 8 } else { l }));
    }
}

#[test]
fn shuffles_tell_whether_they_stayed_in_range() {
    let truth = "shfl.sync.up.b32 %r1|%p1, %r0, 1, 0, -1; selp.u32 %r3, 1, 0, %p1;";
    assert_eq!(words(truth, 32)[..3], [0, 1, 1]);
    let only = "shfl.down.b32 _|%p1, %r0, 2, 31; selp.u32 %r3, 1, 0, %p1;";
    assert_eq!(words(only, 32)[28..], [1, 1, 0, 0]);
    // Each lane has its own source: a reversal.
    assert_eq!(
        words("sub.u32 %r1, 31, %r0; shfl.idx.b32 %r3, %r0, %r1, 31;", 32),
        (0..32).rev().collect::<Vec<u32>>()
    );
}

#[test]
fn a_sum_over_a_warp_and_in_place() {
    let step =
        |distance: u32| format!("shfl.sync.bfly.b32 %r1, %r3, {distance}, 31, -1; add.u32 %r3, %r3, %r1;");
    let all: String = [16, 8, 4, 2, 1].map(step).concat();
    assert_eq!(words(&format!("mov.u32 %r3, %r0; {all}"), 32), [496; 32]);
    // Destination and source are one register.
    assert_eq!(words("mov.u32 %r3, %r0; shfl.sync.bfly.b32 %r3, %r3, 31, 31, -1;", 32)[..2], [31, 30]);
}

#[test]
fn votes_of_partial_and_diverged_warps() {
    let odd = "and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 1; setp.lt.u32 %p2, %r0, 100;";
    assert_eq!(words(&format!("{odd} vote.ballot.b32 %r3, %p1;"), 32), [0xaaaa_aaaa; 32]);
    // 20 threads: lanes 20 to 31 never began.
    assert_eq!(words(&format!("{odd} vote.sync.ballot.b32 %r3, !%p1, -1;"), 20), [0x5_5555; 20]);
    assert_eq!(words("activemask.b32 %r3;", 20), [0xf_ffff; 20]);
    let ask = |vote: &str| words(&format!("{odd} {vote}; selp.u32 %r3, 1, 0, %p3;"), 20)[0];
    assert_eq!([ask("vote.all.pred %p3, %p2"), ask("vote.all.pred %p3, %p1")], [1, 0]);
    assert_eq!([ask("vote.sync.any.pred %p3, %p1, -1"), ask("vote.any.pred %p3, !%p2")], [1, 0]);
    assert_eq!([ask("vote.uni.pred %p3, %p2"), ask("vote.sync.uni.pred %p3, %p1, -1")], [1, 0]);
    // Diverged: only the lanes of the path vote, and the others keep their values.
    let branch = format!("{odd} mov.u32 %r3, 9; @!%p1 bra MEET; vote.ballot.b32 %r3, %p2; MEET:");
    assert_eq!(words(&branch, 32)[..2], [9, 0xaaaa_aaaa]);
    // Guarded, the lanes whose guard is false take no part.
    let guarded = format!("{odd} mov.u32 %r3, 9; @%p1 vote.ballot.b32 %r3, 1;");
    assert_eq!(words(&guarded, 32)[..2], [9, 0xaaaa_aaaa]);
    // Groups by mask, in one instruction.
    let groups = format!(
        "{odd} setp.lt.u32 %p3, %r0, 8; selp.b32 %r2, 0x0000ffff, 0xffff0000, %p3;
        setp.ge.u32 %p3, %r0, 16; setp.lt.u32 %p4, %r0, 16; selp.b32 %r2, 0xffff0000, 0x0000ffff, %p3;
        vote.sync.ballot.b32 %r3, %p4, %r2;"
    );
    let found = words(&groups, 32);
    assert_eq!((found[0], found[16]), (0xffff, 0));
}

#[test]
fn matches() {
    let thirds = "rem.u32 %r1, %r0, 3; cvt.u64.u32 %rd6, %r1;";
    let mask = |third: u32| (0..32).filter(|l| l % 3 == third).fold(0u32, |all, l| all | 1 << l);
    let want: Vec<u32> = (0..32).map(|l| mask(l % 3)).collect();
    assert_eq!(words(&format!("{thirds} match.any.sync.b32 %r3, %r1, -1;"), 32), want);
    assert_eq!(words(&format!("{thirds} match.any.sync.b64 %r3, %rd6, -1;"), 32), want);
    assert_eq!(words("match.all.sync.b32 %r3, 5, -1;", 20), [0xf_ffff; 20]);
    let differ = format!("{thirds} match.all.sync.b32 %r2|%p1, %r1, -1; selp.u32 %r3, 7, %r2, %p1;");
    assert_eq!(words(&differ, 32), [0; 32]);
}

#[test]
fn reductions_and_elections() {
    assert_eq!(words("redux.sync.add.u32 %r3, %r0, -1;", 32), [496; 32]);
    assert_eq!(words("sub.s32 %r1, %r0, 3; redux.sync.min.s32 %r3, %r1, -1;", 10), [-3i32 as u32; 10]);
    assert_eq!(words("redux.sync.or.b32 %r3, %r0, -1;", 9), [15; 9]);
    let leader = "setp.gt.u32 %p1, %r0, 5; mov.u32 %r3, 99; @!%p1 bra MEET; activemask.b32 %r1;
        elect.sync %r2|%p2, %r1; selp.u32 %r3, %r2, 50, %p2; MEET:";
    let found = words(leader, 32);
    assert_eq!((found[5], found[6], found[7]), (99, 6, 50));
}

#[test]
fn those_that_end_in_a_branch_leave_the_others_together() {
    // Of lanes 0 to 7, the odd ones end; all others vote and shuffle together behind the branch.
    let body = "and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 1; setp.lt.u32 %p2, %r0, 8; @!%p2 bra MEET; @%p1 exit;
        add.u32 %r1, %r1, 0; MEET: vote.sync.ballot.b32 %r3, %p2, -1; cvt.u64.u32 %rd5, %r3; st.global.u64 [%rd3], %rd5; ret;";
    let want: Vec<u64> = (0..32).map(|lane| if lane < 8 && lane % 2 == 1 { 0 } else { 0x55 }).collect();
    assert_eq!(outputs(body, 32, &[]), want);
}

#[test]
fn masks_that_cannot_be_met_are_faults() {
    let diverged = "setp.lt.u32 %p1, %r0, 8; @%p1 bra L; ret; L: vote.sync.ballot.b32 %r1, %p1, 0xff; ret;";
    assert!(execute(diverged, 32, &[], false).is_ok(), "those that ended are not waited for");
    let waits = "setp.lt.u32 %p1, %r0, 8; @%p1 bra L; bra M; L: bar.warp.sync -1; M: ret;";
    let fault = execute(waits, 32, &[], false).unwrap_err();
    assert!(fault.message.contains("0xffffff00") && fault.lane == 0, "{fault}");
    let foreign = execute("shfl.sync.idx.b32 %r1, %r0, 0, 31, 0xfffffffe; ret;", 32, &[], false).unwrap_err();
    assert!(foreign.message.contains("not in its own mask"), "{foreign}");
}

#[test]
fn barriers_that_reduce() {
    // 80 threads: the last warp is partial; lanes from 70 on say no.
    let body = "setp.lt.u32 %p1, %r0, 70; bar.red.popc.u32 %r3, 0, %p1; bar.red.and.pred %p2, 1, %p1;
        bar.red.or.pred %p3, 2, !%p1; selp.u32 %r4, 1, 0, %p2; selp.u32 %r5, 2, 0, %p3; add.u32 %r4, %r4, %r5;
        mov.b64 %rd5, {%r3, %r4}; st.global.u64 [%rd3], %rd5; ret;";
    assert_eq!(outputs(body, 80, &[]), [70 | 2 << 32; 80]);
    // With a count: two of three warps, the third takes no part.
    let some = "setp.ge.u32 %p1, %r0, 64; @%p1 bra END; setp.eq.u32 %p2, %r0, 3;
        barrier.red.popc.aligned.u32 %r3, 5, 64, %p2; cvt.u64.u32 %rd5, %r3; st.global.u64 [%rd3], %rd5; END: ret;";
    let want: Vec<u64> = (0..96).map(|t| u64::from(t < 64)).collect();
    assert_eq!(outputs(some, 96, &[]), want);
}

#[test]
fn named_barriers_with_counts_hand_over() {
    // Warp 0 produces and arrives; warp 1 waits. A second pair uses another barrier, chosen at run time.
    let body = "shr.u32 %r1, %r0, 6; add.u32 %r2, %r1, 1; shr.u32 %r3, %r0, 5; and.b32 %r3, %r3, 1;
        and.b32 %r4, %r0, 31; shl.b32 %r5, %r1, 7; shl.b32 %r6, %r4, 2; add.u32 %r5, %r5, %r6; mov.u32 %r7, tile;
        and.b32 %r5, %r5, 255; add.u32 %r7, %r7, %r5; setp.eq.u32 %p1, %r3, 0; @!%p1 bra WAIT;
        add.u32 %r8, %r0, 1000; st.shared.u32 [%r7], %r8; bar.arrive %r2, 64; ret;
        WAIT: bar.sync %r2, 64; ld.shared.u32 %r9, [%r7]; cvt.u64.u32 %rd5, %r9; st.global.u64 [%rd3], %rd5; ret;";
    let want: Vec<u64> = (0..128).map(|t| if t / 32 % 2 == 1 { t - 32 + 1000 } else { 0 }).collect();
    assert_eq!(outputs(body, 128, &[]), want);
    let bad = execute("bar.sync 0, 33; ret;", 64, &[], false).unwrap_err();
    assert!(bad.message.contains("multiple of 32"), "{bad}");
    let none = execute("bar.sync 16; ret;", 64, &[], false).unwrap_err();
    assert!(none.message.contains("no barrier 16"), "{none}");
    let stuck = execute("setp.lt.u32 %p1, %r0, 32; @%p1 bar.sync 1, 64; bar.sync 0; ret;", 64, &[], false)
        .unwrap_err();
    assert!(
        stuck.message.starts_with(
            "no warp can go on: warp 1 waits at barrier 0, which has 32 of 64 threads (PTX line "
        ),
        "{stuck}"
    );
}

#[test]
fn refused_forms_name_what_is_expected() {
    let source = format!(
        "{HEAD}.visible .entry k() {{\n.reg .b32 %r<4>;\n.reg .b64 %rd<2>;\n.reg .pred %p<2>;\nshfl.sync.up.b32 %r1, %r2, 1;\n\
         shfl.up.b64 %rd1, %rd1, 1, 0;\n vote.sync.all.pred %r1, %p1, -1;\nmatch.any.sync.b32 %r1|%p1, %r1, -1;\nbar.arrive 1;\n\
         shlf.up.b32 %r1, %r1, 1, 0;\nbarier.sync 0;\nret;\n}}"
    );
    let errors = Kernel::compile(&source, None).unwrap_err();
    let expected: Vec<(u32, &str)> =
        errors.iter().map(|e| (e.line, e.expected.as_deref().unwrap_or(""))).collect();
    assert_eq!(
        expected,
        [
            (8, "`shfl.sync.up.b32 d{|p}, a, b, c{, membermask}`"),
            (9, "something like `shfl.up.b32`"),
            (10, "a `.pred` register"),
            (11, "a register"),
            (12, "`bar.arrive a, b`"),
            (13, "something like `shfl.up.b32`"),
            (14, "something like `barrier.sync`"),
        ]
    );
    assert_eq!(errors[2].column, 21);
}
