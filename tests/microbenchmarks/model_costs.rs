//! What the pipeline and memory of stepped SMs add to the latencies of their parameters: the model of throughput reckons with these
//! (`components/hardware/src/gpu/model/costs.rs`).

use super::probe::{Configured, MODEL, Probe, STEPPED, cycles};

/// Steps of a chain.
const STEPS: usize = 64;

/// Cycles of one step of a chain, on one SM of a Titan X. The first step of all, which may miss, is in both chains.
fn step(chain: &str) -> f64 {
    let [short, long] = [1, 2].map(|times| {
        let body = format!("mov.u32 %r5, 0;\n{}", chain.repeat(times * STEPS));
        let probe = Probe { machine: STEPPED, sets: &["gpu.sms=1"], body: &body, ..Probe::default() };
        probe.run(None).sum("gpu.sm", "active_cycles")
    });
    (long - short) / STEPS as f64
}

#[test]
fn the_model_reckons_with_what_the_pipeline_adds() {
    let model = Configured::of(MODEL, &[]);
    let number = |name: &str| model.number("gpu.model", name);
    let add = step("add.s32 %r4, %r4, %r4;\n");
    assert!((add - number("sm.int_latency.add") - number("costs.pipeline")).abs() < 0.1, "{add}");
    // Each of these is behind the one before by way of its address, which instructions that compute make of its value.
    let computes = add * 3.0;
    let of = |access: &str| {
        let chain =
            format!("{access}\nand.b32 %r4, %r4, 0;\ncvt.u64.u32 %rd4, %r4;\nadd.s64 %rd1, %rd1, %rd4;\n");
        step(&chain) - computes
    };
    let close = |what: &str, found: f64, known: f64| {
        assert!((found / known - 1.0).abs() < 0.02, "{what}: {found}, and {known} is reckoned with");
    };
    close("global", of("ld.volatile.global.u32 %r4, [%rd1];"), number("costs.global"));
    close("atomic", of("atom.global.add.u32 %r4, [%rd1], 1;"), number("costs.atomic"));
    let shared = step("ld.volatile.shared.u32 %r4, [%r5];\nand.b32 %r5, %r4, 0;\n") - add;
    // A load waits until the register is written that it writes, too.
    let parameter = step("ld.param.u32 %r4, [with];\nadd.s32 %r4, %r4, %r4;\n") - add;
    close("parameter", parameter, number("costs.parameter"));
    close("barrier", step("bar.sync 0;\n"), number("costs.barrier"));
    close("shared", shared, number("sm.shared_latency") + number("costs.shared"));
}

#[test]
fn blocks_begin_and_end_as_fast_as_on_stepped_sms() {
    // On one SM, blocks of four instructions, besides what it takes to launch them.
    let of = |machine, blocks| {
        let probe = Probe { machine, sets: &["gpu.sms=1"], blocks, ..Probe::default() };
        cycles(probe.run(None).end())
    };
    let [stepped, model] = [STEPPED, MODEL].map(|machine| [1, 2001].map(|blocks| of(machine, blocks)));
    // What the model does not have is the way of a warp's last instruction through the pipeline.
    assert!((0.0..8.0).contains(&(stepped[0] - model[0])), "{stepped:?} {model:?}");
    let ratio = (model[1] - model[0]) / (stepped[1] - stepped[0]);
    assert!((0.97..1.03).contains(&ratio), "{ratio}");
}
