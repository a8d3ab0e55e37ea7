//! Every end of a run reports its place, time and reason, and leaves its files. Deadlocks of a real machine
//! are in [`faults`](crate::faults), faults and panics of its components in
//! [`bad_inputs`](crate::bad_inputs), a signal to a real process in the tests of `tools/cli`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use counterpoint_framework::kernel::{Fault, In, Outcome, Stuck};
use counterpoint_framework::model::{
    Component, Context, Counter, Invalid, Params, Ports, Registry, StatValue, Stats,
};
use counterpoint_framework::telemetry::{Level, Recording};
use counterpoint_framework::testing::toys;
use counterpoint_framework::time::SimTime;
use counterpoint_simulation::output::RECORDS;
use counterpoint_simulation::registry;
use counterpoint_simulation::run::{Progress, RunRequest, RunSummary, run, run_watched};

use crate::support::request;

/// Parameters of a misfit.
#[derive(Clone, Params)]
struct MisfitParams {
    /// How it ends: `panic`, `fault`, `loop`, `spin`.
    does: String,
}

#[derive(Ports)]
struct MisfitPorts {
    /// Numbers.
    input: In<u64>,
}

#[derive(Default, Stats)]
struct MisfitStats {
    /// Numbers taken.
    taken: Counter,
}

/// Takes three numbers and then does not behave.
struct Misfit(MisfitParams);

/// Ends every spin: threads that were left behind would otherwise go on until the tests end.
static RELEASE: AtomicBool = AtomicBool::new(false);

impl Component for Misfit {
    const KIND: &'static str = "test/misfit";
    const DOC: &'static str = "Takes three numbers and then does not behave.";
    type Params = MisfitParams;
    type Ports = MisfitPorts;
    type Stats = MisfitStats;

    fn new(params: MisfitParams) -> Result<Self, Invalid> {
        Ok(Misfit(params))
    }

    async fn run(&mut self, io: &mut MisfitPorts, sim: &Context<MisfitStats>) -> Result<(), Fault> {
        for _ in 0..3 {
            io.input.recv().await;
            sim.stats.taken.add(1);
        }
        match self.0.does.as_str() {
            "panic" => panic!("three is too many"),
            "fault" => Err(Fault::new("the third number is bad")),
            "loop" => loop {
                sim.tick().await;
            },
            _ => {
                while !RELEASE.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                Ok(())
            }
        }
    }
}

fn kinds() -> Arc<Registry> {
    let mut registry = registry();
    toys::register(&mut registry);
    registry.component::<Misfit>();
    Arc::new(registry)
}

/// A run of a machine whose `cluster.misfit` does `does` from the third number on, which arrives at 14 ns.
fn misfit(folder: &Path, does: &str) -> RunRequest {
    let machine = folder.join("machine.yaml");
    // The guard against livelocks waits for a second of simulated time: a slow clock gets there in a few steps.
    let text = format!(
        "counterpoint: 1\nmachine: misfits\nclocks: {{ slow: 1 kHz }}\ncomponents:\n  \
         producer: {{ type: toy/producer, number: 3 }}\n  \
         cluster.misfit: {{ type: test/misfit, does: {does}{} }}\nlinks:\n  \
         - {{ from: producer.out, to: cluster.misfit.input, latency: 12 cycles }}\n",
        if does == "loop" { ", clock: slow" } else { "" }
    );
    std::fs::write(&machine, text).unwrap();
    let application = crate::cli::application(folder, "vecadd");
    let out: PathBuf = folder.join("out");
    RunRequest { out: Some(out), ..request(&machine.to_string_lossy(), &application, &["app.n=100"]) }
}

fn run_misfit(folder: &Path, does: &str) -> RunSummary {
    match run(&misfit(folder, does), &kinds(), &Progress::default()) {
        Ok(summary) => summary,
        Err(errors) => panic!("{errors}"),
    }
}

/// The files of a run that did not finish: a manifest with the outcome, and the component's statistics.
#[track_caller]
fn assert_files(folder: &Path, outcome: &str) {
    let read = |name: &str| std::fs::read_to_string(folder.join("out").join(name)).expect(name);
    let manifest = read("manifest.yaml");
    assert!(manifest.contains("partial: true") && manifest.contains(outcome), "{manifest}");
    assert!(!manifest.contains("missing:"), "{manifest}");
    let stats = read("stats.txt");
    assert!(stats.contains("(partial)"), "{stats}");
    let taken = stats.lines().find(|line| line.starts_with("cluster.misfit.taken")).expect("the statistic");
    assert_eq!(taken.split_whitespace().nth(1), Some("3"), "{taken}");
    for name in ["stats.json", "spans.perfetto.json"] {
        assert!(serde_json::from_str::<serde_json::Value>(&read(name)).is_ok(), "{name}");
    }
    assert!(read("machine.yaml").contains("test/misfit"));
}

#[test]
fn a_panic_names_the_component_the_time_and_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    let summary = run_misfit(folder.path(), "panic");
    let text = summary.report.outcome.to_string();
    assert_eq!(text, "cluster.misfit failed at 14 ns: panicked: three is too many");
    assert!(summary.partial);
    assert_files(folder.path(), &text);
}

#[test]
fn a_fault_names_the_component_the_time_and_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    let summary = run_misfit(folder.path(), "fault");
    let text = summary.report.outcome.to_string();
    assert_eq!(text, "cluster.misfit failed at 14 ns: the third number is bad");
    assert_files(folder.path(), &text);
}

#[test]
fn what_a_component_and_its_neighbours_counted_is_kept_on_any_thread() {
    // The first component is on the first thread: with one name it is the misfit, with the other its neighbour.
    for (does, producer) in [("panic", "producer"), ("panic", "a.producer"), ("fault", "a.producer")] {
        let run_on = |threads| {
            let folder = tempfile::tempdir().unwrap();
            let request = RunRequest {
                threads,
                hash: true,
                recording: Recording::of(Level::Warps),
                ..misfit(folder.path(), does)
            };
            let text = std::fs::read_to_string(&request.machine).unwrap();
            let text = text.replace("producer: {", &format!("{producer}: {{"));
            let text = text.replace("producer.out", &format!("{producer}.out"));
            std::fs::write(&request.machine, text).unwrap();
            let Ok(summary) = run(&request, &kinds(), &Progress::default()) else { panic!("the run began") };
            assert_files(folder.path(), "cluster.misfit failed at 14 ns");
            let read = |name: &&str| std::fs::read(folder.path().join("out").join(name)).unwrap();
            (summary.report, RECORDS.iter().map(read).collect::<Vec<_>>())
        };
        let ((one, files), (two, same)) = (run_on(1), run_on(2));
        assert_eq!(two.islands, 2, "each thread has one");
        let sent = two.stats.iter().find(|row| row.path == producer).expect("the neighbour's statistics");
        assert_eq!(sent.value, StatValue::Count(3));
        assert_eq!((two.outcome, two.stats, two.hash), (one.outcome, one.stats, one.hash), "{does}");
        assert_eq!(same, files, "{does}");
    }
}

#[test]
fn a_livelock_names_who_runs_in_circles() {
    let folder = tempfile::tempdir().unwrap();
    let summary = run_misfit(folder.path(), "loop");
    let Outcome::Livelock(hang) = &summary.report.outcome else { panic!("{}", summary.report.outcome) };
    // Four quarters of a second without a message, counted from the one in which the last was taken.
    assert_eq!(hang.time, SimTime::from_ns(1_250_000_000));
    let text = hang.to_string();
    assert!(text.starts_with("time passes, but no message has been taken for long"), "{text}");
    assert!(text.contains("cluster.misfit waits for time to pass"), "{text}");
    assert_files(folder.path(), "livelock at ");
}

#[test]
fn how_long_a_livelock_may_last_can_be_said() {
    let folder = tempfile::tempdir().unwrap();
    let livelock_after = SimTime::from_ns(20_000_000);
    let request = RunRequest { livelock_after, ..misfit(folder.path(), "loop") };
    let summary = run(&request, &kinds(), &Progress::default()).unwrap_or_else(|errors| panic!("{errors:?}"));
    let Outcome::Livelock(hang) = &summary.report.outcome else { panic!("{}", summary.report.outcome) };
    // Four quarters of it without a message, counted from the one in which the last was taken.
    assert_eq!(hang.time, SimTime::from_ns(25_000_000));
    assert!(hang.to_string().contains("cluster.misfit waits for time to pass"), "{hang}");
    assert_files(folder.path(), "livelock at ");
}

#[test]
fn a_component_that_never_awaits_is_named_and_can_be_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (interrupt, abandon) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let progress = Progress::interrupted_by(Arc::clone(&interrupt)).abandoned_by(Arc::clone(&abandon));
    let watchdog = Some(Duration::from_millis(20));
    let request = RunRequest { watchdog, ..misfit(folder.path(), "spin") };
    let mut said: Vec<Stuck> = Vec::new();
    // The action of a user who reads the warning: Ctrl-C, twice.
    let mut alarm = |stuck: Stuck| {
        if stuck.path == "cluster.misfit" {
            interrupt.store(true, Ordering::Relaxed);
            abandon.store(true, Ordering::Relaxed);
        }
        said.push(stuck);
    };
    let summary = run_watched(&request, &kinds(), &progress, &mut alarm);
    RELEASE.store(true, Ordering::Relaxed);
    let Ok(summary) = summary else { panic!("the run began") };
    assert!(said.iter().any(|stuck| stuck.path == "cluster.misfit"), "{said:?}");
    let text = summary.report.outcome.to_string();
    // The component was resumed at 14 ns or a little before: the numbers arrive one after another.
    assert!(text.starts_with("cluster.misfit failed at 1"), "{text}");
    assert!(text.contains(" ns: has not come back for "), "{text}");
    assert!((12..=14).contains(&(summary.report.outcome.time().as_ps() / 1000)), "{text}");
    assert!(summary.partial && !summary.is_good());
    assert_eq!(summary.missing, RECORDS);
    let manifest = std::fs::read_to_string(folder.path().join("out/manifest.yaml")).unwrap();
    assert!(
        manifest.contains("partial: true") && manifest.contains("cluster.misfit failed at"),
        "{manifest}"
    );
    assert!(manifest.contains("missing:\n- stats.txt\n"), "{manifest}");
    assert!(folder.path().join("out/machine.yaml").exists());
    assert!(!folder.path().join("out/stats.txt").exists());
}
