//! The runtimes that Pagoda is compared with (Yeh et al., PPoPP 2017, section 6): Hyper-Q, GeMTC, static fusion and the CPU's threads.

use std::collections::BTreeMap;

use counterpoint::component::StatValue;
use counterpoint::run::{RunRequest, RunSummary};
use counterpoint::time::SimTime;

use counterpoint_tests::observed::{blocks, mean, of_blocks, total};
use counterpoint_tests::support::{assert_verified, in_dialect, request, root};

use crate::{attempt, refusal, run_request};

/// A run under the runtime and the policy of an overlay.
fn under(overlay: &str, machine: &str, application: &str, sets: &[&str]) -> RunRequest {
    RunRequest { overlays: vec![overlay.to_owned()], ..request(machine, application, sets) }
}

/// The applications of narrow tasks.
fn programs() -> Vec<String> {
    let folder = root().join("experiments/applications");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("narrow-"));
    names.sort();
    names
}

fn verified(request: &RunRequest) -> RunSummary {
    let summary = run_request(request);
    assert_verified(&summary);
    summary
}

#[test]
fn every_program_computes_the_same_with_a_kernel_for_each_task() {
    for program in programs() {
        verified(&under("hyperq", "tiny", &program, &["app.size=small"]));
    }
}

#[test]
fn every_program_without_shared_memory_computes_the_same_in_batches() {
    let mut refused = Vec::new();
    for program in programs() {
        match attempt(&under("gemtc", "tiny", &program, &["app.size=small"])) {
            Ok(summary) => assert_verified(&summary),
            Err(why) => {
                assert!(why.contains("bytes of shared memory, which GeMTC has none of for tasks"), "{why}");
                refused.push(program);
            }
        }
    }
    assert_eq!(refused, ["narrow-dct", "narrow-exchange", "narrow-matmul", "narrow-mixed"]);
}

/// The most blocks that run at once, and the most of these on one SM.
fn crowd(summary: &RunSummary) -> (usize, usize) {
    let blocks = blocks(summary);
    let mut most = (0, 0);
    for now in blocks.iter().map(|block| block.start) {
        let running = blocks.iter().filter(|block| block.start <= now && now < block.end);
        let mut sms = BTreeMap::<u64, usize>::new();
        running.for_each(|block| *sms.entry(block.sm).or_default() += 1);
        let of_one = sms.values().copied().max().unwrap_or_default();
        most = (most.0.max(sms.values().sum()), most.1.max(of_one));
    }
    most
}

#[test]
fn of_forty_tasks_32_run_together() {
    let apart = "host.cpu.runtime={ hyperq: { copies: apart } }";
    // A task is shorter than 32 calls that launch one.
    let sets = [apart, "host.cpu.calls.launch=0 us", "app.tasks=40", "app.threads=256", "app.most=64"];
    let summary = run_request(&of_blocks(under("hyperq", "titanx-maxwell", "narrow-mandelbrot", &sets)));
    assert_verified(&summary);
    // Eight of 24 SMs have two tasks: 256 of 1536 warps, 16.67 %. Tasks of 128 threads occupy half of that.
    assert_eq!(crowd(&summary), (32, 2));
}

#[test]
fn one_task_of_256_threads_occupies_half_a_percent() {
    let sets = ["app.tasks=1", "app.threads=256"];
    let summary = verified(&under("hyperq", "titanx-maxwell", "narrow-matmul-global", &sets));
    let mut rows = summary.report.stats.iter();
    let row = rows.find(|row| row.path.ends_with("#1]") && row.label.name == "gpu_occupancy").unwrap();
    let StatValue::Ratio { part, whole } = row.value else { panic!("{:?}", row.value) };
    // Share of the SM that has the task; of 24 SMs the task occupies 0.52 %. The warps of the task do not end in the same cycle.
    let (occupied, most) = (part as f64 / whole as f64, 8.0 / 64.0);
    assert!((0.95 * most..=most).contains(&occupied), "{occupied}");
}

/// Begin and end of the spans of a name.
fn spans(summary: &RunSummary, name: &str) -> Vec<(SimTime, SimTime)> {
    let spans = summary.report.trace.spans.iter().filter(|span| span.name == name);
    let mut spans: Vec<_> = spans.map(|span| (span.start, span.end)).collect();
    spans.sort();
    spans
}

#[test]
fn a_batch_ends_with_its_longest_task_and_the_next_begins_behind_it() {
    let runtime = "host.cpu.runtime={ gemtc: { batch: 4 } }";
    let sets = ["app.size=small", "app.tasks=10", runtime];
    let summary = run_request(&of_blocks(under("gemtc", "tiny", "narrow-mandelbrot", &sets)));
    assert_verified(&summary);
    let (batches, kernels) = (spans(&summary, "batch"), spans(&summary, "super_kernel#1"));
    assert_eq!((batches.len(), spans(&summary, "task mandelbrot").len()), (3, 10), "{kernels:?}");
    assert!(batches.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{batches:?}");
    // All tasks of a batch are known to be done when the batch ends.
    let ends = spans(&summary, "task mandelbrot").into_iter().map(|(_, end)| end);
    let ends: std::collections::BTreeSet<SimTime> = ends.collect();
    assert!(ends.iter().copied().eq(batches.iter().map(|batch| batch.1)), "{ends:?}");
}

/// Static fusion with parameters of its own.
fn fused(params: &str) -> String {
    format!("host.cpu.runtime={{ fusion: {{ {params} }} }}")
}

/// Runs each program with those of three settings of static fusion for which `is_run` holds of the numbers of program and setting.
fn fuse_programs(is_run: impl Fn(usize, usize) -> bool) {
    for (number, program) in programs().iter().enumerate() {
        let alone = ["threads: 0", "threads: 0, batch: 2, copies: apart"];
        let [one, batches] =
            alone.map(|params| request("tiny", program, &["app.size=small", &fused(params)]));
        // A block of 256 threads does a task of 64 threads, except in the program whose values depend on the number of threads.
        let threads: &[&str] = if program == "narrow-exchange" { &["app.threads=256"] } else { &[] };
        let shared = under("fusion", "tiny", program, &[&["app.size=small"], threads].concat());
        for (setting, request) in [one, batches, shared].iter().enumerate() {
            if is_run(number, setting) {
                verified(request);
            }
        }
    }
}

#[test]
fn every_program_computes_the_same_as_blocks_of_one_kernel() {
    // The settings take turns.
    fuse_programs(|program, setting| program % 3 == setting);
    // Tasks of several blocks keep them.
    let sets = ["app.size=small", "app.blocks=3", "app.tasks=3", &fused("threads: 0")];
    verified(&request("tiny", "narrow-exchange", &sets));
}

#[test]
fn every_dialect_has_a_fused_kernel() {
    let folder = tempfile::tempdir().unwrap();
    for program in ["narrow-exchange", "narrow-mixed"] {
        for dialect in ["clang-sm_20", "clang-sm_35", "nvrtc-sm_70"] {
            let application = in_dialect(folder.path(), program, dialect);
            verified(&request("tiny", &application, &["app.size=small", &fused("threads: 0")]));
        }
    }
}

#[test]
fn a_step_is_a_kernel_of_as_many_blocks_as_it_has_tasks() {
    let run = |params: &str| {
        let sets = ["app.size=small", "app.threads=256", &fused(params)];
        let summary = run_request(&of_blocks(request("tiny", "narrow-exchange", &sets)));
        assert_verified(&summary);
        let mut kernels = BTreeMap::<u64, usize>::new();
        blocks(&summary).iter().for_each(|block| *kernels.entry(block.launch).or_default() += 1);
        kernels.into_values().collect::<Vec<_>>()
    };
    assert_eq!((run(""), run("batch: 5")), (vec![12], vec![5, 5, 2]));
    // Each phase of a decomposition is a step.
    let summary = verified(&under("fusion", "tiny", "narrow-lu", &["app.size=small"]));
    assert_eq!(
        (total(&summary, "gpu/cta-scheduler", "ctas"), total(&summary, "host/cpu", "tasks")),
        (23, 23)
    );
}

/// The mean latency of tasks, in nanoseconds.
fn latency(overlay: &str, runtime: &str, tasks: u32) -> f64 {
    let tasks = format!("app.tasks={tasks}");
    let sets = ["app.size=small", &*tasks, runtime];
    let summary = verified(&under(overlay, "tiny", "narrow-matmul-global", &sets));
    mean(&summary, "task_latency").1
}

#[test]
fn a_fused_task_takes_as_long_as_all_of_them_and_one_of_pagoda_as_long_as_itself() {
    let twice = |overlay, runtime| latency(overlay, runtime, 128) / latency(overlay, runtime, 64);
    let fused = twice("fusion", "host.cpu.runtime={ fusion: {} }");
    assert!((1.8..2.1).contains(&fused), "{fused}");
    // A table of 16 entries, which is full from early on: how long the chain of entries takes before depends on when scheduler warps happen
    // to begin their scans.
    let pagoda = twice("pagoda", "host.cpu.runtime={ pagoda: { rows: 8 } }");
    assert!((0.95..1.05).contains(&pagoda), "{pagoda}");
}

#[test]
fn what_blocks_of_one_kernel_cannot_do_is_refused() {
    let refused = |application: &str, sets: &[&str]| refusal(&under("fusion", "tiny", application, sets));
    let wide = refused("narrow-dct", &["app.size=small", "gpu.sm.shared=1 KiB", "app.n=128"]);
    assert!(wide.contains("an SM holds 0 blocks of `fused_kernel` with 256 threads"), "{wide}");
    let odd = refused("narrow-mandelbrot", &["app.size=small", "app.threads=40"]);
    assert!(
        odd.contains("task `mandelbrot`: its blocks have 40 threads, which are not whole warps"),
        "{odd}"
    );
}

#[test]
fn every_program_computes_the_same_on_the_cpu() {
    for program in programs() {
        for overlay in ["pthreads", "sequential"] {
            let summary = verified(&under(overlay, "tiny", &program, &["app.size=small"]));
            assert_eq!(total(&summary, "gpu/cta-scheduler", "ctas"), 0, "{program}: no device takes part");
        }
    }
}

#[test]
fn a_thread_is_busy_for_the_cycles_of_its_instructions() {
    // A product of 32 x 32 by a warp: tasks of equal length, without inputs of other tasks.
    let sets = ["app.tasks=5", "app.threads=32", "app.n=32", "host.clocks.cpu=1 GHz"];
    let run = |threads: u32, cores: &str| {
        let runtime = format!("host.cpu.runtime={{ pthreads: {{ threads: {threads} }} }}");
        let cores = format!("host.cpu.cores={{ cores: 4, {cores} }}");
        let sets: Vec<&str> = sets.iter().copied().chain([&*runtime, &*cores]).collect();
        let summary = run_request(&of_blocks(request("tiny", "narrow-matmul-global", &sets)));
        assert_verified(&summary);
        spans(&summary, "task multiply")
    };
    let length = |span: &(SimTime, SimTime)| span.1 - span.0;
    let [one, two, four] = [1, 2, 4].map(|issue| run(1, &format!("lanes: 8, issue: {issue}")));
    assert_eq!(one.len(), 5);
    assert!(one.windows(2).all(|pair| pair[0].1 <= pair[1].0), "one thread has one task at a time");
    // The time of memory is the same; of the rest, the second step saves half the first one's, but for cycles
    // begun.
    let saved =
        |from: &[(SimTime, SimTime)], to: &[(SimTime, SimTime)]| (length(&from[0]) - length(&to[0])).as_ps();
    let (first, second) = (saved(&one, &two), saved(&two, &four));
    assert!(first > 1_000_000 && first.abs_diff(2 * second) <= 2_000, "{first} {second}");
    // Four threads begin four tasks before the first ends; the fifth waits for that.
    let four = run(4, "lanes: 1, issue: 1");
    assert!(four[3].0 < four[0].1 && four[4].0 >= four[0].1, "{four:?}");
}

#[test]
fn what_the_cpu_cannot_do_is_refused() {
    let fault = |application: &str, sets: &[&str]| {
        let summary = run_request(&under("pthreads", "tiny", application, sets));
        format!("{:?}", summary.report.outcome)
    };
    let kernel = refusal(&under("pthreads", "tiny", "vecadd", &["app.size=small"]));
    assert!(
        kernel.contains("`vecadd` is not a narrow task, and `pthreads` executes nothing else"),
        "{kernel}"
    );
    let many = fault(
        "narrow-lu",
        &["app.size=small", "host.cpu.cores.cores=4", "host.cpu.runtime={ pthreads: { threads: 5 } }"],
    );
    assert!(many.contains("5 threads on 4 cores"), "{many}");
}

#[test]
fn what_a_queue_cannot_hold_is_refused() {
    let refused = |sets: &[&str]| refusal(&under("gemtc", "tiny", "narrow-mandelbrot", sets));
    let odd = refused(&["app.size=small", "app.threads=40"]);
    assert!(odd.contains("40 threads, which are not whole warps of 32"), "{odd}");
    let many = refused(&["app.size=small", "host.cpu.runtime={ gemtc: { blocks: 32 } }"]);
    assert!(many.contains("blocks of `super_kernel` with 64 threads of 32 registers, not 32"), "{many}");
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn every_program_computes_the_same_as_blocks_of_one_kernel_with_all_settings() {
        fuse_programs(|_, _| true);
    }
}
