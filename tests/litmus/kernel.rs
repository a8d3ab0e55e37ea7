//! Litmus programs as one PTX kernel, and their outcomes on a machine.
//!
//! A thread of a program is the first lane of a warp. Warps meet before each round at a counter of the round,
//! wait for a number of steps that differs from round to round, and do their threads' operations. Each round
//! has locations of its own: in one line, in two lines of one slice of the L2 or of two. Before they meet,
//! threads load the locations that they read weakly, so that the L1 may have their lines.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use counterpoint_simulation::run::RunRequest;

use super::model::{Op, Outcome, Scope, Strength, Thread};
use crate::support::{request, run_request};

/// A program, and the numbers of its parts.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) threads: Vec<Thread>,
    pub(super) locations: usize,
    pub(super) registers: usize,
}

/// Bytes of a round's locations and its counter.
const ROUND_BYTES: usize = 1024;
const COUNTER: usize = 896;
/// Words for the registers of a round.
const RESULTS: usize = 8;
const WARPS: u32 = 4;

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => "cta",
        Scope::Gpu => "gpu",
        Scope::Sys => "sys",
    }
}

fn strength(how: Strength) -> String {
    match how {
        Strength::Weak => String::new(),
        Strength::Volatile => ".volatile".to_owned(),
        Strength::Relaxed(of) => format!(".relaxed.{}", scope(of)),
        Strength::Acquire(of) => format!(".acquire.{}", scope(of)),
        Strength::Release(of) => format!(".release.{}", scope(of)),
        Strength::AcqRel(of) => format!(".acq_rel.{}", scope(of)),
    }
}

/// An instruction of a thread; `space` is empty for generic addresses.
pub(super) fn instruction(op: Op, target: u32, space: &str) -> String {
    match op {
        Op::Read { at, into, how } => format!("ld{}{space}.u32 %v{into}, [%x{at}];", strength(how)),
        Op::Write { at, value, how } => {
            format!("mov.u32 %c, {value};\nst{}{space}.u32 [%x{at}], %c;", strength(how))
        }
        Op::Add { at, value, into, how } => {
            let how = if how == Strength::Weak { String::new() } else { strength(how) };
            format!("atom{how}{space}.add.u32 %v{into}, [%x{at}], {value};")
        }
        Op::Fence { sc, scope: of } if target >= 70 => {
            format!("fence.{}.{};", if sc { "sc" } else { "acq_rel" }, scope(of))
        }
        Op::Fence { scope: of, .. } => format!("membar.{};", scope(of).replace("gpu", "gl")),
        Op::Barrier => "bar.sync 1, 64;".to_owned(),
    }
}

pub(super) fn kernel(programs: &[Program], target: u32, rounds: usize) -> String {
    let mut text = format!(
        ".version 7.8\n.target sm_{target}\n.address_size 64\n\
         .visible .entry litmus(.param .u64 locations, .param .u64 results)\n{{\n\
         .reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b32 %v<9>;\n.reg .b32 %c;\n.reg .b64 %rd<9>;\n.reg .b64 %x<4>;\n\
         ld.param.u64 %rd1, [locations];\nld.param.u64 %rd2, [results];\n\
         mov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 31;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\n\
         mov.u32 %r2, %ctaid.x;\nshr.u32 %r1, %r1, 5;\nmad.lo.u32 %r1, %r2, {WARPS}, %r1;\n"
    );
    for (number, program) in programs.iter().enumerate() {
        // Every other program has generic addresses.
        let space = if number % 2 == 0 { ".global" } else { "" };
        for (role, thread) in program.threads.iter().enumerate() {
            let mut line = |text_of: String| writeln!(text, "{text_of}").unwrap();
            line(format!("setp.ne.u32 %p1, %r1, {};", thread.block * WARPS + thread.warp));
            line(format!("@%p1 bra SKIP_{number}_{role};\nmov.u32 %r3, 0;\nROUND_{number}_{role}:"));
            line(format!("add.u32 %r4, %r3, {};", number * rounds));
            line(format!("mul.wide.u32 %rd3, %r4, {ROUND_BYTES};\nadd.u64 %x0, %rd1, %rd3;"));
            // Locations are a word, or one to three lines, apart.
            line("and.b32 %r5, %r3, 3;\nshl.b32 %r6, %r5, 7;\nsetp.eq.u32 %p1, %r5, 0;".to_owned());
            line("selp.b32 %r5, 4, %r6, %p1;\ncvt.u64.u32 %rd4, %r5;".to_owned());
            line("add.u64 %x1, %x0, %rd4;\nadd.u64 %x2, %x1, %rd4;".to_owned());
            line("mov.u32 %r7, 1;".to_owned());
            for at in 0..program.locations {
                let is_weak =
                    |op: &Op| matches!(op, Op::Read { at: read, how: Strength::Weak, .. } if *read == at);
                if thread.ops.iter().any(is_weak) {
                    line(format!(
                        "ld.global.u32 %r6, [%x{at}];\nand.b32 %r6, %r6, 0;\nadd.u32 %r7, %r7, %r6;"
                    ));
                }
            }
            line(format!("red.global.add.u32 [%x0+{COUNTER}], %r7;\nMEET_{number}_{role}:"));
            line(format!("ld.volatile.global.u32 %r6, [%x0+{COUNTER}];"));
            line(format!("setp.lt.u32 %p1, %r6, {};\n@%p1 bra MEET_{number}_{role};", program.threads.len()));
            line(format!("mad.lo.u32 %r6, %r3, {}, {};\nand.b32 %r6, %r6, 15;", 7 + 4 * role, 5 * role));
            line(format!("WAIT_{number}_{role}:\nsetp.eq.u32 %p1, %r6, 0;\n@%p1 bra GO_{number}_{role};"));
            line(format!("sub.u32 %r6, %r6, 1;\nbra WAIT_{number}_{role};\nGO_{number}_{role}:"));
            for op in &thread.ops {
                line(instruction(*op, target, space));
            }
            line(format!("mul.wide.u32 %rd3, %r4, {};\nadd.u64 %rd3, %rd2, %rd3;", 4 * RESULTS));
            for op in &thread.ops {
                if let Op::Read { into, .. } | Op::Add { into, .. } = op {
                    line(format!("st.global.u32 [%rd3+{}], %v{into};", 4 * into));
                }
            }
            line(format!(
                "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, {rounds};\n@%p1 bra ROUND_{number}_{role};"
            ));
            line(format!("SKIP_{number}_{role}:"));
        }
    }
    text += "ret;\n}\n";
    text
}

/// Machine for the programs: `tiny` with settings, and optionally with paths to and from the L2 slices on which one message in three
/// is delayed, with the messages behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LitmusMachine {
    pub(super) sets: &'static [&'static str],
    pub(super) jitters: bool,
}

/// The outcomes that a machine shows, of each program.
pub(super) fn observe(
    programs: &[Program],
    machine: LitmusMachine,
    (target, rounds): (u32, usize),
    functional: bool,
) -> Vec<BTreeSet<Outcome>> {
    let folder = tempfile::tempdir().unwrap();
    let count = programs.len() * rounds;
    std::fs::write(folder.path().join("litmus.ptx"), kernel(programs, target, rounds)).unwrap();
    let (locations, results) = (count * ROUND_BYTES / 4, count * RESULTS);
    std::fs::write(folder.path().join("no_locations.u32"), vec![0; 4 * locations]).unwrap();
    std::fs::write(folder.path().join("no_results.u32"), vec![0; 4 * results]).unwrap();
    let blocks = 1 + programs.iter().flat_map(|it| &it.threads).map(|it| it.block).max().unwrap_or(0);
    let text = format!(
        "counterpoint: 1
application: litmus
code: {{ k: litmus.ptx }}
buffers: {{ locations: {{ type: u32, elements: {locations} }}, results: {{ type: u32, elements: {results} }} }}
preload:
  - load: {{ file: no_locations.u32, into: locations }}
  - load: {{ file: no_results.u32, into: results }}
kernels:
  - {{ launch: k.litmus, grid: {blocks}, block: {}, arguments: [locations, results] }}
copy_out: [locations, results]
postlude:
  - write: {{ from: locations, file: locations.u32 }}
  - write: {{ from: results, file: results.u32 }}
",
        32 * WARPS
    );
    let path = folder.path().join("litmus.yaml");
    std::fs::write(&path, text).unwrap();
    let mut overlays = Vec::new();
    if machine.jitters {
        let file = folder.path().join("jitters.yaml");
        let fault = "fault: delay, by: 900 ns, probability: 0.3";
        let ways =
            ["gpu.l2[*].requests", "gpu.sm[*].memory"].map(|to| format!("  - {{ to: \"{to}\", {fault} }}\n"));
        std::fs::write(&file, format!("counterpoint: 1\noverlay: jitter\nfaults:\n{}", ways.concat()))
            .unwrap();
        overlays.push(file.display().to_string());
    }
    let summary = run_request(&RunRequest {
        functional,
        overlays,
        ..request("tiny", &path.display().to_string(), machine.sets)
    });
    assert!(summary.is_good() && !summary.partial, "{}", summary.ending());
    let words = |name: &str| -> Vec<u32> {
        let found = summary.results.iter().find(|(file, _)| file == name).expect("it was written");
        found.1.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    };
    let (locations, results) = (words("locations.u32"), words("results.u32"));
    let of_round = |number: usize, program: &Program, round: usize| {
        let index = number * rounds + round;
        let apart = if round.is_multiple_of(4) { 1 } else { 32 * (round % 4) };
        let registers = results[index * RESULTS..][..program.registers].iter().copied();
        let last = (0..program.locations).map(|at| locations[index * ROUND_BYTES / 4 + at * apart]);
        registers.chain(last).collect::<Outcome>()
    };
    let all = |(number, program): (usize, &Program)| {
        (0..rounds).map(|round| of_round(number, program, round)).collect()
    };
    programs.iter().enumerate().map(all).collect()
}
