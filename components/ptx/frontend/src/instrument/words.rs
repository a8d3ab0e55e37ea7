//! Ranges in words.

use std::collections::{BTreeMap, BTreeSet};

use super::bounds::{Group, Shape};
use crate::analysis::affine::Affine;
use crate::analysis::polynomial::{Atom, Polynomial};
use crate::syntax::ast::Function;

/// The range reported for an array where the analysis gives no bound.
pub(super) const WHOLE: &str = "all of it, as no bound is known";

/// The kernel's use of an array.
pub(super) fn does(reads: bool, writes: bool) -> &'static str {
    match (reads, writes) {
        (true, true) => "reads and writes",
        (_, true) => "writes",
        _ => "reads",
    }
}

/// The bytes of an array that are touched, from its start, over all threads and rounds.
pub(super) fn ranges(kernel: &Function, affine: &Affine, groups: &BTreeMap<Shape, Group>) -> String {
    let mut parts = Vec::new();
    let mut headers = BTreeSet::new();
    for ((varying, _), group) in groups {
        for (rest, (first, end)) in &group.rests {
            let mut all = Polynomial::default();
            for (atoms, factor) in varying.terms().chain(rest.terms()) {
                all.push(atoms, factor);
            }
            headers.extend(all.atoms().into_iter().filter_map(|atom| match atom {
                Atom::Counter(header) => Some(*header),
                _ => None,
            }));
            let part = match all.as_constant() {
                Some(0) => format!("[{first}, {end})"),
                _ => format!("{} + [{first}, {end})", named(&all.to_string(), kernel)),
            };
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
    }
    let mut text = parts.join("; ");
    for header in headers {
        let line =
            affine.loops.iter().find(|found| found.body.header == header).map_or(0, |found| found.line);
        text.push_str(&format!(", k{header} in the rounds of the loop at line {line}"));
    }
    text
}

/// Puts the parameters' names in the place of their numbers.
fn named(text: &str, kernel: &Function) -> String {
    let params = kernel.params.iter().enumerate().rev();
    params.fold(text.to_owned(), |text, (index, param)| text.replace(&format!("param{index}"), &param.name))
}
