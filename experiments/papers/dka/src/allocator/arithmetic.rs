//! The numbers that the allocator computes with: half precision, as in its hardware unit, and double
//! precision for comparison.

use std::ops::{Add, Div, Mul, Sub};

use half::f16;

/// A floating-point number.
pub trait Real:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Into<f64>
{
    /// The nearest to this one.
    fn nearest(value: f64) -> Self;
}

impl Real for f64 {
    fn nearest(value: f64) -> Self {
        value
    }
}

impl Real for f16 {
    fn nearest(value: f64) -> Self {
        f16::from_f64(value)
    }
}
