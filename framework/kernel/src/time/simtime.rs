//! A point in simulated time, or a span of it: whole picoseconds.

use std::ops::{Add, AddAssign, Sub};

/// Simulated time in picoseconds, as a point since the start of the run or as a duration.
///
/// 64 bits of picoseconds last 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimTime(u64);

impl SimTime {
    /// The start of the run.
    pub const ZERO: SimTime = SimTime(0);
    /// Later than anything that happens.
    pub const MAX: SimTime = SimTime(u64::MAX);

    /// `ps` picoseconds.
    #[inline]
    pub const fn from_ps(ps: u64) -> Self {
        SimTime(ps)
    }

    /// `ns` nanoseconds.
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        SimTime(ns * 1_000)
    }

    /// The picoseconds.
    #[inline]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// The seconds, for output and ratios; never for further simulation.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// `self + other`, staying at [`SimTime::MAX`] instead of overflowing.
    #[inline]
    pub const fn saturating_add(self, other: SimTime) -> Self {
        SimTime(self.0.saturating_add(other.0))
    }

    /// `self - other`, staying at zero.
    #[inline]
    pub const fn saturating_sub(self, other: SimTime) -> Self {
        SimTime(self.0.saturating_sub(other.0))
    }
}

impl Add for SimTime {
    type Output = SimTime;
    #[inline]
    fn add(self, other: SimTime) -> SimTime {
        SimTime(self.0 + other.0)
    }
}

impl AddAssign for SimTime {
    #[inline]
    fn add_assign(&mut self, other: SimTime) {
        self.0 += other.0;
    }
}

impl Sub for SimTime {
    type Output = SimTime;
    #[inline]
    fn sub(self, other: SimTime) -> SimTime {
        SimTime(self.0 - other.0)
    }
}
