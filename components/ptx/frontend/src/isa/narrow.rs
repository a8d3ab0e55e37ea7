//! Floating-point formats of fewer than 32 bits (PTX ISA 5.2.3), in double precision, which holds every number of
//! theirs: sums and products of such numbers are exact there or so nearly that rounding them again changes nothing.

use super::float::{self, Mode};

pub trait Format {
    /// Bits behind the leading one.
    const FRACTION: u64;
    /// Exponent of the least normal number.
    const LEAST: i32;
    /// The greatest finite number.
    const MOST: f64;
    /// The NaN that arithmetic makes.
    const NAN: u32;
    const SIGN: u32;
    /// The bits of infinity; those of NaN where the format has no infinity.
    const INFINITY: u32;
}

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident $fraction:literal $least:literal $most:literal $nan:literal $sign:literal $infinity:literal;)*) => { $(
        $(#[$doc])*
        pub enum $name {}

        impl Format for $name {
            const FRACTION: u64 = $fraction;
            const LEAST: i32 = $least;
            const MOST: f64 = f64::from_bits($most);
            const NAN: u32 = $nan;
            const SIGN: u32 = $sign;
            const INFINITY: u32 = $infinity;
        }
    )* };
}

formats! {
    /// `.f16`
    Half 10 -14 0x40ef_fc00_0000_0000 0x7fff 15 0x7c00;
    /// `.bf16`
    Brain 7 -126 0x47ef_e000_0000_0000 0x7fff 15 0x7f80;
    /// `.tf32`, in the high bits of a word.
    Tensor 10 -126 0x47ef_fc00_0000_0000 0x3_ffff 18 0x3_fc00;
    /// `.e4m3`
    E4M3 3 -6 0x407c_0000_0000_0000 0x7f 7 0x7f;
    /// `.e5m2`
    E5M2 2 -14 0x40ec_0000_0000_0000 0x7f 7 0x7c;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest, ties to even, `.rn`.
    Nearest,
    /// To the nearest, ties away from zero, `.rna`.
    Away,
    /// `.rz`, `.rm` and `.rp`.
    Directed(Mode),
}

const EXPONENT: u64 = 0x7ff << 52;

/// A power of two as bits of double precision.
const fn power(exponent: i32) -> u64 {
    ((exponent + 1023) as u64) << 52
}

/// The number of a format that a value is rounded to, or an infinity. NaN stays.
#[inline(always)]
pub fn round<F: Format>(value: f64, rounding: Rounding) -> f64 {
    // Numbers below the least normal one have its last place, and those beyond the greatest stay beyond.
    let beyond = (F::MOST.to_bits() & EXPONENT) + (1 << 52);
    let exponent = (value.to_bits() & EXPONENT).max(power(F::LEAST)).min(beyond);
    let place = f64::from_bits(exponent - (F::FRACTION << 52));
    // The sum with a number whose last place this is is rounded to it.
    let rounder = f64::from_bits((exponent + ((52 - F::FRACTION) << 52)) | 1 << 51);
    let nearest = (value + rounder) - rounder;
    let error = value - nearest;
    let moved = match rounding {
        Rounding::Nearest => nearest,
        Rounding::Away if error == (place / 2.0).copysign(value) => nearest + place.copysign(value),
        Rounding::Directed(Mode::Up) if error > 0.0 => nearest + place,
        Rounding::Directed(Mode::Down) if error < 0.0 => nearest - place,
        Rounding::Directed(Mode::Zero) if error < 0.0 && value > 0.0 => nearest - place,
        Rounding::Directed(Mode::Zero) if error > 0.0 && value < 0.0 => nearest + place,
        _ => nearest,
    };
    let rounded = if moved.abs() > F::MOST && value.is_finite() {
        let stays = match rounding {
            Rounding::Directed(Mode::Zero) => true,
            Rounding::Directed(Mode::Down) => value > 0.0,
            Rounding::Directed(Mode::Up) => value < 0.0,
            Rounding::Nearest | Rounding::Away => false,
        };
        if stays { F::MOST } else { f64::INFINITY }
    } else {
        moved
    };
    rounded.copysign(value)
}

/// The bits of a number of a format; with `flush`, a subnormal one is zero.
#[inline(always)]
pub fn encode<F: Format>(number: f64, flush: bool) -> u32 {
    let magnitude = number.abs();
    let bits = magnitude.to_bits();
    let normal = (bits >> (52 - F::FRACTION)) as u32;
    let normal = normal.wrapping_sub(((F::LEAST + 1022) as u32) << F::FRACTION);
    // A last place that is that of the format puts the fraction into the low bits.
    let aligned = magnitude + f64::from_bits(power(F::LEAST + 52 - F::FRACTION as i32));
    let subnormal = if flush { 0 } else { aligned.to_bits() as u32 & ((1 << F::FRACTION) - 1) };
    let finite = if bits < power(F::LEAST) { subnormal } else { normal };
    let bounded = if bits >= EXPONENT { F::INFINITY } else { finite };
    let sign = (number.to_bits() >> 63) as u32;
    if number.is_nan() { F::NAN } else { bounded | sign << F::SIGN }
}

/// The number that the low bits of a word are in a format; with `flush`, a subnormal one is zero.
#[inline(always)]
pub fn decode<F: Format>(bits: u32, flush: bool) -> f64 {
    let magnitude = bits & ((1 << F::SIGN) - 1);
    let sign = (bits >> F::SIGN & 1) << 31;
    // Single precision has longer fractions, and exponents that begin lower: a factor makes up for that, and is exact.
    let factor = f32::from_bits(((F::LEAST + 126 + 127) as u32) << 23);
    let scaled = (f32::from_bits(magnitude << (23 - F::FRACTION)) * factor).to_bits();
    let finite = if flush && magnitude < 1 << F::FRACTION { 0 } else { scaled };
    let has_infinity = F::INFINITY != F::NAN;
    let bounded = if has_infinity && magnitude >= F::INFINITY { finite | 0x7f80_0000 } else { finite };
    let is_nan = !has_infinity && magnitude == F::NAN;
    f64::from(f32::from_bits((if is_nan { 0x7fc0_0000 } else { bounded }) | sign))
}

/// A value in `.tf32`, as the bits of single precision.
#[inline(always)]
pub fn tensor(value: f64, rounding: Rounding) -> f32 {
    round::<Tensor>(value, rounding) as f32
}

/// `.satfinite`: no value is beyond the greatest finite number; NaN stays.
#[inline(always)]
pub fn finite<F: Format>(value: f64) -> f64 {
    if value.abs() > F::MOST { F::MOST.copysign(value) } else { value }
}

/// `.relu`: nothing is below zero; NaN stays.
#[inline(always)]
pub fn relu(value: f64) -> f64 {
    if value <= 0.0 { 0.0 } else { value }
}

/// `.sat`: clamps to 0 … 1; NaN becomes 0.
#[inline(always)]
pub fn saturate(value: f64) -> f64 {
    if value > 0.0 { if value < 1.0 { value } else { 1.0 } } else { 0.0 }
}

/// `a * b + c`, rounded to an odd last bit if it is inexact, so that it can be rounded again. Each of the factors
/// has at most 26 bits.
#[inline(always)]
pub fn fused(a: f64, b: f64, c: f64) -> f64 {
    let product = a * b;
    let sum = product + c;
    odd(sum, float::sum_error(product, c, sum))
}

/// Like [`fused`], to be rounded down: zero is +0 only if both addends are.
#[inline(always)]
pub fn fused_down(a: f64, b: f64, c: f64) -> f64 {
    let sum = fused(a, b, c);
    if sum == 0.0 && ((a * b).is_sign_negative() || c.is_sign_negative()) { -0.0 } else { sum }
}

/// An integer of 64 bits, rounded to an odd last bit unless it is exact.
#[inline(always)]
pub fn integer(a: i128) -> f64 {
    let value = a as f64;
    odd(value, (a - value as i128) as f64)
}

/// `value + error`, which lies beside `value`, rounded to an odd last bit unless it is exact.
#[inline(always)]
fn odd(value: f64, error: f64) -> f64 {
    let bits = value.to_bits();
    let inward = (error < 0.0) == (value > 0.0);
    let moved = if inward { bits.wrapping_sub(1) } else { bits.wrapping_add(1) };
    f64::from_bits(if error != 0.0 && bits & 1 == 0 { moved } else { bits })
}

/// The smaller, or NaN if one is.
#[inline(always)]
pub fn min_or_nan(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { float::min64(a, b) }
}

/// The larger, or NaN if one is.
#[inline(always)]
pub fn max_or_nan(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { float::max64(a, b) }
}

/// `.xorsign.abs`: a choice between the magnitudes, with the sign of the product.
#[inline(always)]
pub fn xor_sign(a: f64, b: f64, choose: impl Fn(f64, f64) -> f64) -> f64 {
    let sign = (a.to_bits() ^ b.to_bits()) & 1 << 63;
    f64::from_bits(choose(a.abs(), b.abs()).abs().to_bits() | sign)
}

/// A function of both halves of a pair, low first.
#[inline(always)]
pub fn each<R>(a: [f64; 2], of: impl Fn(f64) -> R) -> [R; 2] {
    [of(a[0]), of(a[1])]
}

/// A function of both halves of two pairs.
#[inline(always)]
pub fn each2<R>(a: [f64; 2], b: [f64; 2], of: impl Fn(f64, f64) -> R) -> [R; 2] {
    [of(a[0], b[0]), of(a[1], b[1])]
}

/// A function of both halves of three pairs.
#[inline(always)]
pub fn each3<R>(a: [f64; 2], b: [f64; 2], c: [f64; 2], of: impl Fn(f64, f64, f64) -> R) -> [R; 2] {
    [of(a[0], b[0], c[0]), of(a[1], b[1], c[1])]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returns<F: Format>() {
        for bits in 0..2u32 << F::SIGN {
            let number = decode::<F>(bits, false);
            let back = encode::<F>(number, false);
            assert!(back == bits || number.is_nan() && back == F::NAN, "{bits:#x}: {number:e}, {back:#x}");
            assert!(number.is_nan() || round::<F>(number, Rounding::Nearest) == number);
        }
    }

    #[test]
    fn every_number_of_a_format_returns() {
        returns::<Half>();
        returns::<Brain>();
        returns::<Tensor>();
        returns::<E4M3>();
        returns::<E5M2>();
    }

    #[test]
    fn values_between_numbers_go_where_the_rounding_says() {
        use Rounding::{Away, Directed, Nearest};
        let all = [Nearest, Away, Directed(Mode::Zero), Directed(Mode::Down), Directed(Mode::Up)];
        let of = |value: f64| all.map(|rounding| round::<Half>(value, rounding));
        let step = 1.0 / 1024.0;
        assert_eq!(of(1.0 + step / 2.0), [1.0, 1.0 + step, 1.0, 1.0, 1.0 + step]);
        assert_eq!(
            of(-1.0 - step * 1.5),
            [-1.0 - 2.0 * step, -1.0 - 2.0 * step, -1.0 - step, -1.0 - 2.0 * step, -1.0 - step]
        );
        assert_eq!(of(2.0 - step / 4.0), [2.0, 2.0, 2.0 - step, 2.0 - step, 2.0]);
        assert_eq!(of(65520.0), [f64::INFINITY, f64::INFINITY, 65504.0, 65504.0, f64::INFINITY]);
        assert_eq!(of(-1e300), [f64::NEG_INFINITY, f64::NEG_INFINITY, -65504.0, f64::NEG_INFINITY, -65504.0]);
        let tiny = 1.0 / f64::from(1 << 24);
        assert_eq!(of(tiny / 2.0), [0.0, tiny, 0.0, 0.0, tiny]);
        assert!(of(-1e-300)[0].is_sign_negative() && of(-0.0).iter().all(|zero| zero.is_sign_negative()));
        assert_eq!(of(f64::INFINITY), [f64::INFINITY; 5]);
        assert_eq!(round::<E4M3>(finite::<E4M3>(f64::NEG_INFINITY), Nearest), -448.0);
    }

    #[test]
    fn a_lost_bit_decides_a_tie() {
        // 1 + 2^-8 lies between two numbers of `.bf16`; what is added or taken away is far below a double's last place.
        let (tie, least) = (1.0 + 1.0 / 256.0, f64::from_bits(power(-133)));
        let brain = |value: f64| round::<Brain>(value, Rounding::Nearest);
        assert_eq!([brain(fused(tie, 1.0, least)), brain(fused(tie, 1.0, -least))], [1.0 + 1.0 / 128.0, 1.0]);
        assert_eq!([brain(fused(-tie, 1.0, least)), brain(fused(-tie, 1.0, 0.0))], [-1.0, -1.0]);
        assert_eq!(brain(integer((257 << 54) + 1)), f64::from(258) * f64::from_bits(power(54)));
        assert_eq!(brain(integer((257 << 54) - 1)), f64::from(256) * f64::from_bits(power(54)));
    }
}
