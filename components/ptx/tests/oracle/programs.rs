//! Random programs: the executor, with and without vector extensions, against the scalar interpreter.
//!
//! `PROPTEST_CASES` and `PROPTEST_RNG_SEED` make it a hunt.

use counterpoint_ptx::functional::{FlatMemory, Options, run};
use counterpoint_ptx::{Kernel, parser};
use proptest::prelude::*;

use crate::oracle::random::{Catalogue, INPUT, OUTPUT, Random, SLOT, edge, random, text};
use crate::oracle::scalar::{Class, Launch, Type};

/// Global memory before the launch: input, slots, output, and the sums with a word for each thread behind them.
fn memory(program: &Random) -> (Vec<u8>, [usize; 4]) {
    let threads = (program.threads * program.ctas) as usize;
    let starts = [0, threads * INPUT, threads * (INPUT + SLOT), threads * (INPUT + SLOT + OUTPUT)];
    let mut bytes = Vec::with_capacity(starts[3] + 64 + 4 * threads);
    let mut state = program.seed;
    while bytes.len() < starts[1] {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let class = if state >> 62 == 0 { Class::Bits } else { Class::Float };
        let bits = if state >> 61 & 1 == 0 { 32 } else { 64 };
        let value = edge(Type { class, bits }, (state >> 33) as usize & 0xffff);
        // In the high half too, where registers of 64 bits have theirs.
        bytes.extend_from_slice(&(if bits == 32 { value | value << 32 } else { value }).to_le_bytes());
    }
    bytes.resize((starts[3] + 64 + 4 * threads).next_multiple_of(8), 0);
    (bytes, starts)
}

fn compare(program: &Random, catalogue: &Catalogue) {
    let source = text(program, catalogue);
    let (bytes, starts) = memory(program);
    let compiled = Kernel::compile(&source, None).unwrap_or_else(|errors| panic!("{errors:#?}\n{source}"));
    let execute = |baseline: bool| {
        let mut memory = FlatMemory::new(0);
        let base = memory.push(&bytes);
        let parameters: Vec<u8> =
            starts.iter().flat_map(|start| (base + *start as u64).to_le_bytes()).collect();
        let options = Options { baseline, limit: 10_000_000, ..Options::default() };
        let shape = ([program.ctas, 1, 1], [program.threads, 1, 1]);
        let count = run(&compiled, shape.0, shape.1, &parameters, &mut memory, &options)
            .unwrap_or_else(|fault| panic!("{fault}\n{source}"));
        (memory.bytes, parameters, base, count.thread_instructions)
    };
    let (fast, parameters, base, _) = execute(false);
    let (plain, ..) = execute(true);
    let module = parser::parse(&source).expect("it compiled");
    let mut slow = bytes;
    let launch = Launch {
        module: &module,
        kernel: "k",
        ctas: program.ctas,
        threads: program.threads,
        parameters: &parameters,
        base,
    };
    launch.run(&mut slow);
    for (what, found) in [("", &fast), (" without vector extensions", &plain)] {
        if let Some(at) = (0..slow.len()).find(|at| found[*at] != slow[*at]) {
            let word =
                |bytes: &[u8]| u64::from_le_bytes(bytes[at / 8 * 8..][..8].try_into().expect("8 bytes"));
            panic!(
                "byte {}: {:#x}{what}, {:#x} by the interpreter\n{source}",
                place(at, &starts),
                word(found),
                word(&slow)
            );
        }
    }
}

/// A byte of memory in words.
fn place(at: usize, starts: &[usize; 4]) -> String {
    let (name, start, size) = match at {
        _ if at < starts[1] => ("input", 0, INPUT),
        _ if at < starts[2] => ("slot", starts[1], SLOT),
        _ if at < starts[3] => ("output", starts[2], OUTPUT),
        _ if at < starts[3] + 64 => ("sums", starts[3], 64),
        _ => ("row", starts[3] + 64, 4),
    };
    format!("{} of the {name} of thread {}", (at - start) % size, (at - start) / size)
}

/// The number of programs, unless the environment says otherwise.
fn config(cases: u32) -> ProptestConfig {
    let said = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: said.unwrap_or(cases), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(50))]

    #[test]
    fn random_programs_do_what_the_interpreter_does(program in random()) {
        compare(&program, &Catalogue::new());
    }
}

mod slow {
    use super::*;

    proptest! {
        #![proptest_config(config(400))]

        #[test]
        #[ignore = "slow: cargo xtask slow"]
        fn many_random_programs_do_what_the_interpreter_does(program in random()) {
            compare(&program, &Catalogue::new());
        }
    }
}
