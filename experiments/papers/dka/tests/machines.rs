//! Task pipelines on whole machines: DKA, the left-over policy, and the labelled L2 (Mu et al., IEICE 2013),
//! by the facts that the paper states. How single components keep its rules is in `timing` and `labels`.

use std::collections::{BTreeMap, BTreeSet};

use counterpoint::component::StatValue;
use counterpoint::run::{RunRequest, RunSummary, registry_with};
use counterpoint::telemetry::{Attribute, Level};
use counterpoint::time::SimTime;
use counterpoint_cli::FAILURE;
use counterpoint_dka::allocator::Table;
use counterpoint_tests::command::call;
use counterpoint_tests::observed::{blocks, of_blocks, phase, total};
use counterpoint_tests::support::{assert_verified, request, root, run_with};

/// The paper's nine programs, MUM with more between its kernels than in its tree, DCT without its last kernel, and one whose times follow
/// from parameters.
const PROGRAMS: [&str; 12] = [
    "mersenne-twister",
    "pattern-match",
    "neural-network",
    "fir-pipeline",
    "mummer",
    "mummer-matches",
    "histogram-pipeline",
    "line-of-sight",
    "dct-pipeline",
    "convolution-pipeline",
    "dct-pair",
    SYNTHETIC,
];

/// The paper's machine with fewer SMs and channels, so that a run takes no time.
const SMALL: [&str; 3] = ["sms=4", "controllers=2", "app.size=small"];
/// Two kernels of known work on six SMs, a block on an SM at a time.
const SYNTHETIC: &str = "pipeline-synthetic";

fn on_dka(overlay: &str, application: &str, sets: &[&str]) -> RunRequest {
    let request = request("dka", application, sets);
    let overlays = if overlay.is_empty() { Vec::new() } else { vec![overlay.to_owned()] };
    RunRequest { overlays, hash: true, ..request }
}

fn serial(application: &str, sets: &[&str]) -> RunRequest {
    RunRequest { runtime: Some("serial".to_owned()), ..on_dka("", application, sets) }
}

fn run_request(request: &RunRequest) -> RunSummary {
    run_with(request, registry_with(&[counterpoint_dka::register]))
}

fn kernels(summary: &RunSummary) -> f64 {
    let (start, end) = phase(summary, "kernels");
    end.saturating_sub(start).as_ps() as f64
}

/// Every program computes the same with those combinations of labels, flushes and protected lines that are chosen by the places of
/// the program, of its overlays and of the lines that are kept.
fn compute_the_same(chosen: impl Fn(usize, usize, usize) -> bool) {
    let flushed = |overlay: &str, program: &str, sets: &[&str]| {
        let summary = run_request(&on_dka(overlay, program, &[&SMALL[..], sets].concat()));
        assert_verified(&summary);
        total(&summary, "memory/l2-slice", "flushed")
    };
    for (place, program) in PROGRAMS.into_iter().enumerate() {
        assert_verified(&run_request(&serial(program, &SMALL)));
        let overlays = [("preemptive", "preemptive-l2"), ("dka", "dka-l2")];
        for (overlay, (plain, labelled)) in overlays.into_iter().enumerate() {
            let keeps = ["none", "all", "produced"].into_iter().enumerate();
            let keeps: Vec<&str> =
                keeps.filter(|(keep, _)| chosen(place, overlay, *keep)).map(|(_, keep)| keep).collect();
            if keeps.is_empty() {
                continue;
            }
            assert_eq!(flushed(plain, program, &[]), 0, "{program} {plain}");
            for keep in keeps {
                let keep = format!("gpu.l2.tags={{ labels: {{ keep: {keep} }} }}");
                assert!(flushed(labelled, program, &[&keep]) > 0, "{program} {labelled} {keep}");
            }
        }
        let free = "host.cpu.runtime={ preemptive: { barriers: off } }";
        assert_verified(&run_request(&on_dka("preemptive", program, &[&SMALL[..], &[free]].concat())));
    }
}

#[test]
fn the_machine_has_channels_as_it_has_sms() {
    for (sets, channels) in [(&["sms=8"][..], 3), (&["sms=24"], 9), (&["sms=24", "controllers=6"], 6)] {
        let summary = run_request(&request("dka", "vecadd", &[sets, &["app.size=small"]].concat()));
        assert_verified(&summary);
        let controllers = summary.report.stats.iter().filter(|row| row.label.name == "n_ref");
        assert_eq!(controllers.count(), channels, "{sets:?}");
    }
}

#[test]
fn every_program_computes_the_same_with_labels_flushes_and_protected_lines() {
    // The six combinations take turns.
    compute_the_same(|program, overlay, keep| program % 2 == overlay && program / 2 % 3 == keep);
}

#[test]
fn threads_change_nothing() {
    for program in ["dct-pipeline", "mummer"] {
        let one = run_request(&on_dka("dka-l2", program, &SMALL));
        let two = run_request(&RunRequest { threads: 2, ..on_dka("dka-l2", program, &SMALL) });
        assert_eq!(
            (one.report.hash, one.report.outcome.time()),
            (two.report.hash, two.report.outcome.time())
        );
        assert!(one.report.hash.is_some());
    }
}

/// A launch of a pipeline, from its span.
struct Ran {
    kernel: String,
    batch: u64,
    start: SimTime,
    end: SimTime,
    sms: u64,
}

/// Launches of each step.
fn steps(summary: &RunSummary) -> BTreeMap<u64, Vec<Ran>> {
    let mut steps = BTreeMap::<u64, Vec<Ran>>::new();
    for span in summary.report.trace.spans.iter().filter(|span| span.level == Level::Kernels) {
        let attribute =
            |name: &str| span.attributes.iter().find(|(known, _)| *known == name).map(|(_, it)| it);
        let number = |name| match attribute(name) {
            Some(Attribute::Number(number)) => Some(*number),
            _ => None,
        };
        let (Some(step), Some(batch), Some(sms)) = (number("step"), number("batch"), number("sms")) else {
            continue;
        };
        let Some(Attribute::Text(kernel)) = attribute("kernel") else { panic!("a kernel has a name") };
        let (kernel, start, end) = (kernel.to_string(), span.start, span.end);
        steps.entry(step).or_default().push(Ran { kernel, batch, start, end, sms });
    }
    steps
}

#[test]
fn pairs_of_three_kernels_take_turns_and_no_sm_changes_within_a_step() {
    let sets = [&SMALL[..], &["app.batches=6"]].concat();
    let summary = run_request(&of_blocks(on_dka("dka-l2", "dct-pipeline", &sets)));
    assert_verified(&summary);
    let steps = steps(&summary);
    let mut found: Vec<Vec<(&str, u64)>> = Vec::new();
    let mut before = SimTime::ZERO;
    for members in steps.values() {
        let mut names: Vec<(&str, u64)> = members.iter().map(|it| (it.kernel.as_str(), it.batch)).collect();
        names.sort_by_key(|(_, batch)| *batch);
        found.push(names);
        assert!(members.iter().all(|it| it.start >= before), "a step begins when the one before has ended");
        before = members.iter().map(|it| it.end).max().unwrap();
        assert_eq!(members.iter().map(|it| it.sms).sum::<u64>(), 4, "they share all SMs");
    }
    let (a, b, c) = ("dct", "quantise", "idct");
    let expected = [
        vec![(a, 0)],
        vec![(b, 0)],
        vec![(c, 0)],
        vec![(a, 1)],
        vec![(b, 1), (a, 2)],
        vec![(c, 1), (b, 2)],
        vec![(c, 2), (a, 3)],
        vec![(b, 3), (a, 4)],
        vec![(c, 3), (b, 4)],
        vec![(c, 4), (a, 5)],
        vec![(b, 5)],
        vec![(c, 5)],
    ];
    assert_eq!(found, expected);
    // Within a step an SM has blocks of one launch.
    let blocks = blocks(&summary);
    for members in steps.values() {
        let (start, end) = (
            members.iter().map(|it| it.start).min().unwrap(),
            members.iter().map(|it| it.end).max().unwrap(),
        );
        let mut served = BTreeMap::<u64, BTreeSet<u64>>::new();
        for block in blocks.iter().filter(|block| block.start >= start && block.end <= end) {
            served.entry(block.sm).or_default().insert(block.launch);
        }
        assert!(served.values().all(|launches| launches.len() == 1), "{served:?}");
    }
}

/// Sets of the pipeline of known work: six SMs, and the numbers of blocks of its kernels.
fn synthetic(first: u32, second: u32, more: &[&str]) -> Vec<String> {
    let sets = ["sms=6", "controllers=2", "app.batches=8", "app.threads=64"];
    let blocks = [format!("app.first_blocks={first}"), format!("app.second_blocks={second}")];
    sets.iter().chain(more).map(|set| (*set).to_owned()).chain(blocks).collect()
}

fn texts(sets: &[String]) -> Vec<&str> {
    sets.iter().map(String::as_str).collect()
}

/// The splits that a pair was given, from the least to the greatest, and how often it was decided.
fn decided(summary: &RunSummary) -> (f64, f64, u64) {
    let row = |name: &str| {
        let rows = summary.report.stats.iter();
        let row = rows.into_iter().find(|row| row.path == "gpu.allocator.pairs[0]" && row.label.name == name);
        row.map(|row| row.value).unwrap_or_else(|| panic!("no {name}"))
    };
    let number = |name: &str| match row(name) {
        StatValue::Count(count) => count,
        other => panic!("{name} is {other:?}"),
    };
    let StatValue::Distribution { min, max, .. } = row("sms") else { panic!("splits are a distribution") };
    (min as f64, max as f64, number("decisions"))
}

#[test]
fn decisions_follow_from_the_times_that_launches_took() {
    // T1 = ceil(16 / n) and T2 = ceil(192 / n), in units of their blocks, on 24 SMs: the first saturates at 16 of them.
    let sets = ["sms=24", "controllers=9", "app.first_rounds=384"];
    let summary = run_request(&on_dka("dka", SYNTHETIC, &texts(&synthetic(16, 192, &sets))));
    assert_verified(&summary);
    let cycles = |ran: &Ran| (ran.end.saturating_sub(ran.start).as_ps() as f64 * 0.7e-3).round() as u64;
    let (mut alone, mut table, mut splits) = (BTreeMap::new(), None, Vec::new());
    for members in steps(&summary).values() {
        match &members[..] {
            // The first batch goes through both kernels, and the first kernel of the next one begins the pipeline.
            [ran] => drop(alone.insert(alone.len() == 1, cycles(ran))),
            [a, b] => {
                // The younger batch runs the first kernel.
                let (first, second) = if a.batch > b.batch { (a, b) } else { (b, a) };
                let table = table.get_or_insert_with(|| Table::<f64>::new(24, alone[&false], alone[&true]));
                let split = table.decide();
                assert_eq!((u64::from(split), 24 - u64::from(split)), (first.sms, second.sms), "{splits:?}");
                table.measured(split, cycles(first), cycles(second));
                splits.push(split);
            }
            more => panic!("{} at a time", more.len()),
        }
    }
    assert_eq!(splits.len(), 6);
    let (least, most, decisions) = decided(&summary);
    assert_eq!(
        (least, most),
        (f64::from(*splits.iter().min().unwrap()), f64::from(*splits.iter().max().unwrap()))
    );
    assert!(least < most && (3..=6).contains(&decisions), "it has learned: {splits:?}");
    // Three blocks and three on six SMs: both saturate at half of them, and get it at once.
    let even = run_request(&on_dka("dka", SYNTHETIC, &texts(&synthetic(3, 3, &[]))));
    assert_eq!((decided(&even), total(&even, "dka/allocator", "converged")), ((3.0, 3.0, 2), 1));
}

#[test]
fn kernels_that_saturate_gain_together_in_an_interior_interval_only() {
    // Three blocks each: half of the SMs are enough for either.
    let alone = kernels(&run_request(&serial(SYNTHETIC, &texts(&synthetic(3, 3, &[])))));
    let gains: Vec<f64> = (1..6)
        .map(|first| {
            let split = format!("gpu.scheduler.policy={{ task-split: {{ sms: [{first}] }} }}");
            let sets = synthetic(3, 3, &["host.cpu.runtime={ dka: { alone_first: off } }", &split]);
            alone / kernels(&run_request(&on_dka("", SYNTHETIC, &texts(&sets))))
        })
        .collect();
    assert!(gains[2] > 1.5, "both at once: {gains:?}");
    assert!(gains[0] < 0.9 && gains[4] < 0.9, "one waits for the other: {gains:?}");
    assert!(gains[1] < gains[2] && gains[3] < gains[2], "{gains:?}");
}

#[test]
fn light_programs_do_not_care_who_shares_out_the_sms() {
    // Two blocks and two on six SMs.
    let gains = |first, second| {
        let sets = synthetic(first, second, &[]);
        let alone = kernels(&run_request(&serial(SYNTHETIC, &texts(&sets))));
        ["preemptive", "dka"]
            .map(|overlay| alone / kernels(&run_request(&on_dka(overlay, SYNTHETIC, &texts(&sets)))))
    };
    let [preemptive, dka] = gains(2, 2);
    // DKA's first batch runs alone.
    assert!(preemptive > 1.5 && dka > 1.5 && preemptive / dka < 1.15, "{preemptive} {dka}");
    // Kernels that fill the GPU have nothing left over but their last blocks.
    let [preemptive, dka] = gains(30, 30);
    assert!(preemptive < 1.1 && dka < 1.1, "{preemptive} {dka}");
}

#[test]
fn more_channels_help_what_waits_for_memory() {
    let speed_up = |program: &str| {
        let time = |channels: &str| {
            let sets = ["sms=24", channels, "app.batches=2"];
            kernels(&run_request(&serial(program, &sets)))
        };
        time("controllers=3") / time("controllers=9")
    };
    let (bound, light) = (speed_up("dct-pair"), speed_up("pattern-match"));
    assert!(bound > 1.3 && light < 1.05, "{bound} {light}");
}

#[test]
fn labelled_lines_keep_what_the_next_kernel_reads() {
    // 96 KiB between the kernels of a batch, beside an input and an output of as much, and 256 KiB of L2.
    let all = "gpu.l2.tags={ labels: { keep: all } }";
    let reads = |overlay: &str, program: &str, sets: &[&str]| {
        let keep: &[&str] = if overlay == "dka-l2" { &[all] } else { &[] };
        let sets = [&["sms=4", "controllers=2"], sets, keep].concat();
        let summary = run_request(&on_dka(overlay, program, &sets));
        assert_verified(&summary);
        total(&summary, "memory/dram-controller", "total_dram_reads")
    };
    let heavy = ["app.width=256", "app.height=96", "app.batches=8"];
    let (off, protect) = (reads("dka", "dct-pipeline", &heavy), reads("dka-l2", "dct-pipeline", &heavy));
    assert!((protect as f64) < 0.97 * off as f64, "{protect} of {off}");
    let (off, protect) = (
        reads("dka", "pattern-match", &["app.size=small"]),
        reads("dka-l2", "pattern-match", &["app.size=small"]),
    );
    // Lines written back early are fetched again by the copy to the host, a few lines of so little.
    assert!((protect as f64 - off as f64).abs() < 0.1 * off as f64, "{protect} of {off}");
}

#[test]
fn what_cannot_be_run_is_refused_in_words() {
    let file = |folder: &str, name: &str| root().join(folder).join(name).display().to_string();
    let dka = file("experiments/papers/dka/machines", "dka.yaml");
    let overlay = file("experiments/papers/dka/overlays", "dka.yaml");
    let refused = |application: &str, sets: &[&str], words: &str| {
        let out = tempfile::tempdir().unwrap();
        let out = out.path().display().to_string();
        let mut arguments = vec!["run", &dka, application, "--with", &overlay, "--out", &out];
        sets.iter().for_each(|set| arguments.extend(["--set", set]));
        let called = call(&arguments);
        assert!(called.err.contains(words), "{}", called.err);
        assert_eq!(called.status, FAILURE);
    };
    let program = file("experiments/applications/pipeline-synthetic", "pipeline-synthetic.yaml");
    let small = "app.size=small";
    let one = "two kernels cannot share one SM: `dka` needs two";
    refused(&program, &[small, "sms=1", "controllers=1"], one);
    let seeds = "host.cpu.runtime={ dka: { alone_first: off } }";
    refused(&program, &[small, seeds], "has not run alone: DKA begins with how long it takes then");
    let three = file("experiments/applications/dct-pipeline", "dct-pipeline.yaml");
    let all = "host.cpu.runtime={ dka: { co_run: all } }";
    refused(&three, &[small, all], "this step has more");
    refused(&three, &[small, "gpu.allocator.tables=2"], "DKA has 2 tables: set `tables`");
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn every_program_computes_the_same_in_every_combination() {
        compute_the_same(|_, _, _| true);
    }
}
