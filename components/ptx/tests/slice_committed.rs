//! Slices of all committed kernels: sound modules, and the number of additional registers a thread.

use std::collections::BTreeMap;

use counterpoint_ptx::ast::Module;
use counterpoint_ptx::slice::{Carry, Dimensions, Options, Sliced, is_sliced, slice, sliced};
use counterpoint_ptx::{Kernel, PtxError, StackSize, decode, parser};

use crate::common::ptxas::Assembler;

/// Kernels that have no slices, with the reason: none of the committed ones.
const REFUSED: [(&str, &str); 0] = [];

const WAYS: [(Dimensions, Carry); 5] = [
    (Dimensions::One, Carry::Subtract),
    (Dimensions::Two, Carry::Subtract),
    (Dimensions::Two, Carry::Divide),
    (Dimensions::Three, Carry::Subtract),
    (Dimensions::Three, Carry::Divide),
];

/// All modules with their paths.
fn modules() -> impl Iterator<Item = (String, Module)> {
    crate::common::modules().into_iter().map(|(path, text)| (path, parser::parse(&text).unwrap()))
}

fn sliced_module(module: &Module, (dimensions, carry): (Dimensions, Carry)) -> Sliced {
    slice(module, &Options { dimensions, carry, kernel: None }).unwrap()
}

fn kernels(module: Result<Module, Vec<PtxError>>, path: &str) -> BTreeMap<String, Kernel> {
    let kernels = module.and_then(|module| decode::decode(&module));
    let kernels = kernels.unwrap_or_else(|errors| panic!("{path}: {errors:?}"));
    kernels.into_iter().map(|kernel| (kernel.name().to_owned(), kernel)).collect()
}

/// Slices the kernels of every `step`th module: more than `least` kernels, each of which takes at most one register more.
fn take_at_most_one_register_more(step: usize, least: u32) {
    let mut more = [(); WAYS.len()].map(|()| BTreeMap::new());
    let mut refused = Vec::new();
    for (path, module) in modules().step_by(step) {
        let before = kernels(Ok(module.clone()), &path);
        for (way, more) in WAYS.into_iter().zip(&mut more) {
            let made = sliced_module(&module, way);
            let after = kernels(parser::parse(&made.text), &path);
            assert_eq!(before.len() + made.kernels.iter().filter(|k| k.slice.is_some()).count(), after.len());
            for kernel in &made.kernels {
                let Some(slice) = &kernel.slice else {
                    refused.push((kernel.name.clone(), kernel.refused.clone().unwrap().reason));
                    continue;
                };
                let (plain, slice) = (&before[&kernel.name], &after[slice]);
                assert!(is_sliced(slice.name()) && !is_sliced(plain.name()));
                assert_eq!(slice.params().len(), plain.params().len() + 6);
                assert_eq!(slice.param_bytes(), plain.param_bytes().next_multiple_of(4) + 24);
                let memory =
                    |kernel: &Kernel| (kernel.shared_bytes(), kernel.local_bytes(StackSize::default()));
                assert_eq!(memory(slice), memory(plain), "{path} {}", kernel.name);
                let [old, new] = [plain, slice].map(|kernel| i64::from(kernel.live_registers()));
                *more.entry(new - old).or_insert(0) += 1;
            }
        }
    }
    let expected: Vec<(String, String)> =
        REFUSED.iter().map(|(name, why)| ((*name).to_owned(), (*why).to_owned())).collect();
    assert_eq!(refused, expected);
    for (way, more) in WAYS.iter().zip(&more) {
        let all: u32 = more.values().sum();
        assert!(all > least, "{all} kernels");
        assert!(more.keys().all(|more| (0..=1).contains(more)), "{way:?} {more:?}");
        assert!(more[&0] * 10 > all * 8, "{way:?} {more:?}");
    }
}

#[test]
fn slices_take_at_most_one_register_more() {
    take_at_most_one_register_more(5, 70);
}

/// With the assembler that `PTXAS` names: it accepts all slices. Prints the number of additional registers
/// over plain kernels, its own and our estimate.
#[test]
#[ignore = "needs ptxas: cargo xtask ptxas --ptxas PROGRAM --slices"]
fn ptxas_accepts_slices() {
    let assembler = Assembler::new();
    for way in WAYS {
        let mut more: BTreeMap<i64, u32> = BTreeMap::new();
        let mut largest: BTreeMap<i64, String> = BTreeMap::new();
        let mut newer = 0;
        for (path, module) in modules() {
            let text = sliced_module(&module, way).text;
            let registers = match assembler.assemble(&module, &text) {
                Ok(registers) => registers,
                // Plain ones are not accepted either.
                Err(said) if said.contains("Unsupported .version") => {
                    newer += 1;
                    continue;
                }
                Err(said) => panic!("{path}: {said}\n{text}"),
            };
            for (name, plain) in registers.iter().filter(|(name, _)| !is_sliced(name)) {
                let difference = i64::from(registers[&sliced(name)]) - i64::from(*plain);
                *more.entry(difference).or_default() += 1;
                largest.insert(difference, format!("{name} of {path}: {plain}"));
            }
        }
        println!(
            "{way:?}: kernels by registers more: {more:?}; {newer} modules are too new for the assembler"
        );
        if let Some((most, name)) = largest.last_key_value() {
            println!("  {most} more in {name}");
        }
    }
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn slices_of_all_kernels_take_at_most_one_register_more() {
        take_at_most_one_register_more(1, 400);
    }
}
