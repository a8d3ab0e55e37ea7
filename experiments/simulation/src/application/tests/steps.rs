//! Sizes, indices of repetitions, and loops that the device ends.

use counterpoint_host_model::program::{Argument, BufferId, Condition, Step};

use super::super::{PerLaunch, explain, schema};
use super::{GOOD, loaded};

/// The good application with sizes and with a loop in place of its repetition.
fn looping() -> String {
    GOOD.replace("code: {", "sizes: { small: { n: 4 }, odd: { n: 6, half: 1 } }\ncode: {")
        .replace("- repeat: 3", "- until: { buffer: b, element: 2, equals: 0.5 }\n    at_most: \"${n}\"")
        .replace("      - swap: [a, b]\n", "")
        .replace("file: a.f32,", "file: \"a_${n}.f32\", generate: { constant: { value: 1 } },")
}

/// The first lines of the problems of the looping application with one text replaced.
#[track_caller]
fn problems(from: &str, to: &str, sets: &[&str]) -> Vec<String> {
    let yaml = looping();
    assert!(yaml.contains(from), "{from}");
    let text = loaded(&yaml.replacen(from, to, 1), sets).expect_err("a problem");
    text.lines().filter(|line| line.contains(": error: ")).map(str::to_owned).collect()
}

#[test]
fn a_loop_looks_at_an_element() {
    let app = loaded(&looping(), &[]).unwrap();
    let [Step::Loop { until, most: 8, steps }] = &app.application.steps[..] else { panic!("a loop") };
    let Condition { buffer, offset, value, words } = until;
    assert_eq!((buffer.0, *offset, &**value), (1, 8, &0.5_f32.to_le_bytes()[..]));
    assert_eq!(words, "b[2] equals 0.5");
    assert_eq!(steps.len(), 1);
    assert_eq!(app.application.ctas(), 3, "what is not known is counted once");
}

#[test]
fn problems_of_loops_are_shown_where_they_are() {
    let cases = [
        ("buffer: b", "buffer: c", "x/app.yaml:15:22: error: there is no buffer `c`"),
        ("element: 2", "element: 8", "x/app.yaml:15:34: error: the element of `b` is 8"),
        ("equals: 0.5", "equals: half", "x/app.yaml:15:45: error: `half` is not a number"),
        ("equals: 0.5", "equal: 0.5", "x/app.yaml:15:12: error: a condition needs the key `equals`"),
        ("    at_most: \"${n}\"\n", "", "x/app.yaml:15:5: error: a loop needs the key `at_most`"),
        ("at_most: \"${n}\"", "at_most: 0", "x/app.yaml:16:14: error: at_most is 0"),
        ("- until:", "- untill:", "x/app.yaml:15:5: error: there is no step `untill`"),
    ];
    for (from, to, expected) in cases {
        assert_eq!(problems(from, to, &[]).first().map(String::as_str), Some(expected), "{to}");
    }
    let yaml = looping();
    let (head, tail) = (&yaml[..yaml.find("    do:").unwrap()], &yaml[yaml.find("copy_out").unwrap()..]);
    let idle = loaded(&format!("{head}    do: [{{ swap: [a, b] }}]\n{tail}"), &[]).expect_err("a problem");
    assert!(idle.contains("error: the loop launches nothing, so that nothing can end it"), "{idle}");
}

#[test]
fn sizes_are_chosen_by_name() {
    let parameters = |sets: &[&str]| {
        let app = loaded(&looping(), sets).unwrap();
        (app.parameters["n"], app.parameters["half"])
    };
    assert_eq!(parameters(&[]), (8.0, 4.0));
    assert_eq!(parameters(&["app.size=small"]), (4.0, 2.0), "what is not in the size follows from it");
    assert_eq!(parameters(&["app.size=odd"]), (6.0, 1.0));
    assert_eq!(parameters(&["app.n=10", "app.size=odd"]), (10.0, 1.0), "a setting wins");
    assert_eq!(parameters(&["app.size=odd", "app.size=small"]), (4.0, 2.0), "the last one wins");
    let unknown = loaded(&looping(), &["app.size=smal"]).expect_err("a problem");
    let expected = "\
--set app.size=smal: error: the application has no size `smal`
 1 | app.size=smal
   |          ^^^^
   = help: did you mean `small`?
";
    assert_eq!(unknown, expected);
    let without = loaded(GOOD, &["app.size=small"]).expect_err("a problem");
    assert!(without.contains("the application has no parameter `size`"), "{without}");
    let cases = [
        (
            "small: { n: 4 }",
            "small: { m: 4 }",
            "x/app.yaml:5:19: error: the application has no parameter `m`",
        ),
        (
            "small: { n: 4 }",
            "small: 4",
            "x/app.yaml:5:17: error: expected parameters as a map, found a single value",
        ),
        (
            "half: \"${n / 2}\"",
            "half: 4, size: 1",
            "x/app.yaml:4:30: error: with `sizes`, no parameter can be called `size`",
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(problems(from, to, &[]).first().map(String::as_str), Some(expected), "{to}");
    }
}

#[test]
fn a_repetition_can_count_its_rounds() {
    let counting = GOOD
        .replace("repeat: 3", "repeat: 3\n    index: i")
        .replace("arguments: [a, \"${n}\"", "arguments: [a, \"${n * i}\"");
    let app = loaded(&counting, &[]).unwrap();
    let [Step::Repeat(1, steps)] = &app.application.steps[..] else { panic!("a repetition") };
    let numbers: Vec<&Argument> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Launch(launch) => Some(&launch.arguments[1]),
            _ => None,
        })
        .collect();
    let number = |value: u32| Argument::Value(value.to_le_bytes().into());
    assert_eq!(numbers, [&number(0), &number(8), &number(16)]);
    assert_eq!(steps.len(), 6, "the swaps are repeated too");

    let taken = loaded(&counting.replace("index: i", "index: n"), &[]).expect_err("a problem");
    assert!(taken.contains("x/app.yaml:15:12: error: `n` has a meaning already"), "{taken}");
    let constant = GOOD.replace("repeat: 3", "repeat: 3\n    let: { x: 1 }");
    let constant = loaded(&constant, &[]).expect_err("a problem");
    assert!(constant.contains("15:10: error: `let` without `index`"), "{constant}");
    let once = loaded(&counting.replace("n * i", "m * i"), &[]).expect_err("a problem");
    assert_eq!(once.matches("error: ").count(), 1, "one problem, not one a round: {once}");
}

#[test]
fn the_new_keys_are_explained_and_in_the_schema() {
    let (text, schema) = (explain(), schema());
    for key in ["until", "at_most", "equals", "index", "sizes", "pipeline"] {
        assert!(text.contains(&format!("\n  {key} ")), "{key}");
    }
    assert!(schema["properties"]["sizes"].is_object());
    assert!(schema["$defs"]["a-loop"]["properties"]["until"].is_object());
    assert!(schema["$defs"]["a-repetition"]["properties"]["do"].to_string().contains("a-loop"));
}

const COUNTS: &str = "counts:
  default: { scale: { ctas: 3, warp_insn: [3, 4, 5] } }
  small:   { scale: { ctas: 2, warp_insn: { total: 12 } } }
";

#[test]
fn counts_apply_to_the_size_that_states_them() {
    let yaml = format!("{}{COUNTS}", looping());
    let counts = |sets: &[&str]| {
        let app = loaded(&yaml, sets).unwrap();
        app.counts.map(|counts| (counts["scale"].ctas.clone(), counts["scale"].warp_insn.clone()))
    };
    assert_eq!(counts(&[]), Some((PerLaunch::Each(3), PerLaunch::Listed(vec![3, 4, 5]))));
    assert_eq!(counts(&["app.size=small"]), Some((PerLaunch::Each(2), PerLaunch::Total(12))));
    assert_eq!(counts(&["app.size=odd"]), None, "it says nothing of this size");
    assert_eq!(counts(&["app.n=16"]), None, "no size has this value");
}

#[test]
fn counts_agree_with_the_launches_that_they_state() {
    let (each, listed, total) = (PerLaunch::Each(4), PerLaunch::Listed(vec![3, 5]), PerLaunch::Total(8));
    assert!(each.agrees(&[4, 4]) && !each.agrees(&[4, 5]));
    assert!(listed.agrees(&[3, 5]) && !listed.agrees(&[5, 3]) && !listed.agrees(&[3]));
    assert!(total.agrees(&[1, 7]) && !total.agrees(&[8, 1]));
}

#[test]
fn problems_of_counts_are_shown_where_they_are() {
    let cases = [
        ("{ scale: { ctas: 2", "{ scala: { ctas: 2", "3:14: error: no launch runs a kernel `scala`"),
        ("small:  ", "smal:   ", "3:3: error: the application has no size `smal`"),
        ("ctas: 2, ", "", "3:21: error: a count needs the key `ctas`"),
        ("ctas: 2", "ctas: -2", "3:29: error: ctas is -2"),
        ("warp_insn: {", "warp: {", "3:32: error: unknown key `warp` in a count"),
        ("[3, 4, 5]", "{ a: 3 }", "2:45: error: unknown key `a` in a total"),
    ];
    for (from, to, expected) in cases {
        assert!(COUNTS.contains(from), "{from}");
        let head = looping();
        let text = loaded(&format!("{head}{}", COUNTS.replacen(from, to, 1)), &[]).expect_err("a problem");
        let (place, message) = expected.split_once(':').unwrap();
        let line = head.lines().count() + place.parse::<usize>().unwrap();
        assert!(text.contains(&format!("x/app.yaml:{line}:{message}")), "{to}: {text}");
    }
}

const PRELOAD: &str = "preload:
  - load: { file: a.f32, into: b }
  - repeat: 2
    do: [{ launch: k.scale, grid: 1, block: 4, arguments: [b, 8, 2.0] }]
";

#[test]
fn files_and_kernels_come_before_the_run() {
    let app = loaded(&format!("{GOOD}{PRELOAD}"), &[]).unwrap();
    assert_eq!(app.application.preloaded[0].0, 1);
    assert!(matches!(&app.application.preload[..], [Step::Repeat(2, steps)] if steps.len() == 1));
    assert_eq!((app.preloaded.len(), app.files().count()), (1, 3));
    assert_eq!(app.application.ctas(), 9, "what comes before the run is no work of the run");
}

#[test]
fn problems_of_a_preload_are_shown_where_they_are() {
    let launch = "  - launch: k.scale\n    grid: 1\n    block: 4\n    arguments: [b, 8, 2.0]\n";
    let load = "  - load: { file: a.f32, into: b }\n";
    let cases = [
        (format!("{launch}{load}"), "6:5: error: a file is loaded behind a launch"),
        ("  - swap: [a, b]\n".to_owned(), "2:5: error: before the run, names cannot be swapped"),
        ("  - repeat: 2\n    do: [{ free: a }]\n".to_owned(), "2:5: error: before the run, names cannot"),
        (load.replace("into: b", "into: c"), "2:32: error: there is no buffer `c`"),
        (load.replace("file", "files"), "2:13: error: unknown key `files` in load"),
        (load.replace("load", "laod"), "2:5: error: there is no step `laod`"),
    ];
    for (steps, expected) in cases {
        let text = loaded(&format!("{GOOD}preload:\n{steps}"), &[]).expect_err("a problem");
        let (place, message) = expected.split_once(':').unwrap();
        let line = GOOD.lines().count() + place.parse::<usize>().unwrap();
        assert!(text.contains(&format!("x/app.yaml:{line}:{message}")), "{steps}: {text}");
    }
}

/// The problems of the good application with these lines at the end of its kernels.
fn freeing(lines: &str) -> Vec<String> {
    let yaml = GOOD.replace("copy_out:", &format!("{lines}copy_out:"));
    let Err(text) = loaded(&yaml, &[]) else { return Vec::new() };
    text.lines().filter(|line| line.contains(": error: ")).map(str::to_owned).collect()
}

#[test]
fn what_was_freed_can_be_neither_copied_nor_freed_again() {
    let message = |line: u32, column: u32, name: &str| {
        format!("x/app.yaml:{line}:{column}: error: `{name}` has been freed before")
    };
    // Three swaps precede: `a` has the memory of `b`, and is copied out.
    assert_eq!(freeing("  - free: b\n"), Vec::<String>::new());
    assert_eq!(freeing("  - free: a\n"), [message(23, 12, "a")]);
    assert_eq!(freeing("  - free: b\n  - free: b\n"), [message(23, 11, "b")]);
    // A swap between: what was called `a` is called `b`.
    assert_eq!(freeing("  - free: a\n  - swap: [a, b]\n"), Vec::<String>::new());
    assert_eq!(freeing("  - free: a\n  - swap: [a, b]\n  - free: b\n"), [message(24, 11, "b")]);
    // A second round frees again, unless the names have changed; a third one does in any case.
    let rounds = |times: &str, swap: &str| format!("  - repeat: {times}\n    do:\n      - free: b\n{swap}");
    let swap = "      - swap: [a, b]\n";
    assert_eq!(freeing(&rounds("1", "")), Vec::<String>::new());
    assert_eq!(freeing(&rounds("4000000000", "")), [message(24, 15, "b")]);
    let twice = freeing(&rounds("2", swap));
    assert_eq!(twice, [message(26, 12, "a")], "both are freed, and one is copied");
    assert_eq!(freeing(&rounds("3", swap)), [message(24, 15, "b"), message(26, 12, "a")]);
    assert_eq!(freeing("  - free: c\n"), ["x/app.yaml:22:11: error: there is no buffer `c`"]);
}

#[test]
fn a_loop_cannot_look_at_what_was_freed() {
    let yaml = looping().replace("kernels:\n", "kernels:\n  - free: b\n");
    let text = loaded(&yaml, &[]).expect_err("a problem");
    assert!(text.contains("x/app.yaml:16:12: error: `b` has been freed before"), "{text}");
    let app = loaded(&looping().replace("copy_out:", "  - free: b\ncopy_out:"), &[]).unwrap();
    assert!(matches!(app.application.steps[..], [Step::Loop { .. }, Step::Free(name)] if name.0 == 1));
    let (text, schema) = (explain(), schema());
    assert!(text.contains("\n  free ") && schema["$defs"]["a-release"]["properties"]["free"].is_object());
}

#[test]
fn a_pipeline_has_the_same_kernels_for_every_batch() {
    let text = GOOD
        .replace("repeat: 3", "pipeline: 3\n    index: batch")
        .replace("arguments: [a, \"${n}\"", "arguments: [{ buffer: a, element: \"${2 * batch}\" }, \"${n}\"");
    let text = text.lines().filter(|line| !line.contains("swap")).collect::<Vec<_>>().join("\n");
    let app = loaded(&text, &[]).unwrap();
    let [Step::Pipeline { kernels: 1, launches }] = &app.application.steps[..] else { panic!("a pipeline") };
    let first = |step: &Step| match step {
        Step::Launch(launch) => launch.arguments[0].clone(),
        _ => panic!("a launch"),
    };
    let a = app.application.buffers.iter().position(|buffer| buffer.name == "a").unwrap() as u32;
    let at = |offset| Argument::Buffer(BufferId(a), offset);
    assert_eq!(launches.iter().map(first).collect::<Vec<_>>(), [at(0), at(8), at(16)]);
    assert_eq!(app.application.launches(), 3);

    let problem = |from: &str, to: &str| loaded(&text.replace(from, to), &[]).expect_err("a problem");
    let cases = [
        ("element: \"${2 * batch}\"", "element: \"${4 * batch}\"", "the element of `a` is 8"),
        ("index: batch", "index: n", "`n` has a meaning already"),
        ("    index: batch\n", "", "a pipeline needs the key `index`"),
        ("{ buffer: a, element", "{ bufer: a, element", "unknown key `bufer` in an element's address"),
        ("{ buffer: a, element", "{ buffer: x, element", "there is no buffer `x`"),
        ("- launch:", "- swap: [a, a]\n      - launch:", "a pipeline has launches only"),
        ("- launch:", "- stream: s\n        launch:", "the runtime says on which stream"),
    ];
    for (from, to, expected) in cases {
        let found = problem(from, to);
        assert!(found.contains(expected), "{to}: {found}");
    }
}
