//! Floating-point operations of one lane that need more than an expression (PTX ISA 9.7.3).
//!
//! Rounding other than to nearest has no host instruction that could be switched lane by lane. In single
//! precision it is made of the result to nearest and the sign of its exact error; in double precision, where
//! the error of a tiny result is no double, of integers.

/// Directed rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Towards zero, `.rz`.
    Zero,
    /// Towards minus infinity, `.rm`.
    Down,
    /// Towards plus infinity, `.rp`.
    Up,
}

/// Clamps to 0 … 1; NaN becomes 0.
#[inline(always)]
pub fn saturate(a: f32) -> f32 {
    // The comparison is false for NaN, so that it falls to zero with the negative values.
    if a > 0.0 { if a < 1.0 { a } else { 1.0 } } else { 0.0 }
}

macro_rules! extrema {
    ($min:ident $max:ident $ty:ty) => {
        /// The smaller; the other operand if one is NaN; -0 is below +0.
        #[inline(always)]
        pub fn $min(a: $ty, b: $ty) -> $ty {
            let lesser = if a < b || (a == b && a.is_sign_negative()) { a } else { b };
            if a.is_nan() {
                b
            } else if b.is_nan() {
                a
            } else {
                lesser
            }
        }
        /// The larger; the other operand if one is NaN; +0 is above -0.
        #[inline(always)]
        pub fn $max(a: $ty, b: $ty) -> $ty {
            let greater = if a > b || (a == b && a.is_sign_positive()) { a } else { b };
            if a.is_nan() {
                b
            } else if b.is_nan() {
                a
            } else {
                greater
            }
        }
    };
}
extrema!(min32 max32 f32);
extrema!(min64 max64 f64);

/// The smaller; NaN if one is NaN.
#[inline(always)]
pub fn min_nan32(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::NAN } else { min32(a, b) }
}

/// The larger; NaN if one is NaN.
#[inline(always)]
pub fn max_nan32(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::NAN } else { max32(a, b) }
}

/// `.xorsign.abs`: a choice between the magnitudes, with the sign of the product.
#[inline(always)]
pub fn xor_sign32(a: f32, b: f32, choose: impl Fn(f32, f32) -> f32) -> f32 {
    let sign = (a.to_bits() ^ b.to_bits()) & 1 << 31;
    f32::from_bits(choose(a.abs(), b.abs()).abs().to_bits() | sign)
}

macro_rules! directed {
    ($name:ident $ty:ty) => {
        /// Moves `nearest`, which is `error` away from the exact value (exact = nearest + error), to the neighbour that the
        /// mode requires.
        fn $name(nearest: $ty, error: f64, mode: Mode) -> $ty {
            if nearest.is_nan() || error.is_nan() {
                return nearest;
            }
            let up = error > 0.0;
            let down = error < 0.0;
            match mode {
                Mode::Up if up => nearest.next_up(),
                Mode::Down if down => nearest.next_down(),
                Mode::Zero if down && nearest > 0.0 => nearest.next_down(),
                Mode::Zero if up && nearest < 0.0 => nearest.next_up(),
                _ => nearest,
            }
        }
    };
}
directed!(directed32 f32);
directed!(directed64 f64);

/// The exact error of a sum to nearest (Knuth's two-sum).
#[inline(always)]
pub fn sum_error(a: f64, b: f64, sum: f64) -> f64 {
    if !sum.is_finite() {
        return 0.0;
    }
    let b_part = sum - a;
    (a - (sum - b_part)) + (b - b_part)
}

/// `value` in single precision, rounded as the mode says.
pub fn narrow(value: f64, mode: Mode) -> f32 {
    narrow_with(value, 0.0, mode)
}

/// `value + error` in single precision, rounded as the mode says; `error` is below half a unit of `value`.
fn narrow_with(value: f64, error: f64, mode: Mode) -> f32 {
    let nearest = value as f32;
    if nearest.is_infinite() && value.is_finite() {
        // An overflow to nearest may be the largest finite number in another mode.
        let stays = match mode {
            Mode::Zero => true,
            Mode::Down => value > 0.0,
            Mode::Up => value < 0.0,
        };
        return if stays { f32::MAX.copysign(nearest) } else { nearest };
    }
    let difference = value - nearest as f64;
    directed32(nearest, if difference != 0.0 { difference } else { error }, mode)
}

/// An integer of 64 bits in single precision.
pub fn from_integer32(a: i128, mode: Mode) -> f32 {
    let value = a as f64;
    narrow_with(value, (a - value as i128) as f64, mode)
}

/// An integer of 64 bits in double precision.
pub fn from_integer64(a: i128, mode: Mode) -> f64 {
    let value = a as f64;
    directed64(value, (a - value as i128) as f64, mode)
}

/// `a * b + c` in single precision. The product is exact in double precision, the sum has its error.
pub fn fma32(a: f32, b: f32, c: f32, mode: Mode) -> f32 {
    let product = a as f64 * b as f64;
    let sum = product + c as f64;
    if sum == 0.0 && mode == Mode::Down && (product.is_sign_negative() || c.is_sign_negative()) {
        // When rounding down, zero is +0 only if both addends are.
        return -0.0;
    }
    narrow_with(sum, sum_error(product, c as f64, sum), mode)
}

/// Sum in double precision.
pub fn add64(a: f64, b: f64, mode: Mode) -> f64 {
    fma64(1.0, a, b, mode)
}

/// Product in double precision.
pub fn mul64(a: f64, b: f64, mode: Mode) -> f64 {
    // A zero of the product's sign changes nothing, not even the sign of zero.
    fma64(a, b, 0f64.copysign(a * b), mode)
}

/// Quotient in double precision, from integers: the remainder of a small dividend has no place in a double.
pub fn div64(a: f64, b: f64, mode: Mode) -> f64 {
    if !(a.is_finite() && b.is_finite()) || a == 0.0 || b == 0.0 {
        return a / b;
    }
    let negative = a.is_sign_negative() != b.is_sign_negative();
    let ((m, x), (n, y)) = (parts(a), parts(b));
    let (dividend, exponent, _) = raised(m, x, negative);
    rounded(dividend / n, exponent - y, !dividend.is_multiple_of(n), negative, mode)
}

fn overflow64(infinity: f64, mode: Mode) -> f64 {
    let stays = match mode {
        Mode::Zero => true,
        Mode::Down => infinity > 0.0,
        Mode::Up => infinity < 0.0,
    };
    if stays { f64::MAX.copysign(infinity) } else { infinity }
}

/// Square root in double precision.
pub fn sqrt64(a: f64, mode: Mode) -> f64 {
    let root = a.sqrt();
    if !root.is_finite() || root == 0.0 {
        return root;
    }
    // The rest of a small operand would be lost below the subnormals: scaling by an even power is exact.
    let (scaled, half) = if a < f64::powi(2.0, -900) { (a * SCALE * SCALE, root * SCALE) } else { (a, root) };
    directed64(root, (-half).mul_add(half, scaled), mode)
}

const SCALE: f64 = (1u128 << 100) as f64;

/// `a * b + c` in double precision, from integers of 128 bits.
pub fn fma64(a: f64, b: f64, c: f64, mode: Mode) -> f64 {
    if !(a.is_finite() && b.is_finite() && c.is_finite()) {
        return a.mul_add(b, c);
    }
    let negative = a.is_sign_negative() != b.is_sign_negative();
    let zero = |negative: bool| if negative { -0.0 } else { 0.0 };
    let ((m, x), (n, y), (k, z)) = (parts(a), parts(b), parts(c));
    if m == 0 || n == 0 {
        return match c == 0.0 && c.is_sign_negative() != negative {
            true => zero(mode == Mode::Down),
            false => c,
        };
    }
    let (mut big, mut small) = (raised(m * n, x + y, negative), raised(k, z, c.is_sign_negative()));
    if small.0 != 0 && (small.1, small.0) > (big.1, big.0) {
        std::mem::swap(&mut big, &mut small);
    }
    let (mantissa, exponent, negative) = big;
    let distance = (exponent - small.1).clamp(0, 127) as u32;
    let aligned = small.0 >> distance;
    let lost = aligned << distance != small.0;
    let sum = if small.2 == negative { mantissa + aligned } else { mantissa - aligned - u128::from(lost) };
    if sum == 0 {
        return zero(mode == Mode::Down);
    }
    rounded(sum, exponent, lost, negative, mode)
}

/// Magnitude as an integer and a power of two.
fn parts(value: f64) -> (u128, i32) {
    let bits = value.to_bits();
    let (biased, fraction) = ((bits >> 52 & 0x7ff) as i32, u128::from(bits & ((1 << 52) - 1)));
    if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) }
}

/// With the highest bit at position 125, so that two of them can be added.
fn raised(mantissa: u128, exponent: i32, negative: bool) -> (u128, i32, bool) {
    if mantissa == 0 {
        return (0, i32::MIN / 2, negative);
    }
    let shift = mantissa.leading_zeros() - 2;
    (mantissa << shift, exponent - shift as i32, negative)
}

/// The number between `sum` and `sum + 1` (the first if nothing was lost) times a power of two.
fn rounded(sum: u128, exponent: i32, lost: bool, negative: bool, mode: Mode) -> f64 {
    let mut last = (exponent + 127 - sum.leading_zeros() as i32 - 52).max(-1074);
    let shift = last - exponent;
    let (mut kept, rest) = match shift {
        ..=0 => (sum << -shift, lost),
        1..=127 => (sum >> shift, lost || sum >> shift << shift != sum),
        _ => (0, true),
    };
    let away = match mode {
        Mode::Zero => false,
        Mode::Down => negative,
        Mode::Up => !negative,
    };
    kept += u128::from(rest && away);
    if kept == 1 << 53 {
        (kept, last) = (1 << 52, last + 1);
    }
    let sign = if negative { -1.0 } else { 1.0 };
    if last > 971 {
        return overflow64(f64::INFINITY * sign, mode);
    }
    let biased = if kept < 1 << 52 { 0 } else { (last + 1075) as u64 };
    f64::from_bits(biased << 52 | kept as u64 & ((1 << 52) - 1)).copysign(sign)
}

/// `div.approx.f32`: the divisor's reciprocal times the dividend. The reciprocal of a divisor beyond 2^126 is
/// subnormal and counts as zero.
#[inline(always)]
pub fn divide_approximately(a: f32, b: f32) -> f32 {
    const LARGEST: f32 = (1u128 << 126) as f32;
    if b.abs() > LARGEST && b.is_finite() { a * 0f32.copysign(b) } else { a / b }
}

/// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`: only the high words of operand and result count. The result is given in bits, as
/// these two have a NaN of their own.
#[inline(always)]
pub fn high_half(a: f64, approximate: impl Fn(f64) -> f64) -> u64 {
    const NAN: u64 = 0x7fff_ffff_0000_0000;
    let high = f64::from_bits(a.to_bits() & !0xffff_ffff);
    let flushed = if high.is_subnormal() { 0f64.copysign(high) } else { high };
    let result = approximate(flushed);
    if result.is_nan() {
        NAN
    } else if result.is_subnormal() {
        0f64.copysign(result).to_bits()
    } else {
        result.to_bits() & !0xffff_ffff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extrema_prefer_numbers_and_order_zeros() {
        assert_eq!(min32(f32::NAN, 2.0), 2.0);
        assert_eq!(max32(2.0, f32::NAN), 2.0);
        assert!(min32(f32::NAN, f32::NAN).is_nan());
        assert!(min32(0.0, -0.0).is_sign_negative() && min32(-0.0, 0.0).is_sign_negative());
        assert!(max64(0.0, -0.0).is_sign_positive() && max64(-0.0, 0.0).is_sign_positive());
    }

    #[test]
    fn saturation() {
        assert_eq!([saturate(-1.0), saturate(0.5), saturate(3.0), saturate(f32::NAN)], [0.0, 0.5, 1.0, 0.0]);
    }

    #[test]
    fn directed_fused_products_enclose_the_nearest_one() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Exponents near each other, so that cancellation and alignment both occur; some subnormal.
            let biased = if state >> 60 == 0 { 0 } else { 500 + (state >> 56 & 0x3f) };
            f64::from_bits(state >> 12 & 0x800f_ffff_ffff_ffff | biased << 52 | (state << 30 & 1 << 63))
        };
        for _ in 0..20_000 {
            let (a, b, c) = (next(), next() * 1e155, next());
            let (down, up) = (fma64(a, b, c, Mode::Down), fma64(a, b, c, Mode::Up));
            let (nearest, zero) = (a.mul_add(b, c), fma64(a, b, c, Mode::Zero));
            assert!(down <= nearest && nearest <= up, "{a:e} {b:e} {c:e}: {down:e} {nearest:e} {up:e}");
            assert!(up == down || up == down.next_up(), "{a:e} {b:e} {c:e}");
            assert_eq!(zero, if nearest >= 0.0 { down } else { up });
        }
        assert_eq!(fma64(1.0, 1.0, f64::MIN_POSITIVE, Mode::Up), 1f64.next_up());
        assert_eq!(fma64(f64::MAX, 2.0, 0.0, Mode::Zero), f64::MAX);
        assert_eq!(fma64(f64::MAX, -2.0, 0.0, Mode::Down), f64::NEG_INFINITY);
        assert_eq!(fma64(f64::MIN_POSITIVE, 1e-200, 0.0, Mode::Up), f64::from_bits(1));
        assert!(fma64(2.0, 3.0, -6.0, Mode::Down).is_sign_negative());
        assert!(fma64(0.0, -3.0, 0.0, Mode::Up).is_sign_positive());
        assert_eq!(fma64(0.0, 3.0, 5.0, Mode::Up), 5.0);
        assert_eq!(sqrt64(2.0, Mode::Down).next_up(), sqrt64(2.0, Mode::Up));
        assert_eq!(sqrt64(f64::from_bits(3), Mode::Down).next_up(), sqrt64(f64::from_bits(3), Mode::Up));
        assert_eq!([sqrt64(4.0, Mode::Up), sqrt64(4.0, Mode::Zero)], [2.0; 2]);
    }

    #[test]
    fn directed_zeros_and_tiny_results() {
        let bits = |value: f32| value.to_bits();
        assert_eq!(bits(fma32(1.0, 0.0, -0.0, Mode::Down)), bits(-0.0));
        assert_eq!(bits(fma32(1.0, 0.0, 0.0, Mode::Down)), 0);
        assert_eq!(bits(fma32(1.0, 0.0, -0.0, Mode::Up)), 0);
        let tiny = f64::from_bits(1);
        assert_eq!(mul64(tiny, 0.5, Mode::Up), tiny);
        assert_eq!(mul64(tiny, 0.5, Mode::Zero).to_bits(), 0);
        assert_eq!(mul64(-0.0, 5.0, Mode::Down).to_bits(), 1 << 63);
        assert_eq!(mul64(0.0, 5.0, Mode::Down).to_bits(), 0);
        assert_eq!(add64(0.0, -0.0, Mode::Down).to_bits(), 1 << 63);
        // 2^-1022 divided by the number below it, which is 1 + 2^-52 and a little more.
        let (normal, below) = (f64::MIN_POSITIVE, f64::MIN_POSITIVE.next_down());
        assert_eq!(div64(normal, below, Mode::Zero), 1f64.next_up());
        assert_eq!(div64(normal, below, Mode::Up), 1f64.next_up().next_up());
        assert_eq!(div64(tiny, -3.0, Mode::Down), -tiny);
    }

    #[test]
    fn directed_results_enclose_the_exact_one() {
        for (a, b, c) in [(0.1f32, 0.3, 0.7), (-0.1, 0.3, 0.7), (1e-30, 1e-10, 1.0), (3.0, 5.0, -15.0)] {
            let down = fma32(a, b, c, Mode::Down);
            let up = fma32(a, b, c, Mode::Up);
            let nearest = a.mul_add(b, c);
            assert!(down <= nearest && nearest <= up, "{a} {b} {c}");
            assert!(up == down || up == down.next_up());
            let zero = fma32(a, b, c, Mode::Zero);
            assert_eq!(zero, if nearest >= 0.0 { down } else { up });
        }
        assert_eq!(narrow(1e300, Mode::Zero), f32::MAX);
        assert_eq!(narrow(-1e300, Mode::Down), f32::NEG_INFINITY);
        assert_eq!(add64(1.0, 1e-30, Mode::Up), 1.0f64.next_up());
        assert_eq!(add64(1.0, 1e-30, Mode::Down), 1.0);
        assert_eq!(mul64(0.1, 0.1, Mode::Down).next_up(), mul64(0.1, 0.1, Mode::Up));
        assert_eq!(div64(1.0, 3.0, Mode::Down).next_up(), div64(1.0, 3.0, Mode::Up));
        assert_eq!(div64(1.0, -3.0, Mode::Zero), -div64(1.0, 3.0, Mode::Down));
        assert_eq!(div64(6.0, 3.0, Mode::Up), 2.0);
    }
}
