//! Policies of the L1 for global memory: where stores go, and which loads leave no line.

use super::programs::{Memory, kernel, launch};
use super::sm::{ENDED, LOADS_AFTER_EACH_OTHER, LOOKUP, MEMORY, Run, TO_REGISTER, block, run_blocks};
use super::*;

/// The line that the programs are about.
const LINE: u64 = BUFFER + 512;
/// Cycles between a store to the line and the store of the value that a load behind it finds, if the load hits, and if it misses.
const HIT: u64 = 1 + LOOKUP + TO_REGISTER;
const MISS: u64 = 1 + 1 + MEMORY + TO_REGISTER + LOOKUP;

fn run(policies: &str, body: &str) -> Run {
    let params = format!(
        "{{ l1d: {{ {policies} }}, fetch_width: 8, l1i: {{ perfect: on }}, l1c: {{ perfect: on }} }}"
    );
    let launch = launch(1, &kernel(body), 1, 32);
    let mut memory = Memory::default();
    (0..32).for_each(|word| memory.set_word(LINE + 4 * word, 100 + word as u32));
    let run = run_blocks(&params, memory, vec![(5, block(&launch, 0))]);
    assert_finished(&run.report);
    run
}

/// The time from the store of the line to the end, and the value that the load behind it found.
fn behind_store(policies: &str, body: &str) -> (u64, u32) {
    let run = run(policies, body);
    let (end, value) = run.store(ENDED);
    (end - run.store(LINE).0, value)
}

const THROUGH: &str = "write: through";
const ALLOCATE: &str = "write: { through: { allocate: on } }";

#[test]
fn a_store_through_keeps_its_line_with_what_it_writes() {
    // The mark is a store to the line.
    let body = LOADS_AFTER_EACH_OTHER.replace("[%rd2], %r1", "[%rd2+512], %r2");
    assert_eq!(behind_store("write: around", &body), (MISS, 3));
    assert_eq!(behind_store("", &body), (MISS, 3), "by default a line is evicted");
    for policy in [THROUGH, ALLOCATE] {
        assert_eq!(behind_store(policy, &body), (HIT, 3), "{policy}");
    }
}

#[test]
fn a_store_brings_its_line_where_the_policy_says_so() {
    let body = "st.global.u32 [%rd2+512], %r2;
        ld.global.u32 %r4, [%rd1+516];
        st.global.u32 [%rd1+4096], %r4;";
    assert_eq!(behind_store(THROUGH, body), (MISS, 3));
    assert_eq!(behind_store(ALLOCATE, body), (HIT, 3));
}

#[test]
fn a_line_that_was_brought_in_part_is_fetched_whole() {
    let body = "setp.lt.u32 %p1, %r1, 16;
        @%p1 st.global.u32 [%rd2+512], %r2;
        ld.global.u32 %r4, [%rd2+512];
        st.global.u32 [%rd2+4096], %r4;
        ld.global.u32 %r5, [%rd1+636];
        st.global.u32 [%rd2+8192], %r5;";
    let run = run(ALLOCATE, body);
    assert_eq!(run.reads(), [(LINE, 128)]);
    for lane in 0..32 {
        let value = if lane < 16 { 3 } else { 100 + lane as u32 };
        assert_eq!(run.store(ENDED + 4 * lane).1, value, "lane {lane}");
    }
}

#[test]
fn a_load_sees_a_store_that_came_while_the_line_was_on_its_way() {
    let body = "ld.global.u32 %r3, [%rd1+512];
        st.global.u32 [%rd2+512], %r2;
        ld.global.u32 %r4, [%rd1+516];
        st.global.u32 [%rd1+4096], %r4;
        st.global.u32 [%rd1+8192], %r3;";
    for policy in ["", THROUGH, ALLOCATE] {
        let run = run(policy, body);
        assert_eq!((run.store(ENDED).1, run.store(BUFFER + 8192).1), (3, 100), "{policy}");
        assert_eq!(run.reads().len(), 2, "{policy}: the line is forgotten");
    }
}

#[test]
fn an_atomic_evicts_its_line_under_every_policy() {
    let body = "ld.global.u32 %r3, [%rd1+512];
        atom.global.add.u32 %r5, [%rd1+512], %r3;
        ld.global.u32 %r4, [%rd1+512];
        st.global.u32 [%rd1+4096], %r4;";
    for policy in ["", THROUGH, ALLOCATE] {
        assert_eq!(run(policy, body).store(ENDED).1, 33 * 100, "{policy}");
    }
}

#[test]
fn loads_that_pass_by_ask_for_their_bytes_and_leave_no_line() {
    let run_with = |policy| {
        let run = run(policy, LOADS_AFTER_EACH_OTHER);
        assert_eq!(run.store(ENDED).1, 101, "{policy}");
        let count = |name: &str| run.report.count(&format!("L1D_{name}"));
        (run.store(ENDED).0 - run.store(BUFFER).0, run.reads(), count("bypasses"))
    };
    assert_eq!(run_with(""), (HIT, vec![(LINE, 128)], 0));
    assert_eq!(run_with("bypass: all"), (MISS, vec![(LINE, 4), (LINE, 4)], 2));
    let one = "bypass: { fraction: { one_in: 2 } }";
    assert_eq!(run_with(one), (MISS, vec![(LINE, 4), (LINE, 128)], 1), "the second stays");
}
