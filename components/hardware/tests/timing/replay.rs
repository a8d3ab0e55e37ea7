//! Accesses that are replayed: what passes them, and what must not.

use super::programs::{Memory, kernel, launch};
use super::sm::{Run, block, run_blocks};
use super::*;

/// The lines of an access of 32 lanes, which is in registers from here on.
const LINES: u64 = BUFFER + 0x2000;
/// A line of its own.
const ALONE: u64 = BUFFER + 0x8000;

/// Points %rd3 to the first line and another one for each lane, and %p1 to the first of two warps.
const POINT: &str = "and.b32 %r4, %r1, 31;
    mul.wide.u32 %rd3, %r4, 128;
    add.u64 %rd3, %rd1, %rd3;
    setp.lt.u32 %p1, %r1, 32;\n";

/// Runs a block of two warps on an SM with parameters of the L1.
fn run(replay: &str, l1: &str, body: &str) -> Run {
    let params = format!(
        "{{ replay: {replay}, l1d: {{ {l1} }}, fetch_width: 8, l1i: {{ perfect: on }}, l1c: {{ perfect: on }} }}"
    );
    let launch = launch(1, &kernel(&format!("{POINT}{body}")), 1, 64);
    let mut memory = Memory::default();
    memory.set_word(ALONE, 77);
    (0..32).for_each(|lane| memory.set_word(LINES + 128 * lane, 100 + lane as u32));
    let run = run_blocks(&params, memory, vec![(5, block(&launch, 0))]);
    assert_finished(&run.report);
    run
}

/// The place of the first request for a line among the requests.
fn place_of(run: &Run, line: u64) -> usize {
    let place = run.requests.iter().position(|(_, request)| request.line == line);
    place.expect("somebody asks for the line")
}

#[test]
fn an_access_of_one_line_passes_the_rest_of_one_of_many() {
    let body = "@%p1 ld.global.u32 %r5, [%rd3+8192];
        @!%p1 ld.global.u32 %r5, [%rd1+32768];
        st.global.u32 [%rd3+16384], %r5;";
    let [off, on] = ["off", "on"].map(|replay| run(replay, "", body));
    assert_eq!(place_of(&off, ALONE), 32);
    assert_eq!(place_of(&on, ALONE), 6, "it is six cycles behind at the unit");
    // The 32 lines still leave one a cycle, but for the two accesses of the other warp between them.
    let last = |run: &Run| run.requests[place_of(run, LINES + 31 * 128)].0 - run.requests[0].0;
    assert_eq!((last(&off), last(&on)), (31, 33));
}

#[test]
fn a_hit_passes_accesses_for_which_no_miss_is_free() {
    // Both warps read a line first; then the first reads more lines than there are misses, and the second the same line again.
    let body = "ld.global.u32 %r5, [%rd1+32768];
        add.u32 %r7, %r5, %r4;
        @%p1 ld.global.u32 %r6, [%rd3+8192];
        @!%p1 ld.global.u32 %r8, [%rd1+32772];
        @!%p1 add.u32 %r8, %r8, 5;
        @!%p1 st.global.u32 [%rd1+40960], %r8;
        @%p1 st.global.u32 [%rd1+45056], %r6;";
    let between = |replay| {
        let run = run(replay, "mshrs: 2", body);
        let (hit, misses) = (run.store(BUFFER + 40960), run.store(BUFFER + 45056));
        assert_eq!((hit.1, misses.1), (5, 131));
        (hit.0, misses.0)
    };
    let (off, on) = (between("off"), between("on"));
    assert!(off.0 > off.1 - 400, "the hit waits for the misses: {off:?}");
    assert!(on.0 + 1000 < on.1, "the hit passes: {on:?}");
    assert!(on.1.abs_diff(off.1) < 40, "the misses take as long: {off:?}, {on:?}");
}

#[test]
fn nothing_passes_an_access_to_its_line_if_one_writes() {
    // The first warp loads or stores its lines, the second stores or loads all of them behind a barrier.
    let programs = [
        (
            "@%p1 ld.global.u32 %r5, [%rd3+8192];
            bar.sync 0;
            @!%p1 st.global.u32 [%rd3+8192], 7;
            @%p1 st.global.u32 [%rd3+16384], %r5;",
            [100, 101],
        ),
        (
            "@%p1 st.global.u32 [%rd3+8192], %r4;
            bar.sync 0;
            @!%p1 ld.global.u32 %r5, [%rd3+8192];
            @!%p1 st.global.u32 [%rd3+16384], %r5;",
            [0, 1],
        ),
        (
            "@%p1 atom.global.add.u32 %r5, [%rd3+8192], 1000;
            bar.sync 0;
            @!%p1 ld.global.u32 %r5, [%rd3+8192];
            @!%p1 st.global.u32 [%rd3+16384], %r5;",
            [1100, 1101],
        ),
        // One warp alone: a store behind its own load.
        (
            "@%p1 ld.global.u32 %r5, [%rd3+8192];
            @%p1 st.global.u32 [%rd3+8192], 7;
            @%p1 st.global.u32 [%rd3+16384], %r5;",
            [100, 101],
        ),
    ];
    for (body, [first, step]) in programs {
        for l1 in ["", "mshrs: 1", "mshrs: 2, merges: 1", "global: bypass"] {
            for replay in ["off", "on"] {
                let run = run(replay, l1, body);
                for lane in 0..32 {
                    let value = run.store(BUFFER + 16384 + 128 * u64::from(lane)).1;
                    assert_eq!(value, first + (step - first) * lane, "{body}, {l1}, {replay}, lane {lane}");
                }
            }
        }
    }
}
