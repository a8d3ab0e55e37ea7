//! Narrow tasks.

use counterpoint_host_model::program::{Argument, BufferId, Range, Step, Task};

use super::super::{explain, schema};
use super::{GOOD, loaded};

/// The good application with these lines in place of its kernels and its copies.
fn with(lines: &str) -> String {
    let (head, tail) = (&GOOD[..GOOD.find("copy_in:").unwrap()], &GOOD[GOOD.find("postlude:").unwrap()..]);
    format!("{head}kernels:\n{lines}{tail}")
}

/// Four tasks of two elements.
fn good() -> String {
    with(
        "  - tasks: 4
    index: task
    copy_in: [{ buffer: a, element: \"${2 * task}\", elements: 2 }, b]
    launch: k.scale
    grid: 1
    block: 4
    barrier: true
    registers: 29
    arguments: [{ buffer: a, element: \"${2 * task}\" }, \"${task}\", 2.0]
    copy_out: [{ buffer: a, element: \"${2 * task}\", elements: 2 }]
",
    )
}

/// Two rounds of two kinds.
fn mixed() -> String {
    let kind = |block: u32, elements: &str| {
        format!(
            "      - launch: k.scale
        grid: 2
        block: {block}
        arguments: [a, 8, 2.0]
        copy_out: [{{ buffer: a, element: \"${{4 * round}}\"{elements} }}]
"
        )
    };
    with(&format!("  - tasks: 2\n    index: round\n    do:\n{}{}", kind(4, ", elements: 1"), kind(8, "")))
}

fn tasks(yaml: &str) -> Vec<Task> {
    let app = loaded(yaml, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let [Step::Tasks(tasks)] = &app.application.steps[..] else { panic!("tasks") };
    tasks.to_vec()
}

#[test]
fn every_task_has_copies_of_its_own() {
    let tasks = tasks(&good());
    assert_eq!(tasks.len(), 4);
    let [a, b] = [BufferId(0), BufferId(1)];
    let part = |buffer, offset, bytes| Range { buffer, offset, bytes };
    let Task { copy_in, launch, barrier, copy_out } = &tasks[3];
    assert_eq!(copy_in[..], [part(a, 24, 8), part(b, 0, 32)], "a buffer alone is all of it");
    assert_eq!(copy_out[..], [part(a, 24, 8)]);
    assert_eq!((launch.grid, launch.block, launch.registers, *barrier), ([1; 3], [4, 1, 1], 29, true));
    let value = |bytes: [u8; 4]| Argument::Value(bytes.into());
    let arguments = [Argument::Buffer(a, 24), value(3_u32.to_le_bytes()), value(2.0_f32.to_le_bytes())];
    assert_eq!(launch.arguments, arguments);
}

#[test]
fn tasks_count_as_launches_copies_and_blocks() {
    let of = |yaml: &str| loaded(yaml, &[]).unwrap().application;
    let app = of(&good());
    assert_eq!((app.launches(), app.ctas(), app.bytes()), (4, 4, 4 * (8 + 32 + 8) + 3 * 32));
    assert_eq!((Step::launches(&app.steps).len(), app.modules.len()), (4, 1));
    let none = of(&good().replace("tasks: 4", "tasks: \"${n - 8}\""));
    assert_eq!(
        (none.steps.len(), none.launches(), none.bytes()),
        (1, 0, 3 * 32),
        "a number may come to none"
    );
    let app = of(&mixed());
    assert_eq!((app.launches(), app.ctas(), app.bytes()), (4, 8, 4 + 32 + 4 + 16 + 3 * 32));
}

#[test]
fn a_round_has_a_task_of_each_kind() {
    let tasks = tasks(&mixed());
    let seen: Vec<(u32, u64, u64)> = tasks
        .iter()
        .map(|task| (task.launch.block[0], task.copy_out[0].offset, task.copy_out[0].bytes))
        .collect();
    assert_eq!(seen, [(4, 0, 4), (8, 0, 32), (4, 16, 4), (8, 16, 16)], "without a number all that is left");
    assert!(tasks.iter().all(|task| !task.barrier && task.copy_in.is_empty()));
}

#[test]
fn problems_of_tasks_are_shown_where_they_are() {
    let cases = [
        (good(), "tasks: 4", "tasks: -1", "13:12: error: tasks is -1"),
        (good(), "tasks: 4", "tasks: 5", "15:37: error: the element of `a` is 8"),
        (good(), "tasks: 4", "tasks: 1048577", "13:12: error: tasks is 1048577"),
        (good(), "    index: task\n", "", "13:5: error: tasks needs the key `index`"),
        (good(), "index: task", "index: n", "14:12: error: `n` has a meaning already"),
        (good(), "index: task", "index: task\n    let: { n: 1 }", "15:12: error: `n` has a meaning already"),
        (
            good(),
            "index: task",
            "index: task\n    let: { task: 1 }",
            "15:12: error: `task` has a meaning already",
        ),
        (good(), "index: task", "index: task\n    let: 7", "15:10: error: expected values by their names"),
        (good(), "index: task", "index: task\n    let: { x: \"${y}\" }", "15:18: error: unknown name `y`"),
        (good(), "elements: 2", "elements: 9", "15:62: error: the number of elements of `a` from 0 on is 9"),
        (good(), "elements: 2", "element: 2", "15:52: error: duplicate key `element`"),
        (good(), "element: ", "elemet: ", "15:28: error: unknown key `elemet` in a part of a buffer"),
        (good(), "buffer: a", "buffer: c", "15:25: error: there is no buffer `c`"),
        (good(), "2 }, b]", "2 }, c]", "15:67: error: there is no buffer `c`"),
        (good(), "grid: 1", "grid: [1, 2]", "17:11: error: the grid of a task has one dimension"),
        (good(), "block: 4", "block: [4, 2]", "18:12: error: the block of a task has one dimension"),
        (good(), "barrier: true", "barrier: yes", "19:14: error: `yes` is neither `true` nor `false`"),
        (good(), "barrier: true", "stream: s", "19:5: error: unknown key `stream` in tasks"),
        (good(), "    grid: 1\n", "", "13:5: error: a launch needs the key `grid`"),
        (mixed(), "grid: 2", "grids: 2", "17:9: error: unknown key `grids` in a task"),
        (mixed(), "grid: 2\n", "device: 1\n        grid: 2\n", "16:9: error: the tasks of a step run on one"),
        (mixed(), "index: round", "block: 4\n    index: round", "14:12: error: `block` beside `do`"),
        (mixed(), "tasks: 2", "tasks: 600000", "14:12: error: 600000 rounds of 2 tasks are too many"),
    ];
    for (yaml, from, to, expected) in cases {
        assert!(yaml.contains(from), "{from}");
        let found = loaded(&yaml.replacen(from, to, 1), &[]).expect_err(to);
        let is_expected = |line: &str| line.starts_with(&format!("x/app.yaml:{expected}"));
        assert!(found.lines().any(is_expected), "{to}: {found}");
    }
}

#[test]
fn a_round_has_values_of_its_own() {
    let named = "index: task\n    let:\n      pair: \"${2 * task}\"\n      part: \"${pair / 4}\"";
    let lines = good().replace("index: task", named).replace("${2 * task}\"", "${pair}\"");
    let lines = lines.replace("\"${task}\"", "\"${part}\"").replace("pair: \"${pair}", "pair: \"${2 * task}");
    let tasks = tasks(&lines);
    let offsets: Vec<u64> = tasks.iter().map(|task| task.copy_out[0].offset).collect();
    assert_eq!(offsets, [0, 8, 16, 24]);
    let halves = tasks.iter().map(|task| task.launch.arguments[1].clone()).collect::<Vec<_>>();
    assert_eq!(halves, [0, 0, 1, 1].map(|half: u32| Argument::Value(half.to_le_bytes().into())));
    let behind =
        loaded(&lines.replace("out/a.f32", "\"${pair}\""), &[]).expect_err("names end with the step");
    assert!(behind.contains("unknown name `pair`"), "{behind}");
    // The problem is reported once, not once per task.
    let wrong = loaded(&lines.replace("pair / 4", "pears / 4"), &[]).expect_err("a problem");
    assert_eq!(wrong.matches("error: ").count(), 1, "{wrong}");
}

#[test]
fn what_was_freed_is_not_copied_for_a_task() {
    let freed = good().replace("kernels:\n", "kernels:\n  - free: b\n");
    let found = loaded(&freed, &[]).expect_err("a problem");
    assert!(found.contains("x/app.yaml:16:67: error: `b` has been freed before"), "{found}");
    assert_eq!(found.matches("error: ").count(), 1, "told once and not for every task: {found}");
    let late = good().replace("postlude:", "  - free: a\npostlude:");
    assert!(loaded(&late, &[]).is_ok());
}

#[test]
fn what_no_task_copies_back_is_never_received() {
    let kept = good().replace("    copy_out: [{ buffer: a, ", "    copy_out: [{ buffer: b, ");
    let written = kept.replace("read: { file: a.f32, into: a }", "read: { file: a.f32, into: b }");
    let found = loaded(&written, &[]).expect_err("a problem");
    assert!(found.contains("error: the host never receives `a`"), "{found}");
    assert!(loaded(&kept, &[]).is_ok(), "what the prelude fills, the host has");
}

#[test]
fn before_the_run_there_are_no_tasks() {
    let lines = good();
    let lines = &lines[lines.find("  - tasks").unwrap()..lines.find("postlude:").unwrap()];
    let found = loaded(&format!("{GOOD}preload:\n{lines}"), &[]).expect_err("a problem");
    assert!(found.contains("error: before the run there are no tasks"), "{found}");
}

#[test]
fn the_keys_of_tasks_are_explained_and_in_the_schema() {
    let (text, schema) = (explain(), schema());
    for key in ["tasks", "barrier", "elements"] {
        assert!(text.contains(&format!("\n  {key} ")), "{key}");
    }
    let properties = |section: &str| schema["$defs"][section]["properties"].clone();
    assert!(properties("tasks")["tasks"].is_object() && properties("tasks")["launch"].is_object());
    assert!(properties("a-task")["tasks"].is_null() && properties("a-task")["launch"].is_object());
    assert!(properties("a-repetition")["do"].to_string().contains("#/$defs/tasks"));
}
