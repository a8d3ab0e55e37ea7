//! Results of instructions that read registers alone: comparisons, selections, conversions, arithmetic.

use super::opcode::{Class, Opcode, Type};
use super::{float, integer};

/// A result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A number of the result's type; higher bits mean nothing.
    Value(u64),
    /// A predicate, and the one that `p|q` writes second.
    Truth(bool, bool),
}

/// Computes one instruction from its sources as registers hold them.
///
/// # Panics
/// If it is none of those that [`Opcode::signature`] knows.
pub(crate) fn evaluate(op: &Opcode<'_>, sources: &[u64], carry: &mut bool) -> Outcome {
    let (result, types) = op.signature().unwrap_or_else(|| panic!("`{}` is not known", op.text));
    let ty = types[0];
    if ty.class == Class::Predicate {
        let truth = logic(op, sources);
        return Outcome::Truth(truth, !truth);
    }
    match op.head {
        "mov" => Outcome::Value(sources[0]),
        "selp" => Outcome::Value(sources[if sources[2] != 0 { 0 } else { 1 }]),
        "slct" => {
            let first = if types[2].is_float() {
                float::is_not_negative(op, sources[2])
            } else {
                types[2].number(sources[2]) >= 0
            };
            Outcome::Value(sources[if first { 0 } else { 1 }])
        }
        "testp" => {
            let truth = float::test(op, ty, sources[0]);
            Outcome::Truth(truth, !truth)
        }
        "setp" | "set" => {
            let truth =
                if ty.is_float() { float::compare(op, ty, sources) } else { compare(op, ty, sources) };
            let combined = |truth: bool| match (op.combination(), sources.get(2)) {
                (Some("and"), Some(third)) => truth && *third != 0,
                (Some("or"), Some(third)) => truth || *third != 0,
                (Some("xor"), Some(third)) => truth != (*third != 0),
                _ => truth,
            };
            match (op.head, combined(truth), result.class) {
                ("setp", truth_, _) => Outcome::Truth(truth_, combined(!truth)),
                (_, true, Class::Float) => Outcome::Value(0x3f80_0000),
                (_, true, _) => Outcome::Value(0xffff_ffff),
                (_, false, _) => Outcome::Value(0),
            }
        }
        "cvt" => Outcome::Value(convert(op, result, ty, sources[0])),
        _ if ty.is_float() => Outcome::Value(float::evaluate(op, ty, sources)),
        _ => Outcome::Value(integer::evaluate(op, ty, sources, carry)),
    }
}

fn logic(op: &Opcode<'_>, sources: &[u64]) -> bool {
    let (a, b) = (sources[0] != 0, sources.last() != Some(&0));
    match op.head {
        "mov" => a,
        "not" => !a,
        "and" => a && b,
        "or" => a || b,
        "xor" => a != b,
        _ => panic!("`{}` is no logic of predicates", op.text),
    }
}

fn compare(op: &Opcode<'_>, ty: Type, sources: &[u64]) -> bool {
    let (a, b) = (ty.number(sources[0]), ty.number(sources[1]));
    match op.word(0) {
        "eq" => a == b,
        "ne" => a != b,
        "lt" | "lo" => a < b,
        "le" | "ls" => a <= b,
        "gt" | "hi" => a > b,
        "ge" | "hs" => a >= b,
        other => panic!("no comparison of integers is named `{other}`"),
    }
}

fn convert(op: &Opcode<'_>, to: Type, from: Type, source: u64) -> u64 {
    if to.is_float() || from.is_float() {
        return float::convert(op, to, from, source);
    }
    let number = from.number(source);
    let (least, greatest) = to.range();
    (if op.has("sat") { number.clamp(least, greatest) } else { number }) as u64
}
