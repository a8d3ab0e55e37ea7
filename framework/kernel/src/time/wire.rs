//! Passing bytes one after another at a rate, in exact time.

use super::{BytesPerSecond, SimTime};

const PICOSECONDS_PER_SECOND: u128 = 1_000_000_000_000;

/// A medium that carries one transfer at a time: a link, a bus, a disk.
///
/// The remainder of a transfer below a picosecond is kept for the next one, so back-to-back transfers do not
/// drift.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wire {
    free: SimTime,
    /// In units of 1/`rate` ps.
    fraction: u64,
    rate: u64,
}

impl Wire {
    /// The time at which the wire is free again.
    pub const fn free(&self) -> SimTime {
        self.free
    }

    /// Passes `bytes` that are ready at `start`, once the wire is free; the result is the time at which the last of them has
    /// passed.
    pub fn pass(&mut self, start: SimTime, bytes: u64, rate: BytesPerSecond) -> SimTime {
        if self.free < start || self.rate != rate.get() {
            *self = Wire { free: self.free.max(start), fraction: 0, rate: rate.get() };
        }
        let rate = u128::from(self.rate.max(1));
        let work = u128::from(bytes) * PICOSECONDS_PER_SECOND + u128::from(self.fraction);
        self.fraction = (work % rate) as u64;
        self.free += SimTime::from_ps((work / rate) as u64);
        self.free
    }

    /// Keeps the wire busy for longer.
    pub fn hold(&mut self, duration: SimTime) {
        self.free += duration;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_to_back_transfers_do_not_drift() {
        let rate = BytesPerSecond::new(15_750_000_000);
        let mut wire = Wire::default();
        let end = (0..1_000_000).map(|_| wire.pass(SimTime::ZERO, 4096, rate)).last();
        let exact = 4_096_000_000_u128 * PICOSECONDS_PER_SECOND / 15_750_000_000;
        assert_eq!(end, Some(SimTime::from_ps(exact as u64)));
    }

    #[test]
    fn a_gap_begins_anew() {
        let rate = BytesPerSecond::new(3_000_000_000);
        let mut wire = Wire::default();
        assert_eq!(wire.pass(SimTime::from_ns(5), 1, rate), SimTime::from_ps(5_333));
        assert_eq!(wire.pass(SimTime::from_ns(5), 1, rate), SimTime::from_ps(5_666));
        assert_eq!(wire.pass(SimTime::from_ns(9), 1, rate), SimTime::from_ps(9_333));
        wire.hold(SimTime::from_ns(1));
        assert_eq!(wire.free(), SimTime::from_ps(10_333));
    }
}
