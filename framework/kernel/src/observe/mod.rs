//! Records of a run, and reports on it: outcome, snapshots of hashes, samples, hangs, and the state of a run that is held.
//!
//! Threads fill these records and put them together; nothing here decides how a run goes on, except for when it is a livelock.

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
