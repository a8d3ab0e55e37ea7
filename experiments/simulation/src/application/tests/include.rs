//! An application that includes another one.

use std::collections::BTreeMap;

use counterpoint_host_model::program::Step;

use counterpoint_framework::model::Registry;

use super::super::{LoadedApplication, load};
use super::{GOOD, files};

const OWN: &str = r#"counterpoint: 1
application: offset
include: ../x/app.yaml
description: ~
parameters: { n: 4, by: 2 }
code: { k: own.ptx, base: ~ }
prelude:
  0: { read: { generate: { constant: { value: 1 } } } }
kernels:
  0:
    repeat: 2
    do:
      0: { grid: "${by}", arguments: [b, 4, 0.5f] }
      1: ~
postlude:
  - write: { from: a, file: a.f32 }
"#;

fn own(yaml: &str) -> Result<LoadedApplication, String> {
    let base = GOOD.replace("code: {", "code: { base: k.ptx,").replace("file: a.f32,", "file: data/a.f32,");
    let mut files = files(&base);
    let more = [
        ("y/own.yaml", yaml.into()),
        ("y/own.ptx", files["x/k.ptx"].clone()),
        ("y/back.yaml", "counterpoint: 1\napplication: back\ninclude: own.yaml\n".into()),
        ("y/machine.yaml", "counterpoint: 1\nmachine: m\n".into()),
    ];
    files.extend(more.map(|(path, text)| (path.to_owned(), text)));
    load("y/own.yaml", &[], &files, &Registry::default()).map_err(|report| report.render())
}

#[test]
fn what_is_not_said_is_as_in_the_other_file() {
    let app = own(OWN).unwrap();
    assert_eq!((app.application.name.as_str(), app.description), ("offset", None));
    assert_eq!((app.parameters["n"], app.parameters["half"], app.parameters["by"]), (4.0, 2.0, 2.0));
    let [Step::Repeat(2, steps)] = &app.application.steps[..] else { panic!("a repetition") };
    let [Step::Launch(launch)] = &steps[..] else { panic!("the swap is out") };
    assert_eq!((launch.grid, launch.block, launch.shared), ([2, 1, 1], [2, 2, 1], 64));
    assert_eq!(app.outputs, ["a.f32"]);
    assert_eq!(app.texts.len(), 3, "both files and one kernel");
}

#[test]
fn files_are_found_from_where_they_are_named() {
    let app = own(OWN).unwrap();
    let paths: Vec<&str> = app.inputs.iter().map(|input| input.path.as_str()).collect();
    assert_eq!(paths, ["x/data/a.f32", "x/b.f32"]);
    assert!(own(&OWN.replace("own.ptx", "k.ptx")).unwrap_err().contains("cannot read `y/k.ptx`"));
}

#[test]
fn what_cannot_be_changed_is_shown_where_it_is() {
    let cases = [
        ("../x/app.yaml", "app.yaml", "y/own.yaml:3:10: error: cannot read `y/app.yaml`: no such file"),
        ("../x/app.yaml", "own.yaml", "y/own.yaml:3:10: error: include cycle: y/own.yaml -> y/own.yaml"),
        (
            "../x/app.yaml",
            "back.yaml",
            "y/back.yaml:3:10: error: include cycle: y/own.yaml -> y/back.yaml -> y/own.yaml",
        ),
        (
            "../x/app.yaml",
            "machine.yaml",
            "y/machine.yaml:2:10: error: this is the file of a different thing: `machine`",
        ),
        ("../x/app.yaml", "[a, b]", "y/own.yaml:3:10: error: expected a single value, found a list"),
        ("base: ~", "bass: ~", "y/own.yaml:6:21: error: there is no `code.bass` to take out"),
        ("      1: ~", "      2: ~", "y/own.yaml:14:7: error: `kernels.0.do` has no element `2`"),
        ("      1: ~", "      swap: ~", "y/own.yaml:14:7: error: `kernels.0.do` has no element `swap`"),
        ("arguments: [b, 4", "arguments: [c, 4", "y/own.yaml:13:39: error: there is no buffer `c`"),
        ("n: 4", "n: 3.5", "x/app.yaml:7:"),
    ];
    for (from, to, expected) in cases {
        assert!(OWN.contains(from), "{from}");
        let text = own(&OWN.replacen(from, to, 1)).expect_err("a problem");
        assert!(text.contains(expected), "{to}: {text}");
    }
}

#[test]
fn a_chain_of_files_has_an_end() {
    let one = |number| format!("counterpoint: 1\napplication: a\ninclude: {}.yaml\n", number + 1);
    let files: BTreeMap<String, Vec<u8>> =
        (0..100_000).map(|number| (format!("{number}.yaml"), one(number).into_bytes())).collect();
    let problem = load("0.yaml", &[], &files, &Registry::default()).unwrap_err().render();
    assert!(problem.contains("64.yaml:3:10: error: includes nested more than 64 deep"), "{problem}");
}
