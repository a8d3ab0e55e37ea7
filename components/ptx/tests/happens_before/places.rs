//! Accesses to one place: the read-only path, values that stay, threads of a block, shared memory.

use super::messages::message;
use super::run;

#[test]
fn the_read_only_path_need_not_see_what_the_launch_writes() {
    let body = |load: &str| {
        format!(
            "@!%p6 bra DONE;\nst.global.u32 [%data], 42;\nfence.acq_rel.gpu;\nbar.warp.sync -1;\n{load}\nDONE:"
        )
    };
    let load = "ld.global.nc.u32 %r3, [%data];";
    let ran = run(75, 1, 32, &body(load));
    assert!(ran.told("st.global.u32 [%data], 42;", load).ends_with("`ld.global` does"));
    assert_eq!(run(75, 1, 32, &body("ld.global.u32 %r3, [%data];")).pairs(), [[""; 2]; 0]);
    assert_eq!(
        run(75, 1, 32, &body("ld.global.nc.u32 %r3, [%data+4];")).pairs(),
        [[""; 2]; 0],
        "another word"
    );
}

#[test]
fn what_changes_nothing_races_with_nobody() {
    // All threads of all blocks write 1, as a search in a graph does.
    assert_eq!(run(75, 3, 64, "mov.u32 %r1, 1;\nst.global.u32 [%data], %r1;").pairs(), [[""; 2]; 0]);
    let ran = run(75, 3, 64, "st.global.u32 [%data], %block;");
    assert_eq!(ran.pairs(), [["st.global.u32 [%data], %block;"; 2]]);
    assert_eq!(run(75, 3, 64, "red.global.add.u32 [%data], 1;").pairs(), [[""; 2]; 0]);
    assert_eq!(run(75, 3, 64, "ld.global.u32 %r1, [%data];").pairs(), [[""; 2]; 0]);
    // Neighbours within a word.
    let bytes = "mad.lo.u32 %r1, %block, 64, %me;\ncvt.u64.u32 %rd1, %r1;\nadd.u64 %rd1, %data, %rd1;\nadd.u32 %r2, %r1, 1;\nst.global.u8 [%rd1], %r2;";
    assert_eq!(run(75, 3, 64, bytes).pairs(), [[""; 2]; 0]);
}

#[test]
fn a_guess_that_a_swap_checks_races_with_no_atomic() {
    // CUDA's atomicAdd for doubles, before the hardware had it.
    let body = |between: &str| {
        format!(
            "ld.global.u32 %r1, [%data];
AGAIN:
add.u32 %r2, %r1, 1;
atom.global.cas.b32 %r3, [%data], %r1, %r2;
setp.eq.u32 %p1, %r1, %r3;
mov.u32 %r1, %r3;
@!%p1 bra AGAIN;
{between}"
        )
    };
    let ran = run(75, 3, 64, &body(""));
    assert_eq!((ran.pairs().len(), ran.data[0]), (0, 192), "{:?}", ran.findings);
    let ran = run(75, 3, 64, &body("@%p6 st.global.u32 [%data], 7;"));
    assert!(!ran.pairs().is_empty(), "a weak write is no atomic");
    // A look before an atomic maximum is no guess.
    let ran = run(
        75,
        3,
        64,
        "ld.global.u32 %r1, [%data];\nadd.u32 %r2, %r1, %me;\nred.global.max.u32 [%data], %r2;",
    );
    assert_eq!(ran.pairs(), [["ld.global.u32 %r1, [%data];", "red.global.max.u32 [%data], %r2;"]]);
}

#[test]
fn a_reader_before_the_writer_races_as_one_behind_it() {
    // The block that writes is the first to run, or the last.
    for writer in ["%p5", "!%p4"] {
        let body = format!(
            "@!%p6 bra DONE;\n@{writer} bra WRITER;\nld.global.u32 %r1, [%data];\nbra DONE;\nWRITER:\nst.global.u32 [%data], 42;\nDONE:"
        );
        let blocks = if writer == "%p5" { 3 } else { 2 };
        let ran = run(75, blocks, 32, &body);
        assert_eq!(ran.pairs(), [["ld.global.u32 %r1, [%data];", "st.global.u32 [%data], 42;"]], "{writer}");
        assert!(
            ran.findings[0]
                .first
                .to_string()
                .ends_with("no release that follows the one has been acquired before the other")
        );
    }
}

#[test]
fn threads_of_a_block_meet_at_barriers_before_they_share_global_memory() {
    // Each thread stores a word and reads that of a neighbour, or of another warp.
    let exchange = |between: &str, with: u32| {
        format!(
            "mul.wide.u32 %rd1, %me, 4;\nadd.u64 %rd2, %data, %rd1;\nadd.u32 %r2, %me, 1;\nst.global.u32 [%rd2], %r2;\n{between}\n\
             xor.b32 %r1, %me, {with};\nmul.wide.u32 %rd1, %r1, 4;\nadd.u64 %rd2, %data, %rd1;\nld.global.u32 %r3, [%rd2];"
        )
    };
    for (target, between, with, missing) in [
        (75, "", 1, Some("`bar.warp.sync` (`__syncwarp()`) does")),
        (75, "bar.warp.sync -1;", 1, None),
        (35, "", 1, None),
        (75, "", 32, Some("`bar.sync` (`__syncthreads()`) between them does")),
        (35, "", 32, Some("`bar.sync` (`__syncthreads()`) between them does")),
        (75, "bar.warp.sync -1;", 32, Some("`bar.sync` (`__syncthreads()`) between them does")),
        (75, "bar.sync 0;", 32, None),
        (35, "bar.sync 0;", 32, None),
        // A fence orders nothing by itself.
        (75, "fence.sc.gpu;", 32, Some("`bar.sync` (`__syncthreads()`) between them does")),
    ] {
        let ran = run(target, 1, 64, &exchange(between, with));
        let told = ran.findings.first().map(|finding| finding.first.to_string()).unwrap_or_default();
        assert_eq!(ran.pairs().len(), usize::from(missing.is_some()), "sm_{target} {between} {with}: {told}");
        assert!(told.ends_with(missing.unwrap_or_default()), "{told}");
    }
}

#[test]
fn a_barrier_in_memory_orders_global_memory_too() {
    let exchange = |wait: &str| {
        format!(
            ".reg .b64 %q;\n@%p6 mbarrier.init.shared.b64 [tile], 64;\nbar.sync 0;\nmul.wide.u32 %rd1, %me, 4;\nadd.u64 %rd2, %data, %rd1;\n\
             add.u32 %r2, %me, 1;\nst.global.u32 [%rd2], %r2;\nmbarrier.arrive.shared.b64 %q, [tile];\n{wait}\n\
             xor.b32 %r1, %me, 32;\nmul.wide.u32 %rd1, %r1, 4;\nadd.u64 %rd2, %data, %rd1;\nld.global.u32 %r3, [%rd2];"
        )
    };
    let wait = "AGAIN: mbarrier.test_wait.shared.b64 %p1, [tile], %q;\n@!%p1 bra AGAIN;";
    assert_eq!(run(80, 1, 64, &exchange(wait)).pairs(), [[""; 2]; 0]);
    assert_eq!(run(80, 1, 64, &exchange("")).pairs().len(), 1);
}

#[test]
fn shared_memory_has_the_same_rules_within_a_block() {
    // A flag in shared memory, where there is no barrier.
    let body = |store: &str, load: &str| {
        message(true, store, load)
            .replace("BEHIND", "")
            .replace("[%flag]", "[tile+16]")
            .replace(".global", ".shared")
            .replace("[%data]", "[tile]")
            .replace("[%data+128]", "[tile+32]")
    };
    let [release, acquire] =
        ["st.release.cta.shared.u32 [tile+16], %r1;", "ld.acquire.cta.shared.u32 %r2, [tile+16];"];
    let begin = "st.shared.u32 [tile+16], 0;\nbar.sync 0;\n";
    let clean = run(75, 1, 64, &format!("{begin}{}", body(release, acquire)));
    assert_eq!(clean.pairs(), [[""; 2]; 0]);
    let ran = run(
        75,
        1,
        64,
        &format!(
            "{begin}{}",
            body("st.volatile.shared.u32 [tile+16], %r1;", "ld.volatile.shared.u32 %r2, [tile+16];")
        ),
    );
    assert_eq!(ran.pairs(), [["st.shared.u32 [tile], 42;", "ld.shared.u32 %r3, [tile];"]]);
    assert!(
        ran.findings[0]
            .first
            .to_string()
            .contains("`fence.acq_rel.cta` (`__threadfence_block()`) is missing between")
    );
}

#[test]
fn each_pair_of_lines_is_told_once_and_counted() {
    let ran = run(
        75,
        4,
        32,
        "@!%p6 bra DONE;\nst.global.u32 [%data], %block;\nst.global.u32 [%data+4], %block;\nDONE:",
    );
    let counts: Vec<u64> = ran.findings.iter().map(|finding| finding.count).collect();
    assert_eq!((ran.pairs().len(), counts), (2, vec![3, 3]));
}
