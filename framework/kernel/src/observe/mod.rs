//! Records of a run, and reports on it: outcome, snapshots of hashes, samples, hangs, and the state of a run that is held.
//!
//! Threads fill these records and merge them. Nothing here decides how a run continues, except that the livelock guard ends
//! it.

pub(crate) mod inspect;
pub(crate) mod livelock;
pub(crate) mod outcome;
mod reasons;
pub(crate) mod sample_log;
pub(crate) mod samples;
pub(crate) mod snapshot;
pub(crate) mod standstill;
pub(crate) mod throughput;
pub(crate) mod watchdog;
