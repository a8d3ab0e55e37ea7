//! Fixed addresses, and buffers that are variables of modules.

use std::collections::BTreeMap;

use counterpoint_framework::model::Registry;
use counterpoint_host_model::program::{BufferPlace, Variable};

use super::super::{LoadedApplication, load};
use crate::workloads::element::Element;

const PTX: &str = ".version 7.8
.target sm_35
.address_size 64
.global .align 4 .f32 table[16];
.global .align 8 .b8 mixed[24];
.const .align 4 .u32 step = 3;
.const .align 4 .f32 factors[4];
.visible .entry k() { ret; }
";

const YAML: &str = "counterpoint: 1
application: places
code: { k: { file: k.ptx, globals: 0x40000, constants: 0x50000 } }
buffers:
  a: { type: f32, elements: 100, address: 0x10000 }
  b: { type: u8, elements: 3 }
  t: { variable: k.table }
  m: { variable: k.mixed, type: f64, elements: 2 }
  f: { variable: k.factors }
copy_in: [a, t, f]
kernels:
  - { launch: k.k, grid: 1, block: 1 }
";

fn loaded(yaml: &str) -> Result<LoadedApplication, String> {
    let files: BTreeMap<String, Vec<u8>> =
        [("x/app.yaml".to_owned(), yaml.as_bytes().to_vec()), ("x/k.ptx".to_owned(), PTX.into())].into();
    load("x/app.yaml", &[], &files, &Registry::default()).map_err(|report| report.render())
}

#[test]
fn addresses_and_variables_are_places() {
    let app = loaded(YAML).unwrap();
    let variable =
        |constant, offset| BufferPlace::Variable(Variable { module: "k".into(), constant, offset });
    let places: Vec<(u64, BufferPlace)> =
        app.application.buffers.iter().map(|buffer| (buffer.bytes, buffer.place.clone())).collect();
    assert_eq!(
        places,
        [
            (400, BufferPlace::At(0x10000)),
            (3, BufferPlace::Anywhere),
            (64, variable(false, 0)),
            (16, variable(false, 64)),
            (16, variable(true, 4)),
        ]
    );
    assert_eq!(app.elements, [Element::F32, Element::U8, Element::F32, Element::F64, Element::F32]);
    let [module] = &app.application.modules[..] else { panic!("one module") };
    assert_eq!((module.globals, module.constants), (Some(0x40000), Some(0x50000)));
    assert_eq!(app.application.fixed_end(0), 0x50014, "the last variable ends there");
}

#[test]
fn a_module_that_only_variables_need_is_there() {
    let kernels = YAML.find("kernels:").unwrap();
    let app = loaded(&YAML[..kernels]).unwrap().application;
    let [module] = &app.modules[..] else { panic!("one module") };
    assert_eq!((&*module.name, module.device, module.globals), ("k", 0, Some(0x40000)));
}

#[test]
fn what_lies_at_the_same_addresses_is_named() {
    let overlapping = |from: &str, to: &str| {
        assert!(YAML.contains(from), "{from}");
        loaded(&YAML.replace(from, to)).expect_err(to)
    };
    let text = overlapping("elements: 3 }", "elements: 3, address: 0x10100 }");
    assert!(text.contains("6:40: error: `b` and `a` lie at the same addresses"), "{text}");
    let text = overlapping("constants: 0x50000", "constants: 0x10000");
    assert!(text.contains("lie at the same addresses"), "{text}");
    assert!(text.contains("`a`") && text.contains("the constants of `k`"), "{text}");
    let text = overlapping("globals: 0x40000", "globals: 0x50000");
    assert!(
        text.contains("the constants of `k` and the variables of `k` lie at the same addresses"),
        "{text}"
    );
    // Buffers at adjacent addresses, or on different devices, do not overlap.
    loaded(&YAML.replace("elements: 3 }", "elements: 3, address: 0x10200 }")).unwrap();
    loaded(&YAML.replace("elements: 3 }", "elements: 3, address: 0x10000, device: 1 }")).unwrap();
}

#[test]
fn mistakes_have_their_places() {
    for (from, to, message) in [
        ("0x10000", "0x10080", "`0x10080` cannot be the address of memory"),
        ("0x10000", "0xff00", "expected a multiple of 256 from 0x10000"),
        ("0x10000", "1 MiB", "`1 MiB` cannot be the address of memory"),
        ("k.table", "k.tabel", "`k` has no variable `tabel`"),
        ("k.table", "k.tabel", "did you mean `table`?"),
        ("k.table", "table", "`table` does not name a module"),
        ("k.table", "l.table", "there is no code `l`"),
        ("f64, elements: 2", "f64, elements: 4", "the number of elements of a variable is 4"),
        (
            "{ variable: k.table }",
            "{ variable: k.table, address: 0x60000 }",
            "a variable lies where its module has it",
        ),
        ("file: k.ptx", "file: l.ptx", "no such file"),
        ("file: k.ptx, globals", "synthetic: {}, globals", "only code of a `file` has variables"),
        ("kernels:\n", "kernels:\n  - free: t\n", "`t` is a variable of a module and cannot be freed"),
    ] {
        assert!(YAML.contains(from), "{from}");
        let text = loaded(&YAML.replacen(from, to, 1)).expect_err(to);
        assert!(text.contains(message), "{to}: {text}");
    }
    let swap = YAML.replace("kernels:\n", "kernels:\n  - swap: [t, t]\n");
    assert!(loaded(&swap).expect_err("a swap").contains("cannot be swapped"));
}
