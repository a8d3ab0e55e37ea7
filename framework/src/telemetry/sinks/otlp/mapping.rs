//! A span of simulated time as one of OpenTelemetry.

use std::num::NonZeroU64;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use crate::telemetry::{Attribute, Level, Span};
use crate::time::SimTime;

/// Ratio of a span's shown duration to the simulated one. Jaeger knows microseconds only, in which most
/// actions of a machine would take no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale(NonZeroU64);

/// 1 ns of simulated time is shown as 1 us, and 1 ps as 1 ns: nothing is rounded.
pub const DEFAULT_SCALE: u64 = 1000;

impl Scale {
    /// `times` times longer; not 0.
    pub fn new(times: u64) -> Option<Self> {
        NonZeroU64::new(times).map(Scale)
    }

    /// The ratio.
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// How long after the epoch an instant is shown, rounded down; `None` if no clock goes so far. The order of instants
    /// is that of their pictures, so an instant within a span is within it in the picture, too.
    pub(super) fn shown(self, time: SimTime) -> Option<Duration> {
        let nanos = u128::from(time.as_ps()) * u128::from(self.get()) / 1000;
        u64::try_from(nanos).ok().map(Duration::from_nanos)
    }
}

impl Default for Scale {
    fn default() -> Self {
        Scale(NonZeroU64::MIN.saturating_add(DEFAULT_SCALE - 1))
    }
}

/// The common part of all spans of a trace.
pub(super) struct Common {
    pub(super) trace: TraceId,
    pub(super) epoch: SystemTime,
    pub(super) scale: Scale,
    pub(super) scope: InstrumentationScope,
}

/// The author of a span: distinguishes our files from those of others.
pub(super) const SCOPE: &str = "counterpoint";

/// The scope of all our spans.
pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder(SCOPE).with_version(env!("CARGO_PKG_VERSION")).build()
}

/// The span's name on the wire, where 0 means none.
pub(super) fn span_id(id: crate::telemetry::SpanId) -> SpanId {
    // Components count from 0 in the upper half: with 1 the first one's first span has a name, too, and no two the same.
    SpanId::from(id.0.wrapping_add(1 << 32))
}

/// A whole number, which OpenTelemetry signs: one that does not fit is a text.
fn number(value: u64) -> Value {
    i64::try_from(value).map_or_else(|_| Value::from(value.to_string()), Value::from)
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Off => "off",
        Level::Phases => "phases",
        Level::Kernels => "kernels",
        Level::Ctas => "ctas",
        Level::Warps => "warps",
    }
}

/// The span as OpenTelemetry has it. Its parent is given as far as it is known: the name, and whether another
/// service has it.
pub(super) fn span_data(span: &Span, parent: Option<(SpanId, bool)>, common: &Common) -> SpanData {
    let at = |time| common.epoch + common.scale.shown(time).unwrap_or(Duration::MAX);
    let duration = span.end.saturating_sub(span.start);
    let mut attributes = Vec::with_capacity(7 + span.attributes.len());
    attributes.extend([
        KeyValue::new("sim.start_ps", number(span.start.as_ps())),
        KeyValue::new("sim.duration_ps", number(duration.as_ps())),
        KeyValue::new("sim.path", span.path.clone()),
        KeyValue::new("sim.lane", span.lane.to_string()),
        KeyValue::new("sim.level", level(span.level)),
        KeyValue::new("partial", span.partial),
        KeyValue::new("sim.aggregated", number(span.aggregated)),
    ]);
    attributes.extend(span.attributes.iter().map(|(key, value)| match value {
        Attribute::Number(value) | Attribute::Amount(value) => KeyValue::new(*key, number(*value)),
        Attribute::Text(text) => KeyValue::new(*key, text.clone()),
    }));
    SpanData {
        span_context: context(common.trace, span_id(span.id)),
        parent_span_id: parent.map_or(SpanId::INVALID, |(id, _)| id),
        parent_span_is_remote: parent.is_some_and(|(_, remote)| remote),
        name: span.name.clone(),
        start_time: at(span.start),
        end_time: at(span.end.max(span.start)),
        attributes,
        ..bare(common.scope.clone())
    }
}

/// A span's place in its trace; everything is kept, so every span is sampled.
pub(super) fn context(trace: TraceId, span: SpanId) -> SpanContext {
    SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::NONE)
}

/// A span of unknown properties.
pub(super) fn bare(scope: InstrumentationScope) -> SpanData {
    SpanData {
        span_context: SpanContext::NONE,
        parent_span_id: SpanId::INVALID,
        parent_span_is_remote: false,
        span_kind: SpanKind::Internal,
        name: "".into(),
        start_time: SystemTime::UNIX_EPOCH,
        end_time: SystemTime::UNIX_EPOCH,
        attributes: Vec::new(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: Status::Unset,
        instrumentation_scope: scope,
    }
}
