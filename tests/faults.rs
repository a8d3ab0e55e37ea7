//! Faults on the links of a real machine: each is noticed, and the report leads to it.

use counterpoint_cli::{FAILURE, NOT_VERIFIED, SUCCESS};
use counterpoint_framework::kernel::Outcome;
use counterpoint_framework::model::StatValue;
use counterpoint_simulation::run::{RunRequest, RunSummary};

use crate::cli::{Called, application, call, tiny};
use crate::support::{assert_verified, request, run_request};

const SETS: [&str; 2] = ["app.n=40", "app.launches=2"];

/// An overlay with one fault, and its folder.
fn overlay(fault: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("faults.yaml");
    std::fs::write(&file, format!("counterpoint: 1\noverlay: faults\nfaults:\n  - {{ {fault} }}\n")).unwrap();
    let path = file.to_string_lossy().into_owned();
    (folder, path)
}

fn run_with_fault(fault: &str) -> RunSummary {
    let (_folder, file) = overlay(fault);
    run_request(&RunRequest { overlays: vec![file], hash: true, ..request("tiny", "hotspot", &SETS) })
}

fn call_with_fault(fault: &str, more: &[&str]) -> (Called, tempfile::TempDir) {
    let (folder, file) = overlay(fault);
    let app = application(folder.path(), "hotspot");
    let out = folder.path().join("out").to_string_lossy().into_owned();
    let tiny = tiny();
    let mut arguments = vec!["run", &tiny, &app, "--with", &file, "--out", &out];
    SETS.iter().for_each(|set| arguments.extend(["--set", set]));
    arguments.extend(more);
    (call(&arguments), folder)
}

fn count(summary: &RunSummary, path: &str, name: &str) -> u64 {
    let row = summary.report.stats.iter().find(|row| row.path == path && row.label.name == name);
    match row.unwrap_or_else(|| panic!("no statistic {path}.{name}")).value {
        StatValue::Count(count) => count,
        StatValue::Distribution { count, .. } => count,
        StatValue::Ratio { .. } => 0,
    }
}

#[test]
fn a_fault_that_never_happens_changes_nothing() {
    // Eight cycles long: there is room for the injector.
    let summary = run_with_fault("to: \"gpu.scheduler.sms[0]\", fault: drop, nth: 1000000");
    assert_verified(&summary);
    let without = run_request(&request("tiny", "hotspot", &SETS));
    assert_eq!(summary.report.outcome, without.report.outcome);
    let path = summary.report.stats.iter().find(|row| row.label.name == "dropped").unwrap().path.clone();
    assert!(path.ends_with("!fault") && count(&summary, &path, "messages") > 0, "{path}");
    let own: Vec<_> = summary.report.stats.iter().filter(|row| row.path != path).collect();
    assert_eq!(own, without.report.stats.iter().collect::<Vec<_>>());
}

#[test]
fn a_lost_reply_ends_in_a_deadlock_that_names_who_waits_for_it() {
    let (called, folder) = call_with_fault("to: \"gpu.sm[0].memory\", fault: drop, nth: 5", &[]);
    assert_eq!(called.status, FAILURE, "{}", called.err);
    let report = &called.err[called.err.find("error: deadlock at ").expect("a deadlock")..];
    for line in [
        "gpu.sm[0] has begun work that it has not finished",
        "gpu.sm[0].memory waits for a message from gpu.network.clients[1]!fault",
        "host.cpu.devices waits for a message from host.bridge",
    ] {
        assert!(report.contains(line), "`{line}` is missing in\n{report}");
    }
    assert!(!report.contains("gpu.sm[1] has begun"), "the other SM has ended its blocks:\n{report}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join("out").join(name)).unwrap();
    assert!(read("manifest.yaml").contains("partial: true"));
    assert!(read("manifest.yaml").contains("outcome: |-\n  deadlock at "), "{}", read("manifest.yaml"));
    assert!(read("stats.txt").contains("gpu.network.clients[1]!fault.dropped"));
    // The written machine has the fault, and runs unchanged.
    assert!(read("machine.yaml").contains("fault: drop, nth: 5"), "{}", read("machine.yaml"));
}

#[test]
fn a_deadlock_before_the_stop_is_a_deadlock() {
    let fault = "to: \"gpu.sm[0].memory\", fault: drop, nth: 5";
    let (plain, _folder) = call_with_fault(fault, &[]);
    assert_eq!(plain.status, FAILURE, "{}", plain.err);
    for threads in ["1", "2"] {
        let stop =
            |time| call_with_fault(fault, &["--threads", threads, "--force-threads", "--stop-at", time]);
        let (late, folder) = stop("1 s");
        let error =
            |called: &Called| called.err[called.err.find("error: deadlock at ").unwrap()..].to_owned();
        assert_eq!((late.status, error(&late)), (FAILURE, error(&plain)));
        let manifest = std::fs::read_to_string(folder.path().join("out/manifest.yaml")).unwrap();
        assert!(manifest.contains("outcome: |-\n  deadlock at "), "{manifest}");
        // Before it there is still something to do.
        let (early, _folder) = stop("10 us");
        assert_eq!(early.status, SUCCESS, "{}", early.err);
        assert!(early.out.contains("stopped at 10 us"), "{}", early.out);
    }
}

#[test]
fn corrupted_replies_make_wrong_results() {
    let (called, _folder) = call_with_fault("to: \"gpu.sm[0].memory\", fault: corrupt, every: 7", &[]);
    assert_eq!(called.status, NOT_VERIFIED, "{}", called.err);
    assert!(called.err.contains("error: verification failed: temperature "), "{}", called.err);
}

#[test]
fn a_delay_changes_the_time_and_nothing_else() {
    let delayed = run_with_fault("to: \"gpu.l2[0].requests\", fault: delay, by: 5 us, nth: 20");
    assert_verified(&delayed);
    let without = run_request(&request("tiny", "hotspot", &SETS));
    assert!(matches!(delayed.report.outcome, Outcome::Finished(_)));
    assert!(delayed.report.outcome.time() > without.report.outcome.time());
}

#[test]
fn a_doubled_reply_is_noticed() {
    let (called, _folder) = call_with_fault("to: \"gpu.sm[0].memory\", fault: duplicate, nth: 5", &[]);
    assert_eq!(called.status, FAILURE, "{}", called.err);
    assert!(called.err.contains("error: gpu.sm[0] failed at "), "{}", called.err);
}

#[test]
fn withheld_credits_end_in_a_deadlock_that_names_the_link() {
    let (called, _folder) =
        call_with_fault("to: \"gpu.l2[0].requests\", fault: withhold-credit, nth: 5", &[]);
    assert_eq!(called.status, FAILURE, "{}", called.err);
    assert!(called.err.contains("error: deadlock at ") && called.err.contains("!fault"), "{}", called.err);
}

/// Runs on an L2 that is small enough to evict lines, and that caches data only, and returns the report of
/// the deadlock that the fault causes.
fn deadlock_below_the_l2(fault: &str) -> String {
    let (_folder, file) = overlay(fault);
    let small = ["gpu.l2.cache.capacity=4 KiB", "gpu.sm.l1i.perfect=on", "gpu.sm.l1c.perfect=on"];
    let sets = [&SETS[..], &small].concat();
    let summary = run_request(&RunRequest { overlays: vec![file], ..request("tiny", "hotspot", &sets) });
    let Outcome::Deadlock(hang) = &summary.report.outcome else { panic!("{}", summary.report.outcome) };
    hang.to_string()
}

#[test]
fn a_line_that_dram_never_sends_is_missed_by_the_l2() {
    let report = deadlock_below_the_l2("to: \"gpu.l2[0].memory\", fault: drop, after: 20 us, count: 8");
    for line in [
        "gpu.l2[0] has begun work that it has not finished",
        "gpu.l2[0].memory waits for a message from gpu.dram[0].clients[0]!fault",
        "gpu.sm[0] has begun work that it has not finished",
        "gpu.scheduler has begun work that it has not finished",
        "gpu.front has begun work that it has not finished",
    ] {
        assert!(report.contains(line), "`{line}` is missing in\n{report}");
    }
    for idle in ["gpu.dram[0] ", "gpu.dram[1] ", "gpu.l2[1] ", "gpu.copy ", "host.memory ", "host.input "] {
        assert!(!report.contains(idle), "{idle}has done all it should:\n{report}");
    }
}

#[test]
fn a_dram_controller_that_cannot_answer_is_busy() {
    let report = deadlock_below_the_l2("to: \"gpu.l2[0].memory\", fault: withhold-credit, after: 20 us");
    for line in [
        "gpu.dram[0].clients[0]!fault has begun work that it has not finished",
        "gpu.dram[0] has begun work that it has not finished",
        "gpu.dram[0].clients[0] waits for a credit from gpu.dram[0].clients[0]!fault (6 of 6 messages",
        "gpu.l2[0] has begun work that it has not finished",
    ] {
        assert!(report.contains(line), "`{line}` is missing in\n{report}");
    }
    // The other slice of the channel waits behind the replies that do not leave; the other channel is
    // unaffected.
    assert!(report.contains("gpu.l2[1].memory waits for a message from gpu.dram[0]\n"), "{report}");
    for idle in ["gpu.dram[1] ", "gpu.l2[2] ", "gpu.l2[3] ", "gpu.copy "] {
        assert!(!report.contains(idle), "{idle}has done all it should:\n{report}");
    }
}

#[test]
fn faults_are_the_same_on_any_number_of_threads() {
    let fault = "to: \"gpu.sm[*].memory\", fault: delay, by: 300 ns, probability: 0.05";
    let (_folder, file) = overlay(fault);
    let run = |threads| {
        let request = request("tiny", "hotspot", &SETS);
        run_request(&RunRequest { overlays: vec![file.clone()], hash: true, threads, ..request })
    };
    let one = run(1);
    assert_verified(&one);
    for threads in [2, 3] {
        assert_eq!(run(threads).report.hash, one.report.hash, "{threads} threads");
    }
}

#[test]
fn the_command_checks_and_explains_faults() {
    let (_folder, file) = overlay("to: \"gpu.sm[0].memroy\", fault: drop");
    let called = call(&["check", &tiny(), "--with", &file]);
    assert_eq!(called.status, FAILURE);
    assert!(called.err.contains("did you mean `gpu.sm[0].memory`?"), "{}", called.err);
    let (_folder, file) = overlay("to: \"gpu.sm[0].work\", fault: corrupt");
    let called = call(&["check", &tiny(), "--with", &file]);
    assert!(called.err.contains("a ToSm cannot be corrupted: it carries no values"), "{}", called.err);
    let (_folder, file) = overlay("to: \"gpu.sm[0].memory\", fault: drop, nth: 5");
    let called = call(&["check", &tiny(), "--with", &file]);
    assert_eq!((called.status, called.err.as_str()), (SUCCESS, ""));
    let called = call(&["explain", "faults"]);
    assert_eq!(called.status, SUCCESS);
    assert!(called.out.contains("withhold-credit") && called.out.contains("probability: a number, 0 to 1"));
}
