//! Exact rational numbers, so that `ceil(n / 16)` sees the quotient itself and no result is rounded unasked.
//!
//! Operations yield nothing where the result would not fit.

use std::fmt;

/// An exact rational number in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    numerator: i128,
    denominator: i128,
}

impl Number {
    /// A whole number.
    pub const fn whole(value: i64) -> Self {
        Number { numerator: value as i128, denominator: 1 }
    }

    /// The value, if it is whole and fits.
    pub fn as_whole(self) -> Option<i64> {
        if self.denominator == 1 { self.numerator.try_into().ok() } else { None }
    }

    /// Reads a plain decimal number.
    pub fn parse(text: &str) -> Option<Self> {
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let valid = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_digit())
                && part.chars().all(|c| c.is_ascii_digit() || c == '_')
        };
        if !valid(whole) || !valid(fraction) {
            return None;
        }
        let fraction: String = fraction.chars().filter(|&c| c != '_').collect();
        let fraction = fraction.trim_end_matches('0');
        let digits: String = whole.chars().filter(|&c| c != '_').chain(fraction.chars()).collect();
        let denominator = 10i128.checked_pow(fraction.len() as u32)?;
        Number::new(digits.parse::<i128>().ok()?.checked_mul(sign)?, denominator)
    }

    fn new(numerator: i128, denominator: i128) -> Option<Self> {
        let common = gcd(numerator.checked_abs()?, denominator.checked_abs()?).max(1);
        let sign = if denominator < 0 { -1 } else { 1 };
        let (numerator, denominator) = (numerator / common, denominator / common);
        Some(Number { numerator: numerator.checked_mul(sign)?, denominator: denominator.checked_mul(sign)? })
    }

    /// The nearest floating-point number.
    pub fn as_float(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    pub(super) fn is_zero(self) -> bool {
        self.numerator == 0
    }

    pub(super) fn is_whole(self) -> bool {
        self.denominator == 1
    }

    /// The remainder after whole multiples of `other`, with the sign of `other`: an index stays in range.
    pub(super) fn remainder(self, other: Self) -> Option<Self> {
        let whole = self.divide(other)?.floor();
        self.add(whole.multiply(other)?.negate()?)
    }

    pub(super) fn add(self, other: Self) -> Option<Self> {
        let left = self.numerator.checked_mul(other.denominator)?;
        let right = other.numerator.checked_mul(self.denominator)?;
        Number::new(left.checked_add(right)?, self.denominator.checked_mul(other.denominator)?)
    }

    pub(super) fn multiply(self, other: Self) -> Option<Self> {
        let numerator = self.numerator.checked_mul(other.numerator)?;
        Number::new(numerator, self.denominator.checked_mul(other.denominator)?)
    }

    /// The exact quotient; the divisor is not zero.
    pub(super) fn divide(self, other: Self) -> Option<Self> {
        let numerator = self.numerator.checked_mul(other.denominator)?;
        Number::new(numerator, self.denominator.checked_mul(other.numerator)?)
    }

    pub(super) fn negate(self) -> Option<Self> {
        Some(Number { numerator: self.numerator.checked_neg()?, ..self })
    }

    pub(super) fn floor(self) -> Self {
        Number { numerator: self.numerator.div_euclid(self.denominator), denominator: 1 }
    }

    pub(super) fn ceil(self) -> Option<Self> {
        self.negate()?.floor().negate()
    }

    pub(super) fn less(self, other: Self) -> Option<bool> {
        Some(self.add(other.negate()?)?.numerator < 0)
    }

    /// The logarithm of a power of two.
    pub(super) fn log2(self) -> Option<Self> {
        let power =
            u128::try_from(self.numerator).ok().filter(|n| self.denominator == 1 && n.is_power_of_two())?;
        Some(Number { numerator: i128::from(power.trailing_zeros()), denominator: 1 })
    }

    /// The whole number whose square this is.
    pub(super) fn sqrt(self) -> Option<Self> {
        let square = u128::try_from(self.numerator).ok().filter(|_| self.denominator == 1)?;
        let root = square.isqrt();
        (root * root == square).then_some(Number { numerator: root as i128, denominator: 1 })
    }

    /// The number as plain decimal text, if it has one of at most 18 decimals.
    pub fn to_text(self) -> Option<String> {
        let scale =
            (0..=18).map(|places| 10i128.pow(places)).position(|scale| scale % self.denominator == 0)?;
        let digits = self.numerator.checked_mul(10i128.pow(scale as u32) / self.denominator)?;
        let (sign, digits) = (if digits < 0 { "-" } else { "" }, digits.unsigned_abs().to_string());
        if scale == 0 {
            return Some(format!("{sign}{digits}"));
        }
        let digits = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        Some(format!("{sign}{whole}.{fraction}"))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_text() {
            Some(text) => f.write_str(&text),
            None => write!(f, "{}/{}", self.numerator, self.denominator),
        }
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
