//! Records of a run: spans of simulated time and statistics, and the files that they become.

mod assemble;
mod busy;
pub(crate) mod collector;
mod fold;
mod meter;
mod natural;
mod series;
pub mod sinks;
mod span;
mod statistic;

pub use assemble::Trace;
pub use busy::BusyTrack;
pub use collector::Recording;
pub use meter::Meter;
pub use natural::natural;
pub use series::{Curve, Point, Series};
pub use span::{Attribute, Attributes, Lane, Level, Span, SpanId};
pub use statistic::{CounterName, PERCENTILES, StatLabel, StatRow, StatValue};
