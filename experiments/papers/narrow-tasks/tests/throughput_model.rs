//! Programs on the model of throughput (`gpu/throughput-model`): they compute correct results, narrow tasks take the time that they take on
//! the machine with stepped SMs, and parameters of SMs are those of that machine.

use std::ops::Range;

use counterpoint::run::{RunRequest, RunSummary};
use counterpoint_cli::FAILURE;

use counterpoint_tests::command::call;
use counterpoint_tests::observed::{phase, total};
use counterpoint_tests::support::{assert_verified, request, root};

use crate::{MODEL, STEPPED, attempt, refusal, run_request};

fn on(machine: &str, overlay: &str, application: &str, sets: &[&str]) -> RunRequest {
    RunRequest { overlays: vec![overlay.to_owned()], ..request(machine, application, sets) }
}

fn verified(request: &RunRequest) -> RunSummary {
    let summary = run_request(request);
    assert_verified(&summary);
    summary
}

fn applications_of_narrow_tasks() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("experiments/applications")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("narrow-")).collect();
    assert!(names.len() >= 12, "the walk found {names:?} only");
    names.sort();
    names
}

#[test]
fn ordinary_kernels_run_too() {
    for application in ["matmul-tiled", "histogram", "spmv", "convolution-constant"] {
        verified(&request(MODEL, application, &["app.size=small"]));
    }
}

#[test]
fn what_the_model_looks_at_of_a_gpu_is_what_its_generation_has() {
    let text = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let machine = text("experiments/papers/narrow-tasks/machines/titanx-maxwell-model.yaml");
    let generation =
        text("topologies/generations/maxwell.yaml") + &text("topologies/generations/cards/maxwell.yaml");
    let lines = machine.lines().map(str::trim).skip_while(|line| *line != "model.sm:").skip(1);
    let mut lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    assert!(lines.len() > 15, "{lines:?}");
    // Parameters that map an address to an L2 slice.
    let map = ["controllers: ", "slices: ", "address: "];
    let map = machine.lines().map(str::trim).filter(|line| map.iter().any(|key| line.starts_with(key)));
    lines.extend(map);
    assert!(lines.contains(&"slices: 2"), "{lines:?}");
    // The parameters of cards otherwise, and the steps of the network.
    let cards = machine.lines().map(str::trim).filter_map(|line| line.strip_prefix("model."));
    let cards: Vec<&str> = cards.filter(|line| *line != "sm:").collect();
    assert_eq!(cards.len(), 5, "{cards:?}");
    for line in cards {
        let line = line.replace("costs.speedup", "network.speedup");
        let line = line.split('#').next().unwrap_or_default().trim();
        assert!(generation.lines().any(|known| known.trim() == line), "{line}");
    }
    for line in lines.into_iter().filter(|line| *line != "l1d.global: bypass") {
        assert!(generation.lines().any(|known| known.trim() == line), "{line}");
    }
    assert!(generation.contains("global: bypass"));
}

#[test]
fn a_run_knows_before_it_begins_what_fits_on_sms_of_the_model() {
    let why = refusal(&on(MODEL, "hyperq", "narrow-dct", &["app.size=small", "gpu.model.sm.shared=1 KiB"]));
    let expected = "fits on no SM of `gpu`: it needs 2048 bytes of shared memory, an SM has 1024";
    assert!(why.contains(expected), "{why}");
}

#[test]
fn the_model_has_no_latencies_for_a_character() {
    let called = call(&["characterise", MODEL, "vecadd"]);
    let expected = "error: a model of throughput measures no latencies, and `titanx-maxwell-model` has it as `gpu.model`\n";
    assert_eq!((called.status, called.out.as_str(), called.err.as_str()), (FAILURE, "", expected));
}

/// Runs every application in those of three ways that are chosen by the places of the application and of the way.
fn run_applications(chosen: impl Fn(usize, usize) -> bool) {
    // Few entries and little memory: tasks wait for both.
    let few = "host.cpu.runtime={ pagoda: { rows: 1, blocks: 1, spawners: 5, pool: 16 KiB } }";
    let ways: [(&str, &[&str]); 3] = [("hyperq", &[]), ("pagoda", &[]), ("pagoda", &[few, "gpu.sms=2"])];
    for (place, name) in applications_of_narrow_tasks().into_iter().enumerate() {
        for (_, (overlay, sets)) in ways.into_iter().enumerate().filter(|(way, _)| chosen(place, *way)) {
            verified(&on(MODEL, overlay, &name, &[&["app.size=small"], sets].concat()));
        }
    }
}

#[test]
fn every_application_of_narrow_tasks_computes_what_it_should() {
    // The ways take turns.
    run_applications(|application, way| application % 3 == way);
}

#[test]
fn threads_change_nothing() {
    for (overlay, application) in
        [("hyperq", "narrow-mixed"), ("pagoda", "narrow-mixed"), ("gemtc", "narrow-mandelbrot")]
    {
        let request = on(MODEL, overlay, application, &["app.size=small"]);
        let [one, two] =
            [1, 2].map(|threads| verified(&RunRequest { threads, hash: true, ..request.clone() }));
        assert_eq!(
            (one.report.hash, one.report.outcome.time()),
            (two.report.hash, two.report.outcome.time())
        );
        assert_eq!(format!("{:?}", one.report.stats), format!("{:?}", two.report.stats), "{overlay}");
    }
}

/// Time on the model over the time where SMs are stepped: of the whole run, and of its tasks.
fn ratios(overlay: &str, application: &str, sets: &[&str]) -> [f64; 2] {
    let [model, stepped] = [MODEL, STEPPED].map(|machine| {
        let summary = verified(&on(machine, overlay, application, sets));
        let (begin, end) = phase(&summary, "kernels");
        [summary.report.outcome.time(), end - begin].map(|time| time.as_ps() as f64)
    });
    [model[0] / stepped[0], model[1] / stepped[1]]
}

/// Asserts the ratio of the model's time to that of stepped SMs for 8 tasks of those programs of narrow tasks
/// on two SMs: of the run, and of the tasks. The number of tasks of `narrow-lu` follows from its matrix, so
/// it is left out.
#[track_caller]
fn agrees(
    programs: fn(&str) -> bool,
    overlay: &str,
    sets: &[&str],
    whole_within: Range<f64>,
    kernels_within: Range<f64>,
) {
    let entries = std::fs::read_dir(root().join("experiments/applications")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("narrow-") && name != "narrow-lu");
    names.sort();
    assert!(names.len() >= 12, "the walk found {names:?} only");
    names.retain(|name| programs(name));
    let sets = [&["app.tasks=8", "gpu.sms=2"], sets].concat();
    let ratios = names.iter().map(|name| (name, ratios(overlay, name, &sets)));
    let beyond = |(_, [whole, kernels]): &(&String, [f64; 2])| {
        !whole_within.contains(whole) || !kernels_within.contains(kernels)
    };
    let beyond: Vec<_> = ratios.filter(beyond).collect();
    assert!(beyond.is_empty(), "{overlay}: {beyond:.3?}");
}

/// The model takes as long as stepped SMs for kernels of those programs side by side.
#[track_caller]
fn agrees_side_by_side(programs: fn(&str) -> bool) {
    // DCT in global memory takes 0.938: its loads wait for each other longer where SMs are stepped and replay them. The beam-former takes 1.038, 1.021 of
    // the run.
    agrees(programs, "hyperq", &[], 0.98..1.022, 0.935..1.04);
}

#[test]
fn the_model_takes_as_long_as_stepped_sms_for_some_kernels_side_by_side() {
    agrees_side_by_side(|name| ["narrow-dct-global", "narrow-beam-former", "narrow-matmul"].contains(&name));
}

/// The model counts the instructions of those programs that stepped SMs count.
fn counts_agree(programs: &[String]) {
    for application in programs {
        let [model, stepped] =
            [(MODEL, "gpu/throughput-model"), (STEPPED, "gpu/sm")].map(|(machine, sms)| {
                let summary = verified(&on(machine, "hyperq", application, &["app.size=small", "gpu.sms=2"]));
                ["warp_insn", "gpu_sim_insn"].map(|name| total(&summary, sms, name))
            });
        assert_eq!(model, stepped, "{application}");
    }
}

#[test]
fn the_model_counts_the_instructions_that_stepped_sms_count() {
    let programs = applications_of_narrow_tasks();
    counts_agree(&programs.into_iter().step_by(2).collect::<Vec<_>>());
}

/// The host looks often, so that it is the tasks that are timed rather than when it happens to look.
fn scan(how: &str) -> String {
    format!("host.cpu.runtime={{ pagoda: {{ scan: {how}, timeout: 5 us }} }}")
}

/// The model takes as long as stepped SMs for tasks of a table, of programs but for the convolution.
#[track_caller]
fn agrees_for_tasks(programs: fn(&str) -> bool) {
    agrees(programs, "pagoda", &[&scan("rows")], 0.89..1.09, 0.83..1.15);
    agrees(programs, "pagoda", &[&scan("lanes")], 0.86..1.09, 0.83..1.15);
}

#[test]
fn the_model_takes_as_long_as_stepped_sms_for_some_tasks_of_a_table() {
    agrees_for_tasks(|name| ["narrow-dct", "narrow-matmul-global"].contains(&name));
}

#[test]
fn thousands_of_tasks_all_run() {
    let summary = verified(&on(MODEL, "pagoda", "narrow-exchange", &["app.tasks=2048", "app.threads=32"]));
    let count = |name| total(&summary, "host/cpu", name);
    assert_eq!(count("tasks"), 4096);
    assert!(count("tables_copied_back") > 1, "1536 entries are fewer");
}

/// Runs every application under GeMTC in those of three ways that are chosen by the places of the application and of the way. Gives the
/// number of runs, and asserts that some applications have none.
fn run_under_gemtc(chosen: impl Fn(usize, usize) -> bool) -> u32 {
    let names = applications_of_narrow_tasks();
    let (mut without, mut ran) = (Vec::new(), 0);
    for (place, name) in names.iter().enumerate() {
        let machines: [&[&str]; 3] = [
            &["app.size=small"],
            // Tasks wait for blocks.
            &["app.size=small", "gpu.sms=2", "host.cpu.runtime={ gemtc: { blocks: 1 } }"],
            // Blocks wait for the lock, and batches are many.
            &["app.size=small", "gpu.sms=2", "host.cpu.runtime={ gemtc: { batch: 3 } }"],
        ];
        for (_, sets) in machines.into_iter().enumerate().filter(|(way, _)| chosen(place, *way)) {
            match attempt(&on(MODEL, "gemtc", name, sets)) {
                Ok(summary) => assert_verified(&summary),
                Err(why) => {
                    assert!(
                        why.contains("bytes of shared memory, which GeMTC has none of for tasks"),
                        "{why}"
                    );
                    without.push(name);
                    break;
                }
            }
            ran += 1;
        }
    }
    assert!(!without.is_empty(), "{ran} runs of {names:?}");
    ran
}

#[test]
fn gemtc_computes_what_it_should() {
    let ran = run_under_gemtc(|application, way| application % 3 == way);
    assert!(ran >= 6, "{ran} runs");
}

/// Given numbers of blocks wait for the lock as long as on stepped SMs.
fn assert_dear(blocks: &[(u32, u32)]) {
    // On stepped SMs and on the model a batch ends when each block has seen the queue empty.
    let time = |machine, blocks: u32| {
        let runtime = format!("host.cpu.runtime={{ gemtc: {{ blocks: {blocks} }} }}");
        let sets = ["app.tasks=32", "app.n=16", &runtime];
        let (begin, end) = phase(&verified(&on(machine, "gemtc", "narrow-mandelbrot", &sets)), "kernels");
        (end - begin).as_ps() as f64
    };
    for &(few, many) in blocks {
        let [model, stepped] = [MODEL, STEPPED].map(|machine| time(machine, many) - time(machine, few));
        assert!(model > 0.0 && (0.85..1.15).contains(&(model / stepped)), "{many}: {model} {stepped}");
    }
}

#[test]
fn a_lock_that_many_blocks_want_is_dear() {
    assert_dear(&[(1, 8)]);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn the_model_takes_as_long_as_stepped_sms_for_all_kernels_side_by_side() {
        agrees_side_by_side(|name| name != "narrow-mixed");
        // 1.022 and 1.054. The filter bank takes 1.09: its loads wait behind those of triple DES, whose lanes read 25 constants each. The two
        // loads of a tap wait together where SMs are stepped, and one after the other here: with an address that depends on the load
        // before, the filter bank takes 0.99.
        agrees(|name| name == "narrow-mixed", "hyperq", &[], 0.98..1.025, 0.935..1.06);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn the_model_counts_the_instructions_of_all_programs() {
        counts_agree(&applications_of_narrow_tasks());
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn the_model_takes_as_long_as_stepped_sms_for_all_tasks_of_a_table() {
        agrees_for_tasks(|name| !name.starts_with("narrow-convolution"));
        // The gaps are explained in DEVIATIONS.md: warps of the convolution wait for operand collectors behind warps that poll.
        let is_convolution = |name: &str| name.starts_with("narrow-convolution");
        agrees(is_convolution, "pagoda", &[&scan("rows")], 0.89..1.09, 0.75..1.15);
        agrees(is_convolution, "pagoda", &[&scan("lanes")], 0.86..1.09, 0.72..1.15);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn every_application_of_narrow_tasks_computes_what_it_should_in_every_way() {
        run_applications(|_, _| true);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn gemtc_computes_what_it_should_in_every_way() {
        let ran = run_under_gemtc(|_, _| true);
        assert!(ran >= 3 * 6, "{ran} runs");
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn a_lock_that_hundreds_of_blocks_want_is_dear() {
        assert_dear(&[(1, 16)]);
    }
}
