//! Faults, and their times.

use std::time::Duration;

use super::scene::Whole;

/// Random numbers (SplitMix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }
}

#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// A signal after some time.
    Signal(&'static str, Duration),
    /// A disk with this number of bytes for the results.
    Full(u64),
    /// No file can be created in the folders of the results from this time on.
    Revoked(Duration),
}

impl Fault {
    /// A random fault within the time and the bytes of a whole job; a full disk is possible if `fills`.
    pub(super) fn at_random(random: &mut Random, whole: &Whole, fills: bool) -> Self {
        let micros = whole.time.as_micros() as u64;
        let moment = Duration::from_micros(random.below(micros + micros / 8));
        match random.below(if fills { 6 } else { 5 }) {
            0 => Fault::Signal("-KILL", moment),
            1 => Fault::Signal("-TERM", moment),
            2 => Fault::Signal("-HUP", moment),
            3 => Fault::Signal("-INT", moment),
            4 => Fault::Revoked(moment),
            _ => Fault::Full(random.below(whole.bytes + whole.bytes / 4)),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Fault::Signal(name, _) => name,
            Fault::Full(_) => "disk full",
            Fault::Revoked(_) => "permissions revoked",
        }
    }

    /// Whether a run may end with partial results of its own accord.
    pub(super) fn asks(&self) -> bool {
        matches!(self, Fault::Signal(name, _) if *name != "-KILL")
    }
}
