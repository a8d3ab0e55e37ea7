//! Spans, their attributes, and statistics as a run reports them.

#[doc(inline)]
pub use counterpoint_framework::telemetry::{
    Attribute, Attributes, BusyTrack, Level, Recording, Span, SpanId, StatRow, StatValue, Trace,
};
