//! What slices make of all committed kernels: sound modules, and how many registers a thread they take more.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::collections::BTreeMap;

use counterpoint_ptx::ast::Module;
use counterpoint_ptx::slice::{Carry, Dimensions, Options, is_sliced, slice};
use counterpoint_ptx::{Kernel, parser};

use common::files;

/// All modules with their names.
fn modules() -> impl Iterator<Item = (String, Module)> {
    files().into_iter().map(|path| {
        let module = parser::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        (path.display().to_string(), module)
    })
}

fn options(dimensions: Dimensions, carry: Carry) -> Options {
    Options { dimensions, carry, kernel: None }
}

/// Kernels that have no slices, with the reason: none of the committed ones.
const REFUSED: [(&str, &str); 0] = [];

/// How many kernels take how many registers a thread more than they took, by our estimate.
fn more(dimensions: Dimensions, carry: Carry) -> BTreeMap<i64, u32> {
    let mut more = BTreeMap::new();
    let mut refused = Vec::new();
    for (path, module) in modules() {
        let sliced = slice(&module, &options(dimensions, carry)).unwrap();
        parser::parse(&sliced.text).unwrap_or_else(|errors| panic!("{path}: {errors:?}"));
        for kernel in &sliced.kernels {
            let Some(slice) = &kernel.slice else {
                refused.push((kernel.name.clone(), kernel.refused.clone().unwrap().reason));
                continue;
            };
            let compile = |text: &str, name: &str| {
                Kernel::compile(text, Some(name)).unwrap_or_else(|errors| panic!("{path}: {errors:?}"))
            };
            let (plain, slice) = (compile(&module.source, &kernel.name), compile(&sliced.text, slice));
            assert!(is_sliced(slice.name()));
            assert_eq!(slice.params().len(), plain.params().len() + 6);
            assert_eq!(slice.param_bytes(), plain.param_bytes().next_multiple_of(4) + 24);
            assert_eq!(slice.shared_bytes(), plain.shared_bytes(), "{path}");
            let [before, after] = [&plain, &slice].map(|kernel| i64::from(kernel.registers_per_thread()));
            if after - before > 2 { println!("{path} {} {before} {after}", kernel.name); }
            *more.entry(after - before).or_default() += 1;
        }
    }
    let expected: Vec<(String, String)> =
        REFUSED.iter().map(|(name, why)| ((*name).to_owned(), (*why).to_owned())).collect();
    assert_eq!(refused, expected);
    more
}

#[test]
fn slices_take_few_registers_more() {
    for dimensions in Dimensions::ALL {
        for carry in [Carry::Subtract, Carry::Divide] {
            let more = more(dimensions, carry);
            println!("{dimensions:?} {carry:?}: {more:?}");
        }
    }
}
