//! What is configured is what programs see: parameters of the machine are changed, and latencies, conflicts and rates of small
//! kernels follow. No number here was recorded.

use std::sync::Arc;

use counterpoint_experiments::registry;
use counterpoint_experiments::run::RunSummary;
use counterpoint_experiments::validation::latencies;
use counterpoint_framework::model::StatValue;

use crate::support::{request, root, run_request};

/// The latencies of a GTX 480 with settings.
fn measured(sets: &[&str]) -> Vec<(&'static str, f64)> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let found = latencies("gtx480", &sets, &root(), &Arc::new(registry()));
    found.unwrap_or_else(|errors| panic!("{}", errors[0]))
}

#[test]
fn memory_takes_as_long_as_configured() {
    let before = measured(&[]);
    // A miss passes the L1, and what DRAM holds passes the L2.
    let l1 = measured(&["gpu.sm.l1d.latency=45 cycles"]);
    follows(&before, &l1, &[("chase L1", 10.0), ("chase L2", 10.0), ("chase DRAM", 10.0)]);
    let rop = measured(&["gpu.rop_latency=132 cycles"]);
    follows(&before, &rop, &[("chase L1", 0.0), ("chase L2", 20.0), ("chase DRAM", 20.0)]);
    let dram = measured(&["gpu.dram_latency=150 cycles"]);
    follows(&before, &dram, &[("chase L2", 0.0), ("chase DRAM", 50.0)]);
    // 33 cycles of 924 MHz are 25 of 700 MHz.
    let column = measured(&["gpu.dram.timing.tCL=45"]);
    follows(&before, &column, &[("chase L2", 0.0), ("chase DRAM", 25.0)]);
}

/// Asserts by how many cycles probes take longer: to 1 % of what they take.
fn follows(before: &[(&str, f64)], after: &[(&str, f64)], more: &[(&str, f64)]) {
    let of = |found: &[(&str, f64)], name: &str| found.iter().find(|(known, _)| *known == name).unwrap().1;
    for (name, more) in more {
        let (before, after) = (of(before, name), of(after, name));
        assert!(
            (after - before - more).abs() <= 0.01 * after,
            "{name}: {before}, then {after}, not {more} more"
        );
    }
}

/// Runs one block of a kernel on the one SM of a GTX 480 with settings: its cycles and warp instructions. `with` is in `%r2`,
/// the thread's index in `%r3`.
fn run(body: &str, threads: u32, with: u32, sets: &[&str]) -> (f64, f64) {
    let folder = tempfile::tempdir().unwrap();
    let kernel = format!(
        ".version 7.8\n.target sm_35\n.address_size 64\n.visible .entry probe(.param .u32 with) {{\n\
         .reg .b32 %r<8>;\n.reg .f32 %f<20>;\n.reg .f64 %d<4>;\n.shared .align 4 .b8 words[8192];\n\
         ld.param.u32 %r2, [with];\nmov.u32 %r3, %tid.x;\n{body}\nret;\n}}\n"
    );
    std::fs::write(folder.path().join("probe.ptx"), kernel).unwrap();
    let application = format!(
        "counterpoint: 1\napplication: probe\ncode: {{ probe: probe.ptx }}\n\
         buffers:\n  unused: {{ type: u32, elements: 1 }}\n\
         kernels:\n  - launch: probe\n    grid: 1\n    block: {threads}\n    registers: 20\n    arguments: [{with}]\n"
    );
    let path = folder.path().join("probe.yaml");
    std::fs::write(&path, application).unwrap();
    // A line of instructions is waited for once; what follows is to be measured without it.
    let sets = [&["gpu.sms=1", "gpu.sm.l1i.perfect=on"], sets].concat();
    let summary = run_request(&request("gtx480", &path.display().to_string(), &sets));
    assert!(!summary.partial, "{}", summary.report.outcome);
    (sum(&summary, "active_cycles"), sum(&summary, "warp_insn"))
}

/// By how much twice as many lines take longer: cycles, and warp instructions.
fn longer(begin: &str, lines: &str, threads: u32, with: u32, sets: &[&str]) -> (f64, f64) {
    let [short, long] =
        [1, 2].map(|times| run(&format!("{begin}{}", lines.repeat(times)), threads, with, sets));
    (long.0 - short.0, long.1 - short.1)
}

/// Instructions of a chain.
const CHAIN: u32 = 64;

#[test]
fn chains_take_as_long_as_configured() {
    // An instruction, a parameter of the SM, its value on a GTX 480, and another one.
    let table = [
        ("add.s32 %r4, %r4, %r4;", "int_latency.add", 4, 9),
        ("mad.lo.s32 %r4, %r4, %r4, %r4;", "int_latency.mad", 5, 9),
        ("div.s32 %r4, %r4, %r4;", "int_latency.div", 145, 160),
        ("mul.f32 %f0, %f0, %f0;", "fp_latency.mul", 4, 7),
        ("fma.rn.f32 %f0, %f0, %f0, %f0;", "fp_latency.mad", 5, 11),
        ("fma.rn.f64 %d0, %d0, %d0, %d0;", "dp_latency.mad", 8, 20),
        ("rsqrt.approx.f32 %f0, %f0;", "sfu_latency", 8, 19),
    ];
    for (line, parameter, usual, other) in table {
        let line = format!("{line}\n").repeat(CHAIN as usize);
        let hop = |sets: &[&str]| longer("", &line, 32, 0, sets).0 / f64::from(CHAIN);
        let (before, after) = (hop(&[]), hop(&[&format!("gpu.sm.{parameter}={other}")]));
        assert_eq!(after - before, f64::from(other - usual), "{parameter}: {before}, then {after}");
        // What is added to the configured latency is the way through the pipeline: five or six cycles.
        let pipeline = before - f64::from(usual);
        assert!((5.0..=6.0).contains(&pipeline), "{parameter}: {pipeline} cycles more");
    }
}

/// The sum of a statistic of the one SM.
fn sum(summary: &RunSummary, name: &str) -> f64 {
    let rows =
        summary.report.stats.iter().filter(|row| row.label.name == name && row.path.starts_with("gpu.sm"));
    rows.map(|row| match row.value {
        StatValue::Count(count) => count as f64,
        StatValue::Distribution { .. } => panic!("{name} is a count"),
    })
    .sum()
}

#[test]
fn a_bank_conflict_costs_a_cycle_for_each_lane_that_waits() {
    // Lane i follows a word at i * stride that holds its own address: with a stride of s words, s lanes meet in a bank.
    let begin =
        "mov.u32 %r4, words;\nmad.lo.s32 %r4, %r3, %r2, %r4;\nst.shared.u32 [%r4], %r4;\nbar.sync 0;\n";
    let loads = "ld.shared.u32 %r4, [%r4];\n".repeat(CHAIN as usize);
    let hop = |stride: u32| longer(begin, &loads, 32, 4 * stride, &[]).0 / f64::from(CHAIN);
    let free = hop(1);
    for degree in [2, 4, 8, 16, 32] {
        let found = hop(degree) - free;
        let expected = f64::from(degree - 1);
        assert!((found - expected).abs() <= 0.01 * (free + expected), "{degree} lanes: {found} more cycles");
    }
}

#[test]
fn units_take_instructions_as_often_as_configured() {
    let independent = |line: fn(u32) -> String| (0..16).map(line).collect::<String>().repeat(8);
    let fma = independent(|index| format!("fma.rn.f32 %f{index}, %f{index}, %f{index}, %f{index};\n"));
    let rsqrt = independent(|index| format!("rsqrt.approx.f32 %f{index}, %f{index};\n"));
    // Two schedulers issue one instruction each, and the two units take one in every cycle.
    let (cycles, instructions) = longer("", &fma, 1024, 0, &[]);
    let rate = instructions / cycles;
    assert!((rate / 2.0 - 1.0).abs() <= 0.01, "{rate} instructions a cycle");
    // One unit takes an approximation every eight cycles.
    let (cycles, instructions) = longer("", &rsqrt, 1024, 0, &[]);
    let each = cycles / instructions;
    assert!((each / 8.0 - 1.0).abs() <= 0.01, "{each} cycles each");
}
