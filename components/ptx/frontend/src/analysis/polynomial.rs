//! Polynomials with whole coefficients over the variables of a thread's addresses.
//!
//! Arithmetic is that of whole numbers: an index that wraps around its 32 bits is not modelled, as no address of a
//! correct program depends on one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// An operation that no polynomial expresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are PTX's")]
pub enum Operation {
    Shr,
    ShrUnsigned,
    Shl,
    Div,
    DivUnsigned,
    Rem,
    RemUnsigned,
    And,
    Or,
    Xor,
}

/// A variable of a polynomial.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Atom {
    /// `%tid` in a dimension.
    Tid(u8),
    /// `%ctaid` in a dimension.
    Ctaid(u8),
    /// `%ntid` in a dimension.
    Ntid(u8),
    /// `%nctaid` in a dimension.
    Nctaid(u8),
    /// An integer among a parameter's bytes.
    Param {
        /// The parameter's index.
        index: u32,
        /// Bytes from its first.
        offset: u32,
        /// Bytes read.
        bytes: u8,
    },
    /// The address of a variable.
    Symbol(String),
    /// Number of returns of control to a loop's header, given by its block.
    Counter(u32),
    /// The value of a loop's header while it is being solved; not in results.
    Phi(u32),
    /// An operation on two polynomials.
    Derived(Operation, Arc<Polynomial>, Arc<Polynomial>),
    /// A value about which nothing is known except whether it comes from memory.
    Unknown {
        /// The value in static single assignment form.
        value: u32,
        /// Whether the value depends on loaded data.
        data: bool,
        /// Line of the instruction.
        line: u32,
    },
}

/// A sum of products of atoms.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Polynomial {
    /// Coefficient of each product; its atoms ascend, none is zero.
    terms: BTreeMap<Vec<Atom>, i128>,
}

/// Larger ones are given up.
const MOST_TERMS: usize = 48;
/// Products of more atoms are given up.
const HIGHEST_DEGREE: usize = 6;

impl Polynomial {
    /// A number.
    pub fn constant(value: i128) -> Self {
        let mut terms = BTreeMap::new();
        if value != 0 {
            terms.insert(Vec::new(), value);
        }
        Polynomial { terms }
    }

    /// An atom by itself.
    pub fn atom(atom: Atom) -> Self {
        Polynomial { terms: BTreeMap::from([(vec![atom], 1)]) }
    }

    /// Adds a product of ascending atoms that is not in it yet.
    pub fn push(&mut self, atoms: &[Atom], factor: i128) {
        self.terms.insert(atoms.to_vec(), factor);
    }

    /// Its products and their coefficients.
    pub fn terms(&self) -> impl Iterator<Item = (&[Atom], i128)> {
        self.terms.iter().map(|(atoms, factor)| (atoms.as_slice(), *factor))
    }

    /// Value of the sum, if it is a number.
    pub fn as_constant(&self) -> Option<i128> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// The sum with `factor` times another; `None` where it grows too large.
    pub fn plus(&self, other: &Polynomial, factor: i128) -> Option<Self> {
        let mut terms = self.terms.clone();
        for (atoms, value) in &other.terms {
            let sum = terms.entry(atoms.clone()).or_insert(0);
            *sum = sum.checked_add(value.checked_mul(factor)?)?;
        }
        terms.retain(|_, value| *value != 0);
        (terms.len() <= MOST_TERMS).then_some(Polynomial { terms })
    }

    /// The product; `None` where it grows too large.
    pub fn times(&self, other: &Polynomial) -> Option<Self> {
        let mut terms: BTreeMap<Vec<Atom>, i128> = BTreeMap::new();
        for (mine, a) in &self.terms {
            for (theirs, b) in &other.terms {
                let mut atoms = [mine.as_slice(), theirs].concat();
                atoms.sort();
                if atoms.len() > HIGHEST_DEGREE {
                    return None;
                }
                let sum = terms.entry(atoms).or_insert(0);
                *sum = sum.checked_add(a.checked_mul(*b)?)?;
            }
        }
        terms.retain(|_, value| *value != 0);
        (terms.len() <= MOST_TERMS).then_some(Polynomial { terms })
    }

    /// All atoms, those inside of others too.
    pub fn atoms(&self) -> BTreeSet<&Atom> {
        let mut found = BTreeSet::new();
        let mut open = vec![self];
        while let Some(polynomial) = open.pop() {
            for atom in polynomial.terms.keys().flatten() {
                if found.insert(atom)
                    && let Atom::Derived(_, a, b) = atom
                {
                    open.extend([a.as_ref(), b.as_ref()]);
                }
            }
        }
        found
    }

    /// Nesting depth of operations in it.
    pub fn depth(&self) -> u32 {
        let of = |atom: &Atom| match atom {
            Atom::Derived(_, a, b) => 1 + a.depth().max(b.depth()),
            _ => 0,
        };
        self.terms.keys().flatten().map(of).max().unwrap_or(0)
    }

    /// The highest power of two that certainly divides it, as exponent; 63 for zero.
    pub fn trailing_zeros(&self) -> u32 {
        self.terms.values().map(|value| value.trailing_zeros()).min().unwrap_or(63).min(63)
    }

    /// Its value where `known` gives that of each atom; `None` where one is not known or does not fit.
    pub fn evaluate(&self, known: &dyn Fn(&Atom) -> Option<i128>) -> Option<i128> {
        let mut sum = 0i128;
        for (atoms, factor) in &self.terms {
            let mut product = *factor;
            for atom in atoms {
                let value = match atom {
                    Atom::Derived(operation, a, b) => {
                        apply(*operation, a.evaluate(known)?, b.evaluate(known)?)?
                    }
                    other => known(other)?,
                };
                product = product.checked_mul(value)?;
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }
}

impl Polynomial {
    /// The polynomials in which each atom is replaced by each of the values that `with` gives for it; an atom stays if
    /// `with` gives `None`. `None` if the result is too large.
    pub fn substitute(&self, with: &dyn Fn(&Atom) -> Option<Vec<Polynomial>>) -> Option<Vec<Polynomial>> {
        let mut sums = vec![Polynomial::default()];
        for (atoms, factor) in &self.terms {
            let mut products = vec![Polynomial::constant(*factor)];
            for atom in atoms {
                let values = match (with(atom), atom) {
                    (Some(values), _) => values,
                    (None, Atom::Derived(operation, a, b)) => {
                        let (a, b) = (a.substitute(with)?, b.substitute(with)?);
                        let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a.clone(), b.clone())));
                        pairs
                            .map(|(a, b)| {
                                Polynomial::atom(Atom::Derived(*operation, Arc::new(a), Arc::new(b)))
                            })
                            .collect()
                    }
                    (None, other) => vec![Polynomial::atom(other.clone())],
                };
                products = combine(&products, &values, |a, b| a.times(b))?;
            }
            sums = combine(&sums, &products, |a, b| a.plus(b, 1))?;
        }
        Some(sums)
    }
}

/// More alternatives than this are given up.
pub const MOST_ALTERNATIVES: usize = 16;

/// Every value of one set with every one of another, each result once.
pub(super) fn combine(
    a: &[Polynomial],
    b: &[Polynomial],
    with: impl Fn(&Polynomial, &Polynomial) -> Option<Polynomial>,
) -> Option<Vec<Polynomial>> {
    let mut found = BTreeSet::new();
    for left in a {
        for right in b {
            found.insert(with(left, right)?);
            if found.len() > MOST_ALTERNATIVES {
                return None;
            }
        }
    }
    Some(found.into_iter().collect())
}

/// An operation on numbers; `None` where hardware says nothing or the host's 128 bits end.
pub(super) fn apply(operation: Operation, a: i128, b: i128) -> Option<i128> {
    use Operation as Op;
    let unsigned = matches!(operation, Op::ShrUnsigned | Op::DivUnsigned | Op::RemUnsigned);
    if unsigned && (a < 0 || b < 0) {
        // The value as an unsigned number depends on the width.
        return None;
    }
    match operation {
        Op::Shr | Op::ShrUnsigned => Some(a >> u32::try_from(b).ok()?.min(127)),
        Op::Shl => a.checked_mul(1i128.checked_shl(u32::try_from(b).ok()?)?),
        Op::Div | Op::DivUnsigned => a.checked_div(b),
        Op::Rem | Op::RemUnsigned => a.checked_rem(b),
        Op::And => Some(a & b),
        Op::Or => Some(a | b),
        Op::Xor => Some(a ^ b),
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axis = |dimension: &u8| ["x", "y", "z"][*dimension as usize % 3];
        match self {
            Atom::Tid(d) => write!(f, "tid.{}", axis(d)),
            Atom::Ctaid(d) => write!(f, "ctaid.{}", axis(d)),
            Atom::Ntid(d) => write!(f, "ntid.{}", axis(d)),
            Atom::Nctaid(d) => write!(f, "nctaid.{}", axis(d)),
            Atom::Param { index, offset: 0, .. } => write!(f, "param{index}"),
            Atom::Param { index, offset, .. } => write!(f, "param{index}+{offset}"),
            Atom::Symbol(name) => write!(f, "{name}"),
            Atom::Counter(block) => write!(f, "k{block}"),
            Atom::Phi(value) => write!(f, "phi{value}"),
            Atom::Derived(operation, a, b) => {
                let sign = match operation {
                    Operation::Shr | Operation::ShrUnsigned => ">>",
                    Operation::Shl => "<<",
                    Operation::Div | Operation::DivUnsigned => "/",
                    Operation::Rem | Operation::RemUnsigned => "%",
                    Operation::And => "&",
                    Operation::Or => "|",
                    Operation::Xor => "^",
                };
                write!(f, "(({a}) {sign} ({b}))")
            }
            Atom::Unknown { data: true, line, .. } => write!(f, "[loaded, line {line}]"),
            Atom::Unknown { line, .. } => write!(f, "[line {line}]"),
        }
    }
}

impl fmt::Display for Polynomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return f.write_str("0");
        }
        // The constant, whose product is empty and so comes first, is read best at the end.
        let rest = self.terms.iter().filter(|(atoms, _)| !atoms.is_empty());
        let constant = self.terms.iter().filter(|(atoms, _)| atoms.is_empty());
        for (index, (atoms, &factor)) in rest.chain(constant).enumerate() {
            match (index, factor < 0) {
                (0, false) => {}
                (0, true) => f.write_str("-")?,
                (_, false) => f.write_str(" + ")?,
                (_, true) => f.write_str(" - ")?,
            }
            let size = factor.unsigned_abs();
            let names: Vec<String> = atoms.iter().map(Atom::to_string).collect();
            match (size, names.is_empty()) {
                (_, true) => write!(f, "{size}")?,
                (1, false) => f.write_str(&names.join("*"))?,
                _ => write!(f, "{size}*{}", names.join("*"))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_sums_are_in_one_form() {
        let x = Polynomial::atom(Atom::Tid(0));
        let n = Polynomial::atom(Atom::Ntid(0));
        let one = Polynomial::constant(1);
        let a = x.plus(&one, 1).unwrap().times(&n).unwrap();
        let b = n.times(&x).unwrap().plus(&n, 1).unwrap();
        assert_eq!(a, b);
        assert_eq!(a.to_string(), "tid.x*ntid.x + ntid.x");
        assert_eq!(a.plus(&b, -1).unwrap().as_constant(), Some(0));
        let known = |atom: &Atom| if *atom == Atom::Tid(0) { Some(3) } else { Some(5) };
        assert_eq!(a.evaluate(&known), Some(20));
    }

    #[test]
    fn operations_are_evaluated_with_their_arguments() {
        let x = Arc::new(Polynomial::atom(Atom::Tid(0)));
        let half = Polynomial::atom(Atom::Derived(
            Operation::Shr,
            Arc::clone(&x),
            Arc::new(Polynomial::constant(1)),
        ));
        assert_eq!(half.evaluate(&|_| Some(7)), Some(3));
        assert_eq!((half.depth(), half.atoms().len()), (1, 2));
        assert_eq!(half.to_string(), "((tid.x) >> (1))");
    }
}
