//! Polynomials as values of the graph, and the rounds of loops as such.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{FAR, Graph, Leaf, Number, Op, Truth};
use crate::analysis::affine::{Affine, Condition, Relation};
use crate::analysis::polynomial::{Atom, Operation, Polynomial};
use crate::analysis::ranges::{Variable, Variables, bound_variables, is_behind};

pub(super) type Assignment = BTreeMap<Variable, Number>;

/// A value, and whether it may be invalid: no launch that is in order divides by zero, but a bound must not
/// depend on that.
#[derive(Clone, Copy)]
pub(super) struct Value {
    pub(super) number: Number,
    pub(super) invalid: Truth,
}

/// Makes values of one kernel.
pub(super) struct Values<'a> {
    pub(super) affine: &'a Affine,
    pub(super) graph: Graph,
}

impl Values<'_> {
    /// A polynomial; `None` if it holds an unknown value.
    pub(super) fn evaluate(&mut self, polynomial: &Polynomial, values: &Assignment) -> Option<Value> {
        let mut invalid = self.graph.known(false);
        let mut terms = Vec::new();
        for (atoms, factor) in polynomial.terms() {
            let mut factor = i64::try_from(factor).ok()?;
            let mut parts = Vec::new();
            for atom in atoms {
                let value = self.atom(atom, values)?;
                invalid = self.graph.either(invalid, value.invalid);
                match self.graph.as_constant(value.number) {
                    Some(constant) => factor = factor.checked_mul(constant)?,
                    None => parts.push(value.number),
                }
            }
            if factor != 0 {
                parts.sort();
                terms.push((parts, factor));
            }
        }
        Some(Value { number: self.sum(terms), invalid })
    }

    fn atom(&mut self, atom: &Atom, values: &Assignment) -> Option<Value> {
        let leaf = match atom {
            Atom::Ctaid(dimension) => Leaf::Ctaid(*dimension),
            Atom::Ntid(dimension) => Leaf::Ntid(*dimension),
            Atom::Nctaid(dimension) => Leaf::Nctaid(*dimension),
            Atom::Param { index, offset: 0, bytes } => Leaf::Param(*index, *bytes),
            Atom::Tid(_) | Atom::Counter(_) => {
                let number = *values.get(&Variable::of(self.affine, atom)?)?;
                return Some(Value { number, invalid: self.graph.known(false) });
            }
            Atom::Derived(operation, a, b) => {
                let (a, b) = (self.evaluate(a, values)?, self.evaluate(b, values)?);
                return Some(self.derived(*operation, a, b));
            }
            Atom::Param { .. } | Atom::Symbol(_) | Atom::Phi(_) | Atom::Unknown { .. } => return None,
        };
        Some(Value { number: self.graph.leaf(leaf), invalid: self.graph.known(false) })
    }

    fn derived(&mut self, operation: Operation, a: Value, b: Value) -> Value {
        let graph = &mut self.graph;
        let mut invalid = graph.either(a.invalid, b.invalid);
        let mut not = |graph: &mut Graph, wrong: Truth| invalid = graph.either(invalid, wrong);
        // The unsigned value of a negative number depends on its width.
        if matches!(operation, Operation::ShrUnsigned | Operation::DivUnsigned | Operation::RemUnsigned) {
            for number in [a.number, b.number] {
                let negative = graph.compares(Relation::Lt, number);
                not(graph, negative);
            }
        }
        let op = match operation {
            Operation::Shr | Operation::ShrUnsigned => Op::Shr,
            Operation::Shl => Op::Shl,
            Operation::Div | Operation::DivUnsigned => Op::Div,
            Operation::Rem | Operation::RemUnsigned => Op::Rem,
            Operation::And => Op::And,
            Operation::Or => Op::Or,
            Operation::Xor => Op::Xor,
        };
        match op {
            Op::Div | Op::Rem => {
                let zero = graph.compares(Relation::Eq, b.number);
                not(graph, zero);
            }
            Op::Shr | Op::Shl => {
                let negative = graph.compares(Relation::Lt, b.number);
                not(graph, negative);
                let most = graph.constant(63);
                let far = graph.less(most, b.number);
                not(graph, far);
            }
            _ => {}
        }
        Value { number: graph.operate(op, a.number, b.number), invalid }
    }

    /// A sum of products: the factor common to most of them is factored out, again and again, because
    /// multiplications are the cost.
    fn sum(&mut self, terms: Vec<(Vec<Number>, i64)>) -> Number {
        let mut counts: BTreeMap<Number, usize> = BTreeMap::new();
        for (parts, _) in &terms {
            for part in parts.iter().collect::<BTreeSet<_>>() {
                *counts.entry(*part).or_default() += 1;
            }
        }
        let most = counts.into_iter().max_by_key(|(part, count)| (*count, std::cmp::Reverse(*part)));
        let Some((common, _)) = most.filter(|(_, count)| *count > 1) else {
            let mut sum = self.graph.constant(0);
            for (parts, factor) in terms {
                let mut product = self.graph.constant(1);
                for part in parts {
                    product = self.graph.mul(product, part);
                }
                let factor = self.graph.constant(factor);
                let product = self.graph.mul(product, factor);
                sum = self.graph.add(sum, product);
            }
            return sum;
        };
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for (mut parts, factor) in terms {
            match parts.iter().position(|part| *part == common) {
                Some(at) => {
                    parts.remove(at);
                    with.push((parts, factor));
                }
                None => without.push((parts, factor)),
            }
        }
        let (with, without) = (self.sum(with), self.sum(without));
        let product = self.graph.mul(with, common);
        self.graph.add(product, without)
    }

    /// The most rounds of any thread at an instruction: negative if no thread reaches it, and far if the number is unknown.
    /// Threads end in different rounds; the threads at the corners of the block are evaluated, as in
    /// [`ranges`](crate::analysis::ranges::ranges).
    pub(super) fn most_rounds(&mut self, at: usize, pc: u32, values: &Assignment) -> Number {
        let affine = self.affine;
        let found = bound_variables(affine, at);
        let is_tid = |variable: &&Variable| matches!(variable, Variable::Tid(_));
        if found.every.iter().any(|variable| is_tid(&variable)) {
            // Corners say nothing of a value that is no polynomial of the thread's index.
            return self.graph.constant(FAR);
        }
        let threads: Vec<Variable> = found.all.iter().filter(is_tid).copied().collect();
        let mut most = None;
        for corner in 0..1u32 << threads.len() {
            let mut values = values.clone();
            for (bit, variable) in threads.iter().enumerate() {
                let zero = self.graph.constant(0);
                let value = if corner >> bit & 1 == 0 { zero } else { self.last_thread(*variable) };
                values.insert(*variable, value);
            }
            let rounds = self.rounds(at, pc, &values);
            most = Some(most.map_or(rounds, |most| self.graph.max(most, rounds)));
        }
        most.unwrap_or_else(|| self.graph.constant(FAR))
    }

    /// The largest thread index in a variable's dimension.
    pub(super) fn last_thread(&mut self, variable: Variable) -> Number {
        let Variable::Tid(dimension) = variable else { return self.graph.constant(0) };
        let threads = self.graph.leaf(Leaf::Ntid(dimension));
        self.graph.plus(threads, -1)
    }

    fn rounds(&mut self, at: usize, pc: u32, values: &Assignment) -> Number {
        let affine = self.affine;
        let mut least = None;
        for exit in &affine.loops[at].exits {
            let fails = self.first_failure(&exit.stays, at, values);
            let last = match is_behind(affine, at, exit, pc) {
                true => self.graph.plus(fails, -1),
                false => fails,
            };
            least = Some(least.map_or(last, |least| self.graph.min(least, last)));
        }
        least.unwrap_or_else(|| self.graph.constant(FAR))
    }

    /// The first round in which a condition does not hold; far if that is unknown.
    fn first_failure(&mut self, condition: &Condition, at: usize, values: &Assignment) -> Number {
        match condition {
            Condition::Compare { relation, unsigned, left, right } => {
                let mut latest = None;
                for left in left.iter() {
                    for right in right.iter() {
                        let fails = self.comparison_fails((*relation, *unsigned), [left, right], at, values);
                        let fails = fails.unwrap_or_else(|| self.graph.constant(FAR));
                        latest = Some(latest.map_or(fails, |latest| self.graph.max(latest, fails)));
                    }
                }
                latest.unwrap_or_else(|| self.graph.constant(FAR))
            }
            Condition::Both(a, b) => {
                let (a, b) = (self.first_failure(a, at, values), self.first_failure(b, at, values));
                self.graph.min(a, b)
            }
            Condition::Either(a, b) => {
                let (a, b) = (self.first_failure(a, at, values), self.first_failure(b, at, values));
                self.graph.max(a, b)
            }
            Condition::Unknown => self.graph.constant(FAR),
        }
    }

    fn comparison_fails(
        &mut self,
        (relation, unsigned): (Relation, bool),
        [left, right]: [&Polynomial; 2],
        at: usize,
        values: &Assignment,
    ) -> Option<Number> {
        let own = Variable::Counter(at);
        let mut found = Variables { all: BTreeSet::from([own]), ..Variables::default() };
        [left, right].into_iter().for_each(|side| found.collect(self.affine, side));
        if found.every.contains(&own) {
            return None;
        }
        let mut values = values.clone();
        values.insert(own, self.graph.constant(0));
        let difference = left.plus(right, -1)?;
        let start = self.evaluate(&difference, &values)?;
        let step = self.evaluate(&growth(&difference, self.affine, own)?, &values)?;
        let mut invalid = self.graph.either(start.invalid, step.invalid);
        if unsigned {
            for side in [left, right] {
                let value = self.evaluate(side, &values)?;
                let negative = self.graph.compares(Relation::Lt, value.number);
                invalid = self.graph.either(invalid, negative);
            }
        }
        let far = self.graph.constant(FAR);
        let fails = match self.affine.loops[at].ends_at_equality() {
            true => meets(&mut self.graph, start.number, step.number),
            false => fails_at(&mut self.graph, relation, start.number, step.number),
        };
        Some(self.graph.select(invalid, far, fails))
    }
}

/// By how much a polynomial that is linear in a variable grows with it.
fn growth(polynomial: &Polynomial, affine: &Affine, variable: Variable) -> Option<Polynomial> {
    let mut growth = Polynomial::default();
    for (atoms, factor) in polynomial.terms() {
        let Some(at) = atoms.iter().position(|atom| Variable::of(affine, atom) == Some(variable)) else {
            continue;
        };
        let mut product = Polynomial::constant(factor);
        for (index, atom) in atoms.iter().enumerate() {
            if index != at {
                product = product.times(&Polynomial::atom(atom.clone()))?;
            }
        }
        growth = growth.plus(&product, 1)?;
    }
    Some(growth)
}

/// The smallest k ≥ 0 for which the given comparison of `start + k * step` with zero does not hold; far if
/// there is none.
fn fails_at(graph: &mut Graph, relation: Relation, start: Number, step: Number) -> Number {
    let (zero, one, far) = (graph.constant(0), graph.constant(1), graph.constant(FAR));
    match relation {
        Relation::Lt => rises(graph, start, step),
        Relation::Le => {
            let start = graph.plus(start, -1);
            rises(graph, start, step)
        }
        Relation::Gt => {
            let (start, step) = (graph.minus(start), graph.minus(step));
            rises(graph, start, step)
        }
        Relation::Ge => {
            let start = graph.plus(start, 1);
            let (start, step) = (graph.minus(start), graph.minus(step));
            rises(graph, start, step)
        }
        Relation::Eq => {
            let (begins, stays) = (graph.compares(Relation::Eq, start), graph.compares(Relation::Eq, step));
            let next = graph.select(stays, far, one);
            graph.select(begins, next, zero)
        }
        Relation::Ne => {
            let round = meets(graph, start, step);
            let never = graph.less(round, zero);
            graph.select(never, far, round)
        }
    }
}

/// The k for which `start + k * step` is zero; a negative number if there is none.
fn meets(graph: &mut Graph, start: Number, step: Number) -> Number {
    let (zero, one, none) = (graph.constant(0), graph.constant(1), graph.constant(-1));
    let stays = graph.compares(Relation::Eq, step);
    // A step of zero must divide nothing.
    let divisor = graph.select(stays, one, step);
    let down = graph.minus(start);
    let (round, rest) = (graph.operate(Op::Div, down, divisor), graph.operate(Op::Rem, start, divisor));
    let meets = graph.compares(Relation::Eq, rest);
    let round = graph.select(meets, round, none);
    let begins = graph.compares(Relation::Eq, start);
    let at_once = graph.select(begins, zero, none);
    graph.select(stays, at_once, round)
}

/// The first k for which `start + k * step` is negative no more.
fn rises(graph: &mut Graph, start: Number, step: Number) -> Number {
    let (zero, one, far) = (graph.constant(0), graph.constant(1), graph.constant(FAR));
    let grows = graph.compares(Relation::Gt, step);
    let step = graph.select(grows, step, one);
    let down = graph.minus(start);
    let to_go = graph.max(down, zero);
    let rounded = graph.plus(step, -1);
    let rounded = graph.add(to_go, rounded);
    let rounds = graph.operate(Op::Div, rounded, step);
    let negative = graph.compares(Relation::Lt, start);
    let never = graph.not(grows);
    let never = graph.both(negative, never);
    graph.select(never, far, rounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::ranges;

    /// The result is the same whether numbers are known, or come from parameters and are folded later.
    #[test]
    fn the_round_that_fails_is_that_of_the_analysis() {
        for relation in [Relation::Lt, Relation::Le, Relation::Gt, Relation::Ge, Relation::Eq, Relation::Ne] {
            for start in -7..8i64 {
                for step in -3..4i64 {
                    let mut graph = Graph::default();
                    let expected = ranges::fails_at(relation, start.into(), step.into());
                    let expected = expected.map_or(FAR, |round| round as i64);
                    let (a, b) = (graph.constant(start), graph.constant(step));
                    let found = fails_at(&mut graph, relation, a, b);
                    assert_eq!(graph.as_constant(found), Some(expected), "{relation:?} {start} {step}");
                    let (a, b) = (graph.leaf(Leaf::Param(0, 4)), graph.leaf(Leaf::Param(1, 4)));
                    let found = fails_at(&mut graph, relation, a, b);
                    let leaf = |leaf| if leaf == Leaf::Param(0, 4) { start } else { step };
                    assert_eq!(graph.evaluate(found, &leaf), expected, "{relation:?} {start} {step}");
                }
            }
        }
    }
}
