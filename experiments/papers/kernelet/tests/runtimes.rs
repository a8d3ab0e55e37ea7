//! Queues under each runtime, on a small machine: results, launches and their slices, and refusals.

use std::collections::BTreeMap;

use counterpoint::component::Registry;
use counterpoint::ptx::slice::sliced;
use counterpoint::run::{RunRequest, RunSummary, attribute, is_launch, registry_with};
use counterpoint::telemetry::{Span, StatValue};
use counterpoint::time::SimTime;
use counterpoint_kernelet::paper::APPLICATIONS;
use counterpoint_kernelet::replay::Queue;
use counterpoint_tests::support::{assert_verified, attempt_with, request, run_with};

/// Blocks of an instance of each kernel, by the kernel's name.
const BLOCKS: [(&str, u64); 2] = [("chase", 19), ("tea", 25)];

/// The pair in [`BLOCKS`].
const PAIR: &str = "kernelet-pc + kernelet-tea";

fn registry() -> Registry {
    registry_with(&[counterpoint_kernelet::register])
}

/// A run of small kernels under a runtime with parameters.
fn queue(applications: &str, runtime: &str) -> RunRequest {
    let runtime = format!("host.cpu.runtime={runtime}");
    let mut sets = vec!["app.size=small", "gpu.scheduler.policy=concurrent", &runtime];
    let both = ["app.kernelet-pc.blocks=19", "app.kernelet-tea.blocks=25"];
    sets.extend(both.iter().filter(|_| applications == PAIR));
    request("tiny", applications, &sets)
}

fn run(applications: &str, runtime: &str) -> RunSummary {
    let summary = run_with(&queue(applications, runtime), registry());
    assert_verified(&summary);
    summary
}

/// A kernel's part of a decision.
#[derive(Debug)]
struct Side {
    kernel: &'static str,
    /// Blocks of each slice, in the order of launch.
    slices: Vec<u64>,
}

/// The place of a launch among all of the run.
fn number(launch: &Span) -> u64 {
    launch.name.rsplit_once('#').unwrap().1.parse().unwrap()
}

/// The decisions of a run in their order, each with its span.
fn decisions(summary: &RunSummary) -> Vec<(&Span, Vec<Side>)> {
    let spans = &summary.report.trace.spans;
    let mut decisions: Vec<&Span> =
        spans.iter().filter(|span| span.name.starts_with("co-schedule ")).collect();
    decisions.sort_by_key(|span| span.id);
    let sides = |decision: &Span| {
        let mut launches: Vec<&Span> =
            spans.iter().filter(|span| is_launch(span) && span.parent == Some(decision.id)).collect();
        launches.sort_by_key(|span| number(span));
        let mut sides: BTreeMap<bool, Side> = BTreeMap::new();
        for launch in launches {
            let (stream, blocks) = (attribute(launch, "stream").unwrap(), attribute(launch, "ctas").unwrap());
            let is_own = |(name, _): &&(&str, u64)| [*name, &sliced(name)].contains(&launch.stem());
            let (kernel, _) = BLOCKS.iter().find(is_own).unwrap_or_else(|| panic!("{}", launch.name));
            // Streams of both sides take turns.
            let is_second = stream % 2 == 0;
            let side = sides.entry(is_second).or_insert(Side { kernel, slices: Vec::new() });
            assert_eq!(side.kernel, *kernel);
            side.slices.push(blocks);
        }
        sides.into_values().collect()
    };
    decisions.into_iter().map(|decision| (decision, sides(decision))).collect()
}

/// Plays the decisions of a run on `instances` instances of each kernel: every block of each runs once, a
/// decision's launches have one size but the last, and it lasts until an instance has no blocks left.
fn assert_sound(summary: &RunSummary, instances: usize) {
    let mut left: BTreeMap<&str, Vec<u64>> =
        BLOCKS.iter().map(|&(kernel, blocks)| (kernel, vec![blocks; instances])).collect();
    for (span, sides) in &decisions(summary) {
        assert!((1..=2).contains(&sides.len()), "{sides:?}");
        let mut ended = false;
        let mut used: Vec<(&str, usize)> = Vec::new();
        for (side, name) in sides.iter().zip(["slice_1", "slice_2"]) {
            let size = side.slices[0];
            assert!(attribute(span, name).is_none_or(|share| size <= share), "{side:?}");
            let (last, others) = side.slices.split_last().unwrap();
            assert!(others.iter().all(|blocks| *blocks == size) && *last <= size, "{size}: {side:?}");
            // The first to come that the other side does not run.
            let own = left.get_mut(side.kernel).unwrap();
            let is_free = |at: &usize| own[*at] > 0 && !used.contains(&(side.kernel, *at));
            let at = (0..own.len()).find(is_free).unwrap();
            used.push((side.kernel, at));
            let sent: u64 = side.slices.iter().sum();
            own[at] = own[at].checked_sub(sent).unwrap_or_else(|| panic!("{sent} of {own:?}"));
            // A slice is only shorter where nothing else is left.
            assert!(*last == size || own[at] == 0, "{size}: {side:?}");
            ended |= own[at] == 0;
        }
        assert!(ended, "{sides:?} ends before a kernel does");
    }
    assert!(left.values().flatten().all(|left| *left == 0), "{left:?}");
}

#[test]
fn under_each_runtime_every_block_of_every_instance_runs_once() {
    for runtime in [
        "{ consolidation: { queue: { instances: 3 } } }",
        "{ kernelet: { queue: { instances: 3 }, profile: { waves: 1, overhead: 0 } } }",
        "{ monte-carlo: { queue: { instances: 3 } } }",
        "{ optimal: { queue: { instances: 3 } } }",
        "{ slices: { queue: { instances: 3 }, blocks: [1, 2] } }",
        "{ slices: { queue: { instances: 3 }, even: on, launch: 2 } }",
    ] {
        let summary = run(PAIR, runtime);
        assert_sound(&summary, 3);
        let decisions = decisions(&summary);
        let pairs = decisions.iter().filter(|(_, sides)| sides.len() == 2).count();
        assert!(
            if runtime.contains("consolidation") { pairs == 0 } else { pairs >= 3 },
            "{runtime}: {pairs}"
        );
    }
}

#[test]
fn a_co_schedule_lasts_until_a_kernel_ends_while_others_arrive() {
    let summary = run(PAIR, "{ kernelet: { queue: { instances: 4, every: 20 us }, profile: { waves: 1 } } }");
    assert_sound(&summary, 4);
    let spans = &summary.report.trace.spans;
    let queue = spans.iter().find(|span| span.name == "queue").unwrap();
    let decisions = decisions(&summary);
    let within = |time: SimTime| decisions.iter().any(|(span, _)| (span.start < time) && (time < span.end));
    let mut numbers = [0; 2];
    let mut waited = 0;
    for arrival in Queue::poisson(&[0, 1], 4, 0.02, 1).arrivals() {
        let time = queue.start + SimTime::from_ps((arrival.time * 1e9).round() as u64);
        numbers[arrival.kernel] += 1;
        let name = format!("{} {}", ["kernelet-pc", "kernelet-tea"][arrival.kernel], numbers[arrival.kernel]);
        let instance = spans.iter().find(|span| span.name == *name).unwrap();
        // An arrival during a decision is looked at behind it.
        assert!(instance.start >= time && !within(instance.start), "{name}");
        assert!(instance.start == time || within(time), "{name}: {} {time}", instance.start);
        waited += usize::from(within(time));
    }
    assert!(waited > 0);
}

#[test]
fn instances_of_one_kernel_run_together() {
    for (runtime, together) in [
        ("kernelet", true),
        ("consolidation", false),
        ("monte-carlo", true),
        ("optimal", true),
        ("slices", false),
    ] {
        let summary = run("kernelet-tea", &format!("{{ {runtime}: {{ queue: {{ instances: 2 }} }} }}"));
        let title =
            if together { "co-schedule kernelet-tea and kernelet-tea" } else { "co-schedule kernelet-tea" };
        let spans = &summary.report.trace.spans;
        let decisions: Vec<&Span> =
            spans.iter().filter(|span| span.name.starts_with("co-schedule ")).collect();
        assert!(decisions.iter().all(|span| span.name == title), "{runtime}: {decisions:?}");
        assert_eq!(decisions.len(), if together { 1 } else { 2 }, "{runtime}");
        let is_sent = |span: &&Span| decisions.iter().any(|decision| span.parent == Some(decision.id));
        let launches = spans.iter().filter(|span| is_launch(span)).filter(is_sent);
        assert_eq!(launches.map(|span| attribute(span, "ctas").unwrap()).sum::<u64>(), 6, "{runtime}");
    }
}

#[test]
fn two_threads_do_the_same() {
    let runtime = "{ kernelet: { queue: { instances: 2, every: 5 us }, profile: { waves: 1 } } }";
    let hash = |threads| {
        let request = RunRequest { hash: true, threads, ..queue(PAIR, runtime) };
        let summary = run_with(&request, registry());
        assert_verified(&summary);
        summary.report.hash.unwrap()
    };
    assert_eq!(hash(1), hash(2));
}

#[test]
fn other_seeds_have_other_arrivals_and_other_plans() {
    let hash = |runtime: &str, seed| {
        let request = RunRequest { hash: true, seed, ..queue(PAIR, runtime) };
        run_with(&request, registry()).report.hash.unwrap()
    };
    let arrivals = |seed| {
        hash(&format!("{{ consolidation: {{ queue: {{ instances: 2, every: 5 us, seed: {seed} }} }} }}"), 0)
    };
    assert_ne!(arrivals(1), arrivals(2));
    let plan = |seed| hash("{ monte-carlo: { queue: { instances: 3 } } }", seed);
    let one = plan(1);
    assert_eq!(plan(1), one);
    assert!((2..6).any(|seed| plan(seed) != one));
}

/// The reason why a run does not begin.
fn refusal(request: &RunRequest) -> String {
    match attempt_with(request, registry()) {
        Ok(summary) => panic!("{}", summary.ending()),
        Err(error) => error,
    }
}

#[test]
fn what_is_no_single_launch_is_refused() {
    for applications in ["hotspot", "kernelet-tea + hotspot"] {
        let error = refusal(&queue(applications, "kernelet"));
        let wanted = "takes applications of one launch each and no other step on the device; `hotspot` has something else";
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn a_kernel_without_measured_rates_is_refused() {
    let error = refusal(&queue("kernelet-tea + vecadd", "optimal"));
    assert!(
        error.contains("`optimal` has no measured rates of `vecadd`; it has those of `kernelet-"),
        "{error}"
    );
}

/// Microseconds of a kernel alone on a machine under a runtime, at full occupancy.
fn time(machine: &str, application: &str, size: &[&str], runtime: &str) -> f64 {
    let runtime = format!("host.cpu.runtime={runtime}");
    let sets: Vec<&str> = size.iter().copied().chain(["gpu.scheduler.policy=concurrent", &runtime]).collect();
    let summary = run_with(&request(machine, application, &sets), registry());
    assert_verified(&summary);
    let queue = summary.report.trace.spans.iter().find(|span| span.name == "queue").unwrap();
    (queue.end - queue.start).as_ps() as f64 * 1e-6
}

/// The kernel in slices of a block for each SM as queues are run, and in slices of all blocks that SMs hold, one at a time: times over that of
/// the kernel whole, less 1.
fn costs(machine: &str, application: &str, size: &[&str]) -> [f64; 2] {
    let whole = time(machine, application, size, "{consolidation: {}}");
    ["{slices: {}}", "{slices: {launch: 16, queue: {ready: 0}}}"]
        .map(|runtime| time(machine, application, size, runtime) / whole - 1.0)
}

#[test]
fn slices_that_lie_ready_keep_a_share_filled() {
    let [ready, in_order] = costs("c2050", "kernelet-mm", &["app.k=128"]);
    assert!(ready < 0.02 && in_order > 0.1, "{ready} {in_order}");
}

/// The file of ST gives its registers, 32, where our estimate is 35, for the kernel and for the twin that
/// runs its slices.
#[test]
fn slices_have_as_many_blocks_on_an_sm_as_the_kernel_whole() {
    for (runtime, kernel) in
        [("{consolidation: {}}", "stencil3d#1"), ("{slices: {blocks: [1]}}", "stencil3d__slice#1")]
    {
        let runtime = format!("host.cpu.runtime={runtime}");
        let sets = ["app.size=small", "gpu.scheduler.policy=concurrent", &runtime];
        let summary = run_with(&request("c2050", "kernelet-st", &sets), registry());
        assert_verified(&summary);
        let path = format!("gpu.scheduler.kernels[{kernel}]");
        let row = summary.report.stats.iter().find(|row| row.path == path && row.label.name == "ctas_per_sm");
        assert_eq!(row.unwrap().value, StatValue::Count(8), "{kernel}");
    }
}

mod slow {
    use super::*;

    /// The paper allows slices to cost 2 %. Those of SPMV cost 8.5 % on the C2050, whose SMs replay accesses: slots lost to memory are 16 % more than
    /// those of the kernel whole. With `gpu.sm.replay: off` they cost 1.7 %.
    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn no_kernel_loses_more_than_the_paper_allows_in_slices_of_full_occupancy() {
        for machine in ["c2050", "gtx680"] {
            for (application, _) in APPLICATIONS {
                let [ready, in_order] = costs(machine, application, &["app.size=steady"]);
                let most = if application == "kernelet-spmv" { 0.1 } else { 0.021 };
                assert!(ready < most, "{machine} {application}: {ready}");
                assert!(in_order > ready, "{machine} {application}: {in_order}");
            }
        }
    }
}
