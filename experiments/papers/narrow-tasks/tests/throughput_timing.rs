//! The model of throughput with small PTX programs, to the cycle: what a warp takes alone, and what warps take that share an SM.

use std::sync::Arc;

use counterpoint::messages::launch::{Launch, RunCta, SmEvent, ToSm};
use counterpoint::messages::memory::{MemReply, MemRequest};
use counterpoint::telemetry::SpanId;
use counterpoint::testing::gpu::{
    BUFFER, assert_finished, bench_with, fault, kernel, launch, line, read, write,
};
use counterpoint::testing::{BenchReport, Probe};
use counterpoint_narrow_tasks::throughput::ThroughputModel;

/// An SM whose instructions take what they do by themselves, and a memory that answers after a hundred cycles.
const PLAIN: &str = "{ sm: { fetch_width: 8 }, costs: { pipeline: 0 cycles, begin: 0 cycles, shared: 0 cycles, parameter: 1 cycle, global: 100 cycles }, copies: { latency: 50 cycles } }";

struct Run {
    events: Probe<SmEvent>,
    replies: Probe<MemReply>,
    report: BenchReport,
}

fn run(params: &str, blocks: Vec<(u64, ToSm)>, requests: Vec<(u64, MemRequest)>) -> Run {
    let mut bench = bench_with::<ThroughputModel>(counterpoint_narrow_tasks::register, params);
    let (blocks_come, answers) = (blocks.len(), requests.len());
    let events = bench.client("sms", Some(0), blocks, 1 + blocks_come);
    let replies = bench.client("copies", None, requests, answers);
    let report = bench.run();
    Run { events, replies, report }
}

fn block(launch: &Arc<Launch>, index: u32) -> ToSm {
    RunCta { launch: Arc::clone(launch), index, sm: 0, sms: 1, span: SpanId(0) }.into()
}

/// Cycles of blocks of this many threads, all sent in cycle 10.
fn cycles(body: &str, threads: u32, count: u32) -> Vec<u64> {
    let launch = launch(1, &kernel(body), count, threads);
    let blocks = (0..count).map(|index| (10, block(&launch, index))).collect();
    let run = run(PLAIN, blocks, Vec::new());
    assert_finished(&run.report);
    let ends = run.events.take().into_iter().filter(|(_, event)| matches!(event, SmEvent::CtaDone { .. }));
    ends.map(|(cycle, _)| cycle).collect()
}

/// By how many cycles a block of one warp takes longer with these instructions.
fn longer(body: &str) -> u64 {
    cycles(body, 32, 1)[0] - cycles("", 32, 1)[0]
}

#[test]
fn a_chain_takes_the_latency_of_each_instruction() {
    // The last one is not waited for: what follows issues a cycle later. An operand that occurs twice is read twice.
    assert_eq!(longer(&"add.u32 %r3, %r3, %r1;\n".repeat(10)), 9 * 4 + 1);
    assert_eq!(longer(&"mad.lo.u32 %r3, %r3, %r1, %r3;\n".repeat(10)), 9 * (5 + 1) + 1);
    assert_eq!(longer("add.u32 %r3, %r1, %r1;\nadd.u32 %r4, %r1, %r1;\n"), 2, "none needs the other");
}

#[test]
fn a_load_takes_what_memory_takes_and_a_cycle_more_for_each_further_sector() {
    let body = "ld.global.u32 %r3, [%rd1];\nadd.u32 %r3, %r3, %r1;";
    let one = longer(body);
    // The address is there a multiplication after the mark, and the sum is issued when the value is.
    let four = longer(&body.replace("%rd1", "%rd2"));
    let of_address = longer("add.u64 %rd3, %rd2, 0;\n");
    assert_eq!(one, 101);
    assert!((3..=3 + of_address).contains(&(four - one)), "{four} {one} {of_address}");
}

#[test]
fn an_access_to_several_spaces_takes_what_one_to_each_of_them_takes() {
    let choose = "mov.u64 %rd3, scratch;\ncvta.shared.u64 %rd3, %rd3;\nsetp.lt.u32 %p1, %r1, 9;\nselp.b64 %rd3, %rd3, %rd1, %p1;";
    for access in ["ld.u32 %r3, [%rd3];", "st.u32 [%rd3], %r1;"] {
        let time = |accesses: &str| longer(&format!("{choose}\n{accesses}\nadd.u32 %r3, %r3, %r1;"));
        assert_eq!(time(access), time(&format!("@%p1 {access}\n@!%p1 {access}")), "{access}");
    }
}

#[test]
fn warps_meet_at_barriers() {
    let chain = "add.u32 %r3, %r3, %r1;\n".repeat(20);
    let body = format!("setp.ge.u32 %p1, %r1, 32;\n@%p1 bra MEET;\n{chain}MEET:\nbar.sync 0;\n{chain}");
    let (one, two) = (cycles(&body, 32, 1)[0], cycles(&body, 64, 1)[0]);
    assert_eq!(
        two,
        one + 2,
        "the second warp waits for the first and goes on with it; they meet now and then at a register bank"
    );
}

#[test]
fn a_block_ends_when_its_stores_are_acknowledged() {
    // The block would have ended a cycle after its last instruction.
    assert_eq!(longer("st.global.u32 [%rd1], %r1;\n"), 100 - 1);
}

#[test]
fn warps_that_want_more_turns_than_there_are_take_longer_by_that() {
    // Independent instructions that read one register: a warp wants a turn of the two units of the SM in every cycle.
    let body = "add.u32 %r3, %r1, 7;\nadd.u32 %r4, %r1, 7;\nadd.u32 %r5, %r1, 7;\nadd.u32 %r6, %r1, 7;\n"
        .repeat(500);
    let alone = cycles(&body, 32, 1)[0] - 10;
    for (warps, units) in [(2, 2), (4, 2), (6, 2)] {
        let end = cycles(&body, 32 * warps, 1)[0] - 10;
        let expected = alone * u64::from(warps) / units;
        // Beyond that they meet at banks of registers: most where schedulers hold them up least.
        assert!(
            (99 * expected..=113 * expected).contains(&(100 * end)),
            "{warps} warps: {end}, not {expected}"
        );
    }
    let ends = cycles(&body, 64, 2);
    assert_eq!(
        ends[0].abs_diff(ends[1]),
        1,
        "equal blocks end together, and are reported one after the other"
    );
}

#[test]
fn copies_and_blocks_see_one_memory() {
    let launch = launch(
        1,
        &kernel("ld.global.u8 %r3, [%rd1];\nadd.u32 %r3, %r3, 1;\nst.global.u8 [%rd1+1], %r3;"),
        1,
        1,
    );
    let mask = 0b11;
    let requests = vec![(10, write(1, BUFFER, mask, 7)), (2000, read(2, BUFFER, mask))];
    let run = run(PLAIN, vec![(1000, block(&launch, 0))], requests);
    assert_finished(&run.report);
    let replies = run.replies.take();
    assert_eq!(line(&replies, 2)[..2], [7, 8]);
    // A sector takes a cycle of the port, and the answer 50 cycles.
    let times: Vec<u64> = replies.iter().map(|(cycle, _)| *cycle).collect();
    assert_eq!(times, [10 + 1 + 50, 2000 + 1 + 50]);
}

#[test]
fn a_block_that_waits_for_another_one_is_named() {
    let body = "WAIT:\nld.volatile.global.u32 %r3, [%rd1];\nsetp.ne.u32 %p1, %r3, 77;\n@%p1 bra WAIT;\n";
    let launch = launch(1, &kernel(body), 1, 32);
    let params = PLAIN.replacen("fetch_width: 8", "fetch_width: 8, instruction_limit: 10000", 1);
    let run = run(&params, vec![(10, block(&launch, 0))], Vec::new());
    let message = fault(&run.report);
    assert!(message.contains("k#1") && message.contains("waits for another block"), "{message}");
}
