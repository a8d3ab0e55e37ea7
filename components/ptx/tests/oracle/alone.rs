//! Each instruction by itself, in every spelling of the table, on values at which arithmetic has its edges: the
//! executor, with and without vector extensions, against the interpreter.
//!
//! `ROUNDS` makes it a hunt.

use counterpoint_ptx::Kernel;
use counterpoint_ptx::functional::{FlatMemory, Options, run};

use crate::oracle::random::{UNTESTED, edge};
use crate::oracle::scalar::{Opcode, Outcome, PREDICATE, Type, evaluate};

/// A register that holds a value of a type, and the type of the access that moves it.
fn holder(ty: Type, index: usize) -> (String, u32) {
    match ty.bits {
        1 => (format!("%p{index}"), 32),
        8 => (format!("%h{index}"), 8),
        16 => (format!("%h{index}"), 16),
        32 => (format!("%r{index}"), 32),
        _ => (format!("%d{index}"), 64),
    }
}

/// A kernel that runs one instruction in every thread: four words in, two words out. The fourth is the carry.
pub(crate) fn alone(op: &Opcode<'_>, table: u64) -> String {
    let (result, sources) = op.signature().expect("it is a function of registers");
    let mut body = String::new();
    let mut operands = vec![holder(result, 7).0];
    for (index, ty) in sources.iter().enumerate() {
        let (name, bits) = holder(*ty, index);
        let at = 8 * index;
        body += &match *ty {
            PREDICATE => format!("ld.global.u32 %r8, [%a+{at}]; setp.ne.u32 {name}, %r8, 0;\n"),
            _ => format!("ld.global.b{bits} {name}, [%a+{at}];\n"),
        };
        operands.push(if (op.head, index) == ("lop3", 3) { table.to_string() } else { name });
    }
    let second = if op.has_two_results() { "|%p6" } else { "" };
    operands[0] += second;
    let (to, bits) = holder(result, 7);
    let store = match result {
        PREDICATE => format!("selp.u32 %r8, 1, 0, {to}; st.global.u32 [%b], %r8;"),
        _ => format!("st.global.b{bits} [%b], {to};"),
    };
    let other = if second.is_empty() { "addc.u32 %r8, 0, 0;" } else { "selp.u32 %r8, 1, 0, %p6;" };
    format!(
        ".version 7.8\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b64 %a; .reg .b64 %b;\n\
         mov.u32 %r8, %tid.x; ld.param.u64 %a, [in]; mad.wide.u32 %a, %r8, 40, %a;\n\
         ld.param.u64 %b, [out]; mad.wide.u32 %b, %r8, 16, %b;\n{body}\
         ld.global.u32 %r8, [%a+32]; neg.s32 %r8, %r8; add.cc.u32 %r8, %r8, 1;\n\
         {} {};\n{other} st.global.u32 [%b+8], %r8;\n{store}\nret;\n}}\n",
        op.text,
        operands.join(", ")
    )
}

pub(crate) fn compile(source: &str) -> Kernel {
    Kernel::compile(source, None).unwrap_or_else(|errors| panic!("{errors:#?}\n{source}"))
}

/// Runs such a kernel in a thread for each input.
pub(crate) fn run_alone(kernel: &Kernel, inputs: &[[u64; 5]], baseline: bool) -> Vec<[u64; 2]> {
    let mut memory = FlatMemory::new(0);
    let from = memory.push(&inputs.iter().flatten().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>());
    let to = memory.push(&vec![0; 16 * inputs.len()]);
    let parameters: Vec<u8> = [from, to].into_iter().flat_map(u64::to_le_bytes).collect();
    let options = Options { baseline, ..Options::default() };
    run(kernel, [1; 3], [inputs.len() as u32, 1, 1], &parameters, &mut memory, &options).expect("it runs");
    let bytes = &memory.bytes[(to - memory.base) as usize..];
    let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
    let words: Vec<u64> = words.take(2 * inputs.len()).collect();
    words.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect()
}

#[test]
fn every_instruction_does_what_the_interpreter_does() {
    let rounds: usize = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1);
    let mut wrong = Vec::new();
    let mut tested = 0;
    let mut state = 1u64;
    for (text, _) in counterpoint_ptx::isa::instructions() {
        let op = Opcode::new(text);
        let Some((result, sources)) = op.signature() else { continue };
        if UNTESTED.iter().any(|(name, _)| *name == op.head || *name == text) {
            continue;
        }
        tested += 1;
        'rounds: for _ in 0..rounds {
            let mut random = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize
            };
            let table = random() as u64 & 0xff;
            let inputs: Vec<[u64; 5]> = (0..256)
                .map(|_| {
                    let mut words = [0; 5];
                    for (word, ty) in words.iter_mut().zip(&sources) {
                        *word = edge(if *ty == PREDICATE { Type { bits: 1, ..*ty } } else { *ty }, random());
                    }
                    if op.head == "lop3" {
                        words[3] = table;
                    }
                    words[4] = random() as u64 & 1;
                    words
                })
                .collect();
            let kernel = compile(&alone(&op, table));
            let (fast, plain) = (run_alone(&kernel, &inputs, false), run_alone(&kernel, &inputs, true));
            for (index, words) in inputs.iter().enumerate() {
                let mut carry = words[4] != 0;
                let want = match evaluate(&op, &words[..sources.len()], &mut carry) {
                    Outcome::Value(value) => [result.cut(value), carry.into()],
                    Outcome::Truth(first, second) if op.has_two_results() => [first.into(), second.into()],
                    Outcome::Truth(first, _) => [first.into(), carry.into()],
                };
                if fast[index] != want || plain[index] != want {
                    let (fast, plain) = (fast[index], plain[index]);
                    wrong.push(format!(
                        "{text} {words:x?}: {fast:x?} {plain:x?}, {want:x?} by the interpreter"
                    ));
                    break 'rounds;
                }
            }
        }
    }
    assert!(tested > 1000, "{tested}");
    assert!(wrong.is_empty(), "{} of {tested} differ:\n{}", wrong.len(), wrong.join("\n"));
}
