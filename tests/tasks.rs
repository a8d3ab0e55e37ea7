//! Narrow tasks on whole machines: each with copies of its own, one after another unless a runtime knows better.

use counterpoint_simulation::run::{RunRequest, RunSummary};

use crate::support::{assert_verified, assert_wrong, refusal, request, root, run_request};

/// Four tasks, each of which adds a quarter of two vectors, and a kernel behind them that reads what all have left.
const TASKS: &str = r#"counterpoint: 1
application: quarters
code: { add: KERNEL }
buffers:
  a: { type: f32, elements: 256 }
  b: { type: f32, elements: 256 }
  c: { type: f32, elements: 256 }
  d: { type: f32, elements: 256 }
prelude:
  - read: { file: a.f32, into: a, generate: { ramp: { start: 1, step: 1 } } }
  - read: { file: b.f32, into: b, generate: { ramp: { start: 0, step: 0.5 } } }
kernels:
  - tasks: 4
    index: task
    copy_in:
      - { buffer: a, element: "${64 * task}", elements: 64 }
      - { buffer: b, element: "${64 * task}", elements: 64 }
    launch: add.vecadd
    grid: 1
    block: 32
    arguments:
      - { buffer: a, element: "${64 * task}" }
      - { buffer: b, element: "${64 * task}" }
      - { buffer: c, element: "${64 * task}" }
      - 32
    copy_out: [{ buffer: c, element: "${64 * task}", elements: 64 }]
  - { launch: add.vecadd, grid: 1, block: 256, arguments: [c, c, d, 256] }
copy_out: [d]
expect:
  - { buffer: c, file: sums.f32 }
  - { buffer: d, file: doubled.f32 }
"#;

/// The application with this text in the place of that, in a folder of its own.
struct Quarters(tempfile::TempDir);

impl Quarters {
    fn with(from: &str, to: &str) -> Self {
        assert!(TASKS.contains(from), "{from}");
        let folder = tempfile::tempdir().unwrap();
        let kernel = root().join("experiments/applications/vecadd/kernel.nvrtc-sm_35.ptx");
        // A task adds 64 elements in two blocks of 32 threads.
        let text = TASKS.replace("grid: 1\n", "grid: 2\n").replace("- 32\n", "- 64\n").replacen(from, to, 1);
        let text = text.replace("KERNEL", &kernel.display().to_string());
        std::fs::write(folder.path().join("quarters.yaml"), text).unwrap();
        let sums: Vec<f32> = (0..256_u16).map(|index| 1.0 + 1.5 * f32::from(index)).collect();
        let bytes =
            |factor: f32| -> Vec<u8> { sums.iter().flat_map(|sum| (factor * sum).to_le_bytes()).collect() };
        std::fs::write(folder.path().join("sums.f32"), bytes(1.0)).unwrap();
        std::fs::write(folder.path().join("doubled.f32"), bytes(2.0)).unwrap();
        Quarters(folder)
    }

    fn request(&self, machine: &str, sets: &[&str]) -> RunRequest {
        request(machine, &self.0.path().join("quarters.yaml").display().to_string(), sets)
    }

    fn run(&self, sets: &[&str]) -> RunSummary {
        run_request(&self.request("tiny", sets))
    }

    fn races(&self) -> Vec<String> {
        let request = RunRequest { functional: true, racecheck: true, ..self.request("tiny", &[]) };
        run_request(&request).found.iter().map(ToString::to_string).collect()
    }
}

fn quarters() -> Quarters {
    Quarters::with("quarters", "quarters")
}

#[test]
fn tasks_compute_the_same_under_every_runtime_that_takes_them() {
    for runtime in ["serial", "streams", "hyperq", "{ hyperq: { streams: 3, copies: apart } }"] {
        assert_verified(&quarters().run(&[&format!("host.cpu.runtime={runtime}")]));
    }
    let quarters = quarters();
    assert_verified(&run_request(&quarters.request("titanx-maxwell", &[])));
    let crcs = quarters.request("crcs-64sm-pcie3-ssd", &["gpu.sms=2"]);
    let why = refusal(&RunRequest { overlays: vec!["crcs-fifo".to_owned()], ..crcs });
    assert!(why.contains("`overlapped` cannot run narrow tasks"), "{why}");
}

#[test]
fn one_task_comes_after_another() {
    let summary = quarters().run(&[]);
    let mut spans: Vec<_> = summary.report.trace.spans.iter().collect();
    spans.sort_by_key(|span| (span.start, span.end));
    let names = ["H2D a", "H2D b", "vecadd", "D2H c"];
    let of_tasks = spans.iter().filter_map(|span| names.iter().find(|name| span.name.starts_with(**name)));
    let of_tasks: Vec<&str> = of_tasks.copied().collect();
    assert_eq!(of_tasks[..16], names.repeat(4), "{of_tasks:?}");
    assert_eq!(of_tasks[16..], ["vecadd"]);
}

#[test]
fn tasks_in_streams_run_side_by_side() {
    let summary = |sets: &[&str]| {
        // A task is shorter than the call that launches the next one.
        let sets = [sets, &["host.cpu.calls.launch=0 us"]].concat();
        let request = quarters();
        let request =
            RunRequest { overlays: vec!["hyperq".to_owned()], ..request.request("titanx-maxwell", &sets) };
        let summary = run_request(&request);
        assert_verified(&summary);
        let spans = summary.report.trace.spans.iter();
        let kernels = spans.filter(|span| span.name.starts_with("vecadd"));
        let mut kernels: Vec<_> = kernels.map(|span| (span.start, span.end)).collect();
        kernels.sort();
        let copies = summary.report.trace.spans.iter().filter(|span| span.name.starts_with("H2D "));
        (kernels, copies.map(|span| span.end).max().unwrap())
    };
    let runtime = "host.cpu.runtime={ hyperq: { copies: apart } }";
    let (kernels, copied) = summary(&[runtime]);
    let [first, .., fourth, last] = &kernels[..] else { panic!("{kernels:?}") };
    assert!(copied <= first.0, "all inputs are there before the first kernel");
    assert!(fourth.0 < first.1, "the four tasks run together");
    assert!(kernels[..4].iter().all(|kernel| kernel.1 < last.0), "and what comes behind them waits");
    // With one stream, or room for one kernel, they run one after another.
    let streams = "host.cpu.runtime={ hyperq: { streams: 1, copies: apart } }";
    for set in [streams, "gpu.scheduler.concurrent_kernels=1"] {
        let (kernels, _) = summary(&[runtime, set]);
        assert!(kernels.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{set}: {kernels:?}");
    }
}

#[test]
fn what_is_not_copied_for_a_task_is_missing() {
    let half = Quarters::with(
        "{ buffer: a, element: \"${64 * task}\", elements: 64 }",
        "{ buffer: a, elements: 64 }",
    );
    assert_wrong(&half.run(&[]));
    let back = Quarters::with(
        "copy_out: [{ buffer: c, element: \"${64 * task}\", elements: 64 }]",
        "copy_out: [{ buffer: c, elements: 64 }]",
    );
    assert_wrong(&back.run(&[]));
}

#[test]
fn tasks_of_a_step_race_wherever_they_are_sent() {
    let none: [String; 0] = [];
    assert_eq!(quarters().races(), none, "parts of their own, and a kernel behind all of them");
    let whole = Quarters::with("{ buffer: b, element: \"${64 * task}\", elements: 64 }", "b");
    let races = whole.races();
    let told = "race between tasks: vecadd#1 of task 0 reads what the copy in of `b` of task 1 writes, in no order: byte 0x0";
    assert!(races.iter().any(|race| race.starts_with(told)), "{races:?}");
    let both =
        "race between tasks: the copy in of `b` of task 0 writes what the copy in of `b` of task 1 writes";
    assert!(
        races.iter().any(|race| race.starts_with(both) && race.ends_with("(6 times in all)")),
        "{races:?}"
    );
    let sums = Quarters::with(
        "{ buffer: c, element: \"${64 * task}\" }",
        "{ buffer: c, element: \"${32 * task}\" }",
    );
    let races = sums.races();
    let [kernels, ..] = &races[..] else { panic!("{races:?}") };
    let told = "race between tasks: vecadd#1 of task 0 writes what vecadd#2 of task 1 writes, in no order: byte 0x80";
    assert!(kernels.starts_with(told) && kernels.ends_with(" and 127 more (3 times in all)"), "{kernels}");
}

#[test]
fn reading_what_was_copied_for_no_task_is_found() {
    let part = Quarters::with(
        "{ buffer: a, element: \"${64 * task}\", elements: 64 }",
        "{ buffer: a, element: \"${64 * task}\", elements: 63 }",
    );
    let races = part.races();
    let [unwritten] = &races[..] else { panic!("{races:?}") };
    assert!(unwritten.starts_with("uninitialised memory: vecadd#1"), "{unwritten}");
}
