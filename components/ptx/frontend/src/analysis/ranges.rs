//! The bytes of each array that a block may touch, before the kernel runs.
//!
//! A polynomial that is linear in each of its variables has its extremes at corners: thread indices and loop counters
//! are 0 or the largest. Both outcomes of every condition count, and several accesses to an array make one range.
//! Operands of a division or a shift may have their extremes elsewhere, so every value is tried there. Where
//! a bound is not known, the range is the whole allocation.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::access::{Array, KernelAccesses, MemoryAccess};
use super::affine::{Affine, Condition, ExitTest, Relation};
use super::polynomial::{Atom, Polynomial};

/// Static knowledge of a launch.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// The parameters' values by index: pointers as addresses, integers with their sign.
    pub params: &'a BTreeMap<u32, i128>,
    /// Addresses of the arrays of pointer parameters; ranges end there.
    pub allocations: &'a BTreeMap<u32, Range<u64>>,
}

/// The bytes of an array that a block may touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Addresses that it may read.
    pub read: Option<Range<u64>>,
    /// Addresses that it may write.
    pub written: Option<Range<u64>>,
}

impl Touched {
    /// The range of both.
    pub fn both(&self) -> Option<Range<u64>> {
        let mut all = self.read.clone();
        if let Some(written) = &self.written {
            widen(&mut all, written.clone());
        }
        all
    }
}

/// The ranges that a block may touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockRanges {
    /// By parameter.
    pub arrays: BTreeMap<u32, Touched>,
    /// Some access may go anywhere: its array is unknown, or a function is called.
    pub anywhere: bool,
}

/// More points than this are not tried; the range is then the whole allocation.
pub const MOST_POINTS: u32 = 1 << 17;

/// The ranges of block `ctaid`.
pub fn ranges(kernel: &KernelAccesses, launch: &Launch<'_>, ctaid: [u32; 3]) -> BlockRanges {
    let mut found = BlockRanges { anywhere: kernel.calls.is_some(), ..BlockRanges::default() };
    for access in kernel.global() {
        let index = match &access.array {
            Some(Array::Param(index)) => *index,
            // A variable of the module is no allocation.
            Some(Array::Symbol(_)) => continue,
            None => {
                found.anywhere = true;
                continue;
            }
        };
        let all = launch.allocations.get(&index).cloned().unwrap_or(0..u64::MAX);
        let range = match (Corners { affine: &kernel.affine, launch, ctaid, access }).range() {
            Extent::Nothing => continue,
            Extent::Whole => all,
            Extent::Range(low, high) => {
                let low = low.clamp(i128::from(all.start), i128::from(all.end)) as u64;
                let high = high.clamp(i128::from(all.start), i128::from(all.end)) as u64;
                low..high
            }
        };
        if range.start >= range.end {
            continue;
        }
        let touched = found.arrays.entry(index).or_default();
        if access.reads {
            widen(&mut touched.read, range.clone());
        }
        if access.writes {
            widen(&mut touched.written, range);
        }
    }
    found
}

fn widen(into: &mut Option<Range<u64>>, range: Range<u64>) {
    *into = Some(match into {
        Some(old) => old.start.min(range.start)..old.end.max(range.end),
        None => range,
    });
}

enum Extent {
    Nothing,
    Range(i128, i128),
    Whole,
}

/// A variable that takes several values in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variable {
    Tid(u8),
    /// A loop counter, by position in [`Affine::loops`], so that outer loops are first.
    Counter(usize),
}

impl Variable {
    /// The variable that an atom is, if it is one.
    pub fn of(affine: &Affine, atom: &Atom) -> Option<Self> {
        match atom {
            Atom::Tid(dimension) => Some(Variable::Tid(*dimension)),
            Atom::Counter(header) => {
                let at = affine.loops.iter().position(|found| found.body.header == *header)?;
                Some(Variable::Counter(at))
            }
            _ => None,
        }
    }
}

/// The variables of polynomials (`all`), and those in which some polynomial is not linear (`every`).
#[derive(Clone, Debug, Default)]
pub struct Variables {
    pub all: BTreeSet<Variable>,
    pub every: BTreeSet<Variable>,
}

impl Variables {
    /// Adds those of a polynomial and of the bounds of its counters.
    pub fn collect(&mut self, affine: &Affine, polynomial: &Polynomial) {
        for (atoms, _) in polynomial.terms() {
            for (at, atom) in atoms.iter().enumerate() {
                if let Atom::Derived(_, a, b) = atom {
                    let inside = a.atoms().into_iter().chain(b.atoms());
                    self.every.extend(inside.filter_map(|atom| Variable::of(affine, atom)));
                } else if atoms.get(at + 1) == Some(atom) {
                    self.every.extend(Variable::of(affine, atom));
                }
            }
        }
        let found: Vec<Variable> =
            polynomial.atoms().into_iter().filter_map(|atom| Variable::of(affine, atom)).collect();
        for variable in found {
            if let (true, Variable::Counter(at)) = (self.all.insert(variable), variable) {
                let exits = affine.loops[at].exits.iter();
                exits.flat_map(|exit| exit.stays.sides()).for_each(|side| self.collect(affine, side));
            }
        }
    }
}

/// The variables of the bound on a loop's rounds. If a thread's index is among those that are not linear, the
/// corners of a block say nothing of the rounds.
pub fn bound_variables(affine: &Affine, at: usize) -> Variables {
    let mut found = Variables::default();
    let exits = affine.loops[at].exits.iter();
    exits.flat_map(|exit| exit.stays.sides()).for_each(|side| found.collect(affine, side));
    found
}

/// Whether an access is executed only after the test of a round has succeeded.
pub fn is_behind(affine: &Affine, at: usize, exit: &ExitTest, pc: u32) -> bool {
    let ssa = &affine.ssa;
    exit.staying != affine.loops[at].body.header
        && ssa.dominators.predecessors[exit.staying as usize].len() == 1
        && ssa.dominators.dominates(exit.staying, ssa.block_of(pc))
}

struct Corners<'a> {
    affine: &'a Affine,
    launch: &'a Launch<'a>,
    ctaid: [u32; 3],
    access: &'a MemoryAccess,
}

/// The points evaluated so far.
#[derive(Default)]
struct Seen {
    points: u32,
    low: Option<i128>,
    high: i128,
}

impl Corners<'_> {
    fn range(&self) -> Extent {
        let mut seen = Seen::default();
        for address in &self.access.addresses {
            let mut found = Variables::default();
            found.collect(self.affine, address);
            let Variables { all, every } = found;
            let variables: Vec<(Variable, bool)> =
                all.into_iter().map(|variable| (variable, every.contains(&variable))).collect();
            let mut values = BTreeMap::new();
            if self.visit(address, &variables, &mut values, &mut seen).is_none() {
                return Extent::Whole;
            }
        }
        match seen.low {
            Some(low) => Extent::Range(low, seen.high + i128::from(self.access.bytes)),
            None => Extent::Nothing,
        }
    }

    /// Tries the points of the remaining variables; `None` if a value is unknown.
    fn visit(
        &self,
        address: &Polynomial,
        left: &[(Variable, bool)],
        values: &mut BTreeMap<Variable, i128>,
        seen: &mut Seen,
    ) -> Option<()> {
        let Some(((variable, every), rest)) = left.split_first() else {
            seen.points += 1;
            let value = self.evaluate(address, values).filter(|_| seen.points <= MOST_POINTS)?;
            seen.high = seen.low.map_or(value, |_| seen.high.max(value));
            seen.low = Some(seen.low.map_or(value, |low| low.min(value)));
            return Some(());
        };
        let last = match variable {
            Variable::Tid(dimension) => i128::from(self.launch.block[*dimension as usize]) - 1,
            Variable::Counter(at) => self.most_rounds(*at, values)?,
        };
        if *every && last > i128::from(MOST_POINTS) {
            return None;
        }
        // The first loop makes no round here if the last is negative.
        let mut value = 0;
        while value <= last {
            values.insert(*variable, value);
            self.visit(address, rest, values, seen)?;
            value = if *every || value == last { value + 1 } else { last };
        }
        values.remove(variable);
        Some(())
    }

    fn evaluate(&self, polynomial: &Polynomial, values: &BTreeMap<Variable, i128>) -> Option<i128> {
        polynomial.evaluate(&|atom| {
            Some(match atom {
                Atom::Ctaid(d) => i128::from(self.ctaid[*d as usize]),
                Atom::Ntid(d) => i128::from(self.launch.block[*d as usize]),
                Atom::Nctaid(d) => i128::from(self.launch.grid[*d as usize]),
                Atom::Param { index, offset: 0, .. } => *self.launch.params.get(index)?,
                Atom::Tid(_) | Atom::Counter(_) => *values.get(&Variable::of(self.affine, atom)?)?,
                _ => return None,
            })
        })
    }

    /// The most rounds of any thread: of a loop that strides over an array, the threads of one block end in
    /// different rounds, and not those at the corners go farthest.
    fn most_rounds(&self, at: usize, values: &BTreeMap<Variable, i128>) -> Option<i128> {
        let bound = bound_variables(self.affine, at);
        if bound.every.iter().any(|variable| matches!(variable, Variable::Tid(_))) {
            return None;
        }
        let mut most = None;
        // Corners that differ in a dimension on which no bound depends have the same rounds: one of them is enough.
        let matters = |dimension: u8| bound.all.contains(&Variable::Tid(dimension));
        let is_needed =
            |corner: &u8| (0..3).all(|dimension| corner >> dimension & 1 == 0 || matters(dimension));
        let corners = (0..8u8).filter(is_needed);
        for corner in corners {
            let mut values = values.clone();
            for (variable, value) in &mut values {
                if let Variable::Tid(dimension) = variable {
                    let last = i128::from(self.launch.block[usize::from(*dimension)]) - 1;
                    *value = if corner >> *dimension & 1 == 0 { 0 } else { last };
                }
            }
            most = most.max(Some(self.rounds(at, &mut values)?));
        }
        most
    }

    /// The counter's largest value where the access is; negative if it is never reached.
    fn rounds(&self, at: usize, values: &mut BTreeMap<Variable, i128>) -> Option<i128> {
        let found = &self.affine.loops[at];
        let mut least: Option<i128> = None;
        for exit in &found.exits {
            let Some(fails) = self.first_failure(&exit.stays, at, values) else { continue };
            let last = if is_behind(self.affine, at, exit, self.access.pc) { fails - 1 } else { fails };
            least = Some(least.map_or(last, |least| least.min(last)));
        }
        values.remove(&Variable::Counter(at));
        least
    }

    /// The first round in which a condition does not hold; `None` if it is unknown.
    fn first_failure(
        &self,
        condition: &Condition,
        at: usize,
        values: &mut BTreeMap<Variable, i128>,
    ) -> Option<i128> {
        match condition {
            Condition::Compare { relation, unsigned, left, right } => {
                let mut latest = None;
                for left in left.iter() {
                    for right in right.iter() {
                        let fails =
                            self.comparison_fails((*relation, *unsigned), [left, right], at, values)?;
                        latest = latest.max(Some(fails));
                    }
                }
                latest
            }
            Condition::Both(a, b) => {
                let both = [self.first_failure(a, at, values), self.first_failure(b, at, values)];
                both.into_iter().flatten().min()
            }
            Condition::Either(a, b) => {
                Some(self.first_failure(a, at, values)?.max(self.first_failure(b, at, values)?))
            }
            Condition::Unknown => None,
        }
    }

    fn comparison_fails(
        &self,
        (relation, unsigned): (Relation, bool),
        sides: [&Polynomial; 2],
        at: usize,
        values: &mut BTreeMap<Variable, i128>,
    ) -> Option<i128> {
        let mut found = Variables { all: BTreeSet::from([Variable::Counter(at)]), every: BTreeSet::new() };
        sides.iter().for_each(|side| found.collect(self.affine, side));
        if found.every.contains(&Variable::Counter(at)) {
            return None;
        }
        let mut at_round = |round| {
            values.insert(Variable::Counter(at), round);
            let [left, right] = sides.map(|side| self.evaluate(side, values));
            Some((left?, right?))
        };
        let (left, right) = at_round(0)?;
        let (next_left, next_right) = at_round(1)?;
        if unsigned && (left < 0 || right < 0) {
            return None;
        }
        let start = left - right;
        let fails = fails_at(relation, start, next_left - next_right - start);
        // A loop that would not end has not been reached.
        fails.or_else(|| self.affine.loops[at].ends_at_equality().then_some(-1))
    }
}

/// The smallest k ≥ 0 for which the given comparison of `start + k * step` with zero does not hold.
pub fn fails_at(relation: Relation, start: i128, step: i128) -> Option<i128> {
    // k at which a falling number of this start is negative no more.
    let rises = |start: i128, step: i128| match (start >= 0, step > 0) {
        (true, _) => Some(0),
        (false, true) => Some((-start + step - 1) / step),
        (false, false) => None,
    };
    match relation {
        Relation::Lt => rises(start, step),
        Relation::Le => rises(start - 1, step),
        Relation::Gt => rises(-start, -step),
        Relation::Ge => rises(-start - 1, -step),
        Relation::Eq => match (start, step) {
            (0, 0) => None,
            (0, _) => Some(1),
            _ => Some(0),
        },
        Relation::Ne => match (start, step) {
            (0, _) => Some(0),
            (_, 0) => None,
            _ if start % step == 0 && -start / step > 0 => Some(-start / step),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_round_that_fails_is_the_first() {
        for relation in [Relation::Lt, Relation::Le, Relation::Gt, Relation::Ge, Relation::Eq, Relation::Ne] {
            for start in -7..8i128 {
                for step in -3..4i128 {
                    let holds = |k: i128| {
                        let value = start + k * step;
                        match relation {
                            Relation::Lt => value < 0,
                            Relation::Le => value <= 0,
                            Relation::Gt => value > 0,
                            Relation::Ge => value >= 0,
                            Relation::Eq => value == 0,
                            Relation::Ne => value != 0,
                        }
                    };
                    let expected = (0..40).find(|k| !holds(*k));
                    assert_eq!(fails_at(relation, start, step), expected, "{relation:?} {start} {step}");
                }
            }
        }
    }
}
