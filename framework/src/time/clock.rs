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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    quotient: u64,
    remainder: u64,
    cycles: u64,
}

impl Edge {
    /// The time of the edge.
    pub const fn time(self) -> SimTime {
        SimTime::from_ps(self.time)
    }

    /// Number of edges before it.
    pub const fn index(self) -> u64 {
        self.index
    }
}

impl Span {
    /// The span rounded down to whole picoseconds.
    pub const fn floor(self) -> SimTime {
        SimTime::from_ps(self.quotient)
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

    /// Its frequency.
    pub const fn frequency(&self) -> Hertz {
        let dividend = self.quotient * self.divisor + self.remainder;
        Hertz::new(PICOSECONDS_PER_SECOND / dividend * self.divisor)
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

    /// `cycles` periods of this clock.
    pub const fn cycles(&self, cycles: u64) -> Span {
        let whole = cycles as u128 * self.quotient as u128;
        let parts = cycles as u128 * self.remainder as u128;
        let divisor = self.divisor as u128;
        Span { quotient: (whole + parts / divisor) as u64, remainder: (parts % divisor) as u64, cycles }
    }

    /// The first edge at or after `time`, found from an earlier edge `from`.
    #[inline]
    pub fn at_or_after(&self, from: Edge, time: SimTime) -> Edge {
        let mut edge = from;
        // Most waits are for the next few edges.
        for _ in 0..3 {
            if edge.time >= time.as_ps() {
                return edge;
            }
            if time.as_ps() - edge.time > 4 * self.quotient {
                break;
            }
            edge = self.next(edge);
        }
        if edge.time >= time.as_ps() { edge } else { self.jump(edge, time) }
    }

    #[inline(never)]
    fn jump(&self, from: Edge, time: SimTime) -> Edge {
        const FEW: u64 = 256;
        let distance = time.as_ps() - from.time;
        if self.remainder == 0 {
            let edges = distance.div_ceil(self.quotient);
            return self.after(from, Span { quotient: edges * self.quotient, remainder: 0, cycles: edges });
        }
        // A period is less than its whole picoseconds and one more: this many edges are certainly before `time` or at it.
        let edges = distance / (self.quotient + 1);
        if edges > FEW || self.remainder > u64::MAX / FEW {
            return self.leap(from, time);
        }
        let parts = edges * self.remainder;
        let quotient = edges * self.quotient + parts / self.divisor;
        let mut edge = self.after(from, Span { quotient, remainder: parts % self.divisor, cycles: edges });
        while edge.time < time.as_ps() {
            edge = self.next(edge);
        }
        edge
    }

    #[cold]
    fn leap(&self, from: Edge, time: SimTime) -> Edge {
        let divisor = u128::from(self.divisor);
        let period = u128::from(self.quotient) * divisor + u128::from(self.remainder);
        // The smallest k with floor((fraction + k·period) / divisor) >= distance.
        let distance = u128::from(time.as_ps() - from.time) * divisor - u128::from(from.fraction);
        self.after(from, self.cycles(distance.div_ceil(period) as u64))
    }

    /// The number of whole cycles that have passed at `time`: the index of the last edge at or before it.
    pub fn index(&self, time: SimTime) -> u64 {
        let divisor = u128::from(self.divisor);
        let period = u128::from(self.quotient) * divisor + u128::from(self.remainder);
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
    fn the_index_counts_edges_passed() {
        let (clock, hertz) = mhz(924);
        for n in [0, 1, 2, 230, 231, 1_000_003] {
            assert_eq!(clock.index(SimTime::from_ps(exact(n, hertz))), n);
            assert_eq!(clock.index(SimTime::from_ps(exact(n + 1, hertz) - 1)), n);
        }
    }
}
