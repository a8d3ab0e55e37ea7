//! Results of instructions that read registers alone: comparisons, selections, conversions, arithmetic.

use super::opcode::{Class, Opcode, Type};
use super::{float, integer, video};

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
        head if head.starts_with('v') => Outcome::Value(video::evaluate(op, sources)),
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
            let ask = |ty: Type, sources: &[u64]| match ty.is_float() {
                true => float::compare(op, ty, sources),
                false => compare(op, ty, sources),
            };
            let combined = |truth: bool| match (op.combination(), sources.get(2)) {
                (Some("and"), Some(third)) => truth && *third != 0,
                (Some("or"), Some(third)) => truth || *third != 0,
                (Some("xor"), Some(third)) => truth != (*third != 0),
                _ => truth,
            };
            if let Some(part) = ty.part() {
                let truths = halves(ty, sources).map(|sources| combined(ask(part, &sources)));
                let one = written(result.part().unwrap_or(Type { bits: part.bits, ..result }));
                return match op.head {
                    "setp" => Outcome::Truth(truths[0], truths[1]),
                    _ => Outcome::Value(joined(ty, truths.map(|truth| if truth { one } else { 0 }))),
                };
            }
            let truth = ask(ty, sources);
            match op.head {
                "setp" => Outcome::Truth(combined(truth), combined(!truth)),
                _ => Outcome::Value(if combined(truth) { written(result) } else { 0 }),
            }
        }
        "cvt" if op.word(0) == "pack" => Outcome::Value(integer::pack(op, sources)),
        "cvt" => Outcome::Value(match (result.part(), ty.part()) {
            // The first of two sources goes to the high half.
            (Some(to), None) => {
                joined(result, [sources[1], sources[0]].map(|from| convert(op, to, ty, from)))
            }
            (Some(to), Some(from)) => {
                joined(result, halves(ty, sources).map(|sources| convert(op, to, from, sources[0])))
            }
            _ => convert(op, result, ty, sources[0]),
        }),
        _ if let Some(part) = ty.part() => {
            let half = |sources: Vec<u64>| match part.is_float() {
                true => float::evaluate(op, part, &sources),
                false => integer::evaluate(op, part, &sources, &mut false),
            };
            Outcome::Value(joined(ty, halves(ty, sources).map(half)))
        }
        _ if ty.is_float() => Outcome::Value(float::evaluate(op, ty, sources)),
        _ => Outcome::Value(integer::evaluate(op, ty, sources, carry)),
    }
}

/// The numbers in the low and in the high halves of sources.
fn halves(ty: Type, sources: &[u64]) -> [Vec<u64>; 2] {
    let bits = ty.bits / 2;
    [0, bits].map(|at| sources.iter().map(|source| source >> at & ((1 << bits) - 1)).collect())
}

/// Two numbers in one register.
fn joined(ty: Type, [low, high]: [u64; 2]) -> u64 {
    let bits = ty.bits / 2;
    low & ((1 << bits) - 1) | high << bits
}

/// The truth of `set` as a number of a type.
fn written(ty: Type) -> u64 {
    match ty.class {
        Class::Float if ty.bits == 16 => 0x3c00,
        Class::Float => 0x3f80_0000,
        Class::Brain => 0x3f80,
        _ => ty.cut(u64::MAX),
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
        _ => panic!("`{}` is not a logic of predicates", op.text),
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
