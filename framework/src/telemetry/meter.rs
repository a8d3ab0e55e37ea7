//! How much work has been done, for someone who watches a run from outside.

use std::sync::atomic::{AtomicU64, Ordering};

/// Units of work (thread blocks, on a GPU) that have ended so far. An edge to the outside world, given as a resource:
/// components add to it and never read it, so it cannot change what they do.
#[derive(Default)]
pub struct Meter(AtomicU64);

impl Meter {
    /// So many units have ended.
    pub fn add(&self, units: u64) {
        self.0.fetch_add(units, Ordering::Relaxed);
    }

    /// The units that have ended.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
