//! Generic accesses whose lanes lie in several spaces: one access after another, each with its own time.

use std::sync::Arc;

use counterpoint_protocols::local::{Capacity, LocalMemory};

use super::programs::{BUFFER, Memory, kernel, launch};
use super::sm::{ENDED, FETCHED, MARK, MARKED, Run, block, run_blocks};
use super::*;

/// Bytes of each thread's own in shared memory, global memory (behind 8 KiB) and local memory: generic addresses in `%rd5` to
/// `%rd7`. Of the lanes, `%p1` says which have that of shared memory in `%rd4`, `%p2` global memory, `%p3` local memory.
const PLACES: &str = "
.local .align 8 .b8 own[8];
mul.wide.u32 %rd3, %r1, 8;
mov.u64 %rd5, scratch;
add.u64 %rd5, %rd5, %rd3;
cvta.shared.u64 %rd5, %rd5;
add.u64 %rd6, %rd1, %rd3;
add.u64 %rd6, %rd6, 8192;
mov.u64 %rd7, own;
cvta.local.u64 %rd7, %rd7;
st.u64 [%rd5], %rd3;
add.u64 %rd8, %rd3, 1000;
st.u64 [%rd7], %rd8;
add.u64 %rd8, %rd1, %rd3;
ld.u64 %rd9, [%rd7];
and.b64 %rd9, %rd9, 0;
add.u64 %rd2, %rd2, %rd9;
";

/// How the lanes take turns among shared and global memory, and among these and local memory.
const TWO: &str = "and.b32 %r3, %r1, 1;\n";
const THREE: &str = "rem.u32 %r3, %r1, 3;\n";
const CHOOSE: &str = "setp.eq.u32 %p1, %r3, 0;
setp.eq.u32 %p2, %r3, 1;
setp.eq.u32 %p3, %r3, 2;
selp.b64 %rd4, %rd5, %rd6, %p1;
selp.b64 %rd4, %rd7, %rd4, %p3;
";

/// Runs a warp on these accesses, between the mark and the store of `%rd9` at the end. All before them has been done at the mark.
fn run(turns: &str, accesses: &str) -> Run {
    let end = "st.global.u64 [%rd8+4096], %rd9;";
    let source = kernel(&format!("{PLACES}{turns}{CHOOSE}{MARK}{accesses}\n{end}"));
    let mut launch = Arc::unwrap_or_clone(launch(1, &source, 1, 32));
    let bytes_per_thread = launch.kernel.local_bytes(launch.stack);
    launch.local = LocalMemory { base: 0x6_0000, bytes_per_thread, capacity: Capacity { sms: 1, warps: 48 } };
    let mut memory = Memory::default();
    (0..32).for_each(|lane| memory.set_word(BUFFER + 8192 + 8 * lane, 2000 + 8 * lane as u32));
    let run = run_blocks(FETCHED, memory, vec![(5, block(&launch.into(), 0))]);
    assert_finished(&run.report);
    run
}

/// Cycles from the mark's store to the end's store.
fn between(run: &Run) -> u64 {
    run.store(ENDED).0 - run.store(MARKED).0
}

/// The words that the lanes store at the end.
fn words(run: &Run) -> Vec<u32> {
    (0..32).map(|lane| run.store(ENDED + 8 * lane).1).collect()
}

#[test]
fn each_lane_loads_from_its_own_space() {
    let loaded = words(&run(THREE, "ld.u64 %rd9, [%rd4];"));
    let value = |lane: u32| 8 * lane + [0, 2000, 1000][lane as usize % 3];
    assert_eq!(loaded, (0..32).map(value).collect::<Vec<u32>>());
}

#[test]
fn each_lane_stores_to_its_own_space_and_changes_it() {
    // What is there afterwards, by way of the spaces themselves.
    let back =
        "mov.u64 %rd9, 0;\n@%p1 ld.u64 %rd9, [%rd5];\n@%p2 ld.u64 %rd9, [%rd6];\n@%p3 ld.u64 %rd9, [%rd7];";
    let stored = words(&run(THREE, &format!("add.u64 %rd9, %rd3, 5000;\nst.u64 [%rd4], %rd9;\n{back}")));
    assert_eq!(stored, (0..32).map(|lane| 5000 + 8 * lane).collect::<Vec<u32>>());
    let before = |lane: u32| 8 * lane + 2000 * (lane % 2);
    let changed = words(&run(TWO, &format!("red.add.u64 [%rd4], 7;\n{back}")));
    assert_eq!(changed, (0..32).map(|lane| before(lane) + 7).collect::<Vec<u32>>());
    let old = words(&run(TWO, "atom.add.u64 %rd9, [%rd4], 7;"));
    assert_eq!(old, (0..32).map(before).collect::<Vec<u32>>());
}

#[test]
fn an_access_to_several_spaces_takes_as_long_as_one_to_each_of_them() {
    for access in [
        "ld.u64 %rd9, [%rd4];",
        "st.u64 [%rd4], %rd3;",
        "atom.add.u64 %rd9, [%rd4], 1;",
        "red.add.u64 [%rd4], 1;",
    ] {
        let two = (TWO, format!("@%p1 {access}\n@%p2 {access}"));
        let three = (THREE, format!("@%p1 {access}\n@%p3 {access}\n@%p2 {access}"));
        let is_atomic = access.contains("add");
        for (turns, apart) in [two].into_iter().chain((!is_atomic).then_some(three)) {
            let (apart, at_once) = (run(turns, &apart), run(turns, access));
            assert_eq!(words(&apart), words(&at_once), "{access}");
            assert_eq!(between(&apart), between(&at_once), "{access}");
        }
    }
}
