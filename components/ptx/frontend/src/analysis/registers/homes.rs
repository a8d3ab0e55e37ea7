//! The register of each value in machine code: one of its own, that of another value, or none.

use crate::analysis::ssa::{Source, Ssa, SsaInstruction, ValueId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// A register of the thread's own.
    Own,
    Same(ValueId),
    /// A constant, a parameter, or a value that all threads of a block share: an immediate, a word of the constant bank, or a
    /// register of the warp.
    Shared(Option<i64>),
}

/// The places of a function's values.
pub(super) struct Homes {
    homes: Vec<Home>,
    /// The value that an address is made of by adding a constant; itself for most.
    bases: Vec<ValueId>,
    pub(super) weights: Vec<u32>,
    /// Values that are the same in all threads of a warp, as far as they come from integers.
    uniform: Vec<bool>,
}

impl Homes {
    pub(super) fn new(ssa: &Ssa) -> Self {
        let count = ssa.definitions.len();
        let weights = ssa.bytes.iter().map(|bytes| bytes.div_ceil(4)).collect();
        let mut found = Homes {
            homes: vec![Home::Own; count],
            bases: (0..count as ValueId).collect(),
            weights,
            uniform: uniform(ssa),
        };
        for &block in &ssa.dominators.order {
            for phi in &ssa.phis[block as usize] {
                let mut homes =
                    phi.arguments.iter().map(|&(_, value)| value).filter(|&value| value != phi.result);
                let first = homes.next();
                if let Some(first) = first
                    && homes.all(|value| value == first)
                {
                    found.homes[phi.result as usize] = found.through(first);
                }
            }
            for step in ssa.steps_of(block) {
                found.step(step);
            }
        }
        found
    }

    /// The home of a value that is a copy of `value`.
    fn through(&self, value: ValueId) -> Home {
        match self.homes[value as usize] {
            Home::Own => Home::Same(value),
            other => other,
        }
    }

    fn step(&mut self, step: &SsaInstruction) {
        let &[result] = &step.results[..] else { return };
        if step.guard.is_some() {
            return;
        }
        let words: Vec<&str> = step.opcode.split('.').collect();
        let home = match (words[0], &step.sources[..]) {
            ("mov", [source]) | ("cvta", [source]) => match source {
                Source::Value(value) => self.through(*value),
                Source::Integer(value) => Home::Shared(Some(*value)),
                Source::Float => Home::Shared(None),
                Source::Name(name, _) if is_the_threads(name) => Home::Own,
                Source::Name(..) => Home::Shared(None),
                _ => Home::Own,
            },
            ("ld", [Source::Address(base, _)])
                if words.contains(&"param") && matches!(**base, Source::Name(..)) =>
            {
                Home::Shared(None)
            }
            ("cvt", [Source::Value(value)]) if words.len() == 3 && is_renaming(words[1], words[2]) => {
                self.through(*value)
            }
            ("ld", [Source::Address(base, _)]) if words.contains(&"const") && self.is_uniform(base) => {
                Home::Shared(None)
            }
            (name, sources)
                if is_uniform(name, &words) && sources.iter().all(|source| self.is_shared(source)) =>
            {
                Home::Shared(None)
            }
            ("cvt", [Source::Value(_)]) if words[1..] == ["u64", "u32"] => {
                self.weights[result as usize] = 1;
                Home::Own
            }
            _ => Home::Own,
        };
        self.homes[result as usize] = home;
        let base = match (words[0], &step.sources[..]) {
            ("add" | "sub", [Source::Value(base), Source::Integer(_)]) => Some(*base),
            ("add" | "sub", [Source::Value(base), Source::Value(by)])
                if matches!(self.homes[*by as usize], Home::Shared(Some(_))) =>
            {
                Some(*base)
            }
            _ => None,
        };
        if let (Some(base), Home::Own) = (base, home) {
            self.bases[result as usize] = self.bases[self.root(base) as usize];
        }
    }

    fn is_uniform(&self, source: &Source) -> bool {
        is_uniform_source(&self.uniform, source)
    }

    fn root(&self, value: ValueId) -> ValueId {
        match self.homes[value as usize] {
            Home::Same(root) => root,
            _ => value,
        }
    }

    fn is_shared(&self, source: &Source) -> bool {
        match source {
            Source::Value(value) | Source::Not(value) => {
                matches!(self.homes[*value as usize], Home::Shared(_))
            }
            Source::Integer(_) | Source::Float => true,
            Source::Name(name, _) => !is_the_threads(name),
            Source::Address(..) | Source::Parts(_) => false,
        }
    }

    /// The value whose register is read where `value` is; `None` if none is.
    pub(super) fn read(&self, value: ValueId) -> Option<ValueId> {
        match self.homes[value as usize] {
            Home::Own => Some(value),
            Home::Same(root) => Some(root),
            Home::Shared(_) => None,
        }
    }

    /// The value whose register is read where `value` is an address; `None` if all threads share it.
    pub(super) fn address(&self, value: ValueId) -> Option<ValueId> {
        let root = self.read(value)?;
        Some(self.bases[root as usize])
    }

    /// The integer that a source is, if that is known.
    pub(super) fn constant(&self, source: &Source) -> Option<i64> {
        match source {
            Source::Integer(value) => Some(*value),
            Source::Value(value) => match self.homes[*value as usize] {
                Home::Shared(constant) => constant,
                _ => None,
            },
            _ => None,
        }
    }
}

/// Special registers that differ between the threads of a block.
fn is_the_threads(name: &str) -> bool {
    let name = name.split('.').next().unwrap_or("");
    matches!(
        name,
        "%tid"
            | "%laneid"
            | "%warpid"
            | "%lanemask_eq"
            | "%lanemask_lt"
            | "%lanemask_le"
            | "%lanemask_gt"
            | "%lanemask_ge"
    ) || name.starts_with("%clock")
        || name.starts_with("%globaltimer")
}

/// A conversion that changes no bit of a register.
fn is_renaming(to: &str, from: &str) -> bool {
    let bits = |kind: &str| kind.get(1..).and_then(|bits| bits.parse::<u32>().ok());
    let is_integer = |kind: &str| kind.starts_with(['u', 's', 'b']);
    is_integer(to)
        && is_integer(from)
        && matches!((bits(to), bits(from)), (Some(to), Some(from)) if to <= from && to >= 32)
}

/// Instructions that the warp's own registers have too.
fn is_uniform(name: &str, words: &[&str]) -> bool {
    let kind = words.last().copied().unwrap_or("");
    let integer = kind.starts_with(['u', 's', 'b']) || kind == "pred";
    integer
        && matches!(
            name,
            "add"
                | "sub"
                | "mul"
                | "mad"
                | "shl"
                | "shr"
                | "and"
                | "or"
                | "xor"
                | "not"
                | "neg"
                | "min"
                | "max"
                | "setp"
                | "selp"
                | "lop3"
                | "cvt"
                | "prmt"
                | "abs"
        )
}

fn is_uniform_source(uniform: &[bool], source: &Source) -> bool {
    match source {
        Source::Value(value) | Source::Not(value) => uniform[*value as usize],
        Source::Integer(_) | Source::Float => true,
        Source::Name(name, _) => !is_the_threads(name),
        Source::Address(base, _) => is_uniform_source(uniform, base),
        Source::Parts(parts) => parts.iter().all(|part| is_uniform_source(uniform, part)),
    }
}

/// For each value, whether it is the same in all threads of a warp. Every value is assumed to be, until an instruction is found
/// that makes it differ.
fn uniform(ssa: &Ssa) -> Vec<bool> {
    let mut uniform = vec![true; ssa.definitions.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for &block in &ssa.dominators.order {
            for phi in &ssa.phis[block as usize] {
                if uniform[phi.result as usize]
                    && !phi.arguments.iter().all(|(_, value)| uniform[*value as usize])
                {
                    uniform[phi.result as usize] = false;
                    changed = true;
                }
            }
            for step in ssa.steps_of(block) {
                let words: Vec<&str> = step.opcode.split('.').collect();
                let is_kept = matches!(words[0], "mov" | "cvta")
                    || words[0] == "ld" && (words.contains(&"param") || words.contains(&"const"))
                    || is_uniform(words[0], &words);
                let stays = is_kept && step.sources.iter().all(|source| is_uniform_source(&uniform, source));
                for result in step.results.iter().filter(|_| !stays) {
                    changed |= std::mem::replace(&mut uniform[*result as usize], false);
                }
            }
        }
    }
    uniform
}
