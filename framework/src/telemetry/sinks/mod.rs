//! The files that a run's records become, pure functions of the records: no clock, no paths, no settings. And, if the
//! feature `otlp` is on, the spans' way to a server.

pub mod csv;
mod number;
#[cfg(feature = "otlp")]
pub mod otlp;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod perfetto;
pub mod stats;

pub use number::{number, rounded, signed_percent};

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
