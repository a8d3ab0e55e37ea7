//! The numbers that the allocator reckons with: half precision, as its unit has it, and double precision for comparison.

use half::f16;

/// A floating-point number.
pub trait Real: Copy + PartialOrd {
    /// The nearest to this one.
    fn from_f64(value: f64) -> Self;
    /// Itself, exactly.
    fn to_f64(self) -> f64;
    /// The sum.
    fn plus(self, other: Self) -> Self;
    /// The difference.
    fn minus(self, other: Self) -> Self;
    /// The product.
    fn times(self, other: Self) -> Self;
    /// The quotient.
    fn over(self, other: Self) -> Self;

    /// The smaller of the two.
    fn least(self, other: Self) -> Self {
        if other < self { other } else { self }
    }
}

impl Real for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn plus(self, other: Self) -> Self {
        self + other
    }

    fn minus(self, other: Self) -> Self {
        self - other
    }

    fn times(self, other: Self) -> Self {
        self * other
    }

    fn over(self, other: Self) -> Self {
        self / other
    }
}

impl Real for f16 {
    fn from_f64(value: f64) -> Self {
        f16::from_f64(value)
    }

    fn to_f64(self) -> f64 {
        self.to_f64()
    }

    fn plus(self, other: Self) -> Self {
        self + other
    }

    fn minus(self, other: Self) -> Self {
        self - other
    }

    fn times(self, other: Self) -> Self {
        self * other
    }

    fn over(self, other: Self) -> Self {
        self / other
    }
}
