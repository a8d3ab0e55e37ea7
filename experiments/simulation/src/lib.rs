//! Simulations: a machine and an application made into a run with results.
//!
//! Here meet the framework, which knows no hardware, the components, and the files that users write. Studies, comparisons and reports
//! stand on it.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.

pub mod application;
pub mod co_run;
pub mod cost;
pub mod cpu_time;
pub mod critical_path;
pub mod curves;
mod des;
pub mod element;
#[cfg(feature = "otlp")]
pub mod export;
pub mod exposure;
pub mod find;
pub mod generate;
pub mod hashes;
pub mod launches;
pub mod output;
pub mod references;
pub mod run;
pub mod run_value;
mod suffix_tree;
pub mod summary;
pub mod synthetic;
pub mod totals;
pub mod verify;
pub mod waits;

use counterpoint_framework::model::{Extension, Registry};

/// The generic components, policies and runtimes.
pub fn registry() -> Registry {
    registry_with(&[])
}

/// The same with what extensions bring along.
pub fn registry_with(extensions: &[Extension]) -> Registry {
    let mut registry = Registry::default();
    counterpoint_hardware::register(&mut registry);
    counterpoint_host_model::register(&mut registry);
    extensions.iter().for_each(|register| register(&mut registry));
    registry
}
