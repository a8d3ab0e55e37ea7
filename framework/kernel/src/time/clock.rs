//! Clocks without drift: edge n of a clock of f Hz is at floor(n · 10¹² / f) picoseconds.
//!
//! An edge carries its index and the remainder of that division, so the next edge, or the k-th after it, costs two additions
//! and no division, and the ratio of two clocks stays exact however long the run.

use super::{Hertz, SimTime};

const PICOSECONDS_PER_SECOND: u64 = 1_000_000_000_000;

/// A clock with its first edge at time zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clock {
    /// Whole picoseconds of a period.
    quotient: u64,
    /// The remainder of a period, in units of 1/`divisor` ps.
    remainder: u64,
    divisor: u64,
}

/// An edge of a clock: its time, and the fraction of a picosecond that the floor cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edge {
    time: u64,
    fraction: u64,
    index: u64,
}

/// A number of cycles of one clock, divided once so that adding it to an edge is cheap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    quotient: u64,
    remainder: u64,
    cycles: u64,
}

impl Edge {
    /// After every edge of every clock.
    pub(crate) const NEVER: Edge = Edge { time: u64::MAX, fraction: 0, index: u64::MAX };

    /// The time of the edge.
    #[inline]
    pub const fn time(self) -> SimTime {
        SimTime::from_ps(self.time)
    }

    /// Number of edges before it.
    #[inline]
    pub const fn index(self) -> u64 {
        self.index
    }
}

impl Span {
    /// The span rounded down to whole picoseconds.
    pub const fn floor(self) -> SimTime {
        SimTime::from_ps(self.quotient)
    }

    /// What that cuts off, in fractions of the clock.
    pub(crate) const fn fraction(self) -> u64 {
        self.remainder
    }
}

impl Clock {
    /// A clock of the given frequency.
    ///
    /// # Panics
    /// If the frequency is zero or above 1 THz, where an edge would fall between two picoseconds.
    pub const fn new(frequency: Hertz) -> Self {
        let hertz = frequency.get();
        assert!(hertz > 0 && hertz <= PICOSECONDS_PER_SECOND, "a clock runs at 1 Hz to 1 THz");
        let common = gcd(PICOSECONDS_PER_SECOND, hertz);
        let (dividend, divisor) = (PICOSECONDS_PER_SECOND / common, hertz / common);
        Clock { quotient: dividend / divisor, remainder: dividend % divisor, divisor }
    }

    /// Frequency of the clock.
    pub const fn frequency(&self) -> Hertz {
        Hertz::new(PICOSECONDS_PER_SECOND / self.period() * self.divisor)
    }

    /// A period is a whole number of picoseconds: edges have no fractions.
    #[inline]
    pub(crate) const fn is_whole(&self) -> bool {
        self.remainder == 0
    }

    /// The edge after `edge`.
    #[inline]
    pub const fn next(&self, edge: Edge) -> Edge {
        self.after(edge, Span { quotient: self.quotient, remainder: self.remainder, cycles: 1 })
    }

    /// The edge `span` after `edge`.
    #[inline]
    pub const fn after(&self, edge: Edge, span: Span) -> Edge {
        let fraction = edge.fraction + span.remainder;
        let time = edge.time + span.quotient;
        let index = edge.index + span.cycles;
        if fraction >= self.divisor {
            Edge { time: time + 1, fraction: fraction - self.divisor, index }
        } else {
            Edge { time, fraction, index }
        }
    }

    /// Time of the edge after `edge` by a span of this floor and fraction.
    #[inline]
    pub(crate) const fn time_after(&self, edge: Edge, floor: u64, fraction: u64) -> u64 {
        edge.time + floor + (edge.fraction + fraction >= self.divisor) as u64
    }

    /// `cycles` periods of this clock.
    #[inline]
    pub const fn cycles(&self, cycles: u64) -> Span {
        if self.remainder == 0 {
            Span { quotient: cycles.wrapping_mul(self.quotient), remainder: 0, cycles }
        } else {
            self.broken_cycles(cycles)
        }
    }

    /// Span of `cycles`, for a period that is no whole number of picoseconds.
    #[inline]
    const fn broken_cycles(&self, cycles: u64) -> Span {
        // A remainder is less than 10¹², so the product fits.
        const FEW: u64 = 1 << 24;
        if cycles < FEW {
            let parts = cycles * self.remainder;
            let quotient = cycles * self.quotient + parts / self.divisor;
            return Span { quotient, remainder: parts % self.divisor, cycles };
        }
        let whole = cycles as u128 * self.quotient as u128;
        let parts = cycles as u128 * self.remainder as u128;
        let divisor = self.divisor as u128;
        Span { quotient: (whole + parts / divisor) as u64, remainder: (parts % divisor) as u64, cycles }
    }

    /// The first edge at or after `time`, found from an earlier edge `from`.
    #[inline]
    pub fn at_or_after(&self, from: Edge, time: SimTime) -> Edge {
        self.after(from, self.cycles(self.cycles_until(from, time)))
    }

    /// Number of cycles from an edge to the first one at or after `time`, which is no earlier time.
    #[inline]
    pub fn cycles_until(&self, from: Edge, time: SimTime) -> u64 {
        let distance = time.as_ps() - from.time;
        if self.remainder == 0 {
            return distance.div_ceil(self.quotient);
        }
        // The smallest k with floor((fraction + k·period) / divisor) >= distance.
        match distance.checked_mul(self.divisor) {
            Some(parts) => parts.saturating_sub(from.fraction).div_ceil(self.period()),
            None => self.many_cycles(from, distance),
        }
    }

    /// A period, in units of 1/`divisor` ps: at most 10¹².
    #[inline]
    const fn period(&self) -> u64 {
        self.quotient * self.divisor + self.remainder
    }

    #[cold]
    fn many_cycles(&self, from: Edge, distance: u64) -> u64 {
        let parts = u128::from(distance) * u128::from(self.divisor) - u128::from(from.fraction);
        parts.div_ceil(u128::from(self.period())) as u64
    }

    /// The number of whole cycles that have passed at `time`: the index of the last edge at or before it.
    pub fn index(&self, time: SimTime) -> u64 {
        let (divisor, period) = (u128::from(self.divisor), u128::from(self.period()));
        // Edge n is at or before t exactly if n·period/divisor < t + 1.
        ((u128::from(time.as_ps()) + 1) * divisor).div_ceil(period) as u64 - 1
    }
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mhz(mhz: u64) -> (Clock, u64) {
        (Clock::new(Hertz::new(mhz * 1_000_000)), mhz * 1_000_000)
    }

    fn exact(n: u64, hertz: u64) -> u64 {
        (u128::from(n) * 1_000_000_000_000 / u128::from(hertz)) as u64
    }

    #[test]
    fn edges_do_not_drift() {
        for (clock, hertz) in [mhz(700), mhz(924), mhz(1600), mhz(1417), mhz(1)] {
            assert_eq!(clock.frequency().get(), hertz);
            let mut edge = Edge::default();
            for n in 0..100_000 {
                assert_eq!((edge.time, edge.index), (exact(n, hertz), n));
                edge = clock.next(edge);
            }
            let far = 3_000_000_000_u64;
            assert_eq!(clock.after(Edge::default(), clock.cycles(far)).time, exact(far, hertz));
        }
    }

    #[test]
    fn the_edge_at_or_after_a_time_is_the_first_one() {
        for (clock, hertz) in [mhz(700), mhz(924), mhz(1600)] {
            for start in [0, 5, 77] {
                let from = clock.after(Edge::default(), clock.cycles(start));
                for time in (from.time..from.time + 200_000).step_by(331) {
                    let edge = clock.at_or_after(from, SimTime::from_ps(time));
                    let n = (start..).find(|&n| exact(n, hertz) >= time).unwrap();
                    assert_eq!(edge, clock.after(Edge::default(), clock.cycles(n)));
                }
            }
        }
    }

    #[test]
    fn far_edges_are_exact() {
        for (clock, hertz) in
            [mhz(700), mhz(924), mhz(1000), (Clock::new(Hertz::new(999_999_937)), 999_999_937)]
        {
            for n in [(1 << 24) - 1, 1 << 24, (1 << 24) + 1, 3_000_000_000] {
                assert_eq!(clock.after(Edge::default(), clock.cycles(n)).time, exact(n, hertz));
            }
            let from = clock.after(Edge::default(), clock.cycles(5));
            for time in [from.time, from.time + 1, 1 << 40, 1 << 52, 1 << 62] {
                let n = clock.at_or_after(from, SimTime::from_ps(time)).index;
                assert!(
                    exact(n, hertz) >= time && (n == 5 || exact(n - 1, hertz) < time),
                    "{time} ps of {hertz} Hz"
                );
            }
        }
    }

    #[test]
    fn the_index_counts_edges_passed() {
        let (clock, hertz) = mhz(924);
        for n in [0, 1, 2, 230, 231, 1_000_003] {
            assert_eq!(clock.index(SimTime::from_ps(exact(n, hertz))), n);
            assert_eq!(clock.index(SimTime::from_ps(exact(n + 1, hertz) - 1)), n);
        }
    }
}
