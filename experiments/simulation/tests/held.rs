//! A paused simulation: its result equals that of an uninterrupted run, and its state can be inspected.

use std::sync::Arc;

use counterpoint_framework::kernel::{Outcome, Sharing};
use counterpoint_framework::model::StatRow;
use counterpoint_framework::time::SimTime;
use counterpoint_simulation::registry;
use counterpoint_simulation::run::{
    Condition, Progress, RunErrors, RunRequest, RunSummary, Simulation, State, run, start, start_watched,
};
use proptest::prelude::*;

/// Machines with an application each that is short on them.
const RUNS: [(&str, &[&str]); 4] = [
    ("vecadd", &["app.n=2048"]),
    ("hotspot", &["app.n=32"]),
    ("bfs", &["app.size=small"]),
    ("reduction", &["app.n=4096"]),
];

const L2: &str = "gpu.l2[0]";
const MISSES: &str = "L2_total_cache_misses";

fn request(machine: &str, application: &str, sets: &[&str]) -> RunRequest {
    sets.iter().fold(RunRequest::new(machine, application).hashed(), |request, &set| request.set(set))
}

fn begin(request: &RunRequest) -> Simulation {
    start(request, &Arc::new(registry())).unwrap_or_else(|errors| panic!("{errors}"))
}

fn unheld(request: &RunRequest) -> RunSummary {
    let summary = run(request, &Arc::new(registry()), &Progress::default());
    summary.unwrap_or_else(|errors| panic!("{errors}"))
}

/// Parts of the result that have to be the same: the hash, the end, and the statistics.
fn result(summary: &RunSummary) -> (Option<u64>, String, Vec<StatRow>, bool) {
    (summary.report.hash, summary.ending(), summary.report.stats.clone(), summary.is_good())
}

fn ns(ns: u64) -> SimTime {
    SimTime::from_ns(ns)
}

/// Goes through a run in steps of random length, and looks at every third hold.
fn stepped(request: &RunRequest, steps: &[u64]) -> RunSummary {
    let mut simulation = begin(request);
    for (number, &step) in steps.iter().cycle().take(40).enumerate() {
        let time = simulation.time() + SimTime::from_ps(step);
        let state = simulation.advance_to(time).unwrap_or_else(|errors| panic!("{errors}"));
        if !state.is_held() {
            break;
        }
        assert_eq!(state, State::Held(time));
        if number % 3 == 0 {
            assert_eq!(simulation.inspect().time, time);
        }
    }
    simulation.finish()
}

/// Picoseconds of steps.
fn steps() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![1..2_000_u64, 1..3_000_000_u64, 1..40_000_000_u64], 1..12)
}

/// Goes through one of the runs in steps, on these numbers of threads.
fn steps_change_nothing(
    place: usize,
    steps: &[u64],
    ways: impl IntoIterator<Item = (usize, Sharing)>,
) -> Result<(), TestCaseError> {
    let (application, sets) = RUNS[place];
    let request = request("tiny", application, sets);
    let expected = result(&unheld(&request));
    prop_assert!(expected.3, "{}", expected.1);
    for (threads, sharing) in ways {
        let request = request.clone().threads(threads).sharing(sharing);
        prop_assert_eq!(&result(&stepped(&request, steps)), &expected, "{} threads", threads);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn steps_of_any_length_and_looks_change_nothing(place in 0..RUNS.len(), steps in steps()) {
        steps_change_nothing(place, &steps, [(1, Sharing::Always), (2, Sharing::Always), (3, Sharing::InTurns)])?;
    }
}

#[test]
fn other_machines_are_the_same_when_they_are_held() {
    for machine in ["integrated", "gtx480"] {
        let request = request(machine, "vecadd", &["app.n=2048"]);
        let expected = result(&unheld(&request));
        for threads in [1, 3] {
            let request = request.clone().threads(threads).sharing(Sharing::Always);
            assert_eq!(result(&stepped(&request, &[1_700_000, 33, 900_000])), expected, "{machine}");
        }
    }
}

#[test]
fn a_look_is_the_same_on_any_number_of_threads() {
    let seen = |threads, sharing| {
        let request = request("tiny", "hotspot", &["app.n=32"]).threads(threads).sharing(sharing);
        let mut simulation = begin(&request);
        let mut looks = Vec::new();
        simulation
            .advance_until(Condition::statistic(L2, "L2_total_cache_accesses", 1.0))
            .expect("a statistic");
        for _ in 0..20 {
            let inspection = simulation.inspect();
            looks.push((
                inspection.time,
                inspection.statistics().to_vec(),
                inspection.ports().to_vec(),
                inspection.waits().clone(),
            ));
            simulation.advance_to(inspection.time + ns(777)).expect("time");
        }
        looks
    };
    let expected = seen(1, Sharing::Always);
    assert!(expected.iter().flat_map(|(_, _, ports, _)| ports).any(|port| port.level > 0), "nothing waits");
    for (threads, sharing) in [(2, Sharing::Always), (3, Sharing::InTurns), (4, Sharing::Always)] {
        for (one, other) in expected.iter().zip(seen(threads, sharing)) {
            assert_eq!(one.0, other.0);
            let rows = one.1.iter().zip(&other.1).find(|(one, other)| one != other);
            assert_eq!(rows, None, "{threads} threads at {}", one.0);
            let ports = one.2.iter().zip(&other.2).find(|(one, other)| one != other);
            assert_eq!(ports, None, "{threads} threads at {}", one.0);
            let waits = one.3.blocked.iter().zip(&other.3.blocked).find(|(one, other)| one != other);
            assert_eq!(waits, None, "{threads} threads at {}", one.0);
        }
    }
}

#[test]
fn a_look_says_what_stop_at_would_leave() {
    let time = SimTime::from_ns(42_000);
    let request = request("tiny", "vecadd", &["app.n=2048"]);
    let mut simulation = begin(&request);
    simulation.advance_to(time).expect("time");
    let stopped = unheld(&request.stop_at(time));
    assert_eq!(stopped.report.outcome, Outcome::Stopped(time));
    assert_eq!(simulation.inspect().statistics(), stopped.report.stats);
}

#[test]
fn conditions_find_their_time_on_the_grid() {
    let request = request("tiny", "vecadd", &["app.n=2048"]);
    let found = |threads, condition: Condition<'_>| {
        let mut simulation = begin(&request.clone().threads(threads).sharing(Sharing::Always));
        let state = simulation.advance_until(condition).unwrap_or_else(|errors| panic!("{errors}"));
        (state, simulation)
    };
    let misses = || Condition::statistic(L2, MISSES, 3.0).every(ns(250));
    let (state, mut simulation) = found(1, misses());
    let State::Held(time) = state else { panic!("{state:?}") };
    assert_eq!(time.as_ps() % 250_000, 0);
    assert!(simulation.inspect().value(L2, MISSES).is_some_and(|count| count >= 3.0));
    assert_eq!(found(2, misses()).0, state);
    // A condition that already holds takes no time.
    assert_eq!(simulation.advance_until(misses()).expect("a statistic"), state);

    let (ended, simulation) = found(1, Condition::launches_ended(1));
    assert!(ended.is_held() && simulation.time() > time);
    let mut calls = 0;
    let (state, simulation) = found(
        1,
        Condition::when(|inspection| {
            calls += 1;
            inspection.launches_ended > 9
        })
        .every(ns(20_000)),
    );
    assert_eq!((state, simulation.outcome().is_some()), (State::Ended, true));
    let summary = simulation.finish();
    assert!(calls > 1 && summary.is_good(), "{calls} calls: {}", summary.ending());
}

#[test]
fn a_condition_on_what_is_not_there_is_an_error_with_the_nearest_name() {
    let mut simulation = begin(&request("tiny", "vecadd", &["app.n=64"]));
    let mut message = |path: &str, name: &str| {
        let error = simulation.advance_until(Condition::statistic(path, name, 1.0));
        error.map(|_| ()).unwrap_err().to_string()
    };
    let wrong = message(L2, "L2_total_cache_mises");
    assert_eq!(
        wrong,
        "error: `gpu.l2[0]` has no statistic `L2_total_cache_mises`; did you mean `L2_total_cache_misses`?"
    );
    let wrong = message("gpu.l3[0]", MISSES);
    assert!(
        wrong.starts_with("error: no component `gpu.l3[0]` has statistics; did you mean `gpu.l"),
        "{wrong}"
    );
    let wrong = message(L2, "nothing");
    assert!(wrong.contains("has no statistic `nothing`; it has `"), "{wrong}");
    assert_eq!(simulation.time(), SimTime::ZERO, "nothing has run");
    // Rows of launches come up later.
    let kernels = Condition::statistic("gpu.scheduler.kernels[vecadd#1]", "ctas", 1.0);
    assert!(simulation.advance_until(kernels).is_ok_and(|state| state.is_held()));
}

#[test]
fn what_cannot_begin_has_causes_with_places() {
    let request = request("tiny", "vecadd", &["gpu.smz=3"]).set("app.m=3");
    let Err(errors) = start(&request, &Arc::new(registry())) else { panic!("it began") };
    let causes = errors.causes();
    assert_eq!(causes.len(), 2, "{errors}");
    assert!(
        causes.iter().all(|cause| cause.place.as_ref().is_some_and(|place| place.line > 0)),
        "{causes:?}"
    );
    assert_eq!(causes[0].suggestion.as_deref(), Some("gpu.sms"));
    let error: Box<dyn std::error::Error> = Box::new(errors);
    assert!(error.to_string().contains("did you mean `gpu.sms`?"), "{error}");
    let unknown = start(&RunRequest::new("tinny", "vecadd"), &Arc::new(registry())).map(|_| ());
    let causes = unknown.map_err(|errors| errors.causes()).unwrap_err();
    assert!(causes[0].place.is_none() && causes[0].message.contains("tinny"), "{causes:?}");
}

#[test]
fn a_run_without_time_is_not_held() {
    let mut simulation = begin(&request("tiny", "vecadd", &["app.n=64"]).functional());
    let refused: Result<State, RunErrors> = simulation.advance_to(ns(1));
    assert!(refused.is_err_and(|errors| errors.to_string().contains("`finish` runs it as a whole")));
    assert!(simulation.finish().is_good());
}

#[test]
fn interrupts_series_and_snapshots_work_on_a_held_run() {
    let request = request("tiny", "vecadd", &["app.n=2048"]).series(ns(3_000));
    let expected = unheld(&request);
    let held = stepped(&request, &[2_500_000, 700_001]);
    let points = |summary: &RunSummary| {
        summary.report.series.as_ref().map(|series| series.points().collect::<Vec<_>>())
    };
    assert!(points(&held).is_some_and(|points| points.len() > 10));
    assert_eq!(points(&held), points(&expected));

    let progress = Progress::default();
    let registry = Arc::new(registry());
    let mut simulation =
        start_watched(&request, &registry, &progress).unwrap_or_else(|errors| panic!("{errors}"));
    simulation.advance_to(ns(30_000)).expect("time");
    assert!(progress.snapshot().is_some_and(|now| now.time <= ns(30_000) && now.time > ns(0)));
    progress.interrupt();
    assert_eq!(simulation.advance_to(ns(35_000)).expect("time"), State::Ended);
    // The last statistics stay, and nothing waits any more.
    let inspection = simulation.inspect();
    assert!(
        inspection.time >= ns(30_000) && !inspection.statistics().is_empty() && inspection.ports().is_empty()
    );
    let summary = simulation.finish();
    assert!(matches!(summary.report.outcome, Outcome::Interrupted(_)) && summary.partial);
    assert_eq!(progress.snapshot(), None);
}

#[test]
fn a_simulation_may_change_threads_and_be_dropped() {
    let mut simulation =
        begin(&request("tiny", "vecadd", &["app.n=2048"]).threads(2).sharing(Sharing::Always));
    simulation.advance_to(ns(20_000)).expect("time");
    let progress = simulation.progress().clone();
    std::thread::spawn(move || drop(simulation)).join().expect("no panic");
    assert_eq!(progress.snapshot(), None, "nothing goes on");
}

mod slow {
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        #[ignore = "slow: cargo xtask slow"]
        fn steps_change_nothing_on_any_number_of_threads(place in 0..RUNS.len(), steps in steps()) {
            let all = (1..=4).flat_map(|threads| [Sharing::Always, Sharing::InTurns].map(|sharing| (threads, sharing)));
            steps_change_nothing(place, &steps, all)?;
        }
    }
}
