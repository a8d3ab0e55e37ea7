//! The checker of races against the model: a program without a data race in any execution that the model allows has no finding, however
//! its threads are placed in the order of the run; one with a race has a finding in some order.

use counterpoint_ptx::Kernel;
use counterpoint_ptx::functional::{Check, FlatMemory, Grid, Options};

use super::kernel::{Program, instruction};
use super::model::{Op, is_racy};
use super::{buffering, chains, coherence, independent_reads, message_passing};

const TARGET: u32 = 75;
const WARPS: u32 = 4;

/// A program as a kernel, whose blocks and warps have the numbers that `place` gives.
fn source(program: &Program, place: impl Fn(u32, u32) -> u32) -> String {
    let mut text = format!(
        ".version 7.8\n.target sm_{TARGET}\n.address_size 64\n.visible .entry k(.param .u64 locations)\n{{\n\
         .reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b32 %v<9>;\n.reg .b32 %c;\n.reg .b64 %x<4>;\n\
         ld.param.u64 %x0, [locations];\nadd.u64 %x1, %x0, 128;\nadd.u64 %x2, %x0, 256;\nmov.u32 %r1, %tid.x;\n\
         and.b32 %r2, %r1, 31;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nmov.u32 %r2, %ctaid.x;\nshr.u32 %r1, %r1, 5;\n\
         mad.lo.u32 %r1, %r2, {WARPS}, %r1;\n"
    );
    for (role, thread) in program.threads.iter().enumerate() {
        text +=
            &format!("setp.ne.u32 %p1, %r1, {};\n@%p1 bra SKIP_{role};\n", place(thread.block, thread.warp));
        for op in &thread.ops {
            text += &instruction(*op, TARGET, ".global");
            text += "\n";
        }
        text += &format!("SKIP_{role}:\n");
    }
    text + "ret;\n}\n"
}

fn has_finding(source: &str) -> bool {
    let kernel = Kernel::compile(source, None).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
    let mut memory = FlatMemory::new(0);
    let locations = memory.push(&[0; 512]);
    let options = Options { racecheck: true, ..Options::default() };
    let variables = memory.load("k", &kernel);
    let params = locations.to_le_bytes();
    let mut launch = Grid::new(&kernel, [4, 1, 1], [32 * WARPS, 1, 1], &params, variables, &options).unwrap();
    let _ = launch.run_all(&mut memory, || {}).unwrap_or_else(|failure| panic!("{failure}\n{source}"));
    launch.findings().iter().any(|finding| finding.check == Check::Race)
}

/// Whether some order of the blocks and warps brings a finding.
fn is_found(program: &Program) -> bool {
    let has_barrier =
        program.threads.iter().any(|thread| thread.ops.iter().any(|op| matches!(op, Op::Barrier)));
    (0..8u32).any(|order| {
        let turn = |number: u32, by: u32| {
            if order >> 2 & 1 != 0 { (7 - number + by) % 4 } else { (number + by) % 4 }
        };
        // The barrier's warps are any two of a block.
        let warp = |warp: u32| if has_barrier && order == 0 { warp } else { turn(warp, order) };
        has_finding(&source(program, |block, number| turn(block, order) * WARPS + warp(number)))
    })
}

#[test]
fn the_checker_of_races_agrees_with_the_model() {
    let families = [message_passing(false), buffering(), independent_reads(), coherence(), chains()].concat();
    let (mut racy, mut clean, mut missed) = (0, 0, Vec::new());
    for program in &families {
        let Program { name, threads, locations, registers } = program;
        let found = is_found(program);
        if is_racy(threads, *locations, *registers) {
            racy += 1;
            if !found {
                missed.push(name.clone());
            }
        } else {
            clean += 1;
            assert!(!found, "{name} has no race");
        }
    }
    assert!(racy > 300 && clean > 20, "{racy} racy, {clean} clean");
    assert!(missed.is_empty(), "{} of {racy} races were missed: {missed:#?}", missed.len());
}
