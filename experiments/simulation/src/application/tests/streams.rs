//! Streams, events, copies between launches, and registers.

use counterpoint_host_model::program::{Awaited, BufferId, EventId, Step};
use counterpoint_protocols::bus::Direction;

use super::super::{explain, schema};
use super::{GOOD, loaded};

/// The good application with these lines in place of its kernels.
fn with(lines: &str) -> String {
    let (head, tail) = (&GOOD[..GOOD.find("kernels:").unwrap()], &GOOD[GOOD.find("copy_out:").unwrap()..]);
    format!("{head}kernels:\n{lines}{tail}")
}

const LAUNCH: &str = "{ launch: k.scale, grid: 1, block: 4, arguments: [b, 8, 2.0]";

/// Two streams: the second one waits for what the first one has copied.
fn good() -> String {
    with(&format!(
        "  - {{ copy_in: a, stream: up }}
  - record: {{ event: copied, stream: up }}
  - wait: {{ event: copied, stream: down }}
  - {LAUNCH}, stream: down, registers: 29 }}
  - synchronize: copied
  - synchronize: down
  - synchronize: all
  - copy_out: b
"
    ))
}

#[track_caller]
fn problems(yaml: &str) -> Vec<String> {
    let text = loaded(yaml, &[]).expect_err("a problem");
    text.lines().filter(|line| line.contains(": error: ")).map(str::to_owned).collect()
}

#[test]
fn streams_are_numbered_and_events_tie_them() {
    let app = loaded(&good(), &[]).unwrap().application;
    let names: Vec<&str> = app.streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["default", "up", "down"]);
    let copied = EventId(0);
    let [
        Step::Copy { direction: Direction::HostToDevice, part, stream: 1 },
        Step::Record(recorded, 1),
        Step::Wait(awaited, 2),
        Step::Launch(launch),
        Step::Synchronize(Awaited::Event(event)),
        Step::Synchronize(Awaited::Stream(2)),
        Step::Synchronize(Awaited::All),
        Step::Copy { direction: Direction::DeviceToHost, part: back, stream: 0 },
    ] = &app.steps[..]
    else {
        panic!("{:?}", app.steps)
    };
    assert_eq!((*part, *back), (app.whole(BufferId(0)), app.whole(BufferId(1))));
    assert_eq!([*recorded, *awaited, *event], [copied; 3]);
    assert_eq!((launch.stream, launch.registers), (2, 29));
    assert_eq!(app.bytes(), 8 * 32, "five copies and three files");
}

#[test]
fn streams_may_be_non_blocking() {
    let of = |list: &str| format!("{}non_blocking: [{list}]\n", good());
    let app = loaded(&of("down"), &[]).unwrap().application;
    assert_eq!([0, 1, 2].map(|stream| app.is_blocking(stream)), [true, true, false]);
    let report = loaded(&of("down, dwn"), &[]).expect_err("a problem");
    assert!(report.contains("error: no step is on a stream `dwn`"), "{report}");
    assert!(report.contains("did you mean `down`?"), "{report}");
}

#[test]
fn rounds_may_have_streams_of_their_own() {
    let rounds = format!("  - repeat: 3\n    index: i\n    do: [{LAUNCH}, stream: \"s${{i % 2}}\" }}]\n");
    let app = loaded(&with(&rounds), &[]).unwrap().application;
    let streams: Vec<u32> = Step::launches(&app.steps).iter().map(|launch| launch.stream).collect();
    assert_eq!((streams, app.streams.len()), (vec![1, 2, 1], 3));
    // A mistake in one round is reported once.
    let untied = format!(
        "  - repeat: 3\n    index: i\n    do: [{{ wait: {{ event: \"e${{i}}\" }} }}]\n  - {LAUNCH} }}\n"
    );
    assert_eq!(problems(&with(&untied)), ["x/app.yaml:16:27: error: no step records an event `e0`"]);
}

#[test]
fn a_launch_without_registers_has_the_estimate() {
    let app = loaded(GOOD, &[]).unwrap().application;
    let launches = Step::launches(&app.steps);
    assert_eq!(launches[0].registers, launches[0].kernel.registers_per_thread());
    let found = problems(&good().replace("registers: 29", "registers: 256"));
    assert_eq!(found, ["x/app.yaml:17:92: error: registers is 256"]);
}

#[test]
fn names_that_lead_nowhere_are_reported_where_they_stand() {
    let cases = [
        ("wait: { event: copied", "wait: { event: copid", "16:20: error: no step records an event `copid`"),
        (
            "synchronize: copied",
            "synchronize: copid",
            "18:18: error: there is no stream and no event `copid`",
        ),
        ("synchronize: down", "synchronize: dwn", "19:18: error: there is no stream and no event `dwn`"),
        ("copied, stream: up", "copied, stream: op", "15:38: error: nothing runs on a stream `op`"),
        (
            "wait: { event: copied, stream: down }",
            "wait: { stream: up }",
            "16:11: error: an event needs the key `event`",
        ),
        (
            "stream: up }\n  - record",
            "stream: all }\n  - record",
            "14:27: error: `all` is everything, and no stream's name",
        ),
        ("copy_in: a,", "copy_in: c,", "14:16: error: there is no buffer `c`"),
        ("registers: 29", "registrs: 29", "17:81: error: unknown key `registrs` in a launch"),
    ];
    for (from, to, expected) in cases {
        let found = problems(&good().replacen(from, to, 1));
        assert_eq!(found, [format!("x/app.yaml:{expected}")], "{to}");
    }
    let report =
        loaded(&good().replace("synchronize: copied", "synchronize: copid"), &[]).expect_err("a problem");
    assert!(report.contains("did you mean `copied`?"), "{report}");
    let twice = problems(&good().replace("copied", "down"));
    assert_eq!(twice, ["x/app.yaml:15:22: error: `down` is the name of a stream, too"]);
}

#[test]
fn who_waits_too_early_would_not_wait() {
    let early = |head: &str, indent: &str| {
        with(&format!(
            "{head}{indent}- wait: {{ event: e, stream: s }}
{indent}- {LAUNCH}, stream: s }}
{indent}- record: {{ event: e, stream: s }}
"
        ))
    };
    assert_eq!(problems(&early("", "  ")), ["x/app.yaml:14:20: error: `e` is recorded only after this"]);
    // From the second round of the loop on, the event has been recorded.
    assert!(loaded(&early("  - repeat: 2\n    do:\n", "      "), &[]).is_ok());
    let before = with(&format!("  - synchronize: s\n  - {LAUNCH}, stream: s }}\n"));
    let message = "x/app.yaml:14:18: error: nothing has been sent on the stream `s` before";
    assert_eq!(problems(&before), [message]);
}

#[test]
fn a_stream_and_what_waits_on_it_belong_to_one_device() {
    let two = good().replace("  b: { type: f32,", "  b: { device: 1, type: f32,");
    let launch = two.replace("block: 4,", "block: 4, device: 1,");
    let message = "`copied` is recorded on device 0, the stream that waits is on 1";
    assert_eq!(problems(&launch), [format!("x/app.yaml:16:20: error: {message}")]);
    let mixed = launch.replace("stream: down, registers", "stream: up, registers");
    let message = "error: the stream `up` is on device 0, this is on 1";
    assert!(problems(&mixed).iter().any(|problem| problem.ends_with(message)), "{:?}", problems(&mixed));
}

#[test]
fn what_was_freed_cannot_be_copied_between_launches() {
    let yaml = good().replace("  - copy_out: b\n", "  - free: b\n  - copy_out: b\n");
    assert_eq!(problems(&yaml), ["x/app.yaml:22:15: error: `b` has been freed before"]);
}

#[test]
fn before_the_run_there_are_no_streams() {
    let message = "error: before the run there are neither streams nor copies";
    for step in
        [format!("{LAUNCH}, stream: up }}"), "{ copy_in: a }".to_owned(), "{ synchronize: all }".to_owned()]
    {
        let found = problems(&format!("{}preload:\n  - {step}\n", good()));
        assert!(found.len() == 1 && found[0].ends_with(message), "{step}: {found:?}");
    }
}

#[test]
fn the_steps_are_explained_and_in_the_schema() {
    let (text, schema) = (explain(), schema());
    for key in [
        "stream",
        "registers",
        "copy_in",
        "copy_out",
        "record",
        "wait",
        "synchronize",
        "event",
        "non_blocking",
    ] {
        assert!(text.contains(&format!("\n  {key} ")), "{key}");
    }
    let steps = schema["properties"]["kernels"].to_string();
    for section in ["a-record", "a-wait", "a-synchronization", "a-copy-in", "a-copy-out"] {
        assert!(steps.contains(section) && schema["$defs"][section].is_object(), "{section}");
    }
}
