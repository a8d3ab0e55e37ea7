//! Simulations: a machine and an application made into a run with results.
//!
//! This crate joins the framework, which knows no hardware, the components, and the files that users write. Studies, comparisons and
//! reports build on this crate.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.

pub mod application;
pub mod find;
pub mod output;
mod registry;
mod results;
pub mod run;
mod workloads;

pub use counterpoint_protocols::roles;
pub use registry::{registry, registry_with};
pub use results::{co_run, cost, critical_path, curves, exposure, hashes, launches, summary, totals, waits};
#[cfg(feature = "otlp")]
pub use run::export;
pub use run::{cpu_time, run_value};
pub use workloads::{element, generate, references, synthetic, verify};
