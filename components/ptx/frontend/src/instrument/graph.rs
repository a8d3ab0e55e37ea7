//! The computation of a profiler, as a graph of values, each of which occurs once.
//!
//! Values are folded as they are made: a value known before the kernel runs becomes a constant, and a
//! comparison whose answer is known becomes that answer. So the code that computes bounds can be written for the
//! general case. Arithmetic is that of 64 bits, which no address of a correct program leaves.

use std::collections::BTreeMap;

use crate::analysis::affine::Relation;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Number(pub(super) u32);

/// Something that holds or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Truth(pub(super) u32);

/// A value known when the kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Leaf {
    /// `%ctaid` in a dimension.
    Ctaid(u8),
    /// The kernel's `%ntid` in a dimension.
    Ntid(u8),
    /// `%nctaid` in a dimension.
    Nctaid(u8),
    /// A parameter, by index, and how many of its bytes are read.
    Param(u32, u8),
    /// The variable of a loop, or the result of a loop.
    Slot(u32),
}

/// An operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Op {
    Add,
    Mul,
    Min,
    Max,
    Div,
    Rem,
    Shl,
    Shr,
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueNode {
    Constant(i64),
    Leaf(Leaf),
    Binary(Op, Number, Number),
    /// The first if it holds, else the second.
    Select(Truth, Number, Number),
    /// A number that is not negative wherever this is used.
    Natural(Number),
    Known(bool),
    /// The first is less than the second.
    Less(Number, Number),
    Equal(Number, Number),
    Both(Truth, Truth),
    Either(Truth, Truth),
    Not(Truth),
}

/// Farther than any number of rounds and any address; twice of it can still be added to an address.
pub(super) const FAR: i64 = 1 << 62;
/// From here on, a number of rounds means an unknown one.
const UNKNOWN_FROM: i64 = FAR / 2;

/// Static knowledge of a number.
#[derive(Clone, Copy, Default)]
struct Facts {
    /// Lower bound of the number.
    least: Option<i64>,
    /// Whether the number, as a number of rounds, is certainly a known one.
    near: bool,
}

/// The values that were made so far.
#[derive(Default)]
pub(super) struct Graph {
    nodes: Vec<ValueNode>,
    facts: Vec<Facts>,
    known: BTreeMap<ValueNode, u32>,
}

impl Graph {
    fn make(&mut self, node: ValueNode) -> u32 {
        let next = self.nodes.len() as u32;
        let id = *self.known.entry(node).or_insert(next);
        if id == next {
            let facts = Facts { least: self.least(node), near: self.near(node) };
            self.facts.push(facts);
            self.nodes.push(node);
        }
        id
    }

    fn least(&self, node: ValueNode) -> Option<i64> {
        match node {
            ValueNode::Constant(value) => Some(value),
            ValueNode::Leaf(Leaf::Ntid(_) | Leaf::Nctaid(_)) => Some(1),
            ValueNode::Leaf(Leaf::Ctaid(_)) => Some(0),
            ValueNode::Binary(op, a, b) => {
                let (a, b) = (self.at_least(a), self.at_least(b));
                let positive = |a: i64, b: i64| a >= 0 && b >= 0;
                match (op, a, b) {
                    (Op::Max, Some(a), Some(b)) => Some(a.max(b)),
                    (Op::Max, a, b) => a.or(b),
                    (Op::Add, Some(a), Some(b)) => a.checked_add(b),
                    (Op::Mul, Some(a), Some(b)) if positive(a, b) => a.checked_mul(b),
                    (Op::Min, Some(a), Some(b)) => Some(a.min(b)),
                    (Op::Div | Op::Shr, Some(a), Some(b)) if positive(a, b) => Some(0),
                    _ => None,
                }
            }
            ValueNode::Select(_, a, b) => Some(self.at_least(a)?.min(self.at_least(b)?)),
            ValueNode::Natural(_) => Some(0),
            _ => None,
        }
    }

    fn near(&self, node: ValueNode) -> bool {
        match node {
            ValueNode::Constant(value) => value < UNKNOWN_FROM,
            ValueNode::Binary(Op::Min, a, b) => self.is_near(a) || self.is_near(b),
            ValueNode::Binary(Op::Div | Op::Rem, a, _) => self.is_near(a),
            ValueNode::Binary(_, a, b) | ValueNode::Select(_, a, b) => self.is_near(a) && self.is_near(b),
            ValueNode::Natural(a) => self.is_near(a),
            // The result of a loop may be anything.
            ValueNode::Leaf(Leaf::Slot(_)) => false,
            _ => true,
        }
    }

    /// A number that this one is never below.
    fn at_least(&self, number: Number) -> Option<i64> {
        self.facts[number.0 as usize].least
    }

    fn is_near(&self, number: Number) -> bool {
        self.facts[number.0 as usize].near
    }

    pub(super) fn number(&self, number: Number) -> ValueNode {
        self.nodes[number.0 as usize]
    }

    pub(super) fn truth(&self, truth: Truth) -> ValueNode {
        self.nodes[truth.0 as usize]
    }

    /// The value of a number that is known already.
    pub(super) fn as_constant(&self, number: Number) -> Option<i64> {
        match self.number(number) {
            ValueNode::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Whether it holds, if that is known already.
    pub(super) fn as_known(&self, truth: Truth) -> Option<bool> {
        match self.truth(truth) {
            ValueNode::Known(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn constant(&mut self, value: i64) -> Number {
        Number(self.make(ValueNode::Constant(value)))
    }

    pub(super) fn leaf(&mut self, leaf: Leaf) -> Number {
        Number(self.make(ValueNode::Leaf(leaf)))
    }

    pub(super) fn known(&mut self, value: bool) -> Truth {
        Truth(self.make(ValueNode::Known(value)))
    }

    fn split(&self, number: Number) -> (Option<Number>, i64) {
        match self.number(number) {
            ValueNode::Constant(value) => (None, value),
            ValueNode::Binary(Op::Add, base, constant) => match self.as_constant(constant) {
                Some(value) => (Some(base), value),
                None => (Some(number), 0),
            },
            _ => (Some(number), 0),
        }
    }

    /// A number of rounds that is not known.
    pub(super) fn is_unknown(&mut self, rounds: Number) -> Truth {
        if self.is_near(rounds) {
            return self.known(false);
        }
        let limit = self.constant(UNKNOWN_FROM - 1);
        self.less(limit, rounds)
    }

    pub(super) fn add(&mut self, a: Number, b: Number) -> Number {
        let ((a, plus), (b, more)) = (self.split(a), self.split(b));
        let constant = self.constant(plus.wrapping_add(more));
        let sum = match (a, b) {
            (Some(a), Some(b)) => Number(self.make(ValueNode::Binary(Op::Add, a.min(b), a.max(b)))),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return constant,
        };
        if self.as_constant(constant) == Some(0) {
            return sum;
        }
        Number(self.make(ValueNode::Binary(Op::Add, sum, constant)))
    }

    pub(super) fn plus(&mut self, a: Number, value: i64) -> Number {
        let value = self.constant(value);
        self.add(a, value)
    }

    pub(super) fn minus(&mut self, a: Number) -> Number {
        let one = self.constant(-1);
        self.mul(a, one)
    }

    pub(super) fn mul(&mut self, a: Number, b: Number) -> Number {
        let (a, b) = if self.as_constant(a).is_some() { (b, a) } else { (a, b) };
        match (self.as_constant(a), self.as_constant(b)) {
            (Some(a), Some(b)) => self.constant(a.wrapping_mul(b)),
            (_, Some(0)) => self.constant(0),
            (_, Some(1)) => a,
            (_, Some(factor)) => {
                if let ValueNode::Binary(Op::Mul, inner, by) = self.number(a)
                    && let Some(first) = self.as_constant(by)
                {
                    let product = self.constant(first.wrapping_mul(factor));
                    return self.mul(inner, product);
                }
                Number(self.make(ValueNode::Binary(Op::Mul, a, b)))
            }
            _ => Number(self.make(ValueNode::Binary(Op::Mul, a.min(b), a.max(b)))),
        }
    }

    /// The smaller of two.
    pub(super) fn min(&mut self, a: Number, b: Number) -> Number {
        self.extreme(Op::Min, a, b)
    }

    /// The larger of two.
    pub(super) fn max(&mut self, a: Number, b: Number) -> Number {
        self.extreme(Op::Max, a, b)
    }

    fn extreme(&mut self, op: Op, a: Number, b: Number) -> Number {
        let (less, more) = (self.less(a, b), self.less(b, a));
        let a_first = match (self.as_known(less), self.as_known(more)) {
            (Some(true), _) | (_, Some(false)) => true,
            (Some(false), _) | (_, Some(true)) => false,
            (None, None) => return Number(self.make(ValueNode::Binary(op, a.min(b), a.max(b)))),
        };
        if a_first == (op == Op::Min) { a } else { b }
    }

    /// Any other operation; the caller has made sure that it has a result.
    pub(super) fn operate(&mut self, op: Op, a: Number, b: Number) -> Number {
        match op {
            Op::Add => return self.add(a, b),
            Op::Mul => return self.mul(a, b),
            Op::Min | Op::Max => return self.extreme(op, a, b),
            _ => {}
        }
        match (op, self.as_constant(b)) {
            (Op::Div, Some(1)) => return a,
            (Op::Div, Some(-1)) => return self.minus(a),
            (Op::Rem, Some(1 | -1)) => return self.constant(0),
            _ => {}
        }
        let folded = match (self.as_constant(a), self.as_constant(b)) {
            (Some(a), Some(b)) => fold(op, a, b),
            _ => None,
        };
        match folded {
            Some(value) => self.constant(value),
            None => Number(self.make(ValueNode::Binary(op, a, b))),
        }
    }

    /// The same number, where it is known not to be negative.
    pub(super) fn natural(&mut self, a: Number) -> Number {
        match self.at_least(a) {
            Some(0..) => a,
            _ => Number(self.make(ValueNode::Natural(a))),
        }
    }

    pub(super) fn select(&mut self, truth: Truth, yes: Number, no: Number) -> Number {
        match self.truth(truth) {
            _ if yes == no => yes,
            ValueNode::Known(true) => yes,
            ValueNode::Known(false) => no,
            ValueNode::Not(inner) => Number(self.make(ValueNode::Select(inner, no, yes))),
            _ => Number(self.make(ValueNode::Select(truth, yes, no))),
        }
    }

    /// The first is less than the second.
    pub(super) fn less(&mut self, a: Number, b: Number) -> Truth {
        let ((base, plus), (other, more)) = (self.split(a), self.split(b));
        if base == other {
            return self.known(plus < more);
        }
        // A number that is at least a constant is not below it.
        if let (Some(least), Some(limit)) = (self.at_least(a), self.as_constant(b))
            && least >= limit
        {
            return self.known(false);
        }
        if let (Some(value), Some(least)) = (self.as_constant(a), self.at_least(b))
            && value < least
        {
            return self.known(true);
        }
        Truth(self.make(ValueNode::Less(a, b)))
    }

    pub(super) fn equal(&mut self, a: Number, b: Number) -> Truth {
        let ((base, plus), (other, more)) = (self.split(a), self.split(b));
        if base == other {
            return self.known(plus == more);
        }
        Truth(self.make(ValueNode::Equal(a.min(b), a.max(b))))
    }

    /// The comparison of a number with zero.
    pub(super) fn compares(&mut self, relation: Relation, a: Number) -> Truth {
        let zero = self.constant(0);
        let (truth, contrary) = match relation {
            Relation::Lt => (self.less(a, zero), false),
            Relation::Ge => (self.less(a, zero), true),
            Relation::Gt => (self.less(zero, a), false),
            Relation::Le => (self.less(zero, a), true),
            Relation::Eq => (self.equal(a, zero), false),
            Relation::Ne => (self.equal(a, zero), true),
        };
        if contrary { self.not(truth) } else { truth }
    }

    pub(super) fn not(&mut self, a: Truth) -> Truth {
        match self.truth(a) {
            ValueNode::Known(value) => self.known(!value),
            ValueNode::Not(inner) => inner,
            _ => Truth(self.make(ValueNode::Not(a))),
        }
    }

    pub(super) fn both(&mut self, a: Truth, b: Truth) -> Truth {
        match (self.as_known(a), self.as_known(b)) {
            (Some(false), _) | (_, Some(true)) => a,
            (_, Some(false)) | (Some(true), _) => b,
            _ if a == b => a,
            _ => Truth(self.make(ValueNode::Both(a.min(b), a.max(b)))),
        }
    }

    pub(super) fn either(&mut self, a: Truth, b: Truth) -> Truth {
        match (self.as_known(a), self.as_known(b)) {
            (Some(true), _) | (_, Some(false)) => a,
            (_, Some(true)) | (Some(false), _) => b,
            _ if a == b => a,
            _ => Truth(self.make(ValueNode::Either(a.min(b), a.max(b)))),
        }
    }
}

/// An operation on constants, where it has a result.
fn fold(op: Op, a: i64, b: i64) -> Option<i64> {
    let bits = || u32::try_from(b).ok().filter(|bits| *bits < 64);
    match op {
        Op::Add => a.checked_add(b),
        Op::Mul => a.checked_mul(b),
        Op::Min => Some(a.min(b)),
        Op::Max => Some(a.max(b)),
        Op::Div => a.checked_div(b),
        Op::Rem => a.checked_rem(b),
        Op::Shl => Some(a << bits()?),
        Op::Shr => Some(a >> bits()?),
        Op::And => Some(a & b),
        Op::Or => Some(a | b),
        Op::Xor => Some(a ^ b),
    }
}

#[cfg(test)]
impl Graph {
    pub(super) fn evaluate(&self, number: Number, leaf: &dyn Fn(Leaf) -> i64) -> i64 {
        match self.number(number) {
            ValueNode::Constant(value) => value,
            ValueNode::Leaf(which) => leaf(which),
            ValueNode::Binary(op, a, b) => {
                fold(op, self.evaluate(a, leaf), self.evaluate(b, leaf)).expect("it has a result")
            }
            ValueNode::Select(truth, a, b) => {
                self.evaluate(if self.holds(truth, leaf) { a } else { b }, leaf)
            }
            ValueNode::Natural(a) => self.evaluate(a, leaf),
            other => panic!("{other:?} is not a number"),
        }
    }

    fn holds(&self, truth: Truth, leaf: &dyn Fn(Leaf) -> i64) -> bool {
        match self.truth(truth) {
            ValueNode::Known(value) => value,
            ValueNode::Less(a, b) => self.evaluate(a, leaf) < self.evaluate(b, leaf),
            ValueNode::Equal(a, b) => self.evaluate(a, leaf) == self.evaluate(b, leaf),
            ValueNode::Both(a, b) => self.holds(a, leaf) && self.holds(b, leaf),
            ValueNode::Either(a, b) => self.holds(a, leaf) || self.holds(b, leaf),
            ValueNode::Not(a) => !self.holds(a, leaf),
            other => panic!("{other:?} is not a truth"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_folded() {
        let mut graph = Graph::default();
        let x = graph.leaf(Leaf::Param(0, 4));
        let (a, b) = (graph.plus(x, 3), graph.plus(x, 5));
        assert_eq!(graph.min(a, b), a);
        assert_eq!(graph.max(a, b), b);
        let c = graph.minus(a);
        let d = graph.minus(c);
        assert_eq!(d, a);
        let block = graph.leaf(Leaf::Ntid(0));
        let last = graph.plus(block, -1);
        let zero = graph.constant(0);
        let last = graph.mul(last, block);
        assert_eq!(graph.max(zero, last), last, "no block is empty");
        assert!(matches!(graph.less(x, zero), truth if graph.as_known(truth).is_none()));
    }

    #[test]
    fn rounds_are_unknown_only_where_they_can_be() {
        let mut graph = Graph::default();
        let (x, far) = (graph.leaf(Leaf::Param(0, 4)), graph.constant(FAR));
        let never = graph.is_unknown(x);
        assert_eq!(graph.as_known(never), Some(false));
        let zero = graph.constant(0);
        let positive = graph.less(zero, x);
        let either = graph.select(positive, x, far);
        let before = graph.plus(either, -1);
        let perhaps = graph.is_unknown(before);
        assert_eq!(graph.as_known(perhaps), None);
        let always = graph.is_unknown(far);
        assert_eq!(graph.as_known(always), Some(true));
        let bounded = graph.min(either, x);
        let never = graph.is_unknown(bounded);
        assert_eq!(graph.as_known(never), Some(false));
    }
}
