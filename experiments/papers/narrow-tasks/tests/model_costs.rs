//! Additional latency from the pipeline and memory of stepped SMs, over that of their parameters: the model
//! of throughput computes with it (`src/throughput/costs.rs`).

use counterpoint_tests::probe::{Configured, Probe, cycles, lines};

use crate::{MODEL, STEPPED, registry};

const STEPS: usize = 64;

/// A probe of one of the two machines.
fn on(machine: &str) -> Probe<'_> {
    let sms = if machine == MODEL { "gpu.model" } else { "gpu.sm" };
    Probe { machine, sms, registry, ..Probe::default() }
}

/// Cycles of one step of a chain of a warp, on one SM of a Titan X. The first step of all, which may miss, is in both chains.
fn step(chain: &str) -> f64 {
    step_of(chain, 32)
}

/// Cycles of a step of a chain for `threads` threads.
fn step_of(chain: &str, threads: u32) -> f64 {
    let [short, long] = [1, 2].map(|times| {
        let body = format!("mov.u32 %r5, 0;\n{}", chain.repeat(times * STEPS));
        let probe = Probe { sets: &["gpu.sms=1"], body: &body, threads, ..on(STEPPED) };
        probe.run(None).sum("gpu.sm", "active_cycles")
    });
    (long - short) / STEPS as f64
}

#[test]
fn the_model_has_what_the_pipeline_adds() {
    let model = Configured::with(&registry(), MODEL, &[]);
    let number = |name: &str| model.number("gpu.model", name);
    let add = step("add.s32 %r4, %r4, %r4;\n");
    assert!((add - number("sm.int_latency.add") - number("costs.pipeline")).abs() < 0.1, "{add}");
    // Each access depends on the previous one through its address, which arithmetic instructions compute from the
    // previous value.
    let computes = add * 3.0;
    let of = |access: &str, threads: u32| {
        let chain =
            format!("{access}\nand.b32 %r4, %r4, 0;\ncvt.u64.u32 %rd4, %r4;\nadd.s64 %rd1, %rd1, %rd4;\n");
        step_of(&chain, threads) - computes
    };
    let close = |what: &str, found: f64, known: f64| {
        assert!((found / known - 1.0).abs() < 0.02, "{what}: {found}, and {known} is expected");
    };
    close("global", of("ld.volatile.global.u32 %r4, [%rd1];", 32), number("costs.global"));
    // One lane only: the lanes of a warp would serialise at one word, which the model does not cover.
    let atomic = "atom.global.add.u32 %r4, [%rd1], 1;";
    close("atomic", of(atomic, 1), number("costs.atomic"));
    let shared = step("ld.volatile.shared.u32 %r4, [%r5];\nand.b32 %r5, %r4, 0;\n") - add;
    // A load waits until the register is written that it writes, too.
    let parameter = step("ld.param.u32 %r4, [with];\nadd.s32 %r4, %r4, %r4;\n") - add;
    close("parameter", parameter, number("costs.parameter"));
    close("barrier", step("bar.sync 0;\n"), number("costs.barrier"));
    close("shared", shared, number("sm.shared_latency") + number("costs.shared"));
}

#[test]
fn loops_of_a_warp_take_as_long_as_on_stepped_sms() {
    let add = "add.s32 %r4, %r4, %r4;\n";
    let wide = "add.s32 %r6, %r2, %r2;\nmul.f32 %f1, %f0, %f0;\n";
    let sides = "and.b32 %r6, %r3, 1;\nsetp.eq.s32 %p2, %r6, 0;\n@%p2 bra EVEN;\nadd.s32 %r4, %r4, 2;\nbra.uni BOTH;\n\
                 EVEN: add.s32 %r4, %r4, 3;\nBOTH:\n";
    // Jumps behind an even and an odd number of instructions, behind some that are issued in pairs, and into both sides of a branch.
    for inside in ["", add, &add.repeat(2), wide, &wide.repeat(3), sides] {
        let turn = |machine| {
            let [few, many] = [50, 150].map(|turns| {
                let body = format!(
                    "mov.u32 %r5, 0;\nmov.u32 %r4, 1;\nAGAIN:\n{inside}add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, {turns};\n\
                     @%p1 bra AGAIN;\n"
                );
                cycles(Probe { sets: &["gpu.sms=1"], body: &body, ..on(machine) }.run(None).end())
            });
            (many - few) / 100.0
        };
        let [stepped, model] = [STEPPED, MODEL].map(turn);
        assert!((model - stepped).abs() < 0.02, "{inside}: {stepped} and {model}");
    }
}

#[test]
fn blocks_begin_and_end_as_fast_as_on_stepped_sms() {
    // Cycles of blocks of four instructions on one SM, without the launch latency.
    let of = |machine, blocks| {
        let probe = Probe { sets: &["gpu.sms=1"], blocks, ..on(machine) };
        cycles(probe.run(None).end())
    };
    let [stepped, model] = [STEPPED, MODEL].map(|machine| [1, 2001].map(|blocks| of(machine, blocks)));
    // The model lacks the way of a warp's last instruction through the pipeline.
    assert!((0.0..8.0).contains(&(stepped[0] - model[0])), "{stepped:?} {model:?}");
    let ratio = (model[1] - model[0]) / (stepped[1] - stepped[0]);
    assert!((0.97..1.03).contains(&ratio), "{ratio}");
}

/// The sectors that the loads of a probe want.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    /// All threads load the same sector.
    One,
    /// All threads of a block load the same sector.
    Own,
    /// Each four of 256 that lie in different lines.
    Any,
    /// The one sector, and four of different lines, in turn: as in `narrow-convolution-global`, whose tasks read the
    /// same taps.
    OneOrAny,
}

/// Cycles of 48 blocks, two on each SM of a Titan X, whose warps in each round load eight times and then look at the
/// values.
fn loads(machine: &str, threads: u32, wanted: Wanted, rounds: u32) -> f64 {
    let load = |number: u64| {
        let line = match wanted {
            Wanted::Own => "mov.u32 %r7, %r5;",
            Wanted::Any => "",
            Wanted::OneOrAny if number % 2 == 1 => "",
            Wanted::One | Wanted::OneOrAny => "mov.u32 %r7, 0;",
        };
        format!(
            "mul.lo.u32 %r6, %r6, 1664525;\nadd.u32 %r6, %r6, 1013904223;\nshr.u32 %r7, %r6, 24;\n{line}\n\
             mul.wide.u32 %rd2, %r7, 256;\nadd.s64 %rd2, %rd1, %rd2;\nld.volatile.global.u32 %r{}, [%rd2];",
            10 + number
        )
    };
    let body = format!(
        "mov.u32 %r5, %ctaid.x;\nmov.u32 %r8, 0;\nmad.lo.u32 %r6, %r5, 128, 7;\nshr.u32 %r7, %r3, 3;\nadd.u32 %r6, %r6, %r7;\n\
         again:\n{}{}add.u32 %r8, %r8, 1;\nsetp.lt.u32 %p1, %r8, {rounds};\n@%p1 bra again;",
        lines(8, load),
        lines(8, |number| format!("add.u32 %r6, %r6, %r{};", 10 + number)),
    );
    let probe = Probe { body: &body, blocks: 48, threads, buffer: 1 << 16, ..on(machine) };
    cycles(probe.run(None).end())
}

/// Asserts that the model takes the time of stepped SMs within `tolerance`.
#[track_caller]
fn assert_waits(threads: u32, wanted: Wanted, rounds: u32, tolerance: f64) {
    let [stepped, model] = [STEPPED, MODEL].map(|machine| loads(machine, threads, wanted, rounds));
    let ratio = model / stepped;
    assert!(
        (ratio - 1.0).abs() < tolerance,
        "{threads} threads, {wanted:?}, {rounds} rounds: {stepped} and {model}: {ratio}"
    );
}

#[test]
fn sms_wait_for_each_other_as_where_they_are_stepped() {
    // No warp waits if warps are few.
    assert_waits(32, Wanted::One, 50, 0.02);
    assert_waits(32, Wanted::Any, 50, 0.02);
}

#[test]
fn crowded_sms_wait_for_each_other_as_where_they_are_stepped() {
    // Inferred: a wait for memory hides some of the fetch, which the model adds to it.
    assert_waits(256, Wanted::Own, 10, 0.03);
    // The slice of the one sector is asked 17 times as often as it can answer.
    assert_waits(1024, Wanted::One, 3, 0.02);
    // Ports become as full as those of a switch with input queues can be.
    assert_waits(256, Wanted::Any, 10, 0.06);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn sms_wait_for_each_other_for_long_as_where_they_are_stepped() {
        use Wanted::{Any, One, OneOrAny, Own};
        assert_waits(256, Own, 50, 0.03);
        assert_waits(1024, One, 50, 0.02);
        assert_waits(1024, OneOrAny, 50, 0.02);
        assert_waits(256, Any, 50, 0.06);
        assert_waits(1024, Any, 50, 0.045);
    }
}
