//! The kernel against a simulator that is too simple to be wrong: random machines must do the same, at the same times,
//! on any number of threads.
//!
//! `PROPTEST_CASES` sets the number of machines; `PROPTEST_RNG_SEED` sets which ones, for hunting. Without them the
//! same few hundred run every time.

mod on_kernel;
mod plan;
mod simulator;

use counterpoint_framework::kernel::{
    Finished, Inspection, RunOptions, Sharing, SnapshotTimes, State, hash_at,
};
use counterpoint_framework::time::SimTime;
use on_kernel::{Order, Ran};
use plan::{End, Entry, Plan};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The number of machines, unless the environment says otherwise; always the same ones, unless it says so too.
fn config(cases: u32) -> ProptestConfig {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    ProptestConfig {
        cases: number("PROPTEST_CASES").map_or(cases, |cases| cases as u32),
        rng_seed: RngSeed::Fixed(number("PROPTEST_RNG_SEED").unwrap_or(1)),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        max_shrink_time: 30_000,
        ..ProptestConfig::default()
    }
}

/// The first line in which two logs differ, in readable form.
fn difference(number: usize, expected: &[Entry], got: &[Entry]) -> Option<String> {
    let count = expected.len().max(got.len());
    let line = (0..count).find(|&line| expected.get(line) != got.get(line))?;
    Some(format!("p{number}, line {line}: expected {:?}, got {:?}", expected.get(line), got.get(line)))
}

fn compare(logs: &[Vec<Entry>], ran: &Ran) -> Result<(), TestCaseError> {
    // The earliest difference is the cause of the others.
    let pairs = logs.iter().zip(&ran.logs).enumerate();
    let differences = pairs.filter_map(|(number, (expected, got))| {
        let line = expected.iter().zip(got).position(|(expected, got)| expected != got);
        let time = line.map_or(u64::MAX, |line| expected[line].ps.min(got[line].ps));
        difference(number, expected, got).map(|text| (time, text))
    });
    match differences.min() {
        Some((_, text)) => Err(TestCaseError::fail(text)),
        None => Ok(()),
    }
}

/// Runs a plan everywhere: the same logs and the same end as the naive simulator has, and one hash.
fn agrees(plan: &Plan) -> Result<(), TestCaseError> {
    let naive = simulator::simulate(plan);
    let (mut hash, mut report) = (None, None);
    for cut in on_kernel::CUTS {
        let ran = on_kernel::run(plan, &Order::plain(plan), cut);
        compare(&naive.logs, &ran)
            .map_err(|error| TestCaseError::fail(format!("{cut:?}, {} islands: {error}", ran.islands)))?;
        prop_assert_eq!(&naive.end, &ran.end, "{:?}, {} islands", cut, ran.islands);
        let known = *hash.get_or_insert(ran.hash);
        prop_assert_eq!(known, ran.hash, "the hash with {:?}", cut);
        let known = report.get_or_insert_with(|| ran.report.clone());
        prop_assert_eq!(&*known, &ran.report, "the report with {:?}", cut);
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn the_kernel_does_what_the_naive_simulator_does(plan in plan::small()) {
        agrees(&plan)?;
    }
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn so_does_it_with_large_islands(plan in plan::large()) {
        agrees(&plan)?;
    }
}

/// A plan with an order in which to hand over its processes and links.
fn shuffled() -> impl Strategy<Value = (Plan, Vec<usize>, Vec<usize>)> {
    plan::small().prop_flat_map(|plan| {
        let (actors, joints) = (plan.actors.len(), plan.wires.len());
        let shuffle = |count: usize| Just((0..count).collect::<Vec<usize>>()).prop_shuffle();
        (Just(plan), shuffle(actors), shuffle(joints))
    })
}

proptest! {
    #![proptest_config(config(100))]

    /// Senders are numbered in the links themselves, so the order of the list of links says nothing: the hash stays,
    /// too. The order of processes belongs to the machine and enters its hash; their actions do not depend on
    /// it.
    #[test]
    fn the_order_of_construction_changes_nothing((plan, actors, joints) in shuffled()) {
        let plain = Order::plain(&plan);
        let relinked = Order { actors: plain.actors.clone(), joints };
        let reordered = Order { actors, joints: relinked.joints.clone() };
        let expected = on_kernel::run(&plan, &plain, on_kernel::WHOLE);
        for cut in on_kernel::CUTS {
            let ran = on_kernel::run(&plan, &relinked, cut);
            compare(&expected.logs, &ran)?;
            prop_assert_eq!(&expected.end, &ran.end);
            prop_assert_eq!(expected.hash, ran.hash, "the hash with {:?}", cut);
            let ran = on_kernel::run(&plan, &reordered, cut);
            compare(&expected.logs, &ran)?;
            match (&expected.end, &ran.end) {
                // Of several that fail at once, the first in the machine's order is named.
                (End::Failed(time, _), End::Failed(also, _)) => prop_assert_eq!(time, also),
                (expected, end) => prop_assert_eq!(expected, end),
            }
        }
    }
}

fn snapshot_times() -> impl Strategy<Value = SnapshotTimes> {
    (prop_oneof![Just(0), 0..100_000_u64], prop_oneof![1..3_000_u64, 1..200_000_u64]).prop_map(
        |(from, every)| SnapshotTimes { from: SimTime::from_ps(from), every: SimTime::from_ps(every) },
    )
}

proptest! {
    #![proptest_config(config(150))]

    /// The same snapshots on any number of threads; each is the state of a run that stops there.
    #[test]
    fn snapshots_are_the_hashes_of_runs_that_stop_there(
        plan in plan::small(),
        times in snapshot_times(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 3),
    ) {
        let paths: Vec<String> = (0..plan.actors.len()).map(|number| format!("p{number}")).collect();
        let plain = on_kernel::finish(&plan, &on_kernel::options(&plan, on_kernel::WHOLE));
        let noting = |cut| RunOptions { snapshots: Some(times), ..on_kernel::options(&plan, cut) };
        let noted = on_kernel::finish(&plan, &noting(on_kernel::WHOLE));
        prop_assert_eq!(plain.hash, noted.hash);
        prop_assert_eq!(&plain.outcome, &noted.outcome);
        prop_assert_eq!(plain.hash, Some(hash_at(&noted.snapshots, &paths, SimTime::MAX)));
        for cut in on_kernel::CUTS {
            let other = on_kernel::finish(&plan, &noting(cut));
            prop_assert_eq!(&noted.snapshots, &other.snapshots, "{:?}", cut);
        }
        for pick in picks.iter().filter(|_| !noted.snapshots.is_empty()) {
            // The last snapshot is of the end, which need not be one of the times.
            let at = noted.snapshots[pick.index(noted.snapshots.len())].time;
            let stopped = RunOptions { stop_at: Some(at), ..on_kernel::options(&plan, on_kernel::CUTS[4]) };
            let stopped = on_kernel::finish(&plan, &stopped).hash;
            prop_assert_eq!(stopped, Some(hash_at(&noted.snapshots, &paths, at)), "at {}", at);
        }
    }
}

/// Holds a plan after each step of picoseconds, looks at it where the step asks for it, and runs it to its end. The result
/// has the states, and the inspections with their times.
fn held(plan: &Plan, options: &RunOptions, steps: &[(u64, bool)]) -> (Vec<State>, Vec<Inspection>, Finished) {
    let mut run = on_kernel::start(plan, options);
    let (mut time, mut states, mut inspections) = (0, Vec::new(), Vec::new());
    for &(step, looked) in steps {
        if looked {
            inspections.extend(run.inspect());
        }
        time += step;
        states.push(run.advance_to(SimTime::from_ps(time), &mut |_| {}).clone());
    }
    (states, inspections, run.finish(&mut |_| {}).unwrap_or_else(|stuck| panic!("{stuck}")))
}

proptest! {
    #![proptest_config(config(150))]

    /// Where a run is held, and whether it is looked at, changes nothing; what there is to see is the same however the
    /// machine is cut.
    #[test]
    fn a_run_that_is_held_is_the_same_run(
        plan in plan::small(),
        times in prop::option::of(snapshot_times()),
        steps in prop::collection::vec((prop_oneof![0..40_u64, 0..3_000_u64, 0..60_000_u64], any::<bool>()), 0..20),
    ) {
        let noting = |cut| RunOptions { snapshots: times, ..on_kernel::options(&plan, cut) };
        let plain = on_kernel::finish(&plan, &noting(on_kernel::WHOLE));
        let (states, inspections, first) = held(&plan, &noting(on_kernel::WHOLE), &steps);
        prop_assert_eq!((&plain.outcome, plain.hash), (&first.outcome, first.hash));
        prop_assert_eq!(&plain.snapshots, &first.snapshots);
        for cut in on_kernel::CUTS {
            for sharing in [Sharing::Always, Sharing::InTurns] {
                let options = RunOptions { sharing, ..noting(cut) };
                let (other, seen, ran) = held(&plan, &options, &steps);
                prop_assert_eq!((&plain.outcome, plain.hash), (&ran.outcome, ran.hash), "{:?}", cut);
                prop_assert_eq!(&plain.snapshots, &ran.snapshots, "{:?}", cut);
                prop_assert_eq!(&states, &other, "{:?}", cut);
                prop_assert_eq!(inspections.len(), seen.len());
                for (one, other) in inspections.iter().zip(&seen) {
                    prop_assert_eq!(one.time, other.time);
                    prop_assert_eq!(&one.ports, &other.ports, "{:?} at {}", cut, one.time);
                    prop_assert_eq!(&one.waits, &other.waits, "{:?} at {}", cut, one.time);
                }
            }
        }
    }
}
