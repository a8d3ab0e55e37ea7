//! Applications that load, and the user's messages for those that do not.

use std::collections::BTreeMap;

use counterpoint_framework::model::Registry;
use counterpoint_host_model::program::BufferId;
use counterpoint_host_model::program::{Argument, HostStep, Step};

use super::*;
use crate::workloads::element::Element;
use crate::workloads::references::{Reference, ReferenceInput};

mod addresses;
mod host_steps;
mod include;
mod steps;
mod streams;
mod structs;
mod surfaces;
mod tasks;
mod textures;

const PTX: &str = "\
.version 7.8
.target sm_35
.address_size 64
.visible .entry scale(
\t.param .u64 scale_param_0,
\t.param .u32 scale_param_1,
\t.param .f32 scale_param_2
)
.maxntid 128, 1, 1
{
\tret;
}
";

const GOOD: &str = r#"counterpoint: 1
application: scale
description: Scales.
parameters: { n: 8, half: "${n / 2}" }
code: { k: k.ptx }
buffers:
  a: { type: f32, elements: "${n}" }
  b: { type: f32, elements: "${n}" }
prelude:
  - read: { file: a.f32, into: a }
  - read: { file: b.f32, into: b, generate: { ramp: { step: 0.5 } } }
copy_in: [a, b]
kernels:
  - repeat: 3
    do:
      - launch: k.scale
        grid: ["${ceil(n / 3)}"]
        block: ["${half}", 2]
        shared: 64
        arguments: [a, "${n}", 0.2f]
      - swap: [a, b]
copy_out: [a]
postlude:
  - write: { from: a, file: out/a.f32 }
expect:
  - { buffer: a, fnv64: cbf29ce484222325 }
"#;

fn files(yaml: &str) -> BTreeMap<String, Vec<u8>> {
    [("x/app.yaml", yaml.as_bytes().to_vec()), ("x/k.ptx", PTX.into()), ("x/a.f32", vec![0; 32])]
        .map(|(name, bytes)| (name.to_owned(), bytes))
        .into()
}

fn loaded(yaml: &str, sets: &[&str]) -> Result<LoadedApplication, String> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    load("x/app.yaml", &sets, &files(yaml), &Registry::default()).map_err(|report| report.render())
}

#[test]
fn an_extension_brings_references() {
    let yaml = GOOD.replace("fnv64: cbf29ce484222325", "reference: zeros");
    let zeros = |input: &ReferenceInput<'_>| Ok(vec![0; 4 * input.size("n")?]);
    let mut registry = Registry::default();
    registry.add(Reference { name: "zeros", compute: zeros });
    let loaded = load("x/app.yaml", &[], &files(&yaml), &registry).unwrap();
    let Against::Reference(Reference { name: "zeros", compute }) = loaded.expectations[0].against else {
        panic!("{:?}", loaded.expectations)
    };
    let input = ReferenceInput { parameters: &loaded.parameters, buffers: &BTreeMap::new(), wanted: "a" };
    assert_eq!(compute(&input), Ok(vec![0; 32]));
    assert!(load("x/app.yaml", &[], &files(&yaml), &Registry::default()).is_err());
}

/// The problems of the good application with one text replaced.
fn problems(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    loaded(&GOOD.replacen(from, to, 1), &[]).expect_err("a problem")
}

/// The first line of each problem.
fn messages(from: &str, to: &str) -> Vec<String> {
    let text = problems(from, to);
    text.lines().filter(|line| line.contains(": error: ")).map(str::to_owned).collect()
}

#[test]
fn an_application_becomes_steps_and_files() {
    let app = loaded(GOOD, &[]).unwrap();
    assert_eq!(app.application.name, "scale");
    assert_eq!(app.parameters["half"], 4.0);
    assert_eq!(app.application.buffers[0].bytes, 32);
    assert_eq!(app.elements, [Element::F32; 2]);
    assert!(!app.inputs[0].generated && app.inputs[1].generated);
    assert_eq!(app.inputs[1].contents().unwrap()[4..8], 0.5_f32.to_le_bytes());
    assert_eq!(app.outputs, ["out/a.f32"]);
    let Some(HostStep::Write(written)) = app.application.postlude.first() else { panic!("a write") };
    assert_eq!((written.file.0, written.part, written.at), (2, app.application.whole(BufferId(0)), 0));
    let [Step::Repeat(3, steps)] = &app.application.steps[..] else { panic!("a repetition") };
    let [Step::Launch(launch), Step::Swap(a, b)] = &steps[..] else { panic!("a launch and a swap") };
    assert_eq!((launch.grid, launch.block, launch.shared), ([3, 1, 1], [4, 2, 1], 64));
    let value = |bytes: [u8; 4]| Argument::Value(bytes.into());
    let arguments = [Argument::Buffer(*a, 0), value(8_u32.to_le_bytes()), value(0.2_f32.to_le_bytes())];
    assert_eq!(launch.arguments, arguments);
    assert_eq!((a.0, b.0), (0, 1));
    assert_eq!(app.application.inspect.len(), 1);
}

#[test]
fn a_kernel_can_be_described() {
    let described = "code: { k: { synthetic: { mix: { int: 1 }, rounds: \"${n}\", threads: 32 } } }";
    let yaml = GOOD.replace("code: { k: k.ptx }", described).replace("k.scale", "k");
    let yaml = yaml.replace("arguments: [a, \"${n}\", 0.2f]", "arguments: [a]");
    let app = loaded(&yaml, &[]).unwrap();
    let [(name, text)] = &app.synthetic[..] else { panic!("one kernel") };
    assert!(
        name == "k" && text.contains(".visible .entry k(") && text.contains("setp.lt.u32 %more, %round, 8;")
    );
    for (from, to, expected) in [
        (
            "synthetic:",
            "synthetik:",
            ["unknown key `synthetik` in a described kernel", "did you mean `synthetic`?"],
        ),
        ("mix:", "miks:", ["unknown key `miks`", "did you mean `mix`?"]),
        ("{ int: 1", "{ itn: 1", ["unknown key `itn`", "did you mean `int`?"]),
        ("threads: 32", "threads: 32, footprint: 64", ["`64` has no unit", "^^"]),
        ("threads: 32", "threads: 40", ["40 threads are not whole warps", "expected a multiple of 32"]),
        ("threads: 32", "pattern: randon", ["there is no pattern `randon`", "did you mean `random`?"]),
        ("{ k:", "{ 1k:", ["`1k` cannot be the name of a kernel", "letters, digits and `_`"]),
        ("\"${n}\", threads", "\"${m}\", threads", ["`m`", "^"]),
    ] {
        assert!(yaml.contains(from), "{from}");
        let report = loaded(&yaml.replacen(from, to, 1), &[]).expect_err(to);
        assert!(expected.iter().all(|part| report.contains(part)), "{report}");
        assert!(report.contains("x/app.yaml:5:"), "{report}");
    }
}

#[test]
fn numbers_without_a_finite_decimal_are_kept_exactly() {
    let yaml = GOOD
        .replace("half: \"${n / 2}\"", "half: 4, third: \"${1.0 / 3.5}\"")
        .replace("0.2f", "\"${third}\"");
    let app = loaded(&yaml, &[]).unwrap();
    assert_eq!(app.parameters["third"], 2.0 / 7.0);
    let [Step::Repeat(3, steps)] = &app.application.steps[..] else { panic!("a repetition") };
    let Step::Launch(launch) = &steps[0] else { panic!("a launch") };
    assert_eq!(launch.arguments[2], Argument::Value((2.0_f32 / 7.0).to_le_bytes().into()));
    let back = loaded(&yaml.replace("elements: \"${n}\"", "elements: \"${28 * third}\""), &[]).unwrap();
    assert_eq!(back.application.buffers[0].bytes, 32);
    let found = messages("\"${half}\", 2", "\"${half +}\", 2");
    assert_eq!(found, ["x/app.yaml:18:26: error: the expression ends where a number or a name is due"]);
}

#[test]
fn settings_change_parameters_and_what_follows_from_them() {
    let app = loaded(
        &GOOD.replace("file: a.f32,", "file: \"a_${n}.f32\", generate: { constant: { value: 1 } },"),
        &["app.n=16", "app.n=12"],
    )
    .unwrap();
    assert_eq!((app.parameters["n"], app.parameters["half"]), (12.0, 6.0));
    assert_eq!(app.application.buffers[0].bytes, 48);
    assert_eq!(app.inputs[0].path, "x/a_12.f32");
    let problem = loaded(GOOD, &["app.m=1", "app.n=x"]).expect_err("problems");
    let expected = "\
--set app.m=1: error: the application has no parameter `m`
 1 | app.m=1
   |     ^
   = help: did you mean `app.n`?

--set app.n=x: error: `x` is not a number
 1 | app.n=x
   |       ^
";
    assert_eq!(problem, expected);
}

#[test]
fn all_problems_come_at_once() {
    let yaml = GOOD
        .replace("description:", "descripton:")
        .replace("copy_in: [a, b]", "copy_in: [a, bb]")
        .replace("arguments: [a, \"${n}\", 0.2f]", "arguments: [a, b]")
        .replace("fnv64: cbf29ce484222325", "reference: hotspt");
    let expected = "\
x/app.yaml:3:1: error: unknown key `descripton` in an application
 3 | descripton: Scales.
   | ^^^^^^^^^^
   = help: did you mean `description`?

x/app.yaml:12:14: error: there is no buffer `bb`
 12 | copy_in: [a, bb]
    |              ^^
   = help: did you mean `b`?

x/app.yaml:20:20: error: `scale` takes 3 arguments, found 2
 20 |         arguments: [a, b]
    |                    ^^^^^^
   = help: they are: scale_param_0 (u64), scale_param_1 (u32), scale_param_2 (f32)

x/app.yaml:20:24: error: `b` is a buffer, but the parameter `scale_param_1` is not an address
 20 |         arguments: [a, b]
    |                        ^
   = help: `scale_param_1` is of type u32, 4 bytes

x/app.yaml:26:29: error: there is no reference `hotspt`
 26 |   - { buffer: a, reference: hotspt }
    |                             ^^^^^^
   = help: did you mean `hotspot`?
";
    let found = loaded(&yaml, &[]).expect_err("problems");
    assert_eq!(found, expected);
}

#[test]
fn launches_are_checked() {
    let cases = [
        ("k.scale", "l.scale", "x/app.yaml:16:17: error: there is no code `l`"),
        ("k.scale", "k.scala", "x/app.yaml:16:19: error: `k` has no kernel `scala`"),
        ("[\"${ceil(n / 3)}\"]", "[0]", "x/app.yaml:17:16: error: grid, x is 0"),
        ("[\"${half}\", 2]", "[32, 33]", "x/app.yaml:18:16: error: the block has 1056 threads"),
        (
            "[\"${half}\", 2]",
            "[129]",
            "x/app.yaml:18:16: error: the block has 129 threads, more than `scale` allows",
        ),
        (
            "[\"${half}\", 2]",
            "[1, 1, 1, 1]",
            "x/app.yaml:18:16: error: expected one to three numbers, found 4",
        ),
        ("\"${n}\", 0.2f", "0.5, 0.2f", "x/app.yaml:20:24: error: `0.5` is not a whole number"),
        ("\"${n}\", 0.2f", "\"${m}\", 0.2f", "x/app.yaml:20:27: error: unknown name `m`"),
        ("swap: [a, b]", "swap: [a]", "x/app.yaml:21:15: error: expected two buffers, found 1"),
        ("swap: [a, b]", "swop: [a, b]", "x/app.yaml:21:9: error: there is no step `swop`"),
    ];
    for (from, to, expected) in cases {
        assert_eq!(messages(from, to), [expected], "{to}");
    }
    let uneven = "b: { type: f32, elements: 4 }";
    let found = messages("b: { type: f32, elements: \"${n}\" }", uneven);
    assert_eq!(found, ["x/app.yaml:21:15: error: `a` and `b` cannot be swapped"]);
}

#[test]
fn files_are_checked() {
    let size = problems("elements: \"${n}\" }\n  b", "elements: 9 }\n  b");
    let expected = "\
x/app.yaml:10:19: error: `x/a.f32` has 32 bytes, expected 36
 10 |   - read: { file: a.f32, into: a }
    |                   ^^^^^
   = help: `a` has 9 elements of type f32, 36 bytes
";
    assert!(size.starts_with(expected), "{size}");
    let missing = problems(", generate: { ramp: { step: 0.5 } }", "");
    let expected = "\
x/app.yaml:11:19: error: cannot read `x/b.f32`: no such file
 11 |   - read: { file: b.f32, into: b }
    |                   ^^^^^
   = help: `b` has 8 elements of type f32, 32 bytes; with `generate: { uniform: { seed: 1 } }` beside `file` it is made
";
    assert_eq!(missing, expected);
    let cases = [
        ("ramp: {", "rampe: {", "x/app.yaml:11:47: error: there is no generator `rampe`"),
        (
            "file: out/a.f32",
            "file: ../a.f32",
            "x/app.yaml:24:29: error: `../a.f32` does not lie inside the folder of the run's results",
        ),
        (
            "file: out/a.f32",
            "file: stats.txt",
            "x/app.yaml:24:29: error: `stats.txt` is the name of one of the run's own files",
        ),
        (
            "code: { k: k.ptx }",
            "code: { k: j.ptx }",
            "x/app.yaml:5:12: error: cannot read `x/j.ptx`: no such file",
        ),
        (
            "fnv64: cbf29ce484222325",
            "file: golden.f32",
            "x/app.yaml:26:24: error: cannot read `x/golden.f32`: no such file",
        ),
        ("  b: { type: f32", "  a: { type: f32", "x/app.yaml:8:3: error: duplicate key `a`"),
        ("type: f32", "type: f33", "x/app.yaml:7:14: error: there is no type `f33`"),
    ];
    for (from, to, expected) in cases {
        assert_eq!(messages(from, to).first().map(String::as_str), Some(expected), "{to}");
    }
}

#[test]
fn problems_in_ptx_are_shown_in_ptx() {
    let mut all = files(GOOD);
    all.insert("x/k.ptx".into(), PTX.replace("\tret;", "\tfrob.u32 %r1, 2;").into_bytes());
    let report = load("x/app.yaml", &[], &all, &Registry::default()).expect_err("a problem").render();
    assert!(report.starts_with("x/k.ptx:11:"), "{report}");
    assert!(report.contains(" 11 | \tfrob.u32 %r1, 2;"), "{report}");
}

#[test]
fn what_is_no_application_is_refused() {
    let first =
        |yaml: &str| loaded(yaml, &[]).expect_err("a problem").lines().next().unwrap_or_default().to_owned();
    assert_eq!(first(""), "x/app.yaml:1:1: error: the file is not a map");
    assert_eq!(first("application: x"), "x/app.yaml:1:1: error: missing header");
    assert_eq!(
        first("counterpoint: 1\nmachine: m"),
        "x/app.yaml:2:10: error: this is the file of a different thing: `machine`"
    );
    let missing = load("none.yaml", &[], &files(GOOD), &Registry::default()).expect_err("a problem").render();
    assert_eq!(missing.trim_end(), "none.yaml:1:1: error: cannot read `none.yaml`: no such file");
}
