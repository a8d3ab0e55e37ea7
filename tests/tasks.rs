//! Narrow tasks on whole machines: each with copies of its own, one after another.

use counterpoint_tests::quarters::Quarters;

use crate::support::{assert_verified, assert_wrong, run_request};

fn quarters() -> Quarters {
    Quarters::with("quarters", "quarters")
}

#[test]
fn tasks_compute_the_same_under_every_runtime_that_takes_them() {
    for runtime in ["serial", "streams"] {
        assert_verified(&quarters().run(&[&format!("host.cpu.runtime={runtime}")]));
    }
    let quarters = quarters();
    assert_verified(&run_request(&quarters.request("titanx-maxwell", &[])));
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
