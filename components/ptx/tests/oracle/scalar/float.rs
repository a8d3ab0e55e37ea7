//! Floating point, by LLVM's software arithmetic (PTX ISA 9.7.3), and the conversions to and from it.
//!
//! Cases that the manual leaves open are as the executor documents them: a NaN that arithmetic makes is the
//! canonical one, and `.approx` is the result rounded to nearest.

use rustc_apfloat::ieee::{Double, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::opcode::{Opcode, Type};

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

/// The result of a floating-point instruction.
pub(crate) fn evaluate(op: &Opcode<'_>, ty: Type, sources: &[u64]) -> u64 {
    if ty.bits == 32 { compute::<Single>(op, sources) } else { compute::<Double>(op, sources) }
}

/// The rounding of a result.
fn rounding(op: &Opcode<'_>) -> Round {
    match op.one_of(&["rz", "rm", "rp", "rzi", "rmi", "rpi"]) {
        Some("rz" | "rzi") => Round::TowardZero,
        Some("rm" | "rmi") => Round::TowardNegative,
        Some("rp" | "rpi") => Round::TowardPositive,
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
    if value.is_nan() { N::CANONICAL } else { finish(op, value) }
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
        "min" | "max" if op.has("NaN") && (number(0).is_nan() || number(1).is_nan()) => N::NAN,
        "min" => extremum(number(0), number(1), true),
        "max" => extremum(number(0), number(1), false),
        _ => panic!("`{}` is no instruction of floats", op.text),
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
    let ask = if ty.bits == 32 { compare_in::<Single> } else { compare_in::<Double> };
    ask(op, sources)
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
    if ty.bits == 32 { test_in::<Single>(op, source) } else { test_in::<Double>(op, source) }
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
    match (from.is_float(), from.bits, to.bits) {
        (false, _, 32) => finish(op, Single::from_i128_r(from.number(source), rounding(op)).value),
        (false, ..) => finish(op, Double::from_i128_r(from.number(source), rounding(op)).value),
        (true, 32, _) => from_float::<Single>(op, to, source),
        (true, ..) => from_float::<Double>(op, to, source),
    }
}

fn from_float<N: Number>(op: &Opcode<'_>, to: Type, source: u64) -> u64 {
    // Single precision is flushed only; the modifier says nothing about doubles.
    let value = if N::WIDTH == 32 { read::<N>(op, source) } else { N::from_bits(u128::from(source)) };
    let rounds = op.one_of(&["rni", "rzi", "rmi", "rpi"]).is_some();
    if !to.is_float() {
        let (least, greatest) = to.range();
        // The manual's integer notes: zero only from single precision to at most 32 bits.
        if value.is_nan() {
            return if N::WIDTH == 64 || to.bits == 64 { 1 << (to.bits - 1) } else { 0 };
        }
        // The number is clamped to 128 bits first and then to the type.
        let whole = value.to_i128_r(128, rounding(op), &mut false).value;
        return whole.clamp(least, greatest) as u64;
    }
    let value = if rounds { value.round_to_integral(rounding(op)).value } else { value };
    if to.bits == 32 {
        write::<Single>(op, value.convert_r(rounding(op), &mut false).value)
    } else {
        write::<Double>(op, value.convert_r(rounding(op), &mut false).value)
    }
}
