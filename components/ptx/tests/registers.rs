//! Estimates of registers beside those of NVIDIA's assembler.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed, and says how near it is"
)]

use std::collections::BTreeMap;
use std::path::Path;

use counterpoint_archive::Archive;
use counterpoint_ptx::Kernel;

use crate::common::{compiled, corpus, text};

/// Facts: `ptxas -v` on committed modules; `cargo xtask ptxas` runs it again. The older assembler knows `sm_35`, the newer one counts
/// older modules as of `sm_75`.
const OLDER: &str = include_str!("registers/ptxas-11.8.txt");
const NEWER: &str = include_str!("registers/ptxas-13.5.txt");

/// A module's text, made for an assembler's oldest architecture if its own is older.
fn module(path: &str, oldest: u32, corpus: &Archive) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = match path.strip_prefix("tests/corpus/") {
        Some(name) => text(corpus, name),
        None => std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}")),
    };
    let (before, rest) = text.split_once(".target sm_").unwrap();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number: u32 = rest[..digits].parse().unwrap();
    // The PTX of an older module has votes without masks, which later versions have not.
    let before = if number < oldest { ".version 6.3\n" } else { before };
    format!("{before}.target sm_{}{}", number.max(oldest), &rest[digits..])
}

/// The share of kernels whose estimates are within 20 % of an assembler's numbers, and the median of the ratios.
fn compared(table: &str, oldest: u32) -> (f64, f64) {
    let (corpus, mut modules) = (corpus(), BTreeMap::new());
    let (mut ratios, mut near) = (Vec::new(), 0);
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let [path, kernel, registers] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let kernels = modules.entry(path).or_insert_with(|| compiled(&module(path, oldest, &corpus)));
        let estimate = kernels[kernel].registers_per_thread();
        assert!((4..=255).contains(&estimate), "{line}: {estimate}");
        let ratio = f64::from(estimate) / registers.parse::<f64>().unwrap();
        near += usize::from((0.8..=1.2).contains(&ratio));
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    let (share, median) = (near as f64 / ratios.len() as f64, ratios[ratios.len() / 2]);
    println!("{near} of {} within 20 %, median {median:.2}", ratios.len());
    assert!(
        ratios[0] > 0.2 && ratios[ratios.len() - 1] < 3.5,
        "{} to {}",
        ratios[0],
        ratios[ratios.len() - 1]
    );
    (share, median)
}

#[test]
fn estimates_are_near_those_of_the_assembler() {
    let (share, median) = compared(NEWER, 75);
    assert!(share > 0.62 && (0.95..1.08).contains(&median), "{share} {median}");
    let (share, median) = compared(OLDER, 35);
    assert!(share > 0.56 && (0.95..1.05).contains(&median), "{share} {median}");
}

const HEAD: &str =
    ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u32 n)";

fn registers(directives: &str, body: &str) -> u32 {
    let declared = ".reg .pred %p<4>;\n.reg .b32 %r<99>;\n.reg .f32 %f<99>;\n.reg .b64 %rd<99>;";
    let text = format!("{HEAD}\n{directives}\n{{\n{declared}\n{body}\nret;\n}}");
    Kernel::compile(&text, None).unwrap_or_else(|errors| panic!("{errors:?}")).registers_per_thread()
}

/// Loads of `count` words whose sum is stored in the end.
fn sum_of_loads(count: u32) -> String {
    let mut text = "ld.param.u64 %rd1, [a];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n".to_owned();
    for at in 0..count {
        text += &format!("ld.global.f32 %f{at}, [%rd3+{}];\n", 128 * at);
    }
    for at in 1..count {
        text += &format!("add.f32 %f0, %f0, %f{at};\n");
    }
    text + "st.global.f32 [%rd3], %f0;"
}

#[test]
fn what_all_threads_share_takes_no_registers() {
    let plain = "ld.param.u64 %rd1, [a];\nst.global.u32 [%rd1], 1;";
    let shared = "ld.param.u64 %rd1, [a];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %ctaid.x;\nmad.lo.s32 %r3, %r1, %r2, 7;\n\
                  setp.gt.s32 %p1, %r3, 5;\n@%p1 st.global.u32 [%rd1], 1;";
    assert_eq!(registers("", plain), registers("", shared));
}

#[test]
fn loads_go_out_together_up_to_a_full_sm() {
    let (few, many) = (registers("", &sum_of_loads(4)), registers("", &sum_of_loads(24)));
    assert_eq!(many - few, 20, "{few} and {many}");
    // 64 registers a thread: the SM is full with 1024 threads of them, and more loads wait for registers.
    assert!(registers("", &sum_of_loads(90)) <= 64);
}

#[test]
fn counted_loops_are_unrolled_unless_a_pragma_forbids_it() {
    let looped = |pragma: &str| {
        format!(
            "ld.param.u64 %rd3, [a];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nmul.wide.u32 %rd2, %r2, 4;\n\
             add.s64 %rd1, %rd3, %rd2;\nmov.u32 %r3, 0;\nmov.f32 %f1, 0f00000000;\nL:\n{pragma}\n\
             ld.global.f32 %f2, [%rd1];\nadd.f32 %f1, %f1, %f2;\nadd.s64 %rd1, %rd1, 4;\nadd.s32 %r3, %r3, 1;\n\
             setp.lt.s32 %p1, %r3, %r1;\n@%p1 bra L;\nst.global.f32 [%rd1], %f1;"
        )
    };
    let (unrolled, plain) = (registers("", &looped("")), registers("", &looped(".pragma \"nounroll\";")));
    // Four loads are under way at once.
    assert_eq!(unrolled - plain, 3, "{unrolled} and {plain}");
}

#[test]
fn bounds_on_threads_and_registers_hold() {
    let body = sum_of_loads(60);
    assert_eq!(registers(".maxntid 1024, 1, 1", &body), registers("", &body).min(64));
    assert_eq!(registers(".maxntid 512, 1, 1\n.minnctapersm 4", &body), 32);
    assert_eq!(registers(".maxnreg 24", &body), 24);
}
