//! What a run records: spans of simulated time and statistics, and the files that they become.

mod meter;
pub mod sinks;
pub mod span;

pub use meter::Meter;
pub use span::{Attribute, Level, Span, SpanId};
