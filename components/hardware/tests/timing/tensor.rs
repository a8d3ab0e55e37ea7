//! Units for products of matrices, sleeps and the clock of the run, to the cycle.

use std::sync::Arc;

use counterpoint_ptx::{Allocation, Allocations, Rights};

use super::programs::{BUFFER, Memory, kernel, launch};
use super::sm::{MARK, MARKED, MEMORY, PIPELINE, SAME_BANK, block, run_blocks};
use super::*;

/// One unit that takes a cycle for 256 multiplications and additions of halves.
const PARAMS: &str = "{ fetch_width: 8, l1i: { perfect: on }, l1c: { perfect: on }, register_banks: 32, \
    tensor: { units: 1, collectors: 2, latency: 16, half: 256, byte: 512, double: 16 } }";
const LATENCY: u64 = 16;

fn counts(params: &str, body: &str) -> counterpoint_protocols::launch::CtaCounts {
    let registers = "\n.reg .b32 a<4>, b<2>; .reg .f32 c4, c5, c6, c7, d8, d9, d10, d11;\n";
    let launch = launch(1, &kernel(&format!("{registers}{body}")), 1, 32);
    let run = run_blocks(params, Memory::default(), vec![(5, block(&launch, 0))]);
    assert_finished(&run.report);
    run.counts()
}

/// `D = A·B + D` of halves with 8 or 16 products of each element.
fn chained(k: u32) -> String {
    let (a, b) = if k == 8 { ("a0, a1", "b0") } else { ("a0, a1, a2, a3", "b0, b1") };
    let d = "{d8, d9, d10, d11}";
    format!("mma.sync.aligned.m16n8k{k}.row.col.f32.f16.f16.f32 {d}, {{{a}}}, {{{b}}}, {d};\n")
}

#[test]
fn a_product_occupies_its_unit_for_its_work() {
    // 16 · 8 · 8 multiplications take four cycles, and twice as many eight.
    for (k, cycles) in [(8, 4), (16, 8)] {
        for count in [1, 3, 5] {
            let (with, without) = (counts(PARAMS, &chained(k).repeat(count)), counts(PARAMS, ""));
            // Registers a0 and b0 share a bank, and so do a1 and b1.
            let each = PIPELINE + SAME_BANK + LATENCY + cycles - 1;
            assert_eq!(
                (with.alu_results - without.alu_results, with.alu_cycles - without.alu_cycles),
                (count as u64, count as u64 * each),
                "{count} of m16n8k{k}"
            );
        }
    }
}

#[test]
fn products_that_do_not_depend_follow_each_other_at_the_rate_of_the_unit() {
    let text = |count: usize| -> String {
        (0..count)
            .map(|index| {
                let d: Vec<String> = (0..4).map(|v| format!("e{}", 4 * index + v)).collect();
                format!(
                    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{}}}, {{a0, a1, a2, a3}}, {{b0, b1}}, {{c4, c5, c6, c7}};\n",
                    d.join(", ")
                )
            })
            .collect()
    };
    let cycles = |count: usize| counts(PARAMS, &format!(".reg .f32 e<64>;\n{}", text(count))).warp_cycles;
    assert_eq!(cycles(12) - cycles(6), 6 * 8);
}

#[test]
fn an_sm_without_units_refuses_products() {
    let registers = ".reg .b32 a<4>, b<2>; .reg .f32 d8, d9, d10, d11;\n";
    let launch = launch(1, &kernel(&format!("{registers}{}", chained(8))), 1, 32);
    let run = run_blocks("{}", Memory::default(), vec![(5, block(&launch, 0))]);
    assert!(fault(&run.report).contains("multiplies matrices, and the SM has no units for it"));
}

#[test]
fn a_warp_sleeps_for_the_longest_time_of_its_lanes() {
    // A cycle of the bench takes a nanosecond; lane 31 sleeps longest, and without a time it is a cycle.
    let body =
        |time: u32| format!("mov.u32 %r3, %laneid; mul.lo.u32 %r3, %r3, {time}; nanosleep.u32 %r3;\n{MARK}");
    let stored = |time: u32| {
        let launch = launch(1, &kernel(&body(time)), 1, 32);
        let run = run_blocks(PARAMS, Memory::default(), vec![(5, block(&launch, 0))]);
        assert_finished(&run.report);
        let at = |(cycle, request): &(u64, counterpoint_protocols::memory::MemRequest)| {
            (request.line == MARKED).then_some(*cycle)
        };
        run.requests.iter().find_map(at).expect("the mark is stored")
    };
    assert_eq!(stored(10) - stored(0), 310 - 1);
    assert_eq!(stored(1_000_000) - stored(0), 1_000_000 - 1, "a millisecond is the longest sleep");
}

#[test]
fn the_clock_of_the_run_counts_nanoseconds() {
    let body = "mov.u64 %rd3, %globaltimer; nanosleep.u32 300; mov.u64 %rd4, %globaltimer; sub.u64 %rd3, %rd4, %rd3;\n\
        cvt.u32.u64 %r1, %rd3; st.global.u32 [%rd2], %r1;\n";
    let launch = launch(1, &kernel(body), 1, 1);
    let run = run_blocks(PARAMS, Memory::default(), vec![(5, block(&launch, 0))]);
    assert_finished(&run.report);
    let stored = run.requests.iter().find_map(|(_, request)| super::programs::stored(request, MARKED));
    let slept = stored.expect("the difference is stored");
    assert!((300..320).contains(&slept), "{slept}");
}

/// Copies of 16 bytes by each lane, which a memory of [`MEMORY`] cycles answers, and a wait for them.
fn copied(wait: &str) -> (u64, Vec<u32>) {
    let body = format!(
        ".shared .align 16 .b8 to[512];\nmov.u32 %r3, to; mad.lo.u32 %r3, %r1, 16, %r3; mul.wide.u32 %rd3, %r1, 16; add.u64 %rd3, %rd3, %rd1;\n\
         st.shared.u32 [%r3+12], 7; cp.async.cg.shared.global [%r3], [%rd3+512], 16; cp.async.commit_group;\n{wait}\n\
         ld.shared.u32 %r4, [%r3+12]; st.global.u32 [%rd2], %r4;\n"
    );
    let launch = launch(1, &kernel(&body), 1, 32);
    let mut memory = Memory::default();
    for word in 0..128 {
        memory.set_word(BUFFER + 512 + 4 * word, 1000 + word as u32);
    }
    let run = run_blocks(PARAMS, memory, vec![(5, block(&launch, 0))]);
    assert_finished(&run.report);
    let store = run.requests.iter().find(|(_, request)| super::programs::stored(request, MARKED).is_some());
    let (cycle, request) = store.expect("the words are stored");
    (*cycle, (0..32).filter_map(|lane| super::programs::stored(request, MARKED + 4 * lane)).collect())
}

#[test]
fn a_warp_goes_on_until_it_waits_for_its_copies() {
    let (late, words) = copied("cp.async.wait_group 0;");
    assert_eq!(words, (0..32).map(|lane| 1003 + 4 * lane).collect::<Vec<u32>>());
    let (early, words) = copied("cp.async.wait_group 1;");
    assert_eq!(words, [7; 32], "nothing has landed yet");
    // Four lines follow each other, each answered when memory has taken its time.
    assert!((MEMORY..MEMORY + 60).contains(&(late - early)), "{early} {late}");
}

#[test]
fn a_copy_of_a_part_fills_up_with_zeros() {
    // Lane t reads t mod 17 bytes; what is behind them in memory does not land.
    let body = ".shared .align 16 .b8 to[512];\nmov.u32 %r3, to; mad.lo.u32 %r3, %r1, 16, %r3; mul.wide.u32 %rd3, %r1, 16; add.u64 %rd3, %rd3, %rd1;\n\
        rem.u32 %r4, %r1, 17; st.shared.u32 [%r3+8], 7; cp.async.cg.shared.global [%r3], [%rd3+512], 16, %r4; cp.async.wait_all;\n\
        ld.shared.u32 %r4, [%r3+8]; st.global.u32 [%rd2], %r4;\n";
    let launch = launch(1, &kernel(body), 1, 32);
    let mut memory = Memory::default();
    for word in 0..128 {
        memory.set_word(BUFFER + 512 + 4 * word, 0x0101_0101 * (1 + word as u32));
    }
    let run = run_blocks(PARAMS, memory, vec![(5, block(&launch, 0))]);
    assert_finished(&run.report);
    let store = run.requests.iter().find(|(_, request)| super::programs::stored(request, MARKED).is_some());
    let (_, request) = store.expect("the words are stored");
    let third = |lane: u32| {
        let bytes = (lane % 17).clamp(8, 12) - 8;
        (0x0101_0101 * (1 + 4 * lane + 2)) & ((1u64 << (8 * bytes)) - 1) as u32
    };
    let found: Vec<u32> =
        (0..32).filter_map(|lane| super::programs::stored(request, MARKED + 4 * lane)).collect();
    assert_eq!(found, (0..32).map(third).collect::<Vec<u32>>());
}

#[test]
fn a_part_of_a_copy_ends_within_its_allocation() {
    let run = |size: u32| {
        let copy = format!("cp.async.ca.shared.global [%r3], [%rd1+512], 16, {size};");
        let body = format!(".shared .align 16 .b8 to[16];\nmov.u32 %r3, to; {copy} cp.async.wait_all;");
        let mut launch = Arc::unwrap_or_clone(launch(1, &kernel(&body), 1, 1));
        let range = BUFFER..BUFFER + 512 + 12;
        let buffer = Allocation { name: "buffer".to_owned(), range, freed_after: None, rights: Rights::All };
        launch.memory = Arc::new(Allocations::from_iter([buffer]));
        run_blocks(PARAMS, Memory::default(), vec![(5, block(&Arc::new(launch), 0))])
    };
    assert_finished(&run(12).report);
    let beyond = run(13);
    assert!(fault(&beyond.report).contains("reads 13 bytes at "), "{}", fault(&beyond.report));
}

#[test]
fn a_copy_beyond_shared_memory_is_a_fault() {
    let body = "mov.u32 %r3, 8184; cp.async.ca.shared.global [%r3], [%rd1], 16;";
    let launch = launch(1, &kernel(body), 1, 32);
    let run = run_blocks(PARAMS, Memory::default(), vec![(5, block(&launch, 0))]);
    assert!(fault(&run.report).contains("copies 16 bytes to 0x1ff8, outside of the block's shared memory"));
}

#[test]
fn barriers_in_memory_hold_warps_until_all_have_arrived() {
    // The second warp sleeps before it arrives; the first one waits for the phase.
    let body = ".shared .align 8 .b64 bar;\n.reg .pred %p8, %p9; mov.u32 %r3, %tid.x; setp.eq.u32 %p8, %r3, 0;\n\
        @%p8 mbarrier.init.shared.b64 [bar], 64; bar.sync 0; setp.lt.u32 %p8, %r3, 32; @!%p8 nanosleep.u32 700;\n\
        mbarrier.arrive.shared.b64 _, [bar]; again: mbarrier.test_wait.parity.shared.b64 %p9, [bar], 0; @!%p9 bra again;\n\
        mov.u64 %rd3, %clock64; cvt.u32.u64 %r1, %rd3; @%p8 st.global.u32 [%rd2], %r1;\n";
    let launch = launch(1, &kernel(body), 1, 64);
    let run = run_blocks(PARAMS, Memory::default(), vec![(5, block(&launch, 0))]);
    assert_finished(&run.report);
    let passed = run.requests.iter().find_map(|(_, request)| super::programs::stored(request, MARKED));
    assert!(passed.is_some_and(|cycle| (700..1000).contains(&cycle)), "{passed:?}");
}
