//! From issue to result: what a block counts of its instructions, to the cycle.
//!
//! Each program differs from [`kernel`] without a body by a few instructions that depend on each other; the difference of
//! the counts is theirs.

use counterpoint_protocols::launch::CtaCounts;

use super::programs::{Memory, kernel, launch};
use super::sm::{FETCHED, LOOKUP, MEMORY, PIPELINE, TO_REGISTER, TO_UNIT, block, run_blocks};
use super::*;

/// Cycles of an integer sum in its unit.
const ADD: u64 = 4;
/// Cycles from the load-store unit to a value of shared memory.
const SHARED: u64 = 26;
/// A cycle from the SM to memory, where an answer takes [`MEMORY`].
const LINK: u64 = 1;

/// Counts of one block of a warp, with this body and these parameters of the SM.
fn counts_with(params: &str, body: &str) -> CtaCounts {
    let launch = launch(1, &kernel(body), 1, 32);
    let run = run_blocks(params, Memory::default(), vec![(5, block(&launch, 0))]);
    assert_finished(&run.report);
    run.counts()
}

/// Instructions' additions to memory instructions, to results of both sorts, and to their cycles.
#[derive(Debug, PartialEq, Eq)]
struct Added {
    memory_insn: u64,
    alu: (u64, u64),
    memory: (u64, u64),
}

fn added(body: &str) -> Added {
    let (with, without) = (counts_with(FETCHED, body), counts_with(FETCHED, ""));
    Added {
        memory_insn: with.memory_insn - without.memory_insn,
        alu: (with.alu_results - without.alu_results, with.alu_cycles - without.alu_cycles),
        memory: (with.memory_results, with.memory_cycles),
    }
}

#[test]
fn a_chain_of_sums_takes_unit_and_pipeline_each() {
    for count in [1, 2, 7] {
        let chain = "add.u32 %r2, %r2, %r1;\n".repeat(count);
        let count = count as u64;
        let expected = Added { memory_insn: 0, alu: (count, count * (ADD + PIPELINE)), memory: (0, 0) };
        assert_eq!(added(&chain), expected, "{count} sums");
    }
}

#[test]
fn a_load_of_shared_memory_takes_the_way_to_the_unit_and_its_latency() {
    // The store has no result. Each lane has a bank, then all lanes but the first wait for their turn at one.
    for (stride, degree) in [(4, 1), (128, 32)] {
        let body = format!(
            "mul.lo.u32 %r3, %r1, {stride};
            st.shared.u32 [%r3], %r1;
            ld.shared.u32 %r4, [%r3];"
        );
        let Added { memory_insn, memory, .. } = added(&body);
        // The store is in the unit for as many cycles as its banks conflict, and the load is right behind it.
        let waits = degree - 1;
        assert_eq!((memory_insn, memory), (2, (1, waits + TO_UNIT + degree - 1 + SHARED)), "stride {stride}");
    }
}

#[test]
fn a_load_of_global_memory_takes_lookup_memory_and_the_way_to_the_register() {
    // The second one hits, and waits for the first one's value.
    let body = "ld.global.u32 %r3, [%rd1+512];
        and.b32 %r3, %r3, 0;
        cvt.u64.u32 %rd3, %r3;
        add.u64 %rd1, %rd1, %rd3;
        ld.global.u32 %r4, [%rd1+512];";
    let (miss, hit) = (LOOKUP + LINK + MEMORY + TO_REGISTER, LOOKUP + TO_REGISTER);
    let Added { memory_insn, memory, alu: (results, _) } = added(body);
    assert_eq!((memory_insn, memory, results), (2, (2, miss + hit), 3));
}

#[test]
fn an_atomic_counts_as_a_load_if_it_gives_a_value() {
    let value = "atom.global.add.u32 %r5, [%rd1+1024], 1;";
    let none = "red.global.add.u32 [%rd1+1024], 1;";
    let shared = "atom.shared.add.u32 %r5, [scratch], 1;";
    let (insn, no_alu) = (1, (0, 0));
    let expected = |memory| Added { memory_insn: insn, alu: no_alu, memory };
    // It passes the L1 by, and enters the pipeline at its end.
    assert_eq!(added(value), expected((1, TO_UNIT + LINK + MEMORY + TO_REGISTER)));
    assert_eq!(added(none), expected((0, 0)));
    assert_eq!(added(shared).memory_insn, 1);
    assert_eq!(added(shared).memory.0, 1);
}

#[test]
fn a_parameter_is_no_memory_whether_its_line_is_cached_or_not() {
    let missing = "{ fetch_width: 8, l1i: { perfect: on } }";
    for params in [FETCHED, missing] {
        let counts = counts_with(params, "ld.param.u64 %rd3, [buffer];");
        assert_eq!((counts.memory_insn, counts.memory_results, counts.memory_cycles), (0, 0, 0), "{params}");
    }
}

#[test]
fn an_access_is_uncoalesced_if_it_makes_more_transactions_than_its_bytes_do_from_any_address() {
    // Lanes of 4 bytes: beside each other from a line on, from the middle of one, in every other word, in every third, and each in a line.
    let cases = [(4, 0, 0, 1), (4, 64, 0, 2), (8, 0, 0, 2), (12, 0, 1, 3), (128, 0, 1, 32)];
    for (stride, offset, uncoalesced, requests) in cases {
        let body = format!(
            "mul.wide.u32 %rd3, %r1, {stride};
            add.u64 %rd3, %rd1, %rd3;
            ld.global.u32 %r3, [%rd3+{}];",
            4096 + offset
        );
        let (with, without) = (counts_with(FETCHED, &body), counts_with(FETCHED, ""));
        let added = [
            with.global_insn - without.global_insn,
            with.uncoalesced_insn - without.uncoalesced_insn,
            with.global_requests - without.global_requests,
        ];
        assert_eq!(added, [1, uncoalesced, requests], "stride {stride} from {offset}");
    }
    // Requests are what leaves: shared memory asks for nothing, and a hit for no line.
    let shared = counts_with(FETCHED, "ld.shared.u32 %r3, [scratch];");
    let none = counts_with(FETCHED, "");
    assert_eq!(shared.global_insn, none.global_insn);
    let again = "ld.global.u32 %r3, [%rd1+512];
        and.b32 %r3, %r3, 0;
        cvt.u64.u32 %rd3, %r3;
        add.u64 %rd1, %rd1, %rd3;
        ld.global.u32 %r4, [%rd1+512];";
    let again = counts_with(FETCHED, again);
    assert_eq!((again.global_insn, again.global_requests), (none.global_insn + 2, none.global_requests + 1));
}
