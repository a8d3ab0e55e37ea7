//! Faults on links: the exact effect, its time, and its number; the same for every cut of the machine.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use counterpoint_framework::kernel::{Fault, In, Outcome, RunOptions, Sharing};
use counterpoint_framework::model::{
    Component, Context, Environment, Invalid, Params, Ports, Registry, Resources, StatValue,
};
use counterpoint_framework::testing::toys;
use counterpoint_framework::time::SimTime;
use counterpoint_framework::topology::{self, RunReport};

/// Arrivals of numbers, in picoseconds.
#[derive(Default)]
struct Log(Mutex<Vec<(u64, u64)>>);

/// Parameters of a recorder.
#[derive(Clone, Params)]
struct RecorderParams {
    /// Numbers after which it is enough.
    number: u64,
    /// Cycles between two numbers.
    #[param(default = 1)]
    pause: u64,
}

#[derive(Ports)]
struct RecorderPorts {
    /// The numbers.
    input: In<u64>,
}

/// Notes when numbers come.
struct Recorder(RecorderParams);

impl Component for Recorder {
    const KIND: &'static str = "test/recorder";
    const DOC: &'static str = "Notes when numbers come.";
    type Params = RecorderParams;
    type Ports = RecorderPorts;
    type Stats = ();

    fn new(params: RecorderParams) -> Result<Self, Invalid> {
        Ok(Recorder(params))
    }

    async fn run(&mut self, io: &mut RecorderPorts, sim: &Context<()>) -> Result<(), Fault> {
        let log = sim.resource::<Log>().ok_or("no log")?;
        for _ in 0..self.0.number {
            let number = io.input.recv().await;
            log.0.lock().expect("no panic").push((sim.now().as_ps(), number));
            sim.cycles(self.0.pause).await;
        }
        Ok(())
    }
}

struct Ran {
    report: RunReport,
    log: Vec<(u64, u64)>,
}

impl Ran {
    fn numbers(&self) -> Vec<u64> {
        self.log.iter().map(|(_, number)| *number).collect()
    }

    /// A statistic of the only injector.
    fn count(&self, name: &str) -> u64 {
        let row = self.report.stats.iter().find(|row| row.path == "a.out!fault" && row.label.name == name);
        match row.unwrap_or_else(|| panic!("no statistic {name}")).value {
            StatValue::Count(count) => count,
            _ => panic!("{name} is not a counter"),
        }
    }
}

/// Ten numbers, one a nanosecond, over a link with these options and faults, to someone who takes `number` of them.
fn run_machine(clock: &str, options: &str, number: u64, faults: &[&str], run: &RunOptions) -> Ran {
    let faults: String = faults.iter().map(|fault| format!("  - {{ to: b.input, {fault} }}\n")).collect();
    let faults = if faults.is_empty() { faults } else { format!("faults:\n{faults}") };
    let text = format!(
        "counterpoint: 1\nmachine: m\nclocks: {{ a: {clock}, b: 3 GHz }}\ncomponents:\n  \
         a: {{ type: toy/producer, clock: a, number: 10 }}\n  \
         b: {{ type: test/recorder, clock: b, number: {number} }}\nlinks:\n  \
         - {{ from: a.out, to: b.input, {options} }}\n{faults}"
    );
    let mut registry = Registry::default();
    toys::register(&mut registry);
    registry.component::<Recorder>();
    let files = BTreeMap::from([("m.yaml".to_owned(), text)]);
    let loaded = topology::load("m.yaml", &[], &[], &registry.catalogue, &files)
        .unwrap_or_else(|report| panic!("{}", report.render()));
    let log = Arc::new(Log::default());
    let mut resources = Resources::default();
    resources.insert(Arc::clone(&log));
    let environment = Environment { resources: Arc::new(resources), seed: 7, ..Environment::default() };
    let report = topology::run(&loaded.machine, &Arc::new(registry), &environment, run);
    let log = log.0.lock().expect("no panic").clone();
    Ran { report, log }
}

fn run(number: u64, faults: &[&str]) -> Ran {
    run_machine("1 GHz", "latency: 4 cycles", number, faults, &RunOptions::default())
}

#[track_caller]
fn assert_finished(ran: &Ran) {
    assert!(matches!(ran.report.outcome, Outcome::Finished(_)), "{}", ran.report.outcome);
}

#[test]
fn an_injector_that_does_nothing_takes_no_time() {
    let idle = ["fault: drop, nth: 1000"];
    for clock in ["1 GHz", "700 MHz", "3 GHz"] {
        for options in [
            "latency: 2 cycles",
            "latency: 3 cycles",
            "latency: 8 cycles",
            "latency: 10 ns",
            "latency: 12345 ps",
            "latency: 8 cycles, bandwidth: 3 GB/s",
            "latency: 20 ns, bandwidth: 7 GB/s",
        ] {
            let without = run_machine(clock, options, 10, &[], &RunOptions::default());
            let with = run_machine(clock, options, 10, &idle, &RunOptions::default());
            assert_finished(&with);
            assert_eq!(without.log, with.log, "{clock}, {options}");
            assert_eq!((with.count("messages"), with.count("passed")), (10, 10));
        }
    }
    // No cycle is left for the way from the injector.
    let longer = run_machine("1 GHz", "latency: 1 cycle", 10, &idle, &RunOptions::default());
    assert_eq!(longer.log[..2], [(2_000, 0), (3_000, 1)]);
}

#[test]
fn drop_takes_the_nth_message_or_every_so_many() {
    let ran = run(9, &["fault: drop, nth: 5"]);
    assert_finished(&ran);
    assert_eq!(ran.numbers(), [0, 1, 2, 3, 5, 6, 7, 8, 9]);
    assert_eq!((ran.count("messages"), ran.count("dropped"), ran.count("passed")), (10, 1, 9));
    assert_eq!(run(7, &["fault: drop, every: 3"]).numbers(), [0, 1, 3, 4, 6, 7, 9]);
    assert_eq!(run(8, &["fault: drop, every: 3, count: 2"]).numbers(), [0, 1, 3, 4, 6, 7, 8, 9]);
}

#[test]
fn after_counts_what_arrives_from_then_on() {
    // Number n leaves at n ns and reaches the injector two cycles later.
    assert_eq!(run(6, &["fault: drop, after: 8 ns"]).numbers(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(run(9, &["fault: drop, after: 8 ns, count: 1"]).numbers(), [0, 1, 2, 3, 4, 5, 7, 8, 9]);
    assert_eq!(run(9, &["fault: drop, after: 8 ns, nth: 2"]).numbers(), [0, 1, 2, 3, 4, 5, 6, 8, 9]);
}

#[test]
fn a_delay_holds_up_the_message_and_those_behind_it() {
    let ran = run(10, &["fault: delay, by: 3 ns, nth: 3"]);
    assert_finished(&ran);
    let expected = [
        (4_000, 0),
        (5_000, 1),
        (9_000, 2),
        // Those behind it arrive with it, and are taken one by one in cycles of 3 GHz.
        (9_333, 3),
        (9_666, 4),
        (10_000, 5),
        (10_333, 6),
        (11_000, 7),
        (12_000, 8),
        (13_000, 9),
    ];
    assert_eq!(ran.log, expected);
    assert_eq!(ran.count("delayed"), 1);
}

#[test]
fn duplicate_and_corrupt_change_what_arrives() {
    let ran = run(11, &["fault: duplicate, nth: 2"]);
    assert_eq!(ran.numbers(), [0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!((ran.count("duplicated"), ran.count("passed")), (1, 11));
    assert_eq!(ran.log[1..3], [(5_000, 1), (5_333, 1)]);

    let ran = run(10, &["fault: corrupt, nth: 4"]);
    let wrong: Vec<(u64, u64)> = (0..10).zip(ran.numbers()).filter(|(sent, found)| sent != found).collect();
    assert_eq!(wrong.len(), 1);
    assert_eq!((wrong[0].0, (wrong[0].0 ^ wrong[0].1).count_ones()), (3, 1), "one bit of one number");
    assert_eq!(ran.count("corrupted"), 1);
}

#[test]
fn several_faults_happen_in_their_order() {
    let ran = run(9, &["fault: drop, nth: 2", "fault: duplicate, nth: 2", "fault: drop, nth: 4"]);
    // Number 1 is gone before the others look: the second message that they see is number 2, the fourth number 4.
    assert_eq!(ran.numbers(), [0, 2, 2, 3, 5, 6, 7, 8, 9]);
    assert_eq!((ran.count("dropped"), ran.count("duplicated")), (2, 1));
}

#[test]
fn withheld_credits_starve_the_sender_and_the_report_says_so() {
    let options = "latency: 4 cycles, capacity: 1";
    let ran = run_machine("1 GHz", options, 10, &["fault: withhold-credit, nth: 3"], &RunOptions::default());
    let Outcome::Deadlock(hang) = &ran.report.outcome else { panic!("{}", ran.report.outcome) };
    assert_eq!(ran.numbers(), [0, 1]);
    let text = hang.to_string();
    assert!(text.contains("a.out waits for a credit from a.out!fault"), "{text}");
    assert!(text.contains("b.input waits for a message from a.out!fault"), "{text}");
    assert_eq!((ran.count("messages"), ran.count("withheld")), (2, 1));
    // Two were taken; then a buffer of one and the round trip of two cycles there and two back.
    let sent = ran.report.stats.iter().find(|row| row.path == "a" && row.label.name == "sent").unwrap();
    assert_eq!(sent.value, StatValue::Count(2 + 1 + 4));
}

#[test]
fn chance_is_seeded_and_the_same_on_any_number_of_threads() {
    let faults = ["fault: duplicate, probability: 0.3", "fault: corrupt, probability: 0.5, count: 2"];
    let run = |threads| {
        let options = RunOptions { threads, sharing: Sharing::Always, hash: true, ..RunOptions::default() };
        run_machine("700 MHz", "latency: 8 cycles", 11, &faults, &options)
    };
    let one = run(1);
    assert!(one.count("duplicated") > 0 && one.count("corrupted") == 2);
    for threads in [2, 3] {
        let several = run(threads);
        assert_eq!(several.report.hash, one.report.hash);
        assert_eq!(several.report.outcome, one.report.outcome);
        assert_eq!((several.log, several.report.stats), (one.log.clone(), one.report.stats.clone()));
    }
}

#[test]
fn probability_one_is_always_and_zero_never() {
    let ran = run(10, &["fault: delay, by: 1 ns, probability: 1"]);
    assert_eq!(ran.count("delayed"), 10);
    assert_eq!(ran.log[0], (5_000, 0));
    assert_eq!(run(10, &["fault: drop, probability: 0"]).count("dropped"), 0);
    assert_eq!(ran.report.outcome, Outcome::Finished(SimTime::from_ps(14_333)));
}
