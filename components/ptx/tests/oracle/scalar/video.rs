//! Video instructions without selectors (PTX ISA 9.7.18), as the manual's listings compute them.

use super::opcode::{Class, Opcode, Type};

/// The result of a video instruction.
pub(crate) fn evaluate(op: &Opcode<'_>, sources: &[u64]) -> u64 {
    let (result, types) = op.signature().expect("a video instruction");
    let c = sources.get(2).copied().unwrap_or(0);
    let parts: u32 =
        op.head.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()).parse().unwrap_or(1);
    let bits = 32 / parts;
    let (mut value, mut sum) = (0, result.number(c));
    for part in 0..parts {
        let [ta, tb] =
            [0, 1].map(|which| Type { bits, ..types[which] }.number(sources[which] >> (part * bits)));
        let mut tmp = operate(op, ta, tb, c, &types);
        if op.has("sat") {
            // A sum of products is signed if a factor is.
            let signed = match op.head {
                "vmad" => types[..2].iter().any(|ty| ty.is_signed()),
                _ => result.is_signed(),
            };
            let class = if signed { Class::Signed } else { Class::Unsigned };
            let (least, greatest) = Type { class, bits }.range();
            tmp = tmp.clamp(least, greatest);
        }
        sum += tmp;
        value |= (tmp as u64 & ((1 << bits) - 1)) << (part * bits);
    }
    let (tmp, third) = (result.number(value), result.number(c));
    (match op.one_of(&["add", "min", "max"]) {
        Some("add") => sum,
        Some("min") => tmp.min(third),
        Some("max") => tmp.max(third),
        _ => tmp,
    }) as u32 as u64
}

fn operate(op: &Opcode<'_>, ta: i128, tb: i128, c: u64, types: &[Type]) -> i128 {
    let shift = if op.has("wrap") { tb % 32 } else { tb.min(32) };
    match op.head.trim_end_matches(['2', '4']) {
        "vadd" => ta + tb,
        "vsub" => ta - tb,
        "vabsdiff" => (ta - tb).abs(),
        "vmin" => ta.min(tb),
        "vmax" => ta.max(tb),
        "vavrg" if ta + tb >= 0 => (ta + tb + 1).div_euclid(2),
        "vavrg" => (ta + tb).div_euclid(2),
        "vshl" => ta * (1 << shift),
        "vshr" => ta.div_euclid(1 << shift),
        "vmad" => {
            let third =
                if types[..2].iter().any(|ty| ty.is_signed()) { i128::from(c as i32) } else { i128::from(c) };
            let sum = ta * tb + third + i128::from(op.has("po"));
            sum.div_euclid(if op.has("shr7") {
                1 << 7
            } else if op.has("shr15") {
                1 << 15
            } else {
                1
            })
        }
        "vset" => i128::from(match op.one_of(&["eq", "ne", "lt", "le", "gt", "ge"]) {
            Some("eq") => ta == tb,
            Some("ne") => ta != tb,
            Some("lt") => ta < tb,
            Some("le") => ta <= tb,
            Some("gt") => ta > tb,
            _ => ta >= tb,
        }),
        _ => panic!("`{}` is not a video instruction", op.text),
    }
}
