//! Every value of a kernel as a set of polynomials over thread, block, loop counters and parameters.
//!
//! Each value is computed once, in an order in which operands precede their uses. A loop's header holds unknowns at
//! first; a register that each round changes by the same amount is solved as `start + counter * step`, and all values
//! are computed again with the solutions. Where control merges, both values are possible. Values from memory are
//! opaque; so is a register whose change differs from round to round.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cfg::Block;
use super::dominance::Loop;
use super::operations::result;
use super::polynomial::{Atom, MOST_ALTERNATIVES, Polynomial};
use super::ssa::{Source, Ssa, SsaInstruction, UNDEFINED, ValueId};
use crate::syntax::ast::Function;

/// The possible values.
pub type Set = Arc<Vec<Polynomial>>;

/// Static knowledge of a predicate.
#[derive(Clone, Debug)]
pub enum Condition {
    /// A comparison of whole numbers.
    Compare {
        /// `lt`, `le`, `gt`, `ge`, `eq` or `ne`.
        relation: Relation,
        /// Whether the comparison is unsigned.
        unsigned: bool,
        /// The left operand.
        left: Set,
        /// The right operand.
        right: Set,
    },
    /// Both conditions hold.
    Both(Box<Condition>, Box<Condition>),
    /// At least one condition holds.
    Either(Box<Condition>, Box<Condition>),
    /// Nothing is known.
    Unknown,
}

impl Condition {
    /// All polynomials that the condition compares.
    pub fn sides(&self) -> Vec<&Polynomial> {
        match self {
            Condition::Compare { left, right, .. } => left.iter().chain(right.iter()).collect(),
            Condition::Both(a, b) | Condition::Either(a, b) => [a.sides(), b.sides()].concat(),
            Condition::Unknown => Vec::new(),
        }
    }
}

/// Comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are PTX's")]
pub enum Relation {
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
}

impl Relation {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "lt" | "lo" => Relation::Lt,
            "le" | "ls" => Relation::Le,
            "gt" | "hi" => Relation::Gt,
            "ge" | "hs" => Relation::Ge,
            "eq" => Relation::Eq,
            "ne" => Relation::Ne,
            _ => return None,
        })
    }

    fn contrary(self) -> Self {
        match self {
            Relation::Lt => Relation::Ge,
            Relation::Le => Relation::Gt,
            Relation::Gt => Relation::Le,
            Relation::Ge => Relation::Lt,
            Relation::Eq => Relation::Ne,
            Relation::Ne => Relation::Eq,
        }
    }
}

/// A test that every round of a loop makes, and that may end it.
#[derive(Clone, Debug)]
pub struct ExitTest {
    /// The condition under which the loop continues.
    pub stays: Condition,
    /// The block in which the loop then continues.
    pub staying: u32,
    /// Whether the predicate comes from memory.
    pub data: bool,
    /// Line of the branch.
    pub line: u32,
}

/// A loop and how it ends.
#[derive(Clone, Debug)]
pub struct CountedLoop {
    /// Blocks of the loop.
    pub body: Loop,
    /// Line of its first instruction.
    pub line: u32,
    /// The exit tests of the loop; the first that fails ends it.
    pub exits: Vec<ExitTest>,
    /// Whether the loop has no other exit.
    pub no_other_exit: bool,
}

impl CountedLoop {
    /// Whether the loop ends only when two numbers are equal. If they are never equal, a program that ends does not reach
    /// the loop: compilers end a loop so only behind a test that it has at least one round.
    pub fn ends_at_equality(&self) -> bool {
        let one = self.no_other_exit && self.exits.len() == 1;
        let mut exits = self.exits.iter();
        one && exits.all(|exit| matches!(exit.stays, Condition::Compare { relation: Relation::Ne, .. }))
    }
}

/// The values of a kernel.
#[derive(Clone, Debug)]
pub struct Affine {
    /// The kernel.
    pub ssa: Ssa,
    /// Its loops, outer ones first.
    pub loops: Vec<CountedLoop>,
    params: BTreeMap<String, u32>,
    values: Vec<Set>,
}

/// The continuation of a value of a loop's header.
enum Solution {
    /// The value grows by this polynomial in each round; zero: the value is constant.
    Step(Polynomial),
    /// Otherwise; and whether memory has a part in it.
    Irregular(bool),
}

/// Predicates made of more parts than this are given up.
const DEEPEST_CONDITION: u32 = 16;

impl Affine {
    /// Finds the values of a function.
    pub fn new(function: &Function) -> Self {
        let ssa = Ssa::new(function);
        let params = function.params.iter().enumerate().map(|(at, param)| (param.name.clone(), at as u32));
        let undefined: Set = Arc::new(vec![Polynomial::default()]);
        let values = vec![undefined; ssa.definitions.len()];
        let loops = ssa.dominators.loops();
        let mut affine = Affine { params: params.collect(), ssa, loops: Vec::new(), values };
        affine.pass(&loops, None);
        let solutions = affine.solve(&loops);
        affine.pass(&loops, Some(&solutions));
        affine.loops = loops.into_iter().map(|body| affine.counted(body)).collect();
        affine
    }

    /// The possible values of `value`.
    pub fn value(&self, value: ValueId) -> &Set {
        &self.values[value as usize]
    }

    /// The possible addresses that an operand in brackets names.
    pub fn address(&self, source: &Source) -> Vec<Polynomial> {
        match source {
            Source::Address(base, offset) => {
                let offset = Polynomial::constant(i128::from(*offset));
                let all = self.operand(base, "u64");
                all.iter().filter_map(|address| address.plus(&offset, 1)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn pass(&mut self, loops: &[Loop], solutions: Option<&BTreeMap<ValueId, Solution>>) {
        for block in self.ssa.dominators.order.clone() {
            let header = loops.iter().find(|found| found.header == block);
            for index in 0..self.ssa.phis[block as usize].len() {
                let phi = &self.ssa.phis[block as usize][index];
                let id = phi.result;
                let value = match (header, solutions) {
                    (None, _) => self.merge(phi.arguments.iter().map(|(_, value)| *value), id, block),
                    (Some(_), None) => vec![Polynomial::atom(Atom::Phi(id))],
                    (Some(body), Some(solutions)) => self.solved(body, id, index, solutions),
                };
                self.values[id as usize] = Arc::new(value);
            }
            let range = &self.ssa.flow.blocks[block as usize];
            for pc in range.first..range.end {
                for (id, value) in self.step(pc) {
                    self.values[id as usize] = Arc::new(value);
                }
            }
        }
    }

    fn unknown(&self, value: ValueId, data: bool, line: u32) -> Vec<Polynomial> {
        vec![Polynomial::atom(Atom::Unknown { value, data, line })]
    }

    fn first_line(&self, block: u32) -> u32 {
        self.ssa.steps[self.ssa.flow.blocks[block as usize].first as usize].line
    }

    fn merge(&self, from: impl Iterator<Item = ValueId> + Clone, id: ValueId, block: u32) -> Vec<Polynomial> {
        // A value that is never written is never meant.
        let sets = from.clone().filter(|value| *value != UNDEFINED);
        let all: BTreeSet<&Polynomial> = sets.flat_map(|value| self.values[value as usize].iter()).collect();
        if all.len() > MOST_ALTERNATIVES {
            let data = from.into_iter().any(|value| self.is_data(value));
            return self.unknown(id, data, self.first_line(block));
        }
        all.into_iter().cloned().collect()
    }

    fn is_data(&self, value: ValueId) -> bool {
        self.values[value as usize].iter().any(has_data)
    }

    fn solved(
        &self,
        body: &Loop,
        id: ValueId,
        index: usize,
        solutions: &BTreeMap<ValueId, Solution>,
    ) -> Vec<Polynomial> {
        let phi = &self.ssa.phis[body.header as usize][index];
        let starts = phi.arguments.iter().filter(|(from, _)| !body.latches.contains(from));
        let start = self.merge(starts.map(|(_, value)| *value), id, body.header);
        let line = self.first_line(body.header);
        let step = match solutions.get(&id) {
            Some(Solution::Step(step)) => step,
            Some(Solution::Irregular(data)) => {
                return self.unknown(id, *data || start.iter().any(has_data), line);
            }
            None => return self.unknown(id, false, line),
        };
        let known = |atom: &Atom| match atom {
            Atom::Phi(other) => Some(self.values[*other as usize].to_vec()),
            _ => None,
        };
        let counter = Polynomial::atom(Atom::Counter(body.header));
        let steps = step.substitute(&known);
        let grown = steps.and_then(|steps| {
            let grown: Option<Vec<Polynomial>> = steps.iter().map(|step| step.times(&counter)).collect();
            super::polynomial::combine(&start, &grown?, |a, b| a.plus(b, 1))
        });
        grown.unwrap_or_else(|| self.unknown(id, start.iter().any(has_data), line))
    }

    /// The continuations of the values of all headers, inner loops first.
    fn solve(&self, loops: &[Loop]) -> BTreeMap<ValueId, Solution> {
        let mut solutions: BTreeMap<ValueId, Solution> = BTreeMap::new();
        let mut starts: BTreeMap<ValueId, (u32, Vec<Polynomial>)> = BTreeMap::new();
        for body in loops.iter().rev() {
            let own: BTreeSet<ValueId> =
                self.ssa.phis[body.header as usize].iter().map(|phi| phi.result).collect();
            for phi in &self.ssa.phis[body.header as usize] {
                let (back, first): (Vec<_>, Vec<_>) =
                    phi.arguments.iter().partition(|(from, _)| body.latches.contains(from));
                let inner = |atom: &Atom| {
                    let Atom::Phi(other) = atom else { return None };
                    let (header, start) =
                        starts.get(other).filter(|(header, _)| body.blocks.contains(header))?;
                    let Some(Solution::Step(step)) = solutions.get(other) else { return None };
                    let grown = step.times(&Polynomial::atom(Atom::Counter(*header)))?;
                    start.iter().map(|start| start.plus(&grown, 1)).collect()
                };
                let mine = Polynomial::atom(Atom::Phi(phi.result));
                let mut steps = BTreeSet::new();
                let mut regular = true;
                for (_, value) in &back {
                    for next in self.values[*value as usize].iter() {
                        match next.substitute(&inner) {
                            Some(all) => {
                                match all.iter().map(|next| next.plus(&mine, -1)).collect::<Option<Vec<_>>>()
                                {
                                    Some(all) => steps.extend(all),
                                    None => regular = false,
                                }
                            }
                            None => regular = false,
                        }
                    }
                }
                let varies = |atom: &Atom| match atom {
                    Atom::Phi(other) => {
                        own.contains(other)
                            || starts.get(other).is_some_and(|(header, _)| body.blocks.contains(header))
                    }
                    Atom::Counter(header) => body.blocks.contains(header),
                    Atom::Unknown { .. } => true,
                    _ => false,
                };
                regular &= steps.len() == 1 && !steps.iter().any(|step| step.atoms().into_iter().any(varies));
                let solution = match steps.pop_first() {
                    Some(step) if regular => Solution::Step(step),
                    _ => Solution::Irregular(back.iter().any(|(_, value)| self.is_data(*value))),
                };
                solutions.insert(phi.result, solution);
                let start = self.merge(first.iter().map(|(_, value)| *value), phi.result, body.header);
                starts.insert(phi.result, (body.header, start));
            }
        }
        solutions
    }

    /// Results of an instruction.
    fn step(&self, pc: u32) -> Vec<(ValueId, Vec<Polynomial>)> {
        let step = &self.ssa.steps[pc as usize];
        let single = if step.results.len() == 1 { self.single(step) } else { None };
        let mut written = Vec::new();
        for (&id, &previous) in step.results.iter().zip(&step.previous) {
            let mut value =
                single.clone().unwrap_or_else(|| self.unknown(id, self.reads_data(step), step.line));
            if step.guard.is_some() && previous != UNDEFINED {
                let both: BTreeSet<Polynomial> =
                    value.into_iter().chain(self.values[previous as usize].iter().cloned()).collect();
                value = both.into_iter().collect();
            }
            if value.len() > MOST_ALTERNATIVES {
                value = self.unknown(id, value.iter().any(has_data), step.line);
            }
            written.push((id, value));
        }
        written
    }

    fn single(&self, step: &SsaInstruction) -> Option<Vec<Polynomial>> {
        let mut words = step.opcode.split('.');
        let (name, kind) = (words.next()?, step.opcode.rsplit('.').next()?);
        if name == "ld" {
            return words.any(|word| word == "param").then(|| self.parameter(step, kind))?;
        }
        // A selection's predicate is no number.
        let count = if name == "selp" { 2 } else { step.sources.len() };
        let operands = step.sources.iter().take(count).map(|source| match source {
            Source::Float | Source::Not(_) | Source::Parts(_) | Source::Address(..) => None,
            Source::Name(name, _) if name.starts_with('%') && special(name).is_none() => None,
            other => Some(self.operand(other, kind)),
        });
        result(&step.opcode, &operands.collect::<Option<Vec<_>>>()?)
    }

    fn parameter(&self, step: &SsaInstruction, kind: &str) -> Option<Vec<Polynomial>> {
        let Some(Source::Address(base, offset)) = step.sources.first() else { return None };
        let Source::Name(name, more) = base.as_ref() else { return None };
        let index = *self.params.get(name)?;
        let bytes = kind.strip_prefix(['u', 's', 'b'])?.parse::<u8>().ok()? / 8;
        let offset = u32::try_from(offset + more).ok()?;
        Some(vec![Polynomial::atom(Atom::Param { index, offset, bytes })])
    }

    /// The possible values of an operand of an instruction of a type.
    fn operand(&self, source: &Source, kind: &str) -> Vec<Polynomial> {
        match source {
            Source::Value(value) => self.values[*value as usize].to_vec(),
            Source::Integer(value) => {
                // Compilers write negative numbers of 32 bits either way.
                let narrow = kind.ends_with("32") && (0x8000_0000..=0xffff_ffff).contains(value);
                let value = if narrow { i64::from(*value as u32 as i32) } else { *value };
                vec![Polynomial::constant(i128::from(value))]
            }
            Source::Name(name, offset) => {
                let atom = special(name).unwrap_or_else(|| Atom::Symbol(name.clone()));
                let offset = Polynomial::constant(i128::from(*offset));
                Polynomial::atom(atom).plus(&offset, 1).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether the result of an instruction depends on memory.
    fn reads_data(&self, step: &SsaInstruction) -> bool {
        let name = step.opcode.split('.').next().unwrap_or("");
        let loads = matches!(name, "ld" | "ldu" | "atom" | "tex" | "tld4" | "suld" | "suq" | "call")
            && !step.opcode.starts_with("ld.param");
        loads || step.sources.iter().flat_map(Source::values).any(|value| self.is_data(value))
    }

    fn counted(&self, body: Loop) -> CountedLoop {
        let mut exits = Vec::new();
        for &block in &body.blocks {
            let tested = body.latches.iter().all(|latch| self.ssa.dominators.dominates(block, *latch));
            let branch = self.ssa.flow.blocks[block as usize].end - 1;
            let step = &self.ssa.steps[branch as usize];
            let successors = &self.ssa.flow.blocks[block as usize].successors;
            let (Some((guard, negated)), [falls, jumps]) = (step.guard, successors.as_slice()) else {
                continue;
            };
            let inside = |block: &u32| body.blocks.contains(block);
            if !tested || inside(falls) == inside(jumps) || !step.opcode.starts_with("bra") {
                continue;
            }
            let stays_by_jump = inside(jumps);
            let staying = if stays_by_jump { *jumps } else { *falls };
            let stays = self.condition(guard, stays_by_jump == negated, 0);
            exits.push(ExitTest { stays, staying, data: self.is_data(guard), line: step.line });
        }
        let line = self.first_line(body.header);
        let inside = |block: &&u32| body.blocks.contains(*block);
        let leaving = |block: &u32| {
            let Block { end, successors, .. } = &self.ssa.flow.blocks[*block as usize];
            let last = &self.ssa.steps[*end as usize - 1].opcode;
            let outside = successors.iter().filter(|next| !inside(next)).count();
            let ends = matches!(last.split('.').next(), Some("ret" | "exit" | "trap"));
            outside + usize::from(ends)
        };
        let no_other_exit = body.blocks.iter().map(leaving).sum::<usize>() == exits.len();
        CountedLoop { body, line, exits, no_other_exit }
    }

    /// The condition known to hold where a predicate holds, or, `negated`, where it does not.
    fn condition(&self, value: ValueId, negated: bool, depth: u32) -> Condition {
        let Some(pc) = self.ssa.definitions[value as usize].filter(|_| depth < DEEPEST_CONDITION) else {
            return Condition::Unknown;
        };
        let step = &self.ssa.steps[pc as usize];
        let of = |source: &Source, negated: bool| match source {
            Source::Value(value) => self.condition(*value, negated, depth + 1),
            Source::Not(value) => self.condition(*value, !negated, depth + 1),
            _ => Condition::Unknown,
        };
        let join = |both: bool, a, b| match both != negated {
            true => Condition::Both(Box::new(a), Box::new(b)),
            false => Condition::Either(Box::new(a), Box::new(b)),
        };
        if step.guard.is_some() || step.results.len() != 1 {
            return Condition::Unknown;
        }
        let words: Vec<&str> = step.opcode.split('.').collect();
        match (words.as_slice(), step.sources.as_slice()) {
            (["setp", relation, kind], [left, right]) if !kind.starts_with('f') => {
                self.comparison(relation, kind, [left, right], negated)
            }
            (["setp", relation, and_or @ ("and" | "or"), kind], [left, right, third])
                if !kind.starts_with('f') =>
            {
                let compared = self.comparison(relation, kind, [left, right], negated);
                join(*and_or == "and", compared, of(third, negated))
            }
            (["and" | "or", "pred"], [a, b]) => join(words[0] == "and", of(a, negated), of(b, negated)),
            (["not", "pred"], [a]) => of(a, !negated),
            (["mov", "pred"], [a]) => of(a, negated),
            (["xor", "pred"], [a, Source::Integer(1 | -1)]) => of(a, !negated),
            _ => Condition::Unknown,
        }
    }

    fn comparison(&self, relation: &str, kind: &str, sides: [&Source; 2], negated: bool) -> Condition {
        let Some(relation) = Relation::parse(relation) else { return Condition::Unknown };
        let [left, right] = sides.map(|side| Arc::new(self.operand(side, kind)));
        let relation = if negated { relation.contrary() } else { relation };
        Condition::Compare { relation, unsigned: kind.starts_with('u'), left, right }
    }
}

/// Whether memory has a part in a value.
pub(super) fn has_data(polynomial: &Polynomial) -> bool {
    polynomial.atoms().iter().any(|atom| matches!(atom, Atom::Unknown { data: true, .. }))
}

fn special(name: &str) -> Option<Atom> {
    let (register, axis) = name.rsplit_once('.')?;
    let dimension = ["x", "y", "z"].iter().position(|known| *known == axis)? as u8;
    Some(match register {
        "%tid" => Atom::Tid(dimension),
        "%ctaid" => Atom::Ctaid(dimension),
        "%ntid" => Atom::Ntid(dimension),
        "%nctaid" => Atom::Nctaid(dimension),
        _ => return None,
    })
}
