//! Copies of parts and rows, fills, and steps of the host.

use counterpoint_framework::time::{BytesPerSecond, SimTime};
use counterpoint_host_model::program::{BufferId, HostStep, Moved, Pace, Range, Rows, Step, Transfer};
use counterpoint_protocols::bus::Direction;
use counterpoint_protocols::host::FileIndex;

use super::{Against, Expectation, GOOD, LoadedApplication, Registry, files, loaded};

/// The good application with these lines in place of its kernels: buffers `a` and `b` of 8 f32 each.
fn with(lines: &str) -> String {
    let (head, tail) = (&GOOD[..GOOD.find("kernels:").unwrap()], &GOOD[GOOD.find("copy_out:").unwrap()..]);
    format!("{head}kernels:\n{lines}{tail}")
}

fn application(lines: &str) -> LoadedApplication {
    loaded(&with(lines), &[]).unwrap_or_else(|report| panic!("{report}"))
}

fn steps(lines: &str) -> Vec<Step> {
    application(lines).application.steps
}

const A: BufferId = BufferId(0);
const B: BufferId = BufferId(1);

fn rows(buffer: BufferId, offset: u64, bytes: u64, rows: u64, pitch: u64) -> Rows {
    Rows { buffer, offset, bytes, rows, pitch }
}

/// A single step that moves rows, and its stream.
fn moved(line: &str) -> (Moved, u32) {
    match &steps(line)[..] {
        [Step::Move { moved, stream }] => (moved.clone(), *stream),
        other => panic!("{other:?}"),
    }
}

#[test]
fn parts_in_one_row_are_copies() {
    let lines = "  - copy_in: { buffer: a, element: 2, elements: 3 }\n    stream: s\n  - copy_out: { buffer: b, element: 6 }\n";
    let found = steps(lines);
    let [Step::Copy { direction, part, stream: 1 }, Step::Copy { part: out, stream: 0, .. }] = &found[..]
    else {
        panic!("{found:?}")
    };
    assert_eq!(*direction, Direction::HostToDevice);
    assert_eq!(*part, Range { buffer: A, offset: 8, bytes: 12 });
    assert_eq!(*out, Range { buffer: B, offset: 24, bytes: 8 }, "all from there on");
}

#[test]
fn rows_lie_apart_on_either_side() {
    let line = "  - copy_in: { buffer: a, element: 1, elements: 2, rows: 2, pitch: 4, host_pitch: 3, host_element: 0 }\n";
    let (device, host) = (rows(A, 4, 8, 2, 16), rows(A, 0, 8, 2, 12));
    assert_eq!(moved(line), (Moved::Copy { direction: Direction::HostToDevice, host, device }, 0));
    // Rows on the host have the layout of the device, and are contiguous, unless the file states a pitch.
    let line = "  - copy_out: { buffer: a, elements: 2, rows: 3 }\n";
    let dense = rows(A, 0, 8, 3, 8);
    let copy = Moved::Copy { direction: Direction::DeviceToHost, host: dense, device: dense };
    assert_eq!(moved(line).0, copy);
    assert_eq!(
        application(line).application.bytes(),
        2 * 32 + 2 * 32 + 32 + 32 + 24,
        "files, copies, and rows"
    );
}

#[test]
fn fills_take_values_of_the_elements() {
    let fill = |rows, value: [u8; 4]| Moved::Fill { rows, value: value.into() };
    let whole = rows(B, 0, 32, 1, 32);
    assert_eq!(moved("  - memset: b\n"), (fill(whole, [0; 4]), 0));
    let value = |text: &str| moved(&format!("  - memset: {{ buffer: b, value: {text} }}\n")).0;
    assert_eq!(value("1.5"), fill(whole, 1.5_f32.to_le_bytes()));
    assert_eq!(value("nan"), fill(whole, f32::NAN.to_le_bytes()));
    assert_eq!(value("-inf"), fill(whole, f32::NEG_INFINITY.to_le_bytes()));
    assert_eq!(value("{ bytes: 0100c07f }"), fill(whole, [1, 0, 0xc0, 0x7f]), "a NaN with bits of its own");
    let line =
        "  - { memset: { buffer: b, value: 2, element: 1, elements: 2, rows: 2, pitch: 4 }, stream: s }\n";
    assert_eq!(moved(line), (fill(rows(B, 4, 8, 2, 16), 2_f32.to_le_bytes()), 1));
}

#[test]
fn copies_on_a_device_have_two_places() {
    let line = "  - { copy: { from: a, to: b, element: 1, to_element: 4, elements: 3 }, stream: s }\n";
    let within = |from, to| Moved::Within { from, to };
    assert_eq!(moved(line), (within(rows(A, 4, 12, 1, 12), rows(B, 16, 12, 1, 12)), 1));
    let same = rows(B, 8, 24, 1, 24);
    assert_eq!(
        moved("  - copy: { from: a, to: b, element: 2 }\n").0,
        within(Rows { buffer: A, ..same }, same)
    );
    let columns = "  - copy: { from: a, to: a, to_element: 2, elements: 2, rows: 2, pitch: 4 }\n";
    assert_eq!(moved(columns).0, within(rows(A, 0, 8, 2, 16), rows(A, 8, 8, 2, 16)));
}

#[test]
fn the_host_reads_computes_and_writes_between_kernels() {
    let lines = "  - read: { file: a.f32, into: b, element: 2, elements: 4, offset: 8 }
  - compute: { into: a, element: 4, generate: { constant: { value: 3 } }, rate: 2 GB/s }
  - compute: { into: b, file: a.f32, time: 3 ms }
  - compute: { time: 0 ms }
  - write: { from: b, file: all.f32, elements: 6 }
  - write: { from: a, file: all.f32, element: 6, offset: 24 }
  - read: { file: a.f32, into: b }
";
    let app = application(lines);
    let part = |buffer, offset, bytes| Range { buffer, offset, bytes };
    let transfer = |file, part, at| Transfer { file: FileIndex(file), part, at };
    let found: Vec<HostStep> = app
        .application
        .steps
        .iter()
        .map(|step| match step {
            Step::Host(step) => *step,
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        // The file of the prelude, which steps share; what is computed; outputs behind all inputs.
        HostStep::Read(transfer(0, part(B, 8, 16), 8)),
        HostStep::Read(transfer(2, part(A, 16, 16), 0)),
        HostStep::Read(transfer(3, part(B, 0, 32), 0)),
        HostStep::Busy(SimTime::ZERO),
        HostStep::Write(transfer(4, part(B, 0, 24), 0)),
        HostStep::Write(transfer(4, part(A, 24, 8), 24)),
        HostStep::Read(transfer(0, part(B, 0, 32), 0)),
    ];
    assert_eq!(found, expected);
    assert_eq!(app.outputs, ["all.f32", "out/a.f32"]);
    let computed = &app.application.computed[&FileIndex(2)];
    assert_eq!(
        (computed.pace, &computed.values[..4]),
        (Pace::Rate(BytesPerSecond::new(2_000_000_000)), &3_f32.to_le_bytes()[..])
    );
    assert_eq!(app.application.computed[&FileIndex(3)].pace, Pace::Whole(SimTime::from_ns(3_000_000)));
    assert_eq!(app.application.bytes(), 2 * 32 + 2 * 32 + 32 + 32 + 16 + 16 + 32 + 24 + 8 + 32);
}

#[test]
fn a_prelude_fills_parts_and_what_it_leaves_is_known() {
    let parts = "prelude:
  - read: { file: a.f32, into: a, elements: 2 }
  - compute: { into: a, element: 2, generate: { ramp: { start: 5 } }, time: 1 us }
  - compute: { time: 2 us }
copy_in";
    let start = GOOD.find("prelude:").unwrap();
    let end = GOOD.find("copy_in").unwrap();
    let yaml = format!("{}{parts}{}", &GOOD[..start], &GOOD[end + "copy_in".len()..]);
    let app = loaded(&yaml, &[]).unwrap();
    let contents = app.contents().unwrap();
    let expected: Vec<u8> =
        [0.0, 0.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0_f32].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(contents["a"], expected);
    assert_eq!(app.application.prelude.len(), 3);
}

/// The message of a mistake in one step.
fn problem(line: &str) -> String {
    loaded(&with(&format!("  - {line}\n")), &[]).expect_err(line)
}

#[test]
fn mistakes_have_their_places() {
    for (line, message) in [
        ("copy_in: { buffer: a, elements: 9 }", "the number of elements of `a` from 0 on is 9"),
        (
            "copy_in: { buffer: a, elements: 4, rows: 3, pitch: 3 }",
            "rows of 16 bytes cannot lie 12 bytes apart",
        ),
        (
            "copy_in: { buffer: a, elements: 4, rows: 3, pitch: 4 }",
            "the part ends with element 12 of `a`, which has 8",
        ),
        (
            "copy_in: { buffer: a, elements: 2, rows: 2, host_element: 6 }",
            "the part ends with element 10 of `a`",
        ),
        ("copy_in: { buffer: a, rows: 2 }", "a part of several rows needs the key `elements`"),
        ("copy_in: { buffer: a, element: 1, wide: 2 }", "unknown key `wide` in a part in rows"),
        ("memset: { buffer: a, value: 1e400x }", "`1e400x` is not a number"),
        ("memset: { buffer: a, value: { bytes: 00 } }", "an element has 4 bytes, found 1"),
        ("memset: { buffer: a, value: { bytes: 0x00 } }", "`0x00` are not bytes in hexadecimal digits"),
        ("copy: { from: a, to: a, element: 0, to_element: 1, elements: 2 }", "the parts of `a` overlap"),
        ("copy: { from: a }", "copy needs the key `to`"),
        ("compute: { into: a, generate: { ramp: {} } }", "compute needs the key `rate` or `time`"),
        (
            "compute: { into: a, generate: { ramp: {} }, rate: 1 GB/s, time: 1 us }",
            "a `rate` or a `time`, not both",
        ),
        ("compute: { into: a, time: 1 us }", "compute needs the key `generate` or `file`"),
        ("compute: { rate: 1 GB/s }", "a computation without `into` has a `time` and nothing else"),
        ("compute: {}", "compute needs the key `into`, or `time` alone"),
        ("compute: { time: 3 }", "`3` has no unit"),
        ("read: { file: a.f32, into: a, offset: 4 }", "`x/a.f32` has 32 bytes, expected at least 36"),
        ("read: { file: b.f32, into: a }", "no such file"),
        ("write: { from: b, file: ../b.f32 }", "`../b.f32` does not lie inside the folder"),
        ("write: { from: a, file: out/a.f32, elements: 2 }", "`out/a.f32` is written twice"),
        ("{ memset: a, element: 2 }", "unknown key `element` in a fill"),
    ] {
        let text = problem(line);
        assert!(text.contains(message), "{line}: {text}");
    }
    let lines =
        "  - write: { from: a, file: b.f32, elements: 4 }\n  - write: { from: a, file: b.f32, offset: 12 }\n";
    let text = loaded(&with(lines), &[]).expect_err("twice");
    assert!(text.contains("`b.f32` is written twice") && text.contains("parts of one file"), "{text}");
    // A round that writes the same part again is one step.
    steps("  - repeat: 2\n    index: i\n    do: [{ write: { from: a, file: b.f32 } }]\n");
}

#[test]
fn a_copy_on_a_device_has_both_buffers_there() {
    let yaml =
        with("  - copy: { from: a, to: b }\n").replacen("b: { type: f32", "b: { device: 1, type: f32", 1);
    let text = loaded(&yaml, &[]).expect_err("two devices");
    assert!(text.contains("`a` lies on device 0, `b` on device 1"), "{text}");
}

#[test]
fn what_has_been_freed_is_neither_filled_nor_copied() {
    let text =
        loaded(&with("  - free: b\n  - memset: b\n  - copy: { from: a, to: b }\n"), &[]).expect_err("freed");
    assert_eq!(text.matches("error: `b` has been freed before").count(), 2, "{text}");
    assert!(text.contains("- memset: b") && text.contains("to: b"), "{text}");
}

#[test]
fn before_the_run_devices_are_filled_and_the_host_does_nothing() {
    let preload = |step: &str| loaded(&format!("{GOOD}preload:\n  - {step}\n"), &[]);
    let app = preload("memset: { buffer: b, value: 1 }").unwrap().application;
    assert!(matches!(app.preload[..], [Step::Move { moved: Moved::Fill { .. }, stream: 0 }]));
    for (step, message) in [
        ("compute: { time: 1 us }", "before the run the host does nothing"),
        ("{ memset: b, stream: s }", "before the run there are neither streams nor copies"),
        ("copy_in: { buffer: a, elements: 2 }", "before the run there are neither streams nor copies"),
    ] {
        let text = preload(step).expect_err(step);
        assert!(text.contains(message), "{step}: {text}");
    }
}

#[test]
fn a_packed_file_stands_for_its_contents_and_parts_are_expected() {
    let pack = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, bytes).expect("memory");
        encoder.finish().expect("memory")
    };
    let data: Vec<u8> = (0..12).flat_map(|index| (index as f32).to_le_bytes()).collect();
    let load = |compute: &str, expect: &str| {
        let yaml = with(&format!("  - compute: {{ into: a, {compute}, time: 1 us }}\n  - copy_out: a\n"));
        let expect = format!("expect:\n  - {{ buffer: a, {expect} }}\n");
        let yaml = format!("{}{expect}", &yaml[..yaml.find("expect:").unwrap_or(yaml.len())]);
        let mut all = files(&yaml);
        all.insert("x/data.gz".into(), pack(&data));
        all.insert("x/only.gz".into(), pack(&[1, 0, 1]));
        all.insert("x/broken.gz".into(), data.clone());
        super::load("x/app.yaml", &[], &all, &Registry::default()).map_err(|report| report.render())
    };
    let of = "file: data.gz, offset: 16";
    let loaded =
        load(of, "element: 2, elements: 3, file: data.gz, offset: 8, where: only.gz").expect("parts");
    let computed = loaded.application.computed.values().next().expect("one");
    assert_eq!(computed.values, data[16..48]);
    let Expectation { part, against: Against::File(file, at), only: Some(only), .. } =
        &loaded.expectations[0]
    else {
        panic!("{:?}", loaded.expectations)
    };
    assert_eq!((part.offset, part.bytes, *at, file.bytes, only.bytes), (8, 12, 8, 48, 3));
    for (compute, expect, message) in [
        ("file: data.gz", "file: data.gz", "`x/data.gz` has 48 bytes, expected 32"),
        ("file: data.gz, offset: 20", "fnv64: 0", "`x/data.gz` has 48 bytes, expected at least 52"),
        ("file: broken.gz", "fnv64: 0", "cannot read `x/broken.gz`: "),
        (
            "generate: { ramp: {} }, offset: 4",
            "fnv64: 0",
            "`offset` is a place in a `file`, and a rule has none",
        ),
        (of, "elements: 9, fnv64: 0", "the number of elements of `a` from 0 on"),
        (of, "fnv64: 0, offset: 4", "`offset` is a place in a `file`"),
        (of, "fnv64: 0, where: only.gz", "`x/only.gz` has 3 bytes, expected 8"),
        (
            of,
            "fnv64: 0, generate: { ramp: {} }",
            "exactly one of `reference`, `file`, `generate` and `fnv64`",
        ),
    ] {
        let text = load(compute, expect).expect_err(message);
        assert!(text.contains(message), "{message}: {text}");
    }
}

#[test]
fn a_copy_between_unlike_types_has_whole_elements_on_both_sides() {
    let bytes = |line: &str| {
        let yaml = with(line)
            .replace("b: { type: f32, elements: \"${n}\" }", "b: { type: u8, elements: 32 }")
            .replace("ramp: { step: 0.5 }", "ramp: {}");
        assert!(yaml.contains("type: u8"), "{yaml}");
        loaded(&yaml, &[])
    };
    bytes("  - copy: { from: b, to: a, element: 4, to_element: 5, elements: 8 }\n").expect("words");
    for (line, message) in [
        (
            "element: 4, to_element: 5, elements: 6",
            "a row of 6 bytes is not a whole number of elements of `a`, which have 4",
        ),
        (
            "element: 5, elements: 8",
            "the place of 5 bytes is not a whole number of elements of `a`, which have 4",
        ),
        ("element: 4, elements: 4, rows: 2, pitch: 6", "the pitch of 6 bytes is not a whole number"),
    ] {
        let text = bytes(&format!("  - copy: {{ from: b, to: a, {line} }}\n")).expect_err(message);
        assert!(text.contains(message), "{message}: {text}");
    }
}
