//! The files that a run's records become. Pure functions of the records: no clock, no paths, no settings.

pub mod csv;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod perfetto;
pub mod stats;

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
