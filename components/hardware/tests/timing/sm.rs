//! The SM with small PTX programs: latencies of chains, loads and bank conflicts, the L1's rules, barriers, the end of
//! blocks, and faults.
//!
//! An instruction issues in the cycle in which its operands arrive. The request of a memory instruction leaves `LOOKUP`
//! cycles after its issue. Programs mark a moment by a store (`MARK`) and what follows by
//! another (`END`): an instruction right behind the mark issues in the cycle in which the mark's store leaves.

use std::sync::Arc;

use counterpoint_framework::telemetry::SpanId;
use counterpoint_framework::testing::Probe;
use counterpoint_hardware::gpu::sm::Sm;
use counterpoint_protocols::launch::{
    CtaCounts, IssueSlot, Launch, LaunchId, RunCta, SmEvent, SmResources, ToSm,
};
use counterpoint_protocols::memory::{MemAccess, MemRequest};

use super::programs::{BUFFER, Memory, kernel, launch, line_of_text, stored};
use super::*;

pub(super) const MARK: &str = "st.global.u32 [%rd2], %r1;\n";
/// Where the mark's store goes, and where END's does.
pub(super) const MARKED: u64 = BUFFER;
pub(super) const ENDED: u64 = BUFFER + 0x1000;
/// Cycles from a request's arrival to its answer.
pub(super) const MEMORY: u64 = 100;
/// From issue to execution (collector, operands, collector's port, start), and from the result to the register
/// (pipeline register, write), together: adds to every latency. Without operands it is one less.
pub(super) const PIPELINE: u64 = 4 + 2;
/// From the issue of an access to the load-store unit.
pub(super) const TO_UNIT: u64 = 5;
/// From the issue of an access to its lookup in the L1, where its request leaves.
pub(super) const LOOKUP: u64 = TO_UNIT + 35;
/// Cycles by which operands come later for each further one in the same bank: those with the same number.
pub(super) const SAME_BANK: u64 = 1;
/// From the arrival of a value to the register.
pub(super) const TO_REGISTER: u64 = 2;
/// Instructions are always there.
pub(super) const FETCHED: &str = "{ fetch_width: 8, l1i: { perfect: on }, l1c: { perfect: on } }";

pub(super) struct Run {
    pub(super) requests: Vec<(u64, MemRequest)>,
    events: Probe<SmEvent>,
    pub(super) report: BenchReport,
}

pub(super) fn run_blocks(params: &str, memory: Memory, blocks: Vec<(u64, ToSm)>) -> Run {
    let mut bench = bench::<Sm>(params);
    let (count, mut memory) = (blocks.len(), memory);
    let events = bench.client("work", None, blocks, 1 + count);
    let requests = bench.server("memory", None, move |request| Some((MEMORY, memory.answer(&request))));
    let report = bench.run();
    Run { requests: requests.take(), events, report }
}

pub(super) fn block(launch: &Arc<Launch>, index: u32) -> ToSm {
    RunCta { launch: Arc::clone(launch), index, sm: 0, sms: 1, span: SpanId(0) }.into()
}

/// Runs one block of these instructions.
pub(super) fn run(body: &str, threads: u32) -> Run {
    let launch = launch(1, &kernel(body), 1, threads);
    let run = run_blocks(FETCHED, Memory::default(), vec![(5, block(&launch, 0))]);
    assert_finished(&run.report);
    run
}

impl Run {
    #[track_caller]
    pub(super) fn store(&self, address: u64) -> (u64, u32) {
        let found =
            self.requests.iter().find_map(|(cycle, request)| Some((*cycle, stored(request, address)?)));
        found.unwrap_or_else(|| panic!("nothing was stored at {address:#x}"))
    }

    /// Cycles from the mark's store to the end's store.
    #[track_caller]
    fn between(&self) -> u64 {
        self.store(ENDED).0 - self.store(MARKED).0
    }

    /// The counts of the block that ended first.
    pub(super) fn counts(&self) -> CtaCounts {
        let counts = |(_, event): (u64, SmEvent)| match event {
            SmEvent::CtaDone { counts, .. } => Some(counts),
            _ => None,
        };
        self.events.take().into_iter().find_map(counts).expect("a block has ended")
    }

    pub(super) fn reads(&self) -> Vec<(u64, u32)> {
        let mask = |request: &MemRequest| match request.access {
            MemAccess::Read(mask) => Some(mask.count_ones()),
            _ => None,
        };
        self.requests.iter().filter_map(|(_, request)| Some((request.line, mask(request)?))).collect()
    }
}

#[test]
fn a_dependent_chain_takes_latency_and_pipeline_per_instruction() {
    // With the operands of each that are in the same bank as another one: the same register again.
    let classes = [
        ("add.u32 %r2, %r2, %r1;", "u32 [%rd1+4096], %r2", 4, 0),
        ("mul.lo.u32 %r2, %r2, %r1;", "u32 [%rd1+4096], %r2", 4, 0),
        ("mad.lo.u32 %r2, %r2, %r1, %r2;", "u32 [%rd1+4096], %r2", 5, 1),
        ("max.u32 %r2, %r2, %r1;", "u32 [%rd1+4096], %r2", 13, 0),
        ("div.u32 %r2, %r2, %r2;", "u32 [%rd1+4096], %r2", 145, 1),
        ("xor.b32 %r2, %r2, %r1;", "u32 [%rd1+4096], %r2", 1, 0),
        ("add.f32 %f1, %f1, %f1;", "f32 [%rd1+4096], %f1", 4, 1),
        ("fma.rn.f32 %f1, %f1, %f1, %f1;", "f32 [%rd1+4096], %f1", 5, 2),
        ("div.rn.f32 %f1, %f1, %f1;", "f32 [%rd1+4096], %f1", 39, 1),
        ("sin.approx.f32 %f1, %f1;", "f32 [%rd1+4096], %f1", 8, 0),
        ("add.f64 %d1, %d1, %d1;", "f64 [%rd1+4096], %d1", 8, 1),
        ("fma.rn.f64 %d1, %d1, %d1, %d1;", "f64 [%rd1+4096], %d1", 8, 2),
    ];
    for (instruction, store, latency, again) in classes {
        for count in [1, 2, 7] {
            let chain = format!("{instruction}\n").repeat(count);
            let run = run(&format!("{MARK}{chain}st.global.{store};"), 32);
            let each = latency + PIPELINE + again * SAME_BANK;
            // %rd1 shares a bank with %f1 and %d1, and not with %r2.
            let stored = if store.ends_with("%r2") { 0 } else { SAME_BANK };
            assert_eq!(run.between(), count as u64 * each + 1 + stored, "{count} × {instruction}");
        }
    }
}

#[test]
fn a_unit_takes_the_next_instruction_after_its_initiation() {
    // One unit for approximations, eight cycles each; the results do not depend on each other.
    let sines: String = (2..6).map(|n| format!("sin.approx.f32 %f{n}, %f1;\n")).collect();
    let run = run(&format!("{MARK}{sines}st.global.f32 [%rd1+4096], %f5;"), 32);
    assert_eq!(run.between(), 3 * 8 + 8 + PIPELINE + 1);
}

#[test]
fn a_miss_asks_for_its_line_and_delivers_a_cycle_after_the_answer() {
    let run = run(&format!("{MARK}ld.global.u32 %r3, [%rd1+512];\nst.global.u32 [%rd1+4096], %r3;"), 32);
    assert_eq!(run.reads(), [(BUFFER + 512, 128)]);
    // Leaves a cycle after the mark, one more to the memory, its answer, the way to the register, the way of the end.
    assert_eq!(run.between(), 1 + 1 + MEMORY + TO_REGISTER + LOOKUP);
}

/// Two loads of a line: the first one brings it, and the address of the mark between them needs its value.
pub(super) const LOADS_AFTER_EACH_OTHER: &str = "ld.global.u32 %r3, [%rd1+512];
    and.b32 %r3, %r3, 0;
    cvt.u64.u32 %rd3, %r3;
    add.u64 %rd2, %rd2, %rd3;
    st.global.u32 [%rd2], %r1;
    ld.global.u32 %r4, [%rd1+516];
    st.global.u32 [%rd1+4096], %r4;";

#[test]
fn a_hit_takes_its_latency() {
    let run = run(LOADS_AFTER_EACH_OTHER, 32);
    assert_eq!(run.reads().len(), 1);
    assert_eq!(run.between(), 1 + LOOKUP + TO_REGISTER);
}

#[test]
fn a_warp_access_takes_a_cycle_per_line() {
    // Stride 128 B: 32 lines.
    let body = "mul.wide.u32 %rd3, %r1, 128;
        add.u64 %rd3, %rd1, %rd3;
        st.global.u32 [%rd3+4096], %r1;";
    let run = run(body, 32);
    let cycles: Vec<u64> = run.requests.iter().map(|(cycle, _)| *cycle).collect();
    assert_eq!(cycles, (cycles[0]..cycles[0] + 32).collect::<Vec<_>>());
}

#[test]
fn bank_conflicts_cost_a_cycle_each() {
    for (stride, degree) in [(4, 1), (8, 2), (128, 32)] {
        let body = format!(
            "mul.lo.u32 %r3, %r1, {stride};
            mov.u32 %r4, scratch;
            add.u32 %r4, %r4, %r3;
            st.shared.u32 [%r4], %r1;
            ld.shared.u32 %r6, [%r4];
            cvt.u64.u32 %rd3, %r6;
            and.b64 %rd3, %rd3, 0;
            add.u64 %rd2, %rd2, %rd3;
            {MARK}ld.shared.u32 %r5, [%r4];
            st.global.u32 [%rd2+4096], %r5;"
        );
        let run = run(&body, 32);
        assert_eq!(run.between(), degree - 1 + 26 + TO_UNIT + 1, "stride {stride}");
        assert_eq!(run.store(ENDED + 4 * 7).1, 7, "the value that lane 7 left");
    }
}

#[test]
fn a_load_behind_a_store_behind_a_miss_sees_the_store() {
    let body = "ld.global.u32 %r3, [%rd1+512];
        mov.u32 %r5, 99;
        st.global.u32 [%rd1+512], %r5;
        ld.global.u32 %r4, [%rd1+512];
        st.global.u32 [%rd1+4096], %r3;
        st.global.u32 [%rd1+4100], %r4;";
    let launch = launch(1, &kernel(body), 1, 1);
    let mut memory = Memory::default();
    memory.set_word(BUFFER + 512, 7);
    let run = run_blocks(FETCHED, memory, vec![(5, block(&launch, 0))]);
    assert_finished(&run.report);
    assert_eq!(run.reads().len(), 2, "the second load does not join the first one's miss");
    assert_eq!((run.store(ENDED).1, run.store(ENDED + 4).1), (7, 99));
}

#[test]
fn loads_of_one_line_share_a_miss() {
    let body = "ld.global.u32 %r3, [%rd1+512];
        ld.global.u32 %r4, [%rd1+516];
        st.global.u32 [%rd1+4096], %r4;";
    let run = run(body, 1);
    assert_eq!(run.reads().len(), 1);
    assert_eq!(run.report.count("L1D_total_cache_pending_hits"), 1);
}

#[test]
fn a_volatile_load_passes_the_l1_by_and_invalidates_the_line() {
    let body = "ld.global.u32 %r3, [%rd1+512];
        add.u32 %r3, %r3, 1;
        ld.volatile.global.u32 %r4, [%rd1+512];
        add.u32 %r4, %r4, 1;
        ld.global.u32 %r5, [%rd1+512];
        add.u32 %r5, %r5, 1;
        ld.global.u32 %r6, [%rd1+512];";
    let run = run(body, 1);
    let line = BUFFER + 512;
    assert_eq!(run.reads(), [(line, 128), (line, 4), (line, 128)]);
}

#[test]
fn the_l1_is_flushed_between_launches_and_not_between_their_blocks() {
    let source = kernel("ld.global.u32 %r3, [%rd1+512];");
    let (first, second) = (launch(1, &source, 2, 32), launch(2, &source, 1, 32));
    let blocks = |second| vec![(5, block(&first, 0)), (500, block(&first, 1)), (1000, block(second, 0))];
    let cycles = |run: &Run| run.requests.iter().map(|(cycle, _)| *cycle / 500).collect::<Vec<_>>();
    let run = run_blocks(FETCHED, Memory::default(), blocks(&second));
    assert_finished(&run.report);
    assert_eq!(cycles(&run), [0, 2]);
    let params = "{ l1d: { flush: never }, l1i: { perfect: on }, l1c: { perfect: on } }";
    let run = run_blocks(params, Memory::default(), blocks(&second));
    assert_eq!(cycles(&run), [0]);
}

#[test]
fn a_block_ends_when_its_last_store_is_acknowledged() {
    let run = run("st.global.u32 [%rd2+4096], %r1;", 32);
    let (stored, _) = run.store(ENDED);
    run.events.assert_earliest(stored + 1 + MEMORY, |event| {
        // Seven instructions of the kernel, one of the body, and `ret`, in 32 lanes.
        let SmEvent::CtaDone { launch: LaunchId(1), index: 0, counts } = event else { return false };
        let CtaCounts { slots, warp_cycles, warp_slots, alu_cycles, .. } = *counts;
        // Two schedulers have 24 warp slots each, and one of them was taken until it had issued
        // everything. Of the seven, one loads a parameter.
        let (warp_insn, memory_insn, alu_results) = (9, 1, 6);
        let thread_insn = 9 * 32;
        let exact = CtaCounts {
            warp_insn,
            thread_insn,
            memory_insn,
            global_insn: 1,
            global_requests: 1,
            alu_results,
            alu_cycles,
            ..CtaCounts::default()
        };
        slots.get(IssueSlot::Used) == 9
            && warp_slots == 24 * slots.total()
            && (9..warp_slots / 48).contains(&warp_cycles)
            && *counts == CtaCounts { slots, warp_cycles, warp_slots, ..exact }
    });
    let first = run.events.take().remove(0);
    let resources = SmResources { threads: 1536, ctas: 8, registers: 32768, shared: 48 << 10 };
    assert_eq!(first, (0, SmEvent::Resources(resources)));
}

#[test]
fn a_block_ends_when_its_last_result_is_written() {
    let run = run("div.u32 %r2, %r2, %r2;", 32);
    // The block starts at 5 and issues from 7 on, in 8 the move to %r1, for which the multiplication waits: a cycle and
    // the pipeline without operands. It finds the bank of %r1 taken for two cycles, in which %f1 and %d1 are written. The
    // addition waits for it, and the division issues behind that.
    let multiplication = 8 + 1 + (PIPELINE - 1);
    let division = multiplication + 2 + 4 + PIPELINE + 1;
    let ends = division + 145 + PIPELINE + SAME_BANK;
    run.events.assert_earliest(ends, |event| matches!(event, SmEvent::CtaDone { .. }));
}

#[test]
fn a_result_of_a_block_that_has_ended_does_not_reach_the_next_one() {
    let long = kernel("add.u32 %r3, %r2, 1;\nadd.u32 %r4, %r2, 1;\ndiv.u32 %r2, %r2, %r2;");
    let short = kernel("ld.global.u32 %r3, [%rd1];");
    let (first, second) = (launch(1, &long, 1, 32), launch(2, &short, 1, 32));
    let run = run_blocks("{ threads: 32, fetch_width: 8 }", Memory::default(), vec![(5, block(&first, 0))]);
    let ended = run.events.take()[1].0;
    // One block at a time: the second one takes the first one's place, and its warp, as soon as it may. Its program is
    // shorter, so that a late result of the first would name an instruction that it has not.
    let blocks = vec![(5, block(&first, 0)), (ended + 2, block(&second, 0))];
    assert_finished(&run_blocks("{ threads: 32, fetch_width: 8 }", Memory::default(), blocks).report);
}

#[test]
fn a_barrier_holds_a_warp_until_the_other_has_come() {
    // Warp 0 loads and passes the value on through shared memory; warp 1 stores it.
    let body = "mov.u32 %r4, scratch;
        setp.lt.u32 %p1, %r1, 32;
        @%p1 ld.global.u32 %r3, [%rd1+512];
        @%p1 st.shared.u32 [%r4], %r3;
        bar.sync 0;
        @!%p1 ld.shared.u32 %r5, [%r4];
        @!%p1 st.global.u32 [%rd1+4096], %r5;";
    let mut memory = Memory::default();
    memory.set_word(BUFFER + 512, 1234);
    // From the load's request: the value's way, the store to shared memory, the barrier a cycle later and with it, from
    // the other scheduler, the other warp's load; its latency, and the store's request. Schedulers take turns to be the
    // first. If it is the other one's in the cycle of the barrier, then the load issues a cycle later, when that of warp 0,
    // in which no lane takes part, has gone in front.
    for (before, other_first, late) in [("mov.u32 %r6, 1;\n", true, 2), ("", false, 0)] {
        let launch = launch(1, &kernel(&format!("{before}{body}")), 1, 64);
        let run = run_blocks(FETCHED, memory.clone(), vec![(5, block(&launch, 0))]);
        assert_finished(&run.report);
        let (ended, value) = run.store(ENDED);
        assert_eq!(value, 1234);
        let arrived = run.requests[0].0 + 1 + MEMORY + TO_REGISTER;
        assert_eq!((arrived + 1) % 2 == 1, other_first);
        assert_eq!(ended, arrived + 1 + late + 26 + TO_UNIT + LOOKUP);
    }
}

#[test]
fn a_barrier_gives_every_warp_what_all_threads_voted() {
    let body = "setp.lt.u32 %p1, %r1, 40;
        bar.red.popc.u32 %r3, 0, %p1;
        setp.eq.u32 %p2, %r1, 0;
        @%p2 st.global.u32 [%rd1+4096], %r3;";
    let launch = launch(1, &kernel(body), 1, 64);
    let run = run_blocks(FETCHED, Memory::default(), vec![(5, block(&launch, 0))]);
    assert_finished(&run.report);
    assert_eq!(run.store(ENDED).1, 40);
}

#[test]
fn a_recursive_call_waits_for_the_loads_of_its_caller() {
    // Every level loads a word and adds it after the deeper levels have used the same registers.
    let function = ".func (.param .b32 r) total(.param .b32 n, .param .b64 a) { .reg .b32 %n<4>; .reg .b64 %a<2>; .reg .pred %q;
        ld.param.u32 %n0, [n]; ld.param.u64 %a0, [a]; ld.global.u32 %n1, [%a0]; mov.u32 %n2, 0;
        setp.eq.u32 %q, %n0, 0; @%q bra END; sub.u32 %n3, %n0, 1; add.s64 %a1, %a0, 256;
        call (%n2), total, (%n3, %a1);
        END: add.u32 %n2, %n2, %n1; st.param.b32 [r], %n2; ret; }
        .visible .entry";
    let body = "call (%r3), total, (5, %rd1);\nst.global.u32 [%rd1+4096], %r3;";
    let source = kernel(body).replace(".visible .entry", function);
    let mut memory = Memory::default();
    for level in 0..6u64 {
        memory.set_word(BUFFER + 256 * level, 10u32.pow(level as u32));
    }
    let run = run_blocks(FETCHED, memory, vec![(5, block(&launch(1, &source, 1, 32), 0))]);
    assert_finished(&run.report);
    assert_eq!(run.store(ENDED).1, 111_111);
}

#[test]
fn a_fence_waits_for_the_acknowledgement() {
    let run = run(&format!("{MARK}membar.gl;\nst.global.u32 [%rd1+4096], %r1;"), 32);
    // The fence ends in the cycle of the answer, and the store behind it issues in that cycle; %rd1 and %r1 share a bank.
    assert_eq!(run.between(), 1 + MEMORY + LOOKUP + SAME_BANK);
}

pub(super) fn faults(body: &str, threads: u32) -> (String, String) {
    let source = kernel(body);
    let launch = launch(3, &source, 4, threads);
    let run = run_blocks(FETCHED, Memory::default(), vec![(5, block(&launch, 2))]);
    let last = body.lines().last().unwrap_or_default();
    (fault(&run.report).to_owned(), format!("line {}", line_of_text(&source, last)))
}

#[test]
fn faults_name_kernel_block_warp_lane_and_line() {
    // The buffer has 64 KiB: thread 68 of block 2 is the first beyond it.
    let beyond = "setp.ge.u32 %p1, %r1, 32;\n@%p1 st.global.u32 [%rd2+65264], %r1;";
    let misaligned = "shr.u64 %rd3, %rd2, 1;\nadd.u64 %rd3, %rd3, %rd1;\nld.global.u32 %r3, [%rd3];";
    let shared =
        "mul.lo.u32 %r3, %r1, 128;\nmov.u32 %r4, scratch;\nadd.u32 %r4, %r4, %r3;\nst.shared.u32 [%r4], %r1;";
    for (body, threads, place, what) in [
        (
            beyond,
            96,
            "warp 2, lane 4",
            "writes 4 bytes at 0x20000, outside of every buffer: right behind the end of `buffer` (65536 bytes)",
        ),
        (misaligned, 32, "lane 1", "not a multiple of the 4 bytes accessed"),
        (
            shared,
            96,
            "warp 2, lane 0",
            "writes 4 bytes at 0x2000, outside of the block's shared memory (8192 bytes)",
        ),
    ] {
        let (message, line) = faults(body, threads);
        for part in ["k#3, block (2, 0, 0), warp ", place, what, &line] {
            assert!(message.contains(part), "{part} is not in: {message}");
        }
    }
}

#[test]
fn a_block_that_stands_still_at_barriers_is_a_fault_at_once() {
    let body = "setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 1;\n@!%p1 bar.sync 2;";
    let (message, line) = faults(body, 96);
    let (message, first) = (message.as_str(), line_of_text(&kernel(body), "bar.sync 1"));
    for part in [
        "k#3, block (2, 0, 0): no warp can go on: warp 0 waits at barrier 1, which has 32 of 96 threads",
        "warps 1 and 2 wait at barrier 2, which has 64 of 96 threads",
        &format!("PTX line {first}, `@%p1 bar.sync 1;`"),
        &format!("PTX {line}, `@!%p1 bar.sync 2;`"),
    ] {
        assert!(message.contains(part), "{part} is not in: {message}");
    }
    // The last warp that could have come has ended.
    let (message, _) = faults("setp.lt.u32 %p1, %r1, 32;\n@%p1 ret;\nbar.sync 1, 64;", 64);
    assert!(message.contains("warp 1 waits at barrier 1, which has 32 of 64 threads"), "{message}");
    assert!(message.ends_with("warp 0 has ended"), "{message}");
}

#[test]
fn a_part_of_a_warp_at_a_barrier_is_a_fault() {
    let (message, line) = faults("setp.lt.u32 %p1, %r1, 8;\n@%p1 bar.sync 0;", 32);
    assert!(message.contains(&line) && message.contains("without lanes 0xffffff00"), "{message}");
}

#[test]
fn a_warp_that_runs_forever_is_named() {
    let source = kernel("setp.lt.u32 %p1, %r1, 35;\n@%p1 bra DONE;\nAGAIN:\nbra AGAIN;\nDONE:");
    let blocks = vec![(5, block(&launch(3, &source, 4, 64), 2))];
    let run = run_blocks("{ instruction_limit: 1000 }", Memory::default(), blocks);
    let message = fault(&run.report);
    let line = line_of_text(&source, "bra AGAIN");
    let expected = format!(
        "k#3, block (2, 0, 0), warp 1, lane 3: PTX line {line}, `bra AGAIN;`: the warp has executed 1000 "
    );
    assert!(message.starts_with(&expected), "{message}");
}
