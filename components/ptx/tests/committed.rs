//! What holds for every committed PTX file: it is printed back byte for byte, stays a sound module when it is changed, and is
//! the same program to those who run it and to those who analyse it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::path::Path;
use std::process::Command;

use counterpoint_ptx::analysis::access::KernelAccesses;
use counterpoint_ptx::ast::{Function, Module, Span};
use counterpoint_ptx::rewrite::{Edit, print, print_with};
use counterpoint_ptx::{Kernel, parser};

use common::files;

fn module(path: &Path) -> Module {
    let text = std::fs::read_to_string(path).unwrap();
    parser::parse(&text).unwrap_or_else(|errors| panic!("{}: {errors:?}", path.display()))
}

fn kernels(module: &Module) -> impl Iterator<Item = &Function> {
    module.functions.iter().filter(|function| function.entry && function.body.is_some())
}

/// What a pass does that gives every kernel one more parameter, which it reads first of all.
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
    for path in files() {
        let module = module(&path);
        assert_eq!(print(&module), module.source, "{}", path.display());
    }
}

#[test]
fn kernels_with_one_more_parameter_are_what_they_were() {
    for path in files() {
        let plain = module(&path);
        let text = with_a_parameter(&plain);
        for kernel in kernels(&plain) {
            let [old, new] = [&plain.source, &text].map(|text| {
                Kernel::compile(text, Some(&kernel.name))
                    .unwrap_or_else(|errors| panic!("{}: {errors:?}", path.display()))
            });
            assert_eq!(new.params().len(), old.params().len() + 1);
            assert_eq!(new.instructions().len(), old.instructions().len() + 1, "{}", path.display());
        }
    }
}

#[test]
fn analyses_number_instructions_as_the_decoder_does() {
    let mut seen = 0;
    for path in files() {
        let module = module(&path);
        for kernel in kernels(&module) {
            let decoded = Kernel::compile(&module.source, Some(&kernel.name)).unwrap();
            for access in KernelAccesses::new(&module, kernel).accesses {
                let instruction = &decoded.instructions()[access.pc as usize];
                assert_eq!(instruction.line, access.line, "{}, pc {}", path.display(), access.pc);
                assert!(instruction.is_memory(), "{}: {}", path.display(), access.opcode);
                seen += 1;
            }
        }
    }
    assert!(seen > 1000, "{seen} accesses only");
}

/// The architecture to assemble for: the module's own, or the oldest that the assembler knows.
fn architecture(module: &Module, oldest: u32) -> String {
    let number = module.target.split(',').next().unwrap().trim().trim_start_matches("sm_");
    format!("sm_{}", number.parse::<u32>().unwrap().max(oldest))
}

/// What the assembler says of a module with `-v`.
fn assemble(assembler: &str, text: &str, architecture: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("module.ptx");
    std::fs::write(&source, text).unwrap();
    let mut command = Command::new(assembler);
    command.args(["-v", "-arch", architecture, "-o"]).arg(folder.path().join("module.cubin")).arg(&source);
    let output = command.output().unwrap_or_else(|error| panic!("{assembler}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// The kernels that the assembler names, with the registers a thread that it gave them.
fn assembled_registers(said: &str) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    let mut name = None;
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            name = rest.split('\'').next();
        } else if let Some((_, rest)) = line.split_once("Used ")
            && let Some(name) = name.take()
        {
            found.push((name.to_owned(), rest.split(' ').next().unwrap().parse().unwrap()));
        }
    }
    found
}

/// With the assembler that `PTXAS` names; prints how many registers it and we give to every kernel.
#[test]
#[ignore = "needs ptxas: cargo xtask ptxas --ptxas PROGRAM"]
fn ptxas_accepts_every_module_before_and_after() {
    let assembler = std::env::var("PTXAS").unwrap();
    let help = Command::new(&assembler).arg("--help").output().unwrap();
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let known = help.split("'sm_").skip(1).filter_map(|rest| rest.split('\'').next()?.parse().ok());
    let oldest: u32 = known.min().unwrap_or_else(|| panic!("{assembler} --help names no architecture"));
    println!("{:<62} {:>9} {:>6}", "registers a thread", "estimated", "ptxas");
    for path in files() {
        let module = module(&path);
        let architecture = architecture(&module, oldest);
        assemble(&assembler, &with_a_parameter(&module), &architecture);
        let folder = path.parent().unwrap().file_name().unwrap().to_string_lossy();
        let file = path.file_stem().unwrap().to_string_lossy();
        for (kernel, registers) in assembled_registers(&assemble(&assembler, &module.source, &architecture)) {
            let decoded = Kernel::compile(&module.source, Some(&kernel)).unwrap();
            let name = format!("{folder} {file} {kernel}");
            println!("{name:<62} {:>9} {registers:>6}", decoded.registers_per_thread());
        }
    }
}
