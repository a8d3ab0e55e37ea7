//! Programs see the configured values: latencies, conflicts, rates and bandwidths of small kernels follow
//! from the machine's parameters by formulas. No number here was recorded.

mod atomics;
mod bandwidth;
mod rows;
mod units;

use counterpoint_tests::probe::{Probe, latencies, lines};

#[test]
fn memory_takes_as_long_as_configured() {
    let before = latencies(&[]);
    // A miss passes the L1, and data from DRAM passes the L2.
    let l1 = latencies(&["gpu.sm.l1d.latency=45 cycles"]);
    follows(&before, &l1, &[("chase L1", 10.0), ("chase L2", 10.0), ("chase DRAM", 10.0)]);
    let rop = latencies(&["gpu.rop_latency=132 cycles"]);
    follows(&before, &rop, &[("chase L1", 0.0), ("chase L2", 20.0), ("chase DRAM", 20.0)]);
    let dram = latencies(&["gpu.dram_latency=150 cycles"]);
    follows(&before, &dram, &[("chase L2", 0.0), ("chase DRAM", 50.0)]);
    // 33 cycles of 924 MHz are 25 of 700 MHz.
    let column = latencies(&["gpu.dram.timing.tCL=45"]);
    follows(&before, &column, &[("chase L2", 0.0), ("chase DRAM", 25.0)]);
}

/// Asserts the additional cycles of probes: to 1 % of their time.
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

/// Extra cycles of one warp for twice the number of these lines, on the one SM of a GTX 480 with settings.
fn longer(begin: &str, chain: &str, with: u32, sets: &[&str]) -> f64 {
    let sets = [&["gpu.sms=1"], sets].concat();
    let [short, long] = [1, 2].map(|times| {
        let body = format!("{begin}{}", chain.repeat(times));
        let probe = Probe { sets: &sets, body: &body, with, ..Probe::default() };
        probe.run(None).sum("gpu.sm", "active_cycles")
    });
    long - short
}

const CHAIN: u64 = 64;

#[test]
fn chains_take_as_long_as_configured() {
    // An instruction, how often it reads its register, a parameter of the SM, its value on a GTX 480, and another one.
    let table = [
        ("add.s32 %r4, %r4, %r4;", 2, "int_latency.add", 4, 9),
        ("mad.lo.s32 %r4, %r4, %r4, %r4;", 3, "int_latency.mad", 5, 9),
        ("div.s32 %r4, %r4, %r4;", 2, "int_latency.div", 145, 160),
        ("mul.f32 %f0, %f0, %f0;", 2, "fp_latency.mul", 4, 7),
        ("fma.rn.f32 %f0, %f0, %f0, %f0;", 3, "fp_latency.mad", 5, 11),
        ("fma.rn.f64 %d0, %d0, %d0, %d0;", 3, "dp_latency.mad", 8, 20),
        ("rsqrt.approx.f32 %f0, %f0;", 1, "sfu_latency", 8, 19),
    ];
    for (line, operands, parameter, usual, other) in table {
        let chain = lines(CHAIN, |_| line.to_owned());
        let hop = |sets: &[&str]| longer("", &chain, 0, sets) / CHAIN as f64;
        let (before, after) = (hop(&[]), hop(&[&format!("gpu.sm.{parameter}={other}")]));
        assert_eq!(after - before, f64::from(other - usual), "{parameter}: {before}, then {after}");
        // The addition to the configured latency is the way through the pipeline, six cycles, and a cycle for
        // each operand but the first, as all of them are the same register.
        let pipeline = before - f64::from(usual);
        assert_eq!(pipeline, 6.0 + f64::from(operands - 1), "{parameter}: {pipeline} cycles more");
    }
}

#[test]
fn a_bank_conflict_costs_a_cycle_for_each_lane_that_waits() {
    // Lane i follows a word at i * stride that holds its own address: with a stride of s words, s lanes meet in a bank.
    let begin =
        "mov.u32 %r4, words;\nmad.lo.s32 %r4, %r3, %r2, %r4;\nst.shared.u32 [%r4], %r4;\nbar.sync 0;\n";
    let loads = lines(CHAIN, |_| "ld.shared.u32 %r4, [%r4];".to_owned());
    let hop = |stride: u32| longer(begin, &loads, 4 * stride, &[]) / CHAIN as f64;
    let free = hop(1);
    for degree in [2, 4, 8, 16, 32] {
        let found = hop(degree) - free;
        let expected = f64::from(degree - 1);
        assert!((found - expected).abs() <= 0.01 * (free + expected), "{degree} lanes: {found} more cycles");
    }
}

#[test]
fn with_locks_a_shared_atomic_takes_a_round_for_each_lane_of_its_most_wanted_word() {
    // Lanes are shared out among so few words that `degree` of them meet on each.
    let chain = lines(CHAIN, |_| "atom.shared.add.u32 %r5, [%r4], %r5;\nand.b32 %r5, %r5, 0;".to_owned());
    let hop = |degree: u32, sets: &[&str]| {
        let begin = format!(
            "mov.u32 %r4, words;\nrem.u32 %r5, %r3, {};\nmad.lo.u32 %r4, %r5, 4, %r4;\nmov.u32 %r5, 0;\n",
            32 / degree
        );
        longer(&begin, &chain, 0, sets) / CHAIN as f64
    };
    let locks = ["gpu.sm.shared_atomics=locks", "gpu.sm.shared_lock_round=20 cycles"];
    let (native, free) = (hop(1, &[]), hop(1, &locks));
    assert_eq!(free, native, "without a conflict nobody waits for a lock");
    for degree in [2, 4, 8, 16, 32] {
        let more = f64::from(degree - 1);
        assert_eq!(hop(degree, &[]) - native, more, "{degree} lanes take turns of a cycle");
        // A round is a load of shared memory, which takes 26 cycles, and the instructions behind it.
        assert_eq!(hop(degree, &locks) - free, more * (26.0 + 20.0), "{degree} lanes take rounds");
    }
}
