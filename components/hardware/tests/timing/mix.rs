//! An SM's statistics of its issued instructions: their classes, and the latency of loads.

use super::programs::{Memory, kernel, launch};
use super::sm::{FETCHED, LOOKUP, MEMORY, block, run, run_blocks};
use super::*;

const CLASSES: [&str; 19] = [
    "int",
    "fp32",
    "fp64",
    "sfu",
    "global_loads",
    "global_stores",
    "global_atomics",
    "shared_loads",
    "shared_stores",
    "shared_atomics",
    "local_loads",
    "local_stores",
    "constant_loads",
    "parameter_loads",
    "texture_fetches",
    "branches",
    "barrier_insn",
    "fences",
    "exits",
];

/// Instructions before the body that count as integers: four moves, a product and a sum. Beside them a parameter is loaded.
const BEFORE: u64 = 6;

#[test]
fn the_mix_is_what_one_counts_in_the_program() {
    // A loop of three turns, and each instruction as often as its class says below.
    let body = "mov.u32 %r3, 0;
        TURN:
        add.u32 %r3, %r3, 1;
        setp.lt.u32 %p1, %r3, 3;
        @%p1 bra TURN;
        add.f32 %f1, %f1, %f1;
        fma.rn.f32 %f1, %f1, %f1, %f1;
        div.rn.f32 %f1, %f1, %f1;
        add.f64 %d1, %d1, %d1;
        mul.f64 %d1, %d1, %d1;
        sin.approx.f32 %f1, %f1;
        ld.global.u32 %r4, [%rd1+512];
        ld.u32 %r4, [%rd1+512];
        st.global.u32 [%rd2], %r4;
        atom.global.add.u32 %r5, [%rd1+1024], %r1;
        red.global.add.u32 [%rd1+1024], %r1;
        st.shared.u32 [scratch], %r4;
        ld.shared.u32 %r4, [scratch];
        atom.shared.add.u32 %r5, [scratch+64], %r1;
        bar.sync 0;
        bar.sync 0;
        membar.gl;";
    let launch = launch(1, &kernel(body), 1, 64);
    let run = run_blocks(FETCHED, Memory::default(), vec![(5, block(&launch, 0))]);
    assert_finished(&run.report);
    let turns = 1 + 2 * 3;
    let each: [u64; 19] = [BEFORE + turns, 3, 2, 1, 2, 1, 2, 1, 1, 1, 0, 0, 0, 1, 0, 3, 2, 1, 1];
    let warps = each.map(|count| 2 * count);
    assert_eq!(counted(&run.report, "mix", CLASSES), warps);
    assert_eq!(run.report.count("warp_insn"), warps.iter().sum::<u64>(), "each instruction has one class");
}

#[test]
fn a_chain_of_loads_has_the_latency_of_each() {
    // Each address depends on the value before, and lies in a line of its own.
    let turn = |offset: u32| {
        format!(
            "ld.global.u32 %r3, [%rd1+{offset}];
            and.b32 %r3, %r3, 0;
            cvt.u64.u32 %rd3, %r3;
            add.u64 %rd1, %rd1, %rd3;\n"
        )
    };
    let body: String = (1..=3).map(|place| turn(512 * place)).collect();
    let report = run(&body, 32).report;
    let row = report.stats.iter().find(|row| row.label.name == "load_latency").unwrap();
    let StatValue::Distribution { count, sum, min, max, .. } = row.value else { panic!("{row:?}") };
    // To the lookup, to memory a cycle later, and its answer.
    let each = LOOKUP + 1 + MEMORY;
    assert_eq!((count, sum, min, max), (3, 3 * each, each, each));
}
