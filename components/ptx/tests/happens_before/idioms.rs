//! What programs build of fences and atomics: the last block, chains, locks, barriers of a grid, packed words.

use super::run;

/// Every thread stores a word, something happens, thread 0 counts its block, and the last block reads all words.
fn last_block(before: &str, count: &str, after: &str) -> String {
    format!(
        "mad.lo.u32 %r1, %block, 64, %me;
mul.wide.u32 %rd1, %r1, 4;
add.u64 %rd1, %data, %rd1;
add.u32 %r2, %r1, 1;
st.global.u32 [%rd1], %r2;
{before}
mov.u32 %r3, 0;
@!%p6 bra JOIN;
{count}
st.shared.u32 [tile], %r3;
JOIN:
bar.sync 0;
ld.shared.u32 %r3, [tile];
setp.ne.u32 %p1, %r3, 3;
@%p1 bra DONE;
{after}
mul.wide.u32 %rd1, %me, 4;
add.u64 %rd1, %data, %rd1;
mov.u32 %r5, 0;
ld.global.u32 %r4, [%rd1];
add.u32 %r5, %r5, %r4;
ld.global.u32 %r4, [%rd1+512];
add.u32 %r5, %r5, %r4;
st.global.u32 [%rd1+2048], %r5;
DONE:"
    )
}

#[test]
fn the_last_block_may_read_what_all_have_fenced() {
    let count = "atom.global.inc.u32 %r3, [%flag], 4;";
    for (target, before, count, clean) in [
        // CUDA's sample threadFenceReduction: each thread's fence, and none behind the atomic.
        (35, "membar.gl;\nbar.sync 0;", count, true),
        (75, "membar.gl;\nbar.sync 0;", count, true),
        // A barrier, and thread 0's fence for all.
        (35, "bar.sync 0;", "membar.gl;\natom.global.inc.u32 %r3, [%flag], 4;", true),
        (75, "bar.sync 0;", "fence.acq_rel.gpu;\natom.global.inc.u32 %r3, [%flag], 4;", true),
        (75, "bar.sync 0;", "atom.acq_rel.gpu.global.inc.u32 %r3, [%flag], 4;", true),
        (75, "bar.sync 0;", count, false),
        (35, "bar.sync 0;", count, false),
        (75, "bar.sync 0;", "fence.acq_rel.cta;\natom.global.inc.u32 %r3, [%flag], 4;", false),
        // Only thread 0's own store comes before its fence.
        (75, "", "fence.acq_rel.gpu;\natom.global.inc.u32 %r3, [%flag], 4;", false),
        (75, "bar.sync 0;", "atom.acq_rel.cta.global.inc.u32 %r3, [%flag], 4;", false),
    ] {
        let ran = run(target, 4, 64, &last_block(before, count, ""));
        assert_eq!(ran.pairs().is_empty(), clean, "sm_{target} {before} {count}: {:?}", ran.findings);
        assert_eq!(ran.data[512], 1 + 129);
        if !clean {
            let told = ran.told("st.global.u32 [%rd1], %r2;", "ld.global.u32 %r4, [%rd1];");
            assert!(
                told.contains("missing between")
                    || told.contains("scope .cta")
                    || told.contains("its block alone")
                    || told.contains("nothing orders them"),
                "{told}"
            );
        }
    }
}

#[test]
fn what_one_block_has_acquired_it_releases_to_a_third() {
    // Block 0 writes data and a flag; block 1 waits for it and writes a second flag; block 2 waits for that and reads the data.
    let chain = |first: &str, second: &str| {
        format!(
            "@!%p6 bra DONE;
mov.u32 %r1, 1;
@%p4 bra MIDDLE;
@%p5 bra LAST;
st.global.u32 [%data], 42;
st.release.gpu.global.u32 [%flag], %r1;
bra DONE;
MIDDLE: {first}
setp.eq.u32 %p1, %r2, 0;
@%p1 bra MIDDLE;
{second}
bra DONE;
LAST: ld.acquire.gpu.global.u32 %r2, [%flag+128];
setp.eq.u32 %p1, %r2, 0;
@%p1 bra LAST;
ld.global.u32 %r3, [%data];
DONE:"
        )
    };
    let [acquire, relaxed] =
        ["ld.acquire.gpu.global.u32 %r2, [%flag];", "ld.relaxed.gpu.global.u32 %r2, [%flag];"];
    let [release, plain] =
        ["st.release.gpu.global.u32 [%flag+128], %r1;", "st.relaxed.gpu.global.u32 [%flag+128], %r1;"];
    for (first, second, clean) in [
        (acquire, release, true),
        (relaxed, release, false),
        (acquire, plain, false),
        (relaxed, "fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%flag+128], %r1;", true),
    ] {
        let ran = run(75, 3, 32, &chain(first, second));
        assert_eq!(ran.pairs().is_empty(), clean, "{first} {second}: {:?}", ran.findings);
    }
    let ran = run(75, 3, 32, &chain(acquire, plain));
    let told = ran.told("st.global.u32 [%data], 42;", "ld.global.u32 %r3, [%data];");
    assert!(told.contains("is missing between") && told.ends_with(&format!("`{plain}`")), "{told}");
}

#[test]
fn an_atomic_in_between_hands_on_what_was_released() {
    // Block 0 releases; block 1 adds without an order of its own; block 2 acquires the sum.
    let relay = |add: &str| {
        format!(
            "@!%p6 bra DONE;
@%p4 bra MIDDLE;
@%p5 bra LAST;
st.global.u32 [%data], 42;
red.release.gpu.global.add.u32 [%flag], 1;
bra DONE;
MIDDLE: {add}
bra DONE;
LAST: ld.acquire.gpu.global.u32 %r2, [%flag];
setp.ne.u32 %p1, %r2, 2;
@%p1 bra LAST;
ld.global.u32 %r3, [%data];
DONE:"
        )
    };
    assert_eq!(run(75, 3, 32, &relay("red.relaxed.gpu.global.add.u32 [%flag], 1;")).pairs(), [[""; 2]; 0]);
    let broken = run(75, 3, 32, &relay("mov.u32 %r4, 2;\nst.relaxed.gpu.global.u32 [%flag], %r4;"));
    assert_eq!(broken.pairs(), [["st.global.u32 [%data], 42;", "ld.global.u32 %r3, [%data];"]]);
}

/// Thread 0 of every block adds to a word under a lock.
fn locked(take: &str, give: &str) -> String {
    format!(
        "@!%p6 bra DONE;
WAIT: atom.global.cas.b32 %r2, [%flag], 0, 1;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra WAIT;
{take}
ld.global.u32 %r3, [%data];
add.u32 %r3, %r3, 1;
st.global.u32 [%data], %r3;
{give}
DONE:"
    )
}

#[test]
fn a_lock_needs_a_fence_where_it_is_taken_and_where_it_is_given_back() {
    let [fence, free] = ["membar.gl;", "atom.global.exch.b32 %r4, [%flag], 0;"];
    for target in [35, 75] {
        let ran = run(target, 5, 32, &locked(fence, &format!("{fence}\n{free}")));
        assert_eq!((ran.pairs().len(), ran.data[0]), (0, 5), "{:?}", ran.findings);
        for (take, give, words) in
            [(fence, free.to_owned(), "missing between"), ("", format!("{fence}\n{free}"), "missing behind")]
        {
            let ran = run(target, 5, 32, &locked(take, &give));
            let told = ran.told("st.global.u32 [%data], %r3;", "ld.global.u32 %r3, [%data];");
            assert!(told.contains(words), "{told}");
        }
    }
    // The lanes of a warp take it in turn.
    let body = locked(fence, &format!("{fence}\n{free}")).replace("@!%p6 bra DONE;", "");
    let ran = run(75, 2, 32, &body);
    assert_eq!((ran.pairs().len(), ran.data[0]), (0, 64), "{:?}", ran.findings);
}

/// CUDA's barrier of a grid: each block's thread 0 counts, and waits for the others.
fn grid_barrier(fence: &str) -> String {
    format!(
        "mad.lo.u32 %r1, %block, 64, %me;
mul.wide.u32 %rd1, %r1, 4;
add.u64 %rd2, %data, %rd1;
st.global.u32 [%rd2], %r1;
bar.sync 0;
@!%p6 bra JOIN;
{fence}
atom.global.add.u32 %r2, [%flag], 1;
WAIT: ld.volatile.global.u32 %r2, [%flag];
setp.lt.u32 %p1, %r2, 3;
@%p1 bra WAIT;
{fence}
JOIN:
bar.sync 0;
xor.b32 %r3, %r1, 64;
setp.ge.u32 %p1, %r3, 192;
@%p1 bra DONE;
mul.wide.u32 %rd1, %r3, 4;
add.u64 %rd2, %data, %rd1;
ld.global.u32 %r4, [%rd2];
DONE:"
    )
}

#[test]
fn a_barrier_of_the_grid_orders_all_blocks() {
    for target in [35, 75] {
        assert_eq!(run(target, 3, 64, &grid_barrier("membar.gl;")).pairs(), [[""; 2]; 0], "sm_{target}");
        let ran = run(target, 3, 64, &grid_barrier(""));
        assert_eq!(
            ran.pairs(),
            [["st.global.u32 [%rd2], %r1;", "ld.global.u32 %r4, [%rd2];"]],
            "sm_{target}"
        );
    }
}

#[test]
fn a_look_back_over_packed_words_needs_no_fence() {
    // Block 0 publishes a flag and its value in one strong word; the others read both from it.
    let packed = "@!%p6 bra DONE;
@%p4 bra READER;
mov.u64 %rd3, 0x700000001;
st.relaxed.gpu.global.u64 [%flag], %rd3;
bra DONE;
READER: ld.relaxed.gpu.global.u64 %rd4, [%flag];
cvt.u32.u64 %r2, %rd4;
setp.eq.u32 %p1, %r2, 0;
@%p1 bra READER;
DONE:";
    assert_eq!(run(75, 2, 32, packed).pairs(), [[""; 2]; 0]);
    let halves = packed.replace(
        "ld.relaxed.gpu.global.u64 %rd4, [%flag];\ncvt.u32.u64 %r2, %rd4;",
        "ld.relaxed.gpu.global.u32 %r2, [%flag];",
    );
    let ran = run(75, 2, 32, &halves);
    let told = ran
        .told("st.relaxed.gpu.global.u64 [%flag], %rd3;", "READER: ld.relaxed.gpu.global.u32 %r2, [%flag];");
    assert!(told.contains("of 8 and 4 bytes") || told.contains("of 4 and 8 bytes"), "{told}");
}
