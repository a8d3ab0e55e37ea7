//! Operations of a warp's threads together (PTX ISA 9.7.9.5, 9.7.13): each waits at the instruction until all
//! that have not ended are there, and then it is done for all of them.

use counterpoint_ptx::ast::{Instruction, OperandKind};

use super::access::Memories;
use super::code::Code;
use super::opcode::{Opcode, PREDICATE, Type};
use super::thread::{State, Thread};

const B32: &str = "b32";

pub(super) fn is_collective(op: &Opcode<'_>) -> bool {
    matches!(op.head, "vote" | "shfl" | "match" | "redux")
}

/// Executes the instruction that all threads of a warp have reached, if they have.
pub(super) fn meet(warp: &mut [Thread], functions: &[Code<'_>], memories: &Memories<'_>) {
    let live: Vec<usize> = (0..warp.len()).filter(|lane| warp[*lane].state != State::Ended).collect();
    if live.is_empty() || live.iter().any(|lane| warp[*lane].state != State::Meets) {
        return;
    }
    let place = warp[live[0]].place();
    assert!(live.iter().all(|lane| warp[*lane].place() == place), "the lanes meet at different instructions");
    let code = &functions[place.0];
    let (scope, instruction) = code.steps[place.1];
    let op = Opcode::new(&instruction.opcode);
    let ty = if op.head == "vote" { PREDICATE } else { op.types[0] };
    let values = |index: usize, ty: Type| -> Vec<Option<u64>> {
        let value =
            |lane: usize| warp[lane].value(code, scope, &instruction.operands[index].kind, ty, memories);
        (0..warp.len()).map(|lane| live.contains(&lane).then(|| value(lane))).collect()
    };
    let word = Type::parse(B32).expect("a type");
    let results: Vec<(u64, bool)> = match op.head {
        "shfl" => shuffle(&op, &values(1, word), &values(2, word), &values(3, word)),
        _ => vec![combine(&op, ty, &values(1, ty)); warp.len()],
    };
    let own = values(1, ty);
    for &lane in &live {
        let (mut value, truth) = results[lane];
        if (op.head, op.word(0)) == ("match", "any") {
            value = mask(own.iter().map(|other| *other == own[lane]));
        }
        write(&mut warp[lane], code, scope, instruction, value, truth);
        warp[lane].advance();
    }
}

/// A bit for every lane.
fn mask(lanes: impl Iterator<Item = bool>) -> u64 {
    lanes.enumerate().map(|(lane, set)| u64::from(set) << lane).sum()
}

/// The result common to all lanes.
fn combine(op: &Opcode<'_>, ty: Type, values: &[Option<u64>]) -> (u64, bool) {
    let live: Vec<u64> = values.iter().flatten().copied().collect();
    let alike = live.iter().all(|value| *value == live[0]);
    let numbers = || live.iter().map(|value| ty.number(*value));
    match (op.head, op.word(1)) {
        ("match", _) if alike => (mask(values.iter().map(Option::is_some)), true),
        ("match", _) => (0, false),
        (_, "all") => (0, live.iter().all(|value| *value != 0)),
        (_, "any") => (0, live.iter().any(|value| *value != 0)),
        (_, "uni") => (0, alike),
        (_, "ballot") => (mask(values.iter().map(|value| value.is_some_and(|value| value != 0))), false),
        (_, "add") => (numbers().sum::<i128>() as u64, false),
        (_, "min") => (numbers().min().unwrap_or(0) as u64, false),
        (_, "max") => (numbers().max().unwrap_or(0) as u64, false),
        (_, "and") => (live.iter().fold(u64::MAX, |all, value| all & value), false),
        (_, "or") => (live.iter().fold(0, |all, value| all | value), false),
        (_, "xor") => (live.iter().fold(0, |all, value| all ^ value), false),
        _ => panic!("`{}` is not known", op.text),
    }
}

/// The manual's program, lane by lane; the value from a lane without a thread is open, here zero.
fn shuffle(op: &Opcode<'_>, a: &[Option<u64>], b: &[Option<u64>], c: &[Option<u64>]) -> Vec<(u64, bool)> {
    let one = |lane: usize| {
        let (Some(b), Some(c)) = (b[lane], c[lane]) else { return (0, false) };
        let (own, b, clamp, segment) = (lane as i64, (b & 31) as i64, (c & 31) as i64, (c >> 8 & 31) as i64);
        let most = (own & segment) | (clamp & !segment);
        let (source, inside) = match op.word(1) {
            "up" => (own - b, own - b >= most),
            "down" => (own + b, own + b <= most),
            "bfly" => (own ^ b, own ^ b <= most),
            _ => {
                let source = (own & segment) | (b & !segment);
                (source, source <= most)
            }
        };
        let source = if inside { source } else { own };
        (a.get(source as usize).copied().flatten().unwrap_or(0), inside)
    };
    (0..a.len()).map(one).collect()
}

/// The result goes to a register, to a predicate, or to both.
fn write(thread: &mut Thread, code: &Code<'_>, scope: usize, at: &Instruction, value: u64, truth: bool) {
    let word = Type::parse(B32).expect("a type");
    let op = Opcode::new(&at.opcode);
    match &at.operands[0].kind {
        OperandKind::Pair(d, p) => {
            thread.write(code, scope, &OperandKind::Name(d.clone()), word, value);
            thread.write(code, scope, &OperandKind::Name(p.clone()), PREDICATE, truth.into());
        }
        to if op.types.first() == Some(&PREDICATE) => thread.write(code, scope, to, PREDICATE, truth.into()),
        to => thread.write(code, scope, to, word, value),
    }
}
