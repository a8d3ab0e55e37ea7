//! Properties of every committed PTX file: it is printed back byte for byte, stays a sound module when it is
//! changed, and is the same program to the executor and to the analyses.

use counterpoint_ptx::analysis::access::KernelAccesses;
use counterpoint_ptx::ast::{Function, Module, Span};
use counterpoint_ptx::rewrite::{Edit, print, print_with};
use counterpoint_ptx::{Kernel, parser};

use crate::common::ptxas::Assembler;
use crate::common::{compiled, modules};

fn parsed() -> impl Iterator<Item = (String, Module)> {
    modules().into_iter().map(|(name, text)| {
        let module = parser::parse(&text).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
        (name, module)
    })
}

fn kernels(module: &Module) -> impl Iterator<Item = &Function> {
    module.functions.iter().filter(|function| function.entry && function.body.is_some())
}

/// A pass that gives every kernel one more parameter, which it reads first of all.
fn with_a_parameter(module: &Module) -> String {
    let before = |span: Span| Span { end: span.start, ..span };
    let mut edits = Vec::new();
    for kernel in kernels(module) {
        let last = kernel.params.last().unwrap_or_else(|| panic!("{} has no parameters", kernel.name));
        let first = kernel.body.as_ref().and_then(|body| body.first()).unwrap();
        let behind = Span { start: last.span.end, ..last.span };
        let name = format!("{}_added", kernel.name);
        let read = format!("{{ .reg .u32 %added; ld.param.u32 %added, [{name}]; }}\n");
        edits.push(Edit { span: behind, text: format!(",\n.param .u32 {name}") });
        edits.push(Edit { span: before(first.span), text: read });
    }
    print_with(module, &edits).unwrap()
}

#[test]
fn every_file_is_printed_back() {
    for (name, module) in parsed() {
        assert_eq!(print(&module), module.source, "{name}");
    }
}

#[test]
fn kernels_with_one_more_parameter_are_what_they_were() {
    for (name, plain) in parsed() {
        let text = with_a_parameter(&plain);
        let [old, new] = [&plain.source, &text].map(|text| compiled(text));
        for kernel in kernels(&plain) {
            let (old, new) = (&old[&kernel.name], &new[&kernel.name]);
            assert_eq!(new.params().len(), old.params().len() + 1);
            assert_eq!(new.instructions().len(), old.instructions().len() + 1, "{name}");
        }
    }
}

#[test]
fn analyses_number_instructions_as_the_decoder_does() {
    let mut seen = 0;
    for (name, module) in parsed() {
        let decoded = compiled(&module.source);
        for kernel in kernels(&module) {
            let decoded = &decoded[&kernel.name];
            for access in KernelAccesses::new(&module, kernel).accesses {
                let instruction = &decoded.instructions()[access.pc as usize];
                assert_eq!(instruction.line, access.line, "{name}, pc {}", access.pc);
                assert!(instruction.is_memory(), "{name}: {}", access.opcode);
                seen += 1;
            }
        }
    }
    assert!(seen > 1000, "{seen} accesses only");
}

/// With the assembler that `PTXAS` names; prints how many registers it and we give to every kernel.
#[test]
#[ignore = "needs ptxas: cargo xtask ptxas --ptxas PROGRAM"]
fn ptxas_accepts_every_module_before_and_after() {
    let assembler = Assembler::new();
    println!("{:<62} {:>9} {:>6}", "registers a thread", "estimated", "ptxas");
    for (name, module) in parsed() {
        let assemble = |text: &str| assembler.assemble(&module, text).unwrap_or_else(|said| panic!("{said}"));
        assemble(&with_a_parameter(&module));
        let parts: Vec<&str> = name.trim_end_matches(".ptx").rsplit('/').collect();
        let (folder, file) = (parts[1], parts[0]);
        for (kernel, registers) in assemble(&module.source) {
            let decoded = Kernel::compile(&module.source, Some(&kernel)).unwrap();
            let name = format!("{folder} {file} {kernel}");
            println!("{name:<62} {:>9} {registers:>6}", decoded.registers_per_thread());
        }
    }
}
