//! Registers and constants of the wrong type or width are refused when a module is read, each with its place.

use counterpoint_ptx::Kernel;

/// Two functions, and registers of every type.
const HEAD: &str = ".version 7.8\n.target sm_70\n.address_size 64\n\
    .func (.reg .u32 r) fn(.reg .u32 a) { mov.u32 r, a; ret; } .func (.reg .f32 r) ff(.reg .f32 a) { mov.f32 r, a; ret; }\n\
    .visible .entry k() { .reg .pred %p<5>; .reg .b16 %h<5>; .reg .u16 %hu<5>; .reg .s16 %hs<5>; .reg .b32 %r<5>;\n\
    .reg .u32 %u<5>; .reg .s32 %s<5>; .reg .f32 %f<5>; .reg .b64 %d<5>; .reg .u64 %du<5>; .reg .s64 %ds<5>;\n\
    .reg .f64 %e<5>; .reg .f16 %hf<5>; .reg .f16x2 %hh<5>; .shared .align 8 .b8 tile[64];\n";

/// The line of an instruction behind the head.
const LINE: u32 = 8;

fn errors(instruction: &str) -> Vec<String> {
    match Kernel::compile(&format!("{HEAD}{instruction}\nret; }}"), None) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(|error| error.to_string()).collect(),
    }
}

fn rows(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[test]
fn what_types_allow_is_accepted() {
    let accepted: Vec<&str> = rows(include_str!("types/accepted.txt")).collect();
    assert!(accepted.len() >= 90);
    for instruction in accepted {
        assert_eq!(errors(instruction), [""; 0], "{instruction}");
    }
}

#[test]
fn what_types_forbid_is_refused_with_its_place() {
    let refused: Vec<&str> = rows(include_str!("types/refused.txt")).collect();
    assert!(refused.len() >= 100);
    for row in refused {
        let (instruction, message) = row.split_once("  # ").expect("an instruction and a message");
        assert_eq!(errors(instruction), [format!("{LINE}:{message}")], "{instruction}");
    }
}
