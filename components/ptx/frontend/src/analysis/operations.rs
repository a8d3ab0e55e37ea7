//! Integer instructions on sets of polynomials.

use std::sync::Arc;

use super::polynomial::{Atom, Operation, Polynomial, combine};

/// Operations nested deeper than this are given up.
const DEEPEST: u32 = 6;

/// The result of an instruction on its operands; `None` if no polynomial expresses it.
pub(super) fn result(opcode: &str, operands: &[Vec<Polynomial>]) -> Option<Vec<Polynomial>> {
    let words: Vec<&str> = opcode.split('.').collect();
    let (name, kind) = (*words.first()?, *words.last()?);
    // Pairs, and formats whose names begin like that of untyped bits.
    let other = kind.contains('x') || matches!(kind, "bf16" | "tf32");
    if kind.starts_with('f') || kind == "pred" || other || words.get(1) == Some(&"pack") {
        return None;
    }
    let has = |word: &str| words.contains(&word);
    let one = || Polynomial::constant(1);
    let each = |with: &dyn Fn(&Polynomial) -> Option<Polynomial>| {
        operands.first()?.iter().map(with).collect::<Option<Vec<_>>>()
    };
    let pair = |with: &dyn Fn(&Polynomial, &Polynomial) -> Option<Polynomial>| {
        combine(operands.first()?, operands.get(1)?, with)
    };
    let either = |first: usize| {
        combine(
            &[Polynomial::default()],
            &[operands.get(first)?.as_slice(), operands.get(first + 1)?].concat(),
            |_, b| Some(b.clone()),
        )
    };
    let unsigned = kind.starts_with('u') || kind.starts_with('b');
    let choose = |signed, without| if unsigned { without } else { signed };
    match name {
        "mov" | "cvta" => operands.first().cloned(),
        "cvt" => convert(&words, operands.first()?),
        "add" if !has("cc") && !has("sat") => pair(&|a, b| a.plus(b, 1)),
        "sub" if !has("cc") && !has("sat") => pair(&|a, b| a.plus(b, -1)),
        "mul" if has("lo") || has("wide") => pair(&|a, b| a.times(b)),
        "mad" if (has("lo") || has("wide")) && !has("cc") => {
            combine(&pair(&|a, b| a.times(b))?, operands.get(2)?, |a, b| a.plus(b, 1))
        }
        "neg" => each(&|a| Polynomial::default().plus(a, -1)),
        "not" => each(&|a| Polynomial::default().plus(a, -1)?.plus(&one(), -1)),
        "abs" => {
            let minus = each(&|a| Polynomial::default().plus(a, -1))?;
            combine(&[Polynomial::default()], &[operands.first()?.as_slice(), &minus].concat(), |_, b| {
                Some(b.clone())
            })
        }
        "min" | "max" | "selp" => either(0),
        "shl" => pair(&|a, b| match b.as_constant() {
            Some(bits @ 0..=62) => a.times(&Polynomial::constant(1 << bits)),
            _ => derived(Operation::Shl, a, b),
        }),
        "shr" => pair(&|a, b| derived(choose(Operation::Shr, Operation::ShrUnsigned), a, b)),
        "div" => pair(&|a, b| derived(choose(Operation::Div, Operation::DivUnsigned), a, b)),
        "rem" => pair(&|a, b| derived(choose(Operation::Rem, Operation::RemUnsigned), a, b)),
        "and" => pair(&|a, b| derived(Operation::And, a, b)),
        "or" => pair(&|a, b| if disjoint(a, b) { a.plus(b, 1) } else { derived(Operation::Or, a, b) }),
        "xor" => pair(&|a, b| match b.as_constant() {
            Some(-1) => Polynomial::default().plus(a, -1)?.plus(&one(), -1),
            _ => derived(Operation::Xor, a, b),
        }),
        _ => None,
    }
}

/// A conversion between integers keeps the value, as no index of a correct program overflows; but to fewer than 32
/// bits it cuts on purpose.
fn convert(words: &[&str], from: &[Polynomial]) -> Option<Vec<Polynomial>> {
    let bits = |word: &str| word.strip_prefix(['u', 's', 'b'])?.parse::<u32>().ok();
    let target = bits(words.get(words.len().checked_sub(2)?)?)?;
    let source = bits(words.last()?)?;
    if source < 32 && target >= source || target >= 32 {
        return Some(from.to_vec());
    }
    let mask = Polynomial::constant((1 << target) - 1);
    let signed = words[words.len() - 2].starts_with('s');
    from.iter().map(|value| if signed { None } else { derived(Operation::And, value, &mask) }).collect()
}

/// No bit is set in both: one's low bits are zero and the other needs no more. This is how compilers write an
/// addition.
fn disjoint(a: &Polynomial, b: &Polynomial) -> bool {
    let fits = |small: &Polynomial, large: &Polynomial| {
        below(small).is_some_and(|limit| limit <= 1 << large.trailing_zeros())
    };
    fits(a, b) || fits(b, a)
}

/// A number that a polynomial, never negative, stays below, where that is known without the launch.
fn below(polynomial: &Polynomial) -> Option<i128> {
    if let Some(value) = polynomial.as_constant() {
        return (value >= 0).then_some(value + 1);
    }
    let mut terms = polynomial.terms();
    let (atoms, factor) = terms.next()?;
    match (atoms, terms.next()) {
        ([Atom::Derived(Operation::And, _, mask)], None) if factor > 0 => {
            let mask = mask.as_constant().filter(|mask| *mask >= 0)?;
            mask.checked_mul(factor)?.checked_add(1)
        }
        _ => None,
    }
}

fn derived(operation: Operation, a: &Polynomial, b: &Polynomial) -> Option<Polynomial> {
    if let (Some(a), Some(b)) = (a.as_constant(), b.as_constant()) {
        return super::polynomial::apply(operation, a, b).map(Polynomial::constant);
    }
    let result = Polynomial::atom(Atom::Derived(operation, Arc::new(a.clone()), Arc::new(b.clone())));
    (result.depth() <= DEEPEST).then_some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tid() -> Vec<Polynomial> {
        vec![Polynomial::atom(Atom::Tid(0))]
    }
    fn number(value: i128) -> Vec<Polynomial> {
        vec![Polynomial::constant(value)]
    }
    fn text(opcode: &str, operands: &[Vec<Polynomial>]) -> String {
        let all = result(opcode, operands).unwrap();
        all.iter().map(Polynomial::to_string).collect::<Vec<_>>().join(" or ")
    }

    #[test]
    fn integer_instructions_are_polynomials() {
        assert_eq!(text("shl.b32", &[tid(), number(2)]), "4*tid.x");
        assert_eq!(text("not.b32", &[tid()]), "-tid.x - 1");
        assert_eq!(text("xor.b32", &[tid(), number(-1)]), "-tid.x - 1");
        assert_eq!(text("mad.wide.s32", &[tid(), number(4), number(8)]), "4*tid.x + 8");
        assert_eq!(text("cvt.s64.s32", &[tid()]), "tid.x");
        assert_eq!(text("cvt.u8.u32", &[tid()]), "((tid.x) & (255))");
        assert_eq!(text("selp.b32", &[tid(), number(0)]), "0 or tid.x");
        assert_eq!(text("min.s32", &[tid(), number(7)]), "7 or tid.x");
        assert!(result("add.f32", &[tid(), tid()]).is_none());
        assert!(result("cvt.s8.s32", &[tid()]).is_none());
        for opcode in ["add.bf16", "min.bf16x2", "add.u16x2", "cvt.pack.sat.u8.s32.b32", "cvt.rn.bf16.u32"] {
            assert!(result(opcode, &[tid(), tid(), tid()]).is_none(), "{opcode}");
        }
    }

    #[test]
    fn or_adds_only_where_no_bit_can_meet() {
        let shifted = result("shl.b32", &[tid(), number(2)]).unwrap();
        assert_eq!(text("or.b32", &[shifted.clone(), number(3)]), "4*tid.x + 3");
        assert_eq!(text("or.b32", &[shifted.clone(), number(4)]), "((4*tid.x) | (4))");
        let low = result("and.b32", &[tid(), number(3)]).unwrap();
        assert_eq!(text("or.b32", &[shifted, low]), "4*tid.x + ((tid.x) & (3))");
    }
}
