//! Operations as machine code would have them: without values that no register holds.

use std::collections::{BTreeMap, BTreeSet};

use super::homes::Homes;
use crate::analysis::ssa::{Source, Ssa, SsaInstruction, UNDEFINED, ValueId};

/// A register of an operation: a value, and which round of an unrolled loop makes it.
pub(super) type Name = u64;

/// The memory that an operation touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    Nothing,
    /// Memory that nobody writes while the kernel runs.
    ReadOnly,
    Load(Space),
    Store(Space),
    /// All memory: barriers, atomics, calls.
    All,
}

/// State spaces as the assembler keeps them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Global,
    Shared,
    Local,
}

#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) reads: Vec<Name>,
    pub(super) writes: Vec<Name>,
    pub(super) touch: Touch,
    /// Cycles until the result is ready.
    pub(super) latency: u32,
    /// Registers that the operation needs beside its operands, while it runs.
    pub(super) scratch: u32,
    /// Whether the operation ends the block.
    pub(super) last: bool,
}

impl Operation {
    pub(super) fn new(step: &SsaInstruction, reads: Vec<Name>, writes: Vec<Name>) -> Self {
        let (latency, scratch) = cost(step);
        Operation { reads, writes, touch: touch(step), latency, scratch, last: is_branch(step) }
    }

    /// A constant that is brought into a register.
    pub(super) fn move_to(name: Name) -> Self {
        Operation {
            reads: Vec::new(),
            writes: vec![name],
            touch: Touch::Nothing,
            latency: 5,
            scratch: 0,
            last: false,
        }
    }
}

pub(super) struct Block {
    pub(super) operations: Vec<Operation>,
    /// Registers whose values are used behind it.
    pub(super) live_out: Vec<Name>,
    /// Registers that hold a value all the way through it, and are not used in it.
    pub(super) through: u32,
}

/// The registers that a step reads, and whether an address that all threads share is among them.
pub(super) fn reads(homes: &Homes, step: &SsaInstruction) -> (Vec<ValueId>, bool) {
    let mut found = Vec::new();
    let mut has_shared_address = false;
    for source in &step.sources {
        collect(homes, source, &mut found, &mut has_shared_address);
    }
    if let Some((guard, _)) = step.guard {
        found.extend(step.previous.iter().chain([&guard]).filter_map(|value| homes.read(*value)));
    }
    found.retain(|value| *value != UNDEFINED);
    found.sort_unstable();
    found.dedup();
    (found, has_shared_address)
}

fn collect(homes: &Homes, source: &Source, found: &mut Vec<ValueId>, has_shared_address: &mut bool) {
    match source {
        Source::Value(value) | Source::Not(value) => found.extend(homes.read(*value)),
        Source::Address(base, _) => {
            if let Source::Value(value) = **base {
                let root = homes.address(value);
                found.extend(root);
                *has_shared_address |= root.is_none();
            }
        }
        Source::Parts(parts) => parts.iter().for_each(|part| collect(homes, part, found, has_shared_address)),
        _ => {}
    }
}

fn touch(step: &SsaInstruction) -> Touch {
    let words: Vec<&str> = step.opcode.split('.').collect();
    let has = |word: &str| words.contains(&word);
    let space = if has("shared") {
        Space::Shared
    } else if has("local") {
        Space::Local
    } else {
        Space::Global
    };
    match words[0] {
        "ld" if has("param") || has("const") || has("nc") => Touch::ReadOnly,
        "ldu" | "tex" | "tld4" => Touch::ReadOnly,
        "ld" if !has("volatile") => Touch::Load(space),
        "ldmatrix" => Touch::Load(Space::Shared),
        "st" if !has("volatile") => Touch::Store(space),
        "stmatrix" => Touch::Store(Space::Shared),
        "ld" | "st" | "atom" | "red" | "bar" | "barrier" | "membar" | "fence" | "call" | "cp"
        | "mbarrier" | "wmma" | "suld" | "sust" | "sured" | "trap" | "nanosleep" | "activemask" | "vote"
        | "shfl" | "match" | "redux" | "alloca" | "stacksave" | "stackrestore" => Touch::All,
        _ => Touch::Nothing,
    }
}

/// Whether a step does more than make values.
pub(super) fn is_rooted(step: &SsaInstruction) -> bool {
    match touch(step) {
        Touch::Store(_) | Touch::All => true,
        _ => is_branch(step),
    }
}

/// Whether a step ends its block.
pub(super) fn is_branch(step: &SsaInstruction) -> bool {
    matches!(step.opcode.split('.').next(), Some("bra" | "ret" | "exit" | "brx"))
}

pub(super) fn addresses(homes: &Homes, step: &SsaInstruction) -> Vec<ValueId> {
    let address = |source: &Source| match source {
        Source::Address(base, _) => match &**base {
            Source::Value(value) => homes.address(*value),
            _ => None,
        },
        _ => None,
    };
    step.sources.iter().filter_map(address).collect()
}

/// Whether a constant factor takes a register: the product is added to a word of the constant bank.
pub(super) fn has_factor(homes: &Homes, step: &SsaInstruction) -> bool {
    let is_product = step.opcode.starts_with("mul.wide") || step.opcode.starts_with("mad.wide");
    is_product && step.sources.iter().any(|source| homes.constant(source).is_some())
}

pub(super) fn needed(ssa: &Ssa, homes: &Homes) -> Vec<bool> {
    let mut needed = vec![false; ssa.definitions.len()];
    let mut phis = BTreeMap::new();
    for phi in ssa.phis.iter().flatten() {
        phis.insert(phi.result, phi);
    }
    let mut open: Vec<ValueId> = Vec::new();
    for &block in &ssa.dominators.order {
        for step in ssa.steps_of(block).iter().filter(|step| is_rooted(step)) {
            open.extend(reads(homes, step).0);
        }
    }
    while let Some(value) = open.pop() {
        if std::mem::replace(&mut needed[value as usize], true) {
            continue;
        }
        if let Some(pc) = ssa.definitions[value as usize] {
            open.extend(reads(homes, &ssa.steps[pc as usize]).0);
        } else if let Some(phi) = phis.get(&value) {
            open.extend(phi.arguments.iter().filter_map(|&(_, value)| homes.read(value)));
        }
    }
    needed
}

/// Operations without those whose results nothing reads.
pub(super) fn without_dead(operations: Vec<Operation>, live_out: &[Name]) -> Vec<Operation> {
    let mut live: BTreeSet<Name> = live_out.iter().copied().collect();
    let mut kept = Vec::new();
    for operation in operations.into_iter().rev() {
        let rooted = operation.last || matches!(operation.touch, Touch::Store(_) | Touch::All);
        if rooted || operation.writes.iter().any(|name| live.contains(name)) {
            for name in &operation.writes {
                live.remove(name);
            }
            live.extend(&operation.reads);
            kept.push(operation);
        }
    }
    kept.reverse();
    kept
}

/// Cycles until a result is ready, and registers that the instruction's own expansion takes.
fn cost(step: &SsaInstruction) -> (u32, u32) {
    let words: Vec<&str> = step.opcode.split('.').collect();
    let has = |word: &str| words.contains(&word);
    let wide = has("f64");
    match words[0] {
        "ld" if has("param") || has("const") => (30, 0),
        "ld" if has("shared") => (30, 0),
        "ld" | "ldu" | "tex" | "atom" | "tld4" | "suld" => (300, 0),
        "div" if has("approx") || has("full") => (30, 2),
        "div" if wide => (100, 14),
        "div" if has("f32") => (60, 8),
        "div" | "rem" if has("u64") || has("s64") => (150, 16),
        "div" | "rem" => (60, 5),
        "sqrt" | "rcp" if wide => (100, 10),
        "sqrt" | "rcp" if has("rn") => (40, 6),
        "sin" | "cos" | "ex2" | "lg2" | "rsqrt" | "sqrt" | "rcp" | "tanh" => (25, 0),
        "shfl" | "vote" | "bar" => (25, 0),
        _ if wide => (16, 0),
        _ => (5, 0),
    }
}
