//! Each rule of CRCS is needed: a machine without it computes wrong values or deadlocks, and where it breaks
//! the order of accesses, the race checker names them.

use std::fmt::Write;

use counterpoint::run::{RunRequest, RunSummary};

use super::{FIFO, PPCS, SMALL, assert_right, on_crcs, run_request};
use counterpoint_tests::support::assert_wrong;

/// `spin`: each thread of a block reads its element, loops for the number of rounds that `counts` has for the
/// block, and writes 3 x + 1. A block with 0 rounds may touch its elements according to the analysis, but
/// does not. `scatter`: each thread writes its number to the beginning of a row of 32 words. `gather`: each
/// thread reads the value there, the first thread in the last row.
const KERNELS: &str = ".version 7.8
.target sm_35
.address_size 64
.visible .entry spin(.param .u64 values, .param .u64 counts) {
.reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
ld.param.u64 %rd1, [values]; ld.param.u64 %rd2, [counts];
cvta.to.global.u64 %rd3, %rd1; cvta.to.global.u64 %rd4, %rd2;
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
mul.wide.u32 %rd5, %r1, 4; add.s64 %rd6, %rd4, %rd5;
ld.global.u32 %r4, [%rd6];
setp.eq.s32 %p1, %r4, 0;
@%p1 bra $end;
mad.lo.s32 %r5, %r1, %r2, %r3;
mul.wide.s32 %rd5, %r5, 4; add.s64 %rd7, %rd3, %rd5;
ld.global.u32 %r6, [%rd7];
$round:
add.s32 %r4, %r4, -1;
setp.ne.s32 %p2, %r4, 0;
@%p2 bra $round;
mad.lo.s32 %r6, %r6, 3, 1;
st.global.u32 [%rd7], %r6;
$end:
ret;
}
.visible .entry scatter(.param .u64 rows) {
.reg .b32 %r<4>; .reg .b64 %rd<5>;
ld.param.u64 %rd1, [rows]; cvta.to.global.u64 %rd2, %rd1;
mov.u32 %r1, %tid.x;
mul.wide.s32 %rd3, %r1, 128; add.s64 %rd4, %rd2, %rd3;
st.global.u32 [%rd4], %r1;
ret;
}
.visible .entry gather(.param .u64 rows, .param .u64 words) {
.reg .b32 %r<8>; .reg .b64 %rd<8>;
ld.param.u64 %rd1, [rows]; cvta.to.global.u64 %rd2, %rd1;
ld.param.u64 %rd5, [words]; cvta.to.global.u64 %rd6, %rd5;
mov.u32 %r1, %tid.x; sub.s32 %r2, 255, %r1;
mul.wide.s32 %rd3, %r2, 128; add.s64 %rd4, %rd2, %rd3;
ld.global.u32 %r3, [%rd4];
mul.wide.s32 %rd3, %r2, 4; add.s64 %rd7, %rd6, %rd3;
st.global.u32 [%rd7], %r3;
ret;
}
";

/// Runs an application of these kernels whose text ends here, with files of words.
fn run_own(application: &str, files: &[(&str, Vec<u32>)], overlay: &str, sets: &[&str]) -> RunSummary {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, words) in files {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(path(name), bytes).unwrap();
    }
    std::fs::write(path("own.ptx"), KERNELS).unwrap();
    let head = "counterpoint: 1\napplication: own\ncode: { own: own.ptx }\n";
    std::fs::write(path("own.yaml"), format!("{head}{application}")).unwrap();
    let file = path("own.yaml").display().to_string();
    run_request(&RunRequest { watchdog: None, ..on_crcs(Some(overlay), &file, sets) })
}

/// The findings of the race checker, a line each.
fn races(summary: &RunSummary) -> String {
    summary.found.iter().fold(String::new(), |mut all, found| {
        writeln!(all, "{found}").expect("memory takes all");
        all
    })
}

#[test]
fn accesses_that_do_not_wait_for_their_pages_are_found_and_give_wrong_values() {
    for overlay in [FIFO, PPCS] {
        // Three SMs do not share the 16 blocks of a launch evenly, so that those of the next one begin beside its last ones.
        let sets = [&SMALL[..], &["gpu.sms=3", "app.size=small"]].concat();
        let request = |more: &[&str]| on_crcs(Some(overlay), "hotspot", &[&sets[..], more].concat());
        assert_right(&run_request(&request(&[])), 2);
        let summary = run_request(&request(&["gpu.sm.tlb.issue_rule=off"]));
        assert_wrong(&summary);
        let found = races(&summary);
        assert!(found.contains("race between kernels: hotspot#4 touches the page at 0x"), "{found}");
        assert!(found.contains(" of hotspot#2, which may touch it too, ends at "), "{found}");
    }
}

#[test]
fn an_l1_that_is_not_flushed_between_launches_gives_wrong_values() {
    for overlay in [FIFO, PPCS] {
        let sets = ["gpu.sms=2", "app.n=64", "app.launches=5"];
        let summary = run_request(&on_crcs(
            Some(overlay),
            "laplace",
            &[&sets[..], &["gpu.sm.l1d.flush=never"]].concat(),
        ));
        assert_wrong(&summary);
        // The order of accesses is right all the same.
        assert_eq!(races(&summary), "");
        assert_right(&run_request(&on_crcs(Some(overlay), "laplace", &sets)), 5);
    }
}

#[test]
fn a_release_that_changes_an_older_owners_count_lets_its_readers_go_too_early() {
    // Eight blocks share a page. Those of the first launch change it, the last of them late. Seven blocks of
    // the second launch do nothing, end at once and release a page that is not theirs yet; the last block
    // changes the result of the first launch.
    let application = "
buffers:
  values: { type: u32, elements: 1024 }
  all: { type: u32, elements: 1024 }
  last: { type: u32, elements: 1024 }
prelude:
  - read: { file: all.u32, into: all }
  - read: { file: last.u32, into: last }
  - read: { file: values.u32, into: values }
copy_in: [all, last, values]
kernels:
  - { launch: own.spin, grid: 8, block: 128, arguments: [values, all] }
  - { launch: own.spin, grid: 8, block: 128, arguments: [values, last] }
copy_out: [values]
postlude:
  - write: { from: values, file: out.u32 }
expect:
  - { buffer: values, file: expected.u32 }
";
    let counts = |of: [u32; 8]| of.into_iter().chain([0; 1016]).collect::<Vec<u32>>();
    let twice = |value: u32| 3 * (3 * value + 1) + 1;
    let expected = (0..1024).map(|index| if index < 896 { 3 * index + 1 } else { twice(index) });
    let files = [
        ("all.u32", counts([1, 1, 1, 1, 1, 1, 1, 3000])),
        ("last.u32", counts([0, 0, 0, 0, 0, 0, 0, 1])),
        ("values.u32", (0..1024).collect()),
        ("expected.u32", expected.collect()),
    ];
    // Each block has an SM of its own.
    let run = |rule: &str| run_own(application, &files, FIFO, &["gpu.sms=16", rule]);
    assert_right(&run("gpu.mmu.authority={ owners: { early_release: table } }"), 2);
    let summary = run("gpu.mmu.authority={ owners: { early_release: owner } }");
    let first = assert_wrong(&summary);
    assert_eq!(first, 896, "the last block's first element");
    let found = races(&summary);
    assert!(found.contains("race between kernels: spin#4 touches the page at "), "{found}");
    assert!(found.contains(" of `values` (4096 bytes) at "), "{found}");
    assert!(found.contains(", and block 7 of spin#2, which may touch it too, ends at "), "{found}");
}

#[test]
fn a_release_before_the_stores_are_acknowledged_gives_wrong_values() {
    let application = "
buffers:
  rows: { type: u32, elements: 8192 }
  words: { type: u32, elements: 256 }
prelude:
  - read: { file: rows.u32, into: rows }
copy_in: [rows]
kernels:
  - { launch: own.scatter, grid: 1, block: 256, arguments: [rows] }
  - { launch: own.gather, grid: 1, block: 256, arguments: [rows, words] }
copy_out: [words]
postlude:
  - write: { from: words, file: out.u32 }
expect:
  - { buffer: words, file: expected.u32 }
";
    let expected = (0..256).collect();
    let files = [("rows.u32", vec![7; 8192]), ("expected.u32", expected)];
    // All stores are on their way in the L1 when the block ends, and the network is narrow; nothing else holds the block up.
    let slow = ["gpu.sms=2", "gpu.sm.l1d.latency=500 cycles", "gpu.flit=8 B"];
    let at_once = ["gpu.sm.l1i.perfect=on", "gpu.sm.l1c.perfect=on"];
    let run = |rule: &str| run_own(application, &files, FIFO, &[&slow[..], &at_once, &[rule]].concat());
    assert_right(&run("gpu.sm.tlb.release_behind_stores=on"), 2);
    let summary = run("gpu.sm.tlb.release_behind_stores=off");
    assert_wrong(&summary);
    let found = races(&summary);
    assert!(found.contains("race between kernels: gather#4 touches the page at "), "{found}");
    assert!(found.contains(", and block 0 of scatter#2, which may touch it too, ends at "), "{found}");
}
