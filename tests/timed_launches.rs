//! Runs in which some launches have time: values go from those without time to those with, and back.

use std::path::Path;

use counterpoint_framework::telemetry::StatValue;
use counterpoint_simulation::run::Timed;
use counterpoint_simulation::run::{RunRequest, RunSummary};

use crate::support::{assert_verified, refusal, request, run_request};

fn timed(application: &str, sets: &[&str], launches: &str) -> RunRequest {
    RunRequest { timed: Timed::parse(launches).ok(), ..request("tiny", application, sets) }
}

/// Warp instructions that a machine has counted in its launches.
fn counted(summary: &RunSummary) -> u64 {
    let rows = summary.report.stats.iter();
    let rows = rows.filter(|row| row.path.contains(".scheduler.kernels[") && row.label.name == "warp_insn");
    rows.map(|row| if let StatValue::Count(count) = row.value { count } else { 0 }).sum()
}

/// A loop whose condition the host reads, names that swap, streams, and a group of tasks: the values are right wherever time begins and ends, and the
/// machine executes the instructions of the launches that have time.
#[test]
fn values_are_right_wherever_time_begins_and_ends() {
    let cases = [
        ("bfs", &["app.nodes=512"][..], "tiny", &["1..1", "3..4", "9..", "visit", "..2"][..]),
        ("hotspot", &["app.n=32"], "tiny", &["1", "2..3", "5.."]),
        ("gaussian", &["app.n=16"], "tiny", &["2..3", "30.."]),
        ("3mm", &["app.n=32"], "tiny", &["1", "2", "3"]),
        ("narrow-dct", &["app.tasks=4", "app.n=32"], "tiny", &["1.."]),
        ("vecadd-two-devices", &[], "two-gpus", &["1", "2"]),
    ];
    for (application, sets, machine, choices) in cases {
        let whole = run_request(&RunRequest { functional: true, ..request(machine, application, sets) });
        let launched = whole.launched.clone().expect("launches");
        for choice in choices {
            let summary =
                run_request(&RunRequest { machine: machine.to_owned(), ..timed(application, sets, choice) });
            assert_verified(&summary);
            assert_eq!(summary.results, whole.results, "{application} {choice}");
            let part = summary.timed.as_ref().expect("launches with time");
            assert_eq!(part.all, launched.len() as u64, "{application} {choice}");
            let own = &launched[part.numbers.start as usize - 1..part.numbers.end as usize - 1];
            assert_eq!(summary.launches.len(), own.len(), "{application} {choice}");
            let expected: u64 = own.iter().map(|launch| launch.warp_instructions).sum();
            assert_eq!(counted(&summary), expected, "{application} {choice}");
        }
    }
}

/// `stamp` writes the cycles that it takes, and adds one to a variable of its module; `move` copies `from` to `to`, with the variable behind.
const STAMPS: &str = ".version 7.0
.target sm_70
.address_size 64
.global .align 4 .u32 counter;
.visible .entry stamp(.param .u64 to) {
    .reg .u32 %r<4>;
    .reg .u64 %rd<2>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %clock;
    ld.global.u32 %r2, [counter];
    add.u32 %r2, %r2, 1;
    st.global.u32 [counter], %r2;
    mov.u32 %r3, %clock;
    sub.u32 %r3, %r3, %r1;
    st.global.u32 [%rd1], %r3;
    ret;
}
.visible .entry move(.param .u64 to, .param .u64 from) {
    .reg .u32 %r<3>;
    .reg .u64 %rd<3>;
    ld.param.u64 %rd1, [to];
    ld.param.u64 %rd2, [from];
    ld.global.u32 %r1, [%rd2];
    st.global.u32 [%rd1], %r1;
    ld.global.u32 %r2, [counter];
    st.global.u32 [%rd1+4], %r2;
    ret;
}
";

fn stamps(folder: &Path) -> String {
    std::fs::write(folder.join("stamps.ptx"), STAMPS).expect("a file");
    let text = "counterpoint: 1
application: stamps
code: { stamps: stamps.ptx }
buffers:
  cycles: { type: u32, elements: 1 }
  copied: { type: u32, elements: 2 }
kernels:
  - { launch: stamps.stamp, grid: 1, block: 1, arguments: [cycles] }
  - { launch: stamps.stamp, grid: 1, block: 1, arguments: [cycles] }
  - { launch: stamps.move, grid: 1, block: 1, arguments: [copied, cycles] }
copy_out: [copied]
postlude:
  - write: { from: copied, file: copied.u32 }
";
    let path = folder.join("stamps.yaml");
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

/// The cycles and the counter that a program of stamps writes.
fn copied(request: &RunRequest) -> [u32; 2] {
    let summary = run_request(request);
    assert!(summary.is_good(), "{}", summary.ending());
    let (words, _) = summary.results[0].1.as_chunks::<4>();
    [u32::from_le_bytes(words[0]), u32::from_le_bytes(words[1])]
}

#[test]
fn launches_behind_those_with_time_have_the_values_of_the_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = stamps(folder.path());
    let [functional, _] = copied(&RunRequest { functional: true, ..request("tiny", &program, &[]) });
    let [whole, counter] = copied(&request("tiny", &program, &[]));
    assert!(whole != functional && counter == 2, "{whole} {functional} {counter}");
    // The first stamp has time, and the second one overwrites its cycles without.
    assert_eq!(copied(&timed(&program, &[], "1")), [functional, 2]);
    assert_eq!(copied(&timed(&program, &[], "move")), [functional, 2]);
    // Now the second stamp is the machine's, whose counter has come from the first.
    let [cycles, counter] = copied(&timed(&program, &[], "2"));
    assert!(cycles != functional && counter == 2, "{cycles} {functional} {counter}");
    assert_eq!(copied(&timed(&program, &[], "stamp")), [whole, 2]);
    assert_eq!(copied(&timed(&program, &[], "..3")), [whole, 2]);
}

#[test]
fn launches_that_cannot_be_told_apart_are_refused() {
    let refused = |application, sets: &[&str], launches| refusal(&timed(application, sets, launches));
    assert_eq!(
        refused("bfs", &["app.nodes=512"], "visits"),
        "error: --timed: no launch is one of them: launches have the numbers 1 to 12, of `advance`, `visit`"
    );
    assert!(refused("narrow-dct", &["app.tasks=8"], "3").contains("launches 1 to 8 are a group"));
}
