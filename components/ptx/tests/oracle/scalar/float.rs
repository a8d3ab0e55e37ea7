//! Floating point, by LLVM's software arithmetic (PTX ISA 9.7.3), and the conversions to and from it.
//!
//! Cases that the manual leaves open are as the executor documents them: a NaN that arithmetic makes is the
//! canonical one, and `.approx` is the result rounded to nearest.

use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::opcode::{Class, Opcode, Type};

/// The arithmetic of a type.
trait Number: Float + FloatConvert<Single> + FloatConvert<Double> + FloatConvert<Quad> {
    /// The NaN that arithmetic makes.
    const CANONICAL: u64;
    const WIDTH: u32;
}

impl Number for Single {
    const CANONICAL: u64 = 0x7fff_ffff;
    const WIDTH: u32 = 32;
}

impl Number for Double {
    const CANONICAL: u64 = 0x7ff8_0000_0000_0000;
    const WIDTH: u32 = 64;
}

impl Number for Half {
    const CANONICAL: u64 = 0x7fff;
    const WIDTH: u32 = 16;
}

impl Number for BFloat {
    const CANONICAL: u64 = 0x7fff;
    const WIDTH: u32 = 16;
}

impl Number for Float8E4M3FN {
    const CANONICAL: u64 = 0x7f;
    const WIDTH: u32 = 8;
}

impl Number for Float8E5M2 {
    const CANONICAL: u64 = 0x7f;
    const WIDTH: u32 = 8;
}

/// Calls a function with the arithmetic of a type.
macro_rules! in_type {
    ($ty:expr, $function:ident($($argument:expr),*)) => {
        match ($ty.class, $ty.bits) {
            (Class::Brain, _) => $function::<BFloat>($($argument),*),
            (_, 16) => $function::<Half>($($argument),*),
            (_, 32) => $function::<Single>($($argument),*),
            _ => $function::<Double>($($argument),*),
        }
    };
}

/// The result of a floating-point instruction.
pub(crate) fn evaluate(op: &Opcode<'_>, ty: Type, sources: &[u64]) -> u64 {
    in_type!(ty, compute(op, sources))
}

fn rounding(op: &Opcode<'_>) -> Round {
    match op.one_of(&["rz", "rm", "rp", "rzi", "rmi", "rpi", "rna"]) {
        Some("rz" | "rzi") => Round::TowardZero,
        Some("rm" | "rmi") => Round::TowardNegative,
        Some("rp" | "rpi") => Round::TowardPositive,
        Some("rna") => Round::NearestTiesToAway,
        _ => Round::NearestTiesToEven,
    }
}

/// A subnormal number becomes zero with its sign.
fn flush<N: Float>(value: N) -> N {
    if value.is_denormal() { N::ZERO.copy_sign(value) } else { value }
}

fn read<N: Number>(op: &Opcode<'_>, bits: u64) -> N {
    let value = N::from_bits(u128::from(bits) & ((1 << N::WIDTH) - 1));
    if op.has("ftz") { flush(value) } else { value }
}

fn write<N: Number>(op: &Opcode<'_>, value: N) -> u64 {
    if op.has("sat") {
        // NaN becomes zero, and so do both zeros.
        let one = N::from_u128(1).value;
        return match () {
            () if value.is_nan() || value.is_negative() || value.is_zero() => 0,
            () if value > one => one.to_bits() as u64,
            () => finish(op, value),
        };
    }
    match () {
        () if value.is_nan() => N::CANONICAL,
        () if op.has("relu") && value.is_negative() => 0,
        () => finish(op, value),
    }
}

fn finish<N: Number>(op: &Opcode<'_>, value: N) -> u64 {
    (if op.has("ftz") { flush(value) } else { value }).to_bits() as u64
}

fn compute<N: Number>(op: &Opcode<'_>, sources: &[u64]) -> u64
where
    Quad: FloatConvert<N>,
{
    let sign = 1 << (N::WIDTH - 1);
    // These touch the sign alone, even of NaN.
    match op.head {
        "copysign" => return (sources[0] & sign) | (sources[1] & (sign - 1)),
        "neg" if !op.has("ftz") => return sources[0] ^ sign,
        "abs" if !op.has("ftz") => return sources[0] & (sign - 1),
        _ => {}
    }
    let number = |index: usize| read::<N>(op, sources[index]);
    let round = rounding(op);
    let one = N::from_u128(1).value;
    let result = match op.head {
        "add" => number(0).add_r(number(1), round).value,
        "sub" => number(0).sub_r(number(1), round).value,
        "mul" => number(0).mul_r(number(1), round).value,
        // The reciprocal of such a divisor is subnormal and counts as zero.
        "div" if op.has("approx") && number(1).is_finite() && number(1).abs() > one.scalbn(126) => {
            number(0).mul_r(N::ZERO.copy_sign(number(1)), round).value
        }
        "div" => number(0).div_r(number(1), round).value,
        "rcp" => one.div_r(number(0), round).value,
        "fma" | "mad" => number(0).mul_add_r(number(1), number(2), round).value,
        "sqrt" => root(number(0), round),
        "abs" => number(0).abs(),
        "neg" => -number(0),
        "min" | "max" => {
            let (a, b) = (number(0), number(1));
            let negative = a.is_negative() != b.is_negative();
            let (a, b) = if op.has("xorsign") { (a.abs(), b.abs()) } else { (a, b) };
            match extremum(a, b, op.head == "min") {
                _ if op.has("NaN") && (a.is_nan() || b.is_nan()) => N::NAN,
                found if op.has("xorsign") && negative => -found,
                found => found,
            }
        }
        _ => panic!("`{}` is not an instruction of floats", op.text),
    };
    write(op, result)
}

/// The other operand if one is NaN; -0 is less than +0.
fn extremum<N: Float>(a: N, b: N, least: bool) -> N {
    if a.is_nan() {
        return b;
    }
    if b.is_nan() {
        return a;
    }
    let a_is_less = if a.is_zero() && b.is_zero() { a.is_negative() } else { a < b };
    if a_is_less == least { a } else { b }
}

/// The square root: an integer root with more bits than the type has, its last bit set if it is not exact.
fn root<N: Number>(value: N, round: Round) -> N
where
    Quad: FloatConvert<N>,
{
    if value.is_zero() || value.is_nan() {
        return value;
    }
    if value.is_negative() {
        return N::NAN;
    }
    if value.is_infinite() {
        return value;
    }
    // value = mantissa * 2^exponent with an even exponent and a mantissa of 120 bits or so.
    let exponent = value.ilogb() - 120;
    let exponent = exponent - exponent.rem_euclid(2);
    let wide: Quad = value.convert(&mut false).value;
    let mantissa = wide.scalbn(-exponent).to_u128(128).value;
    let floor = mantissa.isqrt();
    // Two bits of room below the last one, so that the sticky bit is no half.
    let exact = floor * floor == mantissa;
    let sticky = Quad::from_u128(floor << 1 | u128::from(!exact)).value;
    sticky.scalbn(exponent / 2 - 1).convert_r(round, &mut false).value
}

/// A comparison; those that end in `u` are true of NaN too.
pub(crate) fn compare(op: &Opcode<'_>, ty: Type, sources: &[u64]) -> bool {
    in_type!(ty, compare_in(op, sources))
}

fn compare_in<N: Number>(op: &Opcode<'_>, sources: &[u64]) -> bool {
    let (a, b) = (read::<N>(op, sources[0]), read::<N>(op, sources[1]));
    let unordered = a.is_nan() || b.is_nan();
    match op.word(0) {
        "num" => !unordered,
        "nan" => unordered,
        "eq" => !unordered && a == b,
        "ne" => !unordered && a != b,
        "lt" => !unordered && a < b,
        "le" => !unordered && a <= b,
        "gt" => !unordered && a > b,
        "ge" => !unordered && a >= b,
        "equ" => unordered || a == b,
        "neu" => unordered || a != b,
        "ltu" => unordered || a < b,
        "leu" => unordered || a <= b,
        "gtu" => unordered || a > b,
        "geu" => unordered || a >= b,
        other => panic!("no comparison of floats is named `{other}`"),
    }
}

/// `testp`
pub(crate) fn test(op: &Opcode<'_>, ty: Type, source: u64) -> bool {
    in_type!(ty, test_in(op, source))
}

fn test_in<N: Number>(op: &Opcode<'_>, source: u64) -> bool {
    let value = read::<N>(op, source);
    match op.word(0) {
        "finite" => value.is_finite(),
        "infinite" => value.is_infinite(),
        "number" => !value.is_nan(),
        "notanumber" => value.is_nan(),
        "normal" => value.is_normal(),
        "subnormal" => value.is_denormal(),
        other => panic!("`testp` has no `{other}`"),
    }
}

/// Whether the third operand of `slct` selects the first.
pub(crate) fn is_not_negative(op: &Opcode<'_>, source: u64) -> bool {
    let value = read::<Single>(op, source);
    !value.is_nan() && (value.is_zero() || !value.is_negative())
}

/// `cvt` between two types, at least one of them a float.
pub(crate) fn convert(op: &Opcode<'_>, to: Type, from: Type, source: u64) -> u64 {
    if to.class == Class::Tensor {
        return tensor(op, source as u32).into();
    }
    if !from.is_float() {
        return from_value(op, to, from, Quad::from_i128(from.number(source)).value);
    }
    match from.class {
        Class::E4M3 => from_float::<Float8E4M3FN>(op, to, from, source),
        Class::E5M2 => from_float::<Float8E5M2>(op, to, from, source),
        _ => in_type!(from, from_float(op, to, from, source)),
    }
}

fn from_float<N: Number>(op: &Opcode<'_>, to: Type, from: Type, source: u64) -> u64 {
    // Single precision is flushed only; the modifier says nothing about other types.
    let value = if N::WIDTH == 32 { read::<N>(op, source) } else { N::from_bits(u128::from(source)) };
    from_value(op, to, from, value.convert(&mut false).value)
}

/// A value of another type, which is exact in 113 bits.
fn from_value(op: &Opcode<'_>, to: Type, from: Type, value: Quad) -> u64 {
    let rounds = op.one_of(&["rni", "rzi", "rmi", "rpi"]).is_some();
    if !to.is_float() {
        let (least, greatest) = to.range();
        // The manual's integer notes: the highest bit alone from doubles and to 64 bits.
        if value.is_nan() {
            return if from.bits == 64 || to.bits == 64 { 1 << (to.bits - 1) } else { 0 };
        }
        // The number is clamped to 128 bits first and then to the type.
        let whole = value.to_i128_r(128, rounding(op), &mut false).value;
        return whole.clamp(least, greatest) as u64;
    }
    let value = if rounds { value.round_to_integral(rounding(op)).value } else { value };
    match to.class {
        Class::E4M3 => to_float::<Float8E4M3FN>(op, value),
        Class::E5M2 => to_float::<Float8E5M2>(op, value),
        _ => in_type!(to, to_float(op, value)),
    }
}

fn to_float<N: Number>(op: &Opcode<'_>, value: Quad) -> u64
where
    Quad: FloatConvert<N>,
{
    let most: Quad = N::largest().convert(&mut false).value;
    let value = if op.has("satfinite") && value.abs() > most { most.copy_sign(value) } else { value };
    let result: N = value.convert_r(rounding(op), &mut false).value;
    // Only results of single precision are flushed.
    let plain = op.text.replace(".ftz", "");
    if N::WIDTH == 32 { write(op, result) } else { write(&Opcode::new(&plain), result) }
}

/// `.tf32` has ten bits behind the leading one: the others are rounded off as an integer.
fn tensor(op: &Opcode<'_>, source: u32) -> u32 {
    let (sign, magnitude) = (source & 1 << 31, source & !(1 << 31));
    if magnitude > 0x7f80_0000 {
        return 0x7fff_ffff;
    }
    if op.has("relu") && sign != 0 {
        return 0;
    }
    let added = match op.word(0) {
        "rna" => 0x1000,
        "rn" => 0xfff + (magnitude >> 13 & 1),
        _ => 0,
    };
    let rounded = if magnitude == 0x7f80_0000 { magnitude } else { (magnitude + added) & !0x1fff };
    sign | if op.has("satfinite") { rounded.min(0x7f7f_e000) } else { rounded }
}
