//! The bounds of a block's accesses to an array, as values of the graph.
//!
//! The bounds are those of [`ranges`](crate::analysis::ranges::ranges), computed with fewer steps where the result is
//! the same: addresses that differ by a value common to the whole block are evaluated once, and a variable that is
//! multiplied with no other variable contributes the smaller and the larger of its two ends by itself. Only variables
//! that are multiplied with each other, or bound each other, are evaluated together, corner by corner. Variables inside
//! a division or the like are enumerated by a loop.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{FAR, Graph, Leaf, Number, Op, Truth};
use super::values::{Assignment, Values};
use crate::analysis::access::MemoryAccess;
use crate::analysis::affine::Affine;
use crate::analysis::polynomial::{Atom, Polynomial};
use crate::analysis::ranges::{MOST_POINTS, Variable, Variables, is_behind};

/// A loop of a profiler over the values of a variable, before the values that depend on it are computed.
#[derive(Debug)]
pub(super) struct CountedThrough {
    /// The slot of the variable, which takes every value from zero to `last`.
    pub(super) variable: u32,
    /// Its last value; negative if there is none.
    pub(super) last: Number,
    /// Variables counted through within.
    pub(super) inner: Vec<CountedThrough>,
    /// Slots that keep the least and the largest of the values found.
    pub(super) results: [(u32, Op, Number); 2],
}

/// The offset from the start of an array.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bounds {
    /// All of it.
    Whole,
    /// From the first to before the second; in reverse order and as far apart as possible if nothing is touched.
    Between(Number, Number),
}

/// Addresses of an array whose variables have the same part in them.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// The parts that are the same in all of a block, with the first byte and one past the last one beside each.
    pub(super) rests: BTreeMap<Polynomial, (i64, i64)>,
    /// The instruction of one of the accesses.
    pc: u32,
}

/// The part of variables in addresses, and for each loop the position of its tests relative to the accesses.
pub(super) type Shape = (Polynomial, BTreeMap<usize, Vec<bool>>);

/// The bounds of a part of an address.
#[derive(Clone, Copy)]
struct Extent {
    low: Number,
    high: Number,
    missed: Truth,
    unknown: Truth,
}

/// Sorts the addresses of accesses to one array; `pointer` is the term that is its start.
pub(super) fn groups(affine: &Affine, accesses: &[&MemoryAccess], pointer: &Atom) -> BTreeMap<Shape, Group> {
    let mut groups: BTreeMap<Shape, Group> = BTreeMap::new();
    for access in accesses {
        for address in &access.addresses {
            let (mut varying, mut rest, mut constant) = (Polynomial::default(), Polynomial::default(), 0);
            for (atoms, factor) in address.terms() {
                let into = match atoms {
                    [] => {
                        constant = factor as i64;
                        continue;
                    }
                    [atom] if atom == pointer => continue,
                    atoms if !variables_of(affine, atoms).is_empty() => &mut varying,
                    _ => &mut rest,
                };
                into.push(atoms, factor);
            }
            let mut found = Variables::default();
            found.collect(affine, &varying);
            let counters = found.all.iter().filter_map(|variable| match variable {
                Variable::Counter(at) => Some(*at),
                Variable::Tid(_) => None,
            });
            let behind = counters.map(|at| {
                let exits = affine.loops[at].exits.iter();
                (at, exits.map(|exit| is_behind(affine, at, exit, access.pc)).collect())
            });
            let shape = (varying, behind.collect());
            let group = groups.entry(shape).or_insert_with(|| Group { pc: access.pc, ..Group::default() });
            let end = constant + i64::from(access.bytes);
            let ends = group.rests.entry(rest).or_insert((constant, end));
            *ends = (ends.0.min(constant), ends.1.max(end));
        }
    }
    groups
}

/// The variables of a product, those inside of operations too.
fn variables_of(affine: &Affine, atoms: &[Atom]) -> BTreeSet<Variable> {
    let inside = |atom: &Atom| match atom {
        Atom::Derived(_, a, b) => {
            a.atoms().into_iter().chain(b.atoms()).filter_map(|atom| Variable::of(affine, atom)).collect()
        }
        atom => Variable::of(affine, atom).into_iter().collect::<Vec<_>>(),
    };
    atoms.iter().flat_map(inside).collect()
}

/// Makes the bounds of a kernel's arrays.
pub(super) struct Boundaries<'a> {
    pub(super) values: Values<'a>,
    /// The variables counted through, in order.
    pub(super) counted: Vec<CountedThrough>,
    slots: u32,
}

impl<'a> Boundaries<'a> {
    pub(super) fn new(values: Values<'a>) -> Self {
        Boundaries { values, counted: Vec::new(), slots: 0 }
    }

    pub(super) fn of_array(&mut self, groups: &BTreeMap<Shape, Group>) -> Bounds {
        let mut all: Option<(Number, Number)> = None;
        for ((varying, _), group) in groups {
            let Some((low, high)) = self.of_group(varying, group) else { return Bounds::Whole };
            let graph = &mut self.values.graph;
            all = Some(match all {
                None => (low, high),
                Some((lowest, highest)) => (graph.min(lowest, low), graph.max(highest, high)),
            });
        }
        all.map_or(Bounds::Whole, |(low, high)| Bounds::Between(low, high))
    }

    /// The bounds of a group; `None` if it certainly may be anywhere.
    fn of_group(&mut self, varying: &Polynomial, group: &Group) -> Option<(Number, Number)> {
        let rest = self.of_rests(&group.rests)?;
        let graph = &mut self.values.graph;
        let (mut low, mut high) = (rest.low, rest.high);
        let (mut missed, mut unknown) = (graph.known(false), rest.unknown);
        for extent in self.of_variables(varying, group.pc) {
            let graph = &mut self.values.graph;
            low = graph.add(low, extent.low);
            high = graph.add(high, extent.high);
            let reached = graph.not(missed);
            let found = graph.both(reached, extent.unknown);
            unknown = graph.either(unknown, found);
            missed = graph.either(missed, extent.missed);
        }
        let extent = Extent { low, high, missed, unknown };
        (self.values.graph.as_known(unknown) != Some(true)).then(|| self.encode(extent))
    }

    /// Bounds of an extent: an unknown range extends far on both sides, and an empty range has its ends in reverse order.
    fn encode(&mut self, extent: Extent) -> (Number, Number) {
        let graph = &mut self.values.graph;
        let (before, behind) = (graph.constant(-FAR), graph.constant(FAR));
        let low = graph.select(extent.missed, behind, extent.low);
        let high = graph.select(extent.missed, before, extent.high);
        (graph.select(extent.unknown, before, low), graph.select(extent.unknown, behind, high))
    }

    /// The parts without variables: the common part is added once.
    fn of_rests(&mut self, rests: &BTreeMap<Polynomial, (i64, i64)>) -> Option<Extent> {
        let mut common = rests.keys().next()?.clone();
        for rest in rests.keys() {
            let mut both = Polynomial::default();
            for (atoms, factor) in common.terms() {
                if rest.terms().any(|term| term == (atoms, factor)) {
                    both.push(atoms, factor);
                }
            }
            common = both;
        }
        let none = Assignment::new();
        let mut extent: Option<(Number, Number)> = None;
        let common_value = self.values.evaluate(&common, &none)?;
        let mut invalid = common_value.invalid;
        for (rest, (first, end)) in rests {
            let value = self.values.evaluate(&rest.plus(&common, -1)?, &none)?;
            let graph = &mut self.values.graph;
            invalid = graph.either(invalid, value.invalid);
            let (low, high) = (graph.plus(value.number, *first), graph.plus(value.number, *end));
            extent = Some(match extent {
                None => (low, high),
                Some((lowest, highest)) => (graph.min(lowest, low), graph.max(highest, high)),
            });
        }
        let (low, high) = extent?;
        let graph = &mut self.values.graph;
        let (low, high) = (graph.add(common_value.number, low), graph.add(common_value.number, high));
        Some(Extent { low, high, missed: graph.known(false), unknown: invalid })
    }

    /// The parts of variables that have nothing to do with each other.
    fn of_variables(&mut self, varying: &Polynomial, pc: u32) -> Vec<Extent> {
        let affine = self.values.affine;
        let mut found = Variables::default();
        found.collect(affine, varying);
        // The variables of a product belong together, and so do loops that bound each other.
        let mut together: Vec<BTreeSet<Variable>> = Vec::new();
        let mut join = |mut set: BTreeSet<Variable>| {
            let mut index = 0;
            while index < together.len() {
                if together[index].is_disjoint(&set) {
                    index += 1;
                } else {
                    set.append(&mut together.remove(index));
                }
            }
            if !set.is_empty() {
                together.push(set);
            }
        };
        for (atoms, _) in varying.terms() {
            join(variables_of(affine, atoms));
        }
        for variable in &found.all {
            let Variable::Counter(at) = variable else { continue };
            let sides = affine.loops[*at].exits.iter().flat_map(|exit| exit.stays.sides());
            let counters = sides.flat_map(Polynomial::atoms).filter_map(|atom| Variable::of(affine, atom));
            let counters = counters.filter(|found| matches!(found, Variable::Counter(_)));
            join(counters.chain([*variable]).collect());
        }
        // In the order of the analysis: the first variable, whose range may be empty, decides.
        together.sort();
        let parts = together.into_iter().map(|set| {
            let mut part = Polynomial::default();
            for (atoms, factor) in varying.terms() {
                if !variables_of(affine, atoms).is_disjoint(&set) {
                    part.push(atoms, factor);
                }
            }
            let mut own = Variables::default();
            own.collect(affine, &part);
            let left: Vec<(Variable, bool)> =
                set.into_iter().map(|variable| (variable, own.every.contains(&variable))).collect();
            (part, left)
        });
        let parts: Vec<_> = parts.collect();
        parts.into_iter().map(|(part, left)| self.visit(&part, pc, &left, &Assignment::new())).collect()
    }

    /// The points of the variables that are left.
    fn visit(
        &mut self,
        part: &Polynomial,
        pc: u32,
        left: &[(Variable, bool)],
        values: &Assignment,
    ) -> Extent {
        let Some((&(variable, every), rest)) = left.split_first() else {
            return match self.values.evaluate(part, values) {
                Some(value) => Extent {
                    low: value.number,
                    high: value.number,
                    missed: self.values.graph.known(false),
                    unknown: value.invalid,
                },
                None => self.anywhere(),
            };
        };
        let last = match variable {
            Variable::Tid(_) => self.values.last_thread(variable),
            Variable::Counter(at) => self.values.most_rounds(at, pc, values),
        };
        let mut with = values.clone();
        let graph = &mut self.values.graph;
        let (zero, unknown) = (graph.constant(0), graph.is_unknown(last));
        if graph.as_known(unknown) == Some(true) {
            return self.anywhere();
        }
        let mut extent = if every {
            self.count_through(part, pc, (variable, last, rest), &mut with)
        } else {
            with.insert(variable, zero);
            let first = self.visit(part, pc, rest, &with);
            let last = self.values.graph.natural(last);
            with.insert(variable, last);
            let other = self.visit(part, pc, rest, &with);
            self.merge(first, other)
        };
        let graph = &mut self.values.graph;
        let negative = graph.less(last, zero);
        let some = graph.not(negative);
        extent.missed = graph.either(negative, extent.missed);
        let inside = graph.both(some, extent.unknown);
        extent.unknown = graph.either(unknown, inside);
        extent
    }

    fn anywhere(&mut self) -> Extent {
        let graph = &mut self.values.graph;
        let zero = graph.constant(0);
        Extent { low: zero, high: zero, missed: graph.known(false), unknown: graph.known(true) }
    }

    fn merge(&mut self, a: Extent, b: Extent) -> Extent {
        let graph = &mut self.values.graph;
        let ends = |graph: &mut Graph, extent: Extent| {
            let (before, behind) = (graph.constant(-FAR), graph.constant(FAR));
            let low = graph.select(extent.missed, behind, extent.low);
            (low, graph.select(extent.missed, before, extent.high))
        };
        // If both are missed or neither is, the values of a missed extent do not matter.
        let alike = a.missed == b.missed;
        let (low_a, high_a) = if alike { (a.low, a.high) } else { ends(graph, a) };
        let (low_b, high_b) = if alike { (b.low, b.high) } else { ends(graph, b) };
        Extent {
            low: graph.min(low_a, low_b),
            high: graph.max(high_a, high_b),
            missed: graph.both(a.missed, b.missed),
            unknown: graph.either(a.unknown, b.unknown),
        }
    }

    /// All values of a variable, by a loop of the profiler.
    fn count_through(
        &mut self,
        part: &Polynomial,
        pc: u32,
        (variable, last, rest): (Variable, Number, &[(Variable, bool)]),
        with: &mut Assignment,
    ) -> Extent {
        let slot = self.slots;
        self.slots += 3;
        let outer = std::mem::take(&mut self.counted);
        let value = self.values.graph.leaf(Leaf::Slot(slot));
        with.insert(variable, value);
        let each = self.visit(part, pc, rest, with);
        let (low, high) = self.encode(each);
        let inner = std::mem::replace(&mut self.counted, outer);
        let graph = &mut self.values.graph;
        let most = graph.constant(i64::from(MOST_POINTS));
        let long = graph.less(most, last);
        let none = graph.constant(-1);
        let last = graph.select(long, none, last);
        let results = [(slot + 1, Op::Min, low), (slot + 2, Op::Max, high)];
        self.counted.push(CountedThrough { variable: slot, last, inner, results });
        let (low, high) = (graph.leaf(Leaf::Slot(slot + 1)), graph.leaf(Leaf::Slot(slot + 2)));
        let (before, behind) = (graph.constant(-FAR / 2), graph.constant(FAR / 2));
        let everywhere = graph.less(low, before);
        Extent { low, high, missed: graph.less(behind, low), unknown: graph.either(long, everywhere) }
    }
}
