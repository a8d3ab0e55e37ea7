//! Options of a run: threads, islands, and records. Windows read these options; a run takes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::partition::Islands;
use crate::observe::snapshot::SnapshotTimes;
use crate::observe::watchdog::Watchdog;
use crate::time::SimTime;

/// Whether a machine runs on all threads that it may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// On the number of threads with the best predicted speed, at most the number of cores; temporarily on one thread while
    /// other processes use the cores.
    #[default]
    WhereFaster,
    /// On all, whatever that costs: for measurements of threads rather than results.
    Always,
    /// On all, and on one of them, by turns of a few windows: for tests.
    InTurns,
}

/// Options of a run. None of them changes what the machine does, apart from `stop_at`.
#[derive(Clone)]
pub struct RunOptions {
    /// Threads to use at most; no more than there are islands.
    pub threads: usize,
    /// Whether all of them are used.
    pub sharing: Sharing,
    /// Cut of the machine into islands.
    pub islands: Islands,
    /// Weights of the processes, in the machine's order; without it they have their declared weights.
    pub weights: Option<Arc<[u32]>>,
    /// Measure the cost of the processes, which slows them.
    pub measure: bool,
    /// Leave out everything at or after this time. A run that hangs before it ends as it does without.
    pub stop_at: Option<SimTime>,
    /// Compute the hash of all events.
    pub hash: bool,
    /// Note the hashes of the processes at these times.
    pub snapshots: Option<SnapshotTimes>,
    /// Record the counts of the processes at these times.
    pub samples: Option<SnapshotTimes>,
    /// End with a report when no message has been taken for this long, or up to a quarter longer, and something ran in
    /// every quarter of it; [`SimTime::MAX`] for never.
    pub livelock_after: SimTime,
    /// Set by someone else to end the run.
    pub interrupt: Arc<AtomicBool>,
    /// The simulated time reached, in picoseconds, for an observer.
    pub clock: Arc<AtomicU64>,
    /// Names components that do not give their thread back.
    pub watchdog: Watchdog,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            threads: 1,
            sharing: Sharing::WhereFaster,
            islands: Islands::Auto,
            weights: None,
            measure: false,
            stop_at: None,
            hash: false,
            snapshots: None,
            samples: None,
            livelock_after: SimTime::from_ns(1_000_000_000),
            interrupt: Arc::default(),
            clock: Arc::default(),
            watchdog: Watchdog::default(),
        }
    }
}
