//! The amount of work done, for an observer of a run from outside.

use std::sync::atomic::{AtomicU64, Ordering};

/// Units of work (thread blocks, on a GPU) that have begun and ended so far. An edge to the outside world, given as a resource:
/// components add to it and never read it, so it cannot change their behaviour.
#[derive(Default)]
pub struct Meter {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Meter {
    /// `units` units begin.
    pub fn begin(&self, units: u64) {
        self.begun.fetch_add(units, Ordering::Relaxed);
    }

    /// `units` units have ended.
    pub fn end(&self, units: u64) {
        self.ended.fetch_add(units, Ordering::Relaxed);
    }

    /// The units that have ended.
    pub fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// The units that are under way.
    pub fn under_way(&self) -> u64 {
        self.begun.load(Ordering::Relaxed).saturating_sub(self.ended())
    }
}
