//! Names that share a register, for functions with more names than a kernel can number.
//!
//! The live range of a name extends from the first point of the text at which its value matters to the last. Names of one size
//! with disjoint live ranges share a register, as by linear scan (Poletto and Sarkar, 1999). Parts of vectors and halves keep
//! registers of their own.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::RangeInclusive;

use super::cfg::{ControlFlow, Flow};
use super::liveness::{Own, live_out_of_blocks};
use super::ssa::{Names, Raw, Source, SsaInstruction, flow_of, step};
use crate::syntax::ast::{Function, OperandKind};

/// The number of the register of a name, by the scope that declares it, in the order in which scopes begin, and the name.
pub type Shared = BTreeMap<(usize, String), usize>;

/// The names of a function that can share registers; empty if it has branches whose targets are in a list.
pub fn shared(function: &Function) -> Shared {
    let mut names = Names::default();
    names.walk(function.body.as_deref().unwrap_or(&[]), None);
    let raw = std::mem::take(&mut names.raw);
    if raw.iter().any(|raw| matches!(raw.instruction, Cow::Owned(_))) {
        return Shared::new();
    }
    let count = raw.len() as u32;
    let flow: Vec<Flow> = raw.iter().map(|raw| flow_of(&names, raw, count)).collect();
    let flow = ControlFlow::new(&flow);
    let effects: Vec<Effect> = raw.iter().map(|raw| Effect::new(raw, step(&mut names, raw))).collect();
    let lives = lives(&flow, &effects, names.registers.len());
    let mut order: Vec<(RangeInclusive<u32>, (usize, String), u32)> = Vec::new();
    for ((scope, name), register) in names.registers {
        let bytes = names.bytes[register];
        if let Some(life) = lives[register].clone().filter(|_| bytes <= 8 && !name.contains('.')) {
            order.push((life, (scope, name), bytes));
        }
    }
    order.sort_by_key(|(life, ..)| *life.start());
    let mut shared = Shared::new();
    let mut next = 0;
    // Registers by size, the one that is free first at the top.
    let mut free: BTreeMap<u32, BinaryHeap<Reverse<(u32, usize)>>> = BTreeMap::new();
    for (life, name, bytes) in order {
        let free = free.entry(bytes).or_default();
        let register = match free.peek() {
            Some(&Reverse((end, register))) if end < *life.start() => {
                free.pop();
                register
            }
            _ => {
                next += 1;
                next - 1
            }
        };
        free.push(Reverse((*life.end(), register)));
        shared.insert(name, register);
    }
    shared
}

/// Registers that an instruction reads and writes, and whether a guard may skip it.
struct Effect {
    reads: Vec<usize>,
    writes: Vec<usize>,
    guarded: bool,
}

impl Effect {
    fn new(raw: &Raw<'_>, step: SsaInstruction) -> Self {
        let numbers = |values: Vec<u32>| values.into_iter().map(|value| value as usize);
        let sources = step.sources.iter().flat_map(Source::values).collect();
        let guard = step.guard.map(|(guard, _)| guard as usize);
        let mut reads: Vec<usize> = numbers(sources).chain(guard).collect();
        let mut writes: Vec<usize> = numbers(step.results).collect();
        // A first operand in brackets is where the instruction writes to, and no result.
        if !matches!(
            raw.instruction.operands.first().map(|operand| &operand.kind),
            Some(
                OperandKind::Name(_) | OperandKind::Vector(_) | OperandKind::Pair(..) | OperandKind::List(_)
            )
        ) {
            reads.append(&mut writes);
        }
        Effect { reads, writes, guarded: step.guard.is_some() }
    }
}

/// The first and the last instruction of each register at which its value matters.
fn lives(flow: &ControlFlow, effects: &[Effect], count: usize) -> Vec<Option<RangeInclusive<u32>>> {
    let mut owns = Vec::new();
    for block in &flow.blocks {
        let mut own = Own::new(count);
        for effect in effects[block.first as usize..block.end as usize].iter().rev() {
            for &write in effect.writes.iter().filter(|_| !effect.guarded) {
                own.read.remove(write);
                own.written.insert(write);
            }
            effect.reads.iter().for_each(|read| own.read.insert(*read));
        }
        owns.push(own);
    }
    let live_out = live_out_of_blocks(flow, &owns, count);
    let mut lives: Vec<Option<RangeInclusive<u32>>> = vec![None; count];
    let mut reach = |register: usize, at: u32| {
        let life = lives[register].get_or_insert(at..=at);
        *life = at.min(*life.start())..=at.max(*life.end());
    };
    for ((block, own), out) in flow.blocks.iter().zip(&owns).zip(&live_out) {
        own.live_in(out).iter().for_each(|register| reach(register, block.first));
        out.iter().for_each(|register| reach(register, block.end - 1));
        for pc in block.first..block.end {
            let Effect { reads, writes, .. } = &effects[pc as usize];
            reads.iter().chain(writes).for_each(|register| reach(*register, pc));
        }
    }
    lives
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parser::parse;

    /// Whether each two of these names of a kernel share a register.
    fn share(body: &str, names: &[[&str; 2]]) -> Vec<bool> {
        let head = ".version 7.8\n.target sm_35\n.address_size 64\n.visible .entry k() {\n";
        let registers = ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .v2 .b32 v;\n";
        let module = parse(&format!("{head}{registers}{body}\nret;\n}}")).unwrap();
        let shared = shared(&module.functions[0]);
        let register = |name: &str| shared.get(&(0, name.to_owned()));
        names.iter().map(|[a, b]| register(a).is_some() && register(a) == register(b)).collect()
    }

    #[test]
    fn names_share_a_register_if_their_lives_lie_apart() {
        let chain = "mov.b32 %r1, 1; add.u32 %r2, %r1, 1; add.u32 %r3, %r2, 1; add.u32 %r4, %r3, %r1;";
        assert_eq!(share(chain, &[["%r2", "%r4"], ["%r1", "%r3"], ["%r2", "%r3"]]), [true, false, false]);
        let sizes = "mov.b32 %r1, 1; mov.b64 %d1, 1; mov.b32 v.x, 1; mov.b32 %r2, v.x;";
        assert_eq!(share(sizes, &[["%r1", "%d1"], ["%r1", "v.x"], ["%r1", "%r2"]]), [false, false, true]);
    }

    #[test]
    fn what_a_loop_carries_lives_all_through_it() {
        let carried = "mov.b32 %r1, 0; L: add.u32 %r2, %r1, 1; add.u32 %r3, %r2, 1; add.u32 %r4, %r3, 1; \
            mov.b32 %r1, %r4; setp.lt.u32 %p1, %r1, 9; @%p1 bra L; mov.b32 %r5, 1;";
        let pairs = [["%r1", "%r2"], ["%r2", "%r4"], ["%r3", "%r5"]];
        assert_eq!(share(carried, &pairs), [false, true, true]);
        // A name that some round leaves as it was.
        let kept = "L: add.u32 %r2, %r2, 1; mov.b32 %r4, %r2; @%p1 mov.b32 %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra L;";
        assert_eq!(share(kept, &[["%r1", "%r4"], ["%r1", "%r2"]]), [false, false]);
        let address = "mov.b64 %d1, 0; L: prefetch.global.L1 [%d1]; mov.b64 %d2, 0; st.u32 [%d2], 1; bra L;";
        assert_eq!(share(address, &[["%d1", "%d2"]]), [false]);
    }
}
