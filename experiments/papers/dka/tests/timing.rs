//! Task pipelines: the policies `dka` and `task-split` of the CTA scheduler, its messages, the kernel
//! allocator, and the left-over policy that DKA is compared with.

use std::sync::Arc;

use counterpoint::gpu::cta_scheduler::CtaScheduler;
use counterpoint::messages::extra::Extra;
use counterpoint::messages::launch::{CtaCounts, Launch, LaunchEvent, SmResources, ToScheduler};
use counterpoint::testing::gpu::*;
use counterpoint::testing::{BenchReport, Probe, gpu};
use counterpoint_dka::allocator::Allocator;
use counterpoint_dka::labels::{Flush, TaskLabel};
use counterpoint_dka::pipeline::{Allotted, Measured, Round, Task};

/// Room for one block of 32 threads.
const ONE: SmResources = SmResources { threads: 32, ctas: 1, registers: 1 << 20, shared: 1 << 20 };
const POLICY: &str = "{ policy: { labelled: { of: dka } } }";

/// A launch of `grid` blocks; a block takes ten times the launch's number of cycles.
fn plain(id: u32, grid: u32) -> Arc<Launch> {
    launch(id, &kernel("st.shared.u32 [scratch], %r1;"), grid, 32)
}

fn duration(launch: u32) -> u64 {
    10 * u64::from(launch)
}

/// A kernel of a pipeline of three on a batch.
fn task(kernel: u32, batch: u32, step: u32, members: u32, first: u32) -> Task {
    Task { kernel, kernels: 3, batch, step, members, first }
}

fn of_task(id: u32, grid: u32, task: Task) -> Arc<Launch> {
    let extra = Extra::new(task, task.label().into());
    Arc::new(Launch { extra, ..Launch::clone(&plain(id, grid)) })
}

/// Result of a schedule.
struct Ran {
    /// Launches and blocks of each SM, and the times at which the SM received them.
    given: Vec<Vec<(u64, (u32, u32))>>,
    asked: Vec<(u64, Round)>,
    flushed: Vec<(u64, Flush)>,
    report: BenchReport,
}

/// Runs launches on `sms` SMs with an allocator that gives the first kernel `split` SMs, two cycles after the
/// request.
fn run(params: &str, sms: u32, split: Option<u32>, launches: Vec<(u64, Arc<Launch>)>) -> Ran {
    let mut bench = bench_with::<CtaScheduler>(counterpoint_dka::register, params);
    let count = launches.len() + 1;
    let script = launches.into_iter().map(|(cycle, launch)| (cycle, ToScheduler::Start(launch))).collect();
    bench.client::<ToScheduler, LaunchEvent>("launches", None, script, count);
    let logs = gpu::sms(&mut bench, &vec![ONE; sms as usize], duration, CtaCounts::default());
    let asked = split.map(|split| {
        bench.server("allocator", None, move |round: Round| {
            Some((2, Allotted { table: round.table, sms: split }))
        })
    });
    let flushed = params.contains("labelled").then(|| bench.probe::<Flush>("labels", Some(0)));
    let report = bench.run();
    let given = logs.iter().map(Probe::take).collect();
    let (asked, flushed) = (asked.map(|log| log.take()), flushed.map(|log| log.take()));
    Ran { given, asked: asked.unwrap_or_default(), flushed: flushed.unwrap_or_default(), report }
}

/// The launches that an SM served, in order, each once.
fn served(given: &[(u64, (u32, u32))]) -> Vec<u32> {
    let mut launches: Vec<u32> = given.iter().map(|(_, (launch, _))| *launch).collect();
    launches.dedup();
    launches
}

/// Each kernel alone on a first batch, then two pairs.
fn two_pairs() -> Vec<(u64, Arc<Launch>)> {
    vec![
        (5, of_task(1, 4, task(0, 0, 0, 1, 0))),
        (6, of_task(2, 4, task(1, 0, 1, 1, 1))),
        (7, of_task(3, 4, task(2, 0, 2, 1, 2))),
        (8, of_task(4, 4, task(0, 1, 3, 1, 0))),
        (9, of_task(5, 6, task(1, 1, 4, 2, 0))),
        (10, of_task(6, 6, task(0, 2, 4, 2, 0))),
        (11, of_task(7, 2, task(2, 1, 5, 2, 1))),
        (12, of_task(8, 2, task(1, 2, 5, 2, 1))),
    ]
}

#[test]
fn no_sm_changes_kernels_within_a_step_and_steps_are_barriers() {
    let ran = run(POLICY, 4, Some(1), two_pairs());
    assert_finished(&ran.report);
    // Alone on all four; then the first kernel of each pair on one SM, the second on the others.
    let expected =
        [vec![1, 2, 3, 4, 6, 8], vec![1, 2, 3, 4, 5, 7], vec![1, 2, 3, 4, 5, 7], vec![1, 2, 3, 4, 5]];
    let all: Vec<Vec<u32>> = ran.given.iter().map(|given| served(given)).collect();
    assert_eq!(all, expected);
    // Launch 5 has its last block long before launch 6, which has one SM for six blocks of 60 cycles: an idle
    // SM stays idle.
    let last = |launch: u32| {
        let of = |(cycle, (it, _)): &(u64, (u32, u32))| (*it == launch).then_some(*cycle + duration(launch));
        ran.given.iter().flatten().filter_map(of).max().unwrap()
    };
    let first = |launch: u32| {
        let of = |(cycle, (it, _)): &(u64, (u32, u32))| (*it == launch).then_some(*cycle);
        ran.given.iter().flatten().filter_map(of).min().unwrap()
    };
    assert!(last(5) + 200 < last(6), "{} {}", last(5), last(6));
    // A message from the SM, the question, two cycles, and the answer's way.
    assert_eq!((first(7), first(8)), (last(6) + 5, last(6) + 5));
}

#[test]
fn each_pair_has_its_table_and_is_asked_for_with_what_it_took_last() {
    let mut launches = two_pairs();
    launches.extend([
        (13, of_task(9, 1, task(0, 3, 6, 2, 2))),
        (14, of_task(10, 1, task(2, 2, 6, 2, 2))),
        (15, of_task(11, 3, task(1, 3, 7, 2, 0))),
        (16, of_task(12, 2, task(0, 4, 7, 2, 0))),
    ]);
    let ran = run(POLICY, 4, Some(1), launches);
    assert_finished(&ran.report);
    let tables: Vec<u32> = ran.asked.iter().map(|(_, round)| round.table).collect();
    assert_eq!(tables, [0, 1, 2, 0]);
    // A block's message is two cycles on its way, and blocks on one SM follow each other.
    let alone = |launch: u32| duration(launch) + 2;
    let rounds: Vec<Measured> = ran.asked.iter().map(|(_, round)| round.measured).collect();
    let expected = [
        // Kernel 0 ran alone twice: the newest wins.
        Measured::Alone { first: alone(4), second: alone(2) },
        Measured::Alone { first: alone(2), second: alone(3) },
        Measured::Alone { first: alone(3), second: alone(4) },
        Measured::CoRun { sms: 1, first: 6 * alone(6), second: 2 * alone(5) },
    ];
    assert_eq!(rounds, expected);
    assert!(ran.asked.iter().all(|(_, round)| round.sms == 4));
}

#[test]
fn the_scheduler_tells_what_nobody_will_read() {
    let ran = run(POLICY, 4, Some(1), two_pairs());
    let labels: Vec<TaskLabel> = ran.flushed.iter().map(|(_, Flush(label))| *label).collect();
    // The output of kernel 0 for batch 0 when kernel 1 has ended, and so on; the last kernel's own as well.
    let expected = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (0, 2)];
    let label = |(kernel, batch)| match TaskLabel::new(kernel, batch) {
        label if kernel == 2 => label.last(),
        label => label,
    };
    assert_eq!(labels, expected.map(label));
}

#[test]
fn a_launch_outside_a_pipeline_has_the_gpu_for_itself() {
    let launches =
        vec![(5, plain(1, 2)), (6, of_task(2, 4, task(0, 0, 0, 1, 0))), (7, plain(3, 1)), (8, plain(4, 4))];
    let ran = run(POLICY, 4, Some(1), launches);
    assert_finished(&ran.report);
    assert_eq!(served(&ran.given[0]), [1, 2, 3, 4]);
    assert_eq!(served(&ran.given[3]), [2, 4]);
}

#[test]
fn what_dka_cannot_do_is_said() {
    let pair = || vec![(5, of_task(1, 1, task(0, 1, 0, 2, 0))), (6, of_task(2, 1, task(1, 0, 0, 2, 0)))];
    let early = run(POLICY, 4, Some(1), pair());
    assert!(fault(&early.report).starts_with("kernel 0 of the pipeline has not run alone"));
    let three = run(POLICY, 4, Some(1), vec![(5, of_task(1, 1, task(0, 1, 0, 3, 0)))]);
    assert!(fault(&three.report).contains("this step has more"));
    let single = run(POLICY, 1, Some(1), pair());
    assert!(fault(&single.report).contains("two kernels cannot share one SM"));
}

#[test]
fn a_fixed_split_gives_each_kernel_its_sms() {
    let params = "{ policy: { task-split: { sms: [1, 2, 1] } } }";
    let mut launches = two_pairs();
    launches.truncate(4);
    launches.extend([
        (9, of_task(5, 2, task(2, 1, 4, 3, 0))),
        (10, of_task(6, 2, task(1, 2, 4, 3, 0))),
        (11, of_task(7, 2, task(0, 3, 4, 3, 0))),
    ]);
    let ran = run(params, 4, None, launches.clone());
    assert_finished(&ran.report);
    let all: Vec<Vec<u32>> = ran.given.iter().map(|given| served(given)).collect();
    assert_eq!(all, [vec![1, 2, 3, 4, 7], vec![1, 2, 3, 4, 6], vec![1, 2, 3, 4, 6], vec![1, 2, 3, 4, 5]]);
    let rest = run("{ policy: { task-split: { sms: [1, 2] } } }", 4, None, launches);
    assert_eq!(rest.given, ran.given, "the last kernel has the rest");
    let few = run("{ policy: { task-split: { sms: [4] } } }", 4, None, two_pairs());
    let expected = "`task-split` has 1 shares and 0 SMs behind them, the pipeline 3 kernels";
    assert_eq!(fault(&few.report), expected);
    let many = run("{ policy: { task-split: { sms: [3, 2] } } }", 4, None, vec![]);
    assert_eq!(fault(&many.report), "the shares of `task-split` have 5 SMs, the GPU has 4");
}

#[test]
fn what_is_left_over_is_the_second_kernels() {
    let leftover = "{ policy: leftover }";
    // Six blocks for four SMs of one block each: the second kernel has nothing until the first has issued its last block.
    let heavy = run(leftover, 4, None, vec![(5, plain(2, 6)), (6, plain(1, 4))]);
    let mut blocks: Vec<(u64, (u32, u32))> = heavy.given.iter().flatten().copied().collect();
    blocks.sort_unstable();
    let launches: Vec<u32> = blocks.iter().map(|(_, (launch, _))| *launch).collect();
    let first_of_second = launches.iter().position(|&launch| launch == 1).unwrap();
    assert_eq!(launches.iter().take(4).collect::<Vec<_>>(), [&2; 4], "{blocks:?}");
    assert!(blocks[first_of_second].0 > 5 + duration(2), "no SM is empty before");
    // Two blocks for four SMs: the second kernel begins at once on the others.
    let light = run(leftover, 4, None, vec![(5, plain(20, 2)), (6, plain(1, 2))]);
    let starts = |launch: u32| {
        let of = |(cycle, (it, _)): &(u64, (u32, u32))| (*it == launch).then_some(*cycle);
        light.given.iter().flatten().filter_map(of).collect::<Vec<_>>()
    };
    assert_eq!((starts(20), starts(1)), (vec![5, 5], vec![6, 6]));
}

/// Asks the allocator; gives its answers, with the cycles in which they came.
fn ask(params: &str, rounds: Vec<(u64, Round)>) -> (Vec<(u64, Allotted)>, BenchReport) {
    let mut bench = bench_with::<Allocator>(counterpoint_dka::register, params);
    let count = rounds.len();
    let answers = bench.client::<Round, Allotted>("scheduler", None, rounds, count);
    let report = bench.run();
    (answers.take(), report)
}

fn alone(table: u32, first: u64, second: u64) -> Round {
    Round { table, sms: 24, measured: Measured::Alone { first, second } }
}

fn co_run(table: u32, sms: u32, first: u64, second: u64) -> Round {
    Round { table, sms: 24, measured: Measured::CoRun { sms, first, second } }
}

#[test]
fn the_allocator_answers_in_its_latency_and_keeps_tables_apart() {
    // T1 = 96 / min(n, 16) and T2 = 192 / n in thousands, beside another pair.
    let rounds = vec![
        (5, alone(0, 6_000, 8_000)),
        (10, alone(1, 1_000, 30_000)),
        (15, co_run(0, 10, 9_600, 13_714)),
        (20, co_run(0, 8, 12_000, 12_000)),
        (25, co_run(0, 8, 500_000, 12_000)),
    ];
    for arithmetic in ["half", "double"] {
        let params = format!("{{ arithmetic: {arithmetic}, latency: 3 cycles }}");
        let (answers, report) = ask(&params, rounds.clone());
        assert_finished(&report);
        let split = |table, sms| Allotted { table, sms };
        // A converged split stays, regardless of later times.
        let expected =
            [(8, split(0, 10)), (13, split(1, 1)), (18, split(0, 8)), (23, split(0, 8)), (28, split(0, 8))];
        assert_eq!(answers, expected, "{arithmetic}");
        assert_eq!(counted(&report, "pairs[0]", ["rounds", "decisions", "converged"]), [4, 3, 1]);
        assert_eq!(counted(&report, "pairs[1]", ["rounds", "decisions", "converged"]), [1, 1, 0]);
        assert_eq!((report.count("decisions"), report.count("converged")), (4, 1));
    }
}

#[test]
fn the_allocator_has_as_many_tables_as_it_says() {
    let (_, report) = ask("{}", vec![(5, alone(8, 1, 1))]);
    assert!(fault(&report).starts_with("the pipeline has more than 8 kernels, and DKA has 8 tables"));
    let (answers, _) = ask("{ tables: 9 }", vec![(5, alone(8, 1, 1))]);
    assert_eq!(answers, [(5, Allotted { table: 8, sms: 12 })]);
    let (_, report) = ask("{}", vec![(5, co_run(0, 3, 1, 1))]);
    assert!(fault(&report).contains("before its kernels were measured alone"));
}
