//! Integers and bits, as the manual's formulas say (PTX ISA 9.7.1, 9.7.2, 9.7.8), in 128 bits.

use super::opcode::{Opcode, Type};

/// The result of an integer instruction; the carry is read and written by extended precision only.
pub(crate) fn evaluate(op: &Opcode<'_>, ty: Type, sources: &[u64], carry: &mut bool) -> u64 {
    let bits = ty.bits;
    let number = |index: usize| ty.number(sources[index]);
    let raw = |index: usize| ty.cut(sources[index]);
    let amount = |index: usize| sources[index] as u32;
    match op.head {
        "add" | "addc" | "sub" | "subc" => {
            // The flag of a difference is set if nothing is borrowed; one that takes it borrows if it is not set.
            let takes_carry = op.head.ends_with('c');
            let carry_in = i128::from(takes_carry && *carry);
            let borrow_in = i128::from(takes_carry && !*carry);
            let subtracts = op.head.starts_with("sub");
            if op.has("sat") {
                let (least, greatest) = ty.range();
                let exact = if subtracts { number(0) - number(1) } else { number(0) + number(1) };
                return exact.clamp(least, greatest) as u64;
            }
            let (a, b) = (i128::from(raw(0)), i128::from(raw(1)));
            let exact = if subtracts { a - b - borrow_in } else { a + b + carry_in };
            if op.has("cc") {
                *carry = if subtracts { exact >= 0 } else { exact >= 1 << bits };
            }
            exact as u64
        }
        "mul" | "mul24" => part(op, ty, sources) as u64,
        "mad" | "madc" | "mad24" => {
            let product = part(op, ty, sources);
            if op.has("sat") {
                let (least, greatest) = ty.range();
                return (ty.number(product as u64) + number(2)).clamp(least, greatest) as u64;
            }
            if op.has("wide") {
                return (product as u64).wrapping_add(sources[2]);
            }
            let exact = u128::from(ty.cut(product as u64))
                + u128::from(raw(2))
                + u128::from(op.head == "madc" && *carry);
            if op.has("cc") {
                *carry = exact >> bits != 0;
            }
            exact as u64
        }
        "sad" => (number(0).abs_diff(number(1)) + u128::from(raw(2))) as u64,
        // Division by zero is open in the manual; NVIDIA's assembler makes all ones of it where all is constant.
        "div" | "rem" if raw(1) == 0 => u64::MAX,
        "div" => (number(0) / number(1)) as u64,
        "rem" => (number(0) % number(1)) as u64,
        "abs" => number(0).unsigned_abs() as u64,
        "neg" => (-number(0)) as u64,
        "min" | "max" => {
            let (a, b) = (number(0), number(1));
            let found = if (a < b) == (op.head == "min") { a } else { b };
            (if op.has("relu") { found.max(0) } else { found }) as u64
        }
        "popc" => (0..bits).map(|bit| raw(0) >> bit & 1).sum(),
        "clz" => u64::from(bits - 1).wrapping_sub(highest(raw(0), bits)),
        "bfind" => {
            let found = highest(if number(0) < 0 { ty.cut(!raw(0)) } else { raw(0) }, bits);
            match op.has("shiftamt") && found != u64::MAX {
                true => u64::from(bits - 1) - found,
                false => found,
            }
        }
        "brev" => (0..bits).map(|bit| (raw(0) >> bit & 1) << (bits - 1 - bit)).sum(),
        "bfe" => extract(ty, raw(0), amount(1) & 0xff, amount(2) & 0xff),
        "bfi" => {
            let (position, length) = (amount(2) & 0xff, amount(3) & 0xff);
            (0..bits).fold(0, |all, bit| {
                let inside = bit >= position && bit - position < length;
                all | (if inside { raw(0) >> (bit - position) & 1 } else { raw(1) >> bit & 1 }) << bit
            })
        }
        "bmsk" => {
            let limited = |index: usize| if op.has("wrap") { raw(index) % 32 } else { raw(index) };
            let (first, width) = (limited(0), limited(1));
            (0..32).filter(|bit| *bit >= first && *bit - first < width).map(|bit| 1 << bit).sum()
        }
        "szext" => {
            let width = if op.has("wrap") { amount(1) % 32 } else { amount(1).min(32) };
            extract(ty, raw(0), 0, width)
        }
        "fns" => nth_set_bit(raw(0), sources[1] as u32, sources[2] as u32 as i32),
        "dp4a" | "dp2a" => {
            let (left, right) = (op.types[0], op.types[1]);
            let (few, width) = if op.head == "dp4a" { (4, 8) } else { (2, 16) };
            let skip = if op.has("hi") { 2 } else { 0 };
            let products = (0..few).map(|index| {
                let a = Type { bits: width, ..left }.number(sources[0] >> (width * index));
                let b = Type { bits: 8, ..right }.number(sources[1] >> (8 * (index + skip)));
                a * b
            });
            (products.sum::<i128>() + i128::from(sources[2] as u32)) as u64
        }
        "and" => raw(0) & raw(1),
        "or" => raw(0) | raw(1),
        "xor" => raw(0) ^ raw(1),
        "not" => !raw(0),
        "cnot" => u64::from(raw(0) == 0),
        "lop3" => (0..32).fold(0, |all, bit| {
            let place = (raw(0) >> bit & 1) << 2 | (raw(1) >> bit & 1) << 1 | raw(2) >> bit & 1;
            all | (raw(3) >> place & 1) << bit
        }),
        "shl" => (u128::from(raw(0)) << amount(1).min(64)) as u64,
        "shr" => (number(0) >> amount(1).min(64)) as u64,
        "shf" => {
            let amount = if op.has("wrap") { amount(2) % 32 } else { amount(2).min(32) };
            let both = raw(1) << 32 | raw(0);
            if op.has("l") { ((u128::from(both) << amount) >> 32) as u64 } else { both >> amount }
        }
        "prmt" => permute(op, raw(0), raw(1), raw(2)),
        _ => panic!("`{}` is not an integer instruction", op.text),
    }
}

/// 9.7.9.22: two numbers clamped to a type, and above them the low bits of the third source.
pub(crate) fn pack(op: &Opcode<'_>, sources: &[u64]) -> u64 {
    let (ty, from) = (op.types[0], op.types[1]);
    let (least, greatest) = ty.range();
    let [ta, tb] = [0, 1].map(|index| ty.cut(from.number(sources[index]).clamp(least, greatest) as u64));
    let third = sources.get(2).map_or(0, |c| c << (2 * ty.bits));
    third | ta << ty.bits | tb
}

/// The part of a product that `.lo`, `.hi` or `.wide` names.
fn part(op: &Opcode<'_>, ty: Type, sources: &[u64]) -> u128 {
    let few = op.head.ends_with("24");
    let factor = |index: usize| {
        let value = if few { sources[index] & 0xff_ffff } else { sources[index] };
        // Of a factor of 24 bits, bit 23 is the sign.
        if few && ty.is_signed() && value >= 1 << 23 {
            i128::from(value) - (1 << 24)
        } else {
            ty.number(value)
        }
    };
    let (a, b) = (factor(0), factor(1));
    // Two unsigned factors of 64 bits need all 128.
    let product = if a < 0 || b < 0 { (a * b) as u128 } else { a as u128 * b as u128 };
    match op.word(0) {
        "hi" if few => product >> 16,
        "hi" => product >> ty.bits,
        _ => product,
    }
}

/// Position of the highest bit that is set.
fn highest(value: u64, bits: u32) -> u64 {
    (0..bits).rev().find(|bit| value >> bit & 1 == 1).map_or(u64::MAX, u64::from)
}

/// 9.7.1.19, bit by bit.
fn extract(ty: Type, value: u64, position: u32, length: u32) -> u64 {
    let top = ty.bits - 1;
    let sign = if !ty.is_signed() || length == 0 { 0 } else { value >> (position + length - 1).min(top) & 1 };
    (0..ty.bits).fold(0, |all, bit| {
        let inside = bit < length && position + bit <= top;
        all | (if inside { value >> (position + bit) & 1 } else { sign }) << bit
    })
}

/// The manual's loop for `fns`.
fn nth_set_bit(mask: u64, base: u32, offset: i32) -> u64 {
    let set = |place: i64| (0..32).contains(&place) && mask >> place & 1 == 1;
    let (mut place, step) = (i64::from(base), if offset > 0 { 1 } else { -1 });
    if offset == 0 {
        return if set(place) { place as u64 } else { u64::MAX };
    }
    let mut left = offset.unsigned_abs() - 1;
    while (0..32).contains(&place) {
        match (set(place), left) {
            (true, 0) => return place as u64,
            (true, _) => left -= 1,
            _ => {}
        }
        place += step;
    }
    u64::MAX
}

/// 9.7.9.7: the modes as the manual's table prints them, highest byte first.
fn permute(op: &Opcode<'_>, a: u64, b: u64, control: u64) -> u64 {
    let bytes = b << 32 | a;
    let low = (control & 3) as usize;
    let modes: Option<[[u64; 4]; 4]> = match op.word(1) {
        "f4e" => Some([[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]]),
        "b4e" => Some([[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]]),
        "rc8" => Some([[0; 4], [1; 4], [2; 4], [3; 4]]),
        "ecl" => Some([[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]]),
        "ecr" => Some([[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]]),
        "rc16" => Some([[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]]),
        _ => None,
    };
    let mut result = 0;
    for place in 0..4 {
        let (select, spreads) = match modes {
            Some(table) => (table[low][3 - place], false),
            None => (control >> (4 * place) & 7, control >> (4 * place + 3) & 1 == 1),
        };
        let byte = bytes >> (8 * select) & 0xff;
        let byte = match (spreads, byte >> 7) {
            (true, 0) => 0,
            (true, _) => 0xff,
            _ => byte,
        };
        result |= byte << (8 * place);
    }
    result
}
