//! Trends in Pagoda's figures (Yeh et al., PPoPP 2017, section 6), on the model of throughput and with fewer
//! tasks than the studies have: `README.md` has these.

use counterpoint::run::{RunRequest, RunSummary};

use counterpoint_tests::observed::{mean, phase};
use counterpoint_tests::support::{assert_verified, request};

use crate::{MODEL, run_request};

fn under(overlay: &str, application: &str, sets: &[&str]) -> RunSummary {
    let on_model = request(MODEL, application, sets);
    let summary = run_request(&RunRequest { overlays: vec![overlay.to_owned()], ..on_model });
    assert_verified(&summary);
    summary
}

fn phase_us(summary: &RunSummary, name: &str) -> f64 {
    let (begin, end) = phase(summary, name);
    (end - begin).as_ps() as f64 / 1e6
}

/// The time of tasks without copies, in microseconds, under a runtime with these settings.
fn tasks_us(runtime: &str, settings: &str, application: &str, sets: &[&str]) -> f64 {
    let runtime_set = format!("host.cpu.runtime={{ {runtime}: {{ copies: apart{settings} }} }}");
    let sets: Vec<&str> = sets.iter().copied().chain([runtime_set.as_str()]).collect();
    phase_us(&under(runtime, application, &sets), "tasks")
}

/// The time of tasks with all copies, in microseconds, under an overlay.
fn whole_us(overlay: &str, settings: &[&str], application: &str, sets: &[&str]) -> f64 {
    phase_us(&under(overlay, application, &[sets, settings].concat()), "kernels")
}

#[test]
fn on_the_device_a_task_takes_as_long_however_many_there_are() {
    let cycles = |tasks: u64| {
        let sets = ["app.n=32", &*format!("app.tasks={tasks}")];
        let (count, mean) = mean(&under("pagoda", "narrow-matmul-global", &sets), "task_cycles");
        assert_eq!(count, tasks);
        mean
    };
    let [few, many] = [64, 512].map(cycles);
    assert!((0.95..1.05).contains(&(many / few)), "{few} {many}");
}

#[test]
fn a_kernel_for_each_task_takes_time_in_proportion_to_their_number() {
    let of = |tasks: &str| tasks_us("hyperq", "", "narrow-matmul-global", &["app.n=32", tasks]);
    let [few, more, most] = ["app.tasks=64", "app.tasks=128", "app.tasks=256"].map(of);
    let step = (most - more) / (more - few);
    assert!(
        (1.95..2.05).contains(&step),
        "twice as many more take {step:.3} times as much more: {few} {more} {most}"
    );
}

#[test]
fn the_gain_over_kernels_falls_with_the_threads_of_a_task() {
    let gain = |threads: &str| {
        let sets = ["app.tasks=48", "app.n=64", threads];
        tasks_us("hyperq", "", "narrow-convolution", &sets)
            / tasks_us("pagoda", "", "narrow-convolution", &sets)
    };
    let gains = ["app.threads=32", "app.threads=128", "app.threads=512"].map(gain);
    assert!(gains.is_sorted_by(|narrow, wide| narrow > wide), "{gains:?}");
    assert!(gains[0] > 2.0 * gains[2], "{gains:?}");
}

#[test]
fn with_few_tasks_kernels_can_be_ahead() {
    let sets = ["app.tasks=32"];
    let [hyperq, pagoda] = ["hyperq", "pagoda"].map(|runtime| tasks_us(runtime, "", "narrow-dct", &sets));
    assert!(hyperq < pagoda, "{hyperq} {pagoda}");
}

#[test]
fn tasks_of_different_kinds_gain_from_spawning_without_pause() {
    let batch = "host.cpu.runtime={ pagoda: { batch: 25 } }";
    let sets = ["app.tasks=50", "app.unit=1024"];
    let pauses = whole_us("pagoda", &[batch], "narrow-mixed-global", &sets);
    let none = whole_us("pagoda", &[], "narrow-mixed-global", &sets);
    assert!(pauses > 1.25 * none, "{pauses} {none}");
}

fn is_ahead_with_irregular_inputs(application: &str) {
    let sets = ["app.tasks=128", "app.irregular=1"];
    let [pagoda, hyperq, fusion] =
        ["pagoda", "hyperq", "fusion"].map(|overlay| whole_us(overlay, &[], application, &sets));
    assert!(pagoda < hyperq && pagoda < fusion, "{application}: {pagoda} {hyperq} {fusion}");
}

#[test]
fn with_irregular_inputs_pagoda_is_ahead_of_kernels_and_of_one_for_all() {
    is_ahead_with_irregular_inputs("narrow-convolution");
}

#[test]
fn a_table_of_fewer_rows_is_scanned_faster() {
    // A task is ready when the scheduler warp of the next one's column has reached its row, up to a scan
    // later.
    let of = |rows: &str| {
        tasks_us("pagoda", rows, "narrow-convolution", &["app.tasks=96", "app.n=16", "app.threads=128"])
    };
    let [all, half, quarter] = [", rows: 32", ", rows: 16", ", rows: 8"].map(of);
    assert!(all > 1.5 * half && half > 1.1 * quarter, "{all} {half} {quarter}");
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn triple_des_gains_what_the_page_says() {
        let gain = || {
            let [kernels, pagoda] =
                ["hyperq", "pagoda"].map(|overlay| whole_us(overlay, &[], "narrow-des", &["app.tasks=512"]));
            (100.0 * kernels / pagoda).round() / 100.0
        };
        assert_eq!(gain(), 1.85);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn with_irregular_inputs_of_another_program_pagoda_is_ahead_too() {
        is_ahead_with_irregular_inputs("narrow-beam-former");
    }
}
