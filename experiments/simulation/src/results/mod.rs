//! Results that are computed after a run: its launches, figures of the machine, waits and critical path, and
//! their files.

pub mod co_run;
pub mod cost;
pub mod critical_path;
pub mod curves;
pub mod exposure;
pub mod hashes;
pub mod launches;
mod records;
pub mod summary;
pub mod totals;
pub mod waits;
