//! A span of simulated time as one of OpenTelemetry.

use std::num::NonZeroU64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span as WireSpan, SpanFlags, Status};

use crate::telemetry::{Attribute, Level, Span};
use crate::time::SimTime;

/// The flag of a span that is kept (W3C's trace context).
const SAMPLED: u32 = 1;

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

    /// Time after the epoch at which an instant is shown, rounded down; `None` if it is out of range. The mapping keeps the
    /// order of instants, so an instant within a span is shown within the span, too.
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
    pub(super) trace: u128,
    pub(super) epoch: SystemTime,
    pub(super) scale: Scale,
}

/// The author of a span: distinguishes our files from those of others.
pub(super) const SCOPE: &str = "counterpoint";

/// The span's name on the wire, where 0 means none.
pub(super) fn span_id(id: crate::telemetry::SpanId) -> u64 {
    // Components count from 0 in the upper half: with 1 the first one's first span has a name, too, and no two the same.
    id.0.wrapping_add(1 << 32)
}

pub(super) fn text(text: impl Into<String>) -> Value {
    Value::StringValue(text.into())
}

/// A whole number, which OpenTelemetry signs: one that does not fit is a text.
pub(super) fn number(value: u64) -> Value {
    i64::try_from(value).map_or_else(|_| text(value.to_string()), Value::IntValue)
}

/// An attribute of a span or of a service.
pub(super) fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
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

/// The span in the form of OpenTelemetry. `parent` is given as far as it is known: the id, and whether the parent
/// belongs to another service.
pub(super) fn wire_span(span: &Span, parent: Option<(u64, bool)>, common: &Common) -> WireSpan {
    let at = |time| {
        let moment = common.epoch + common.scale.shown(time).unwrap_or(Duration::MAX);
        let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    };
    let duration = span.end.saturating_sub(span.start);
    let mut attributes = Vec::with_capacity(7 + span.attributes.len());
    attributes.extend([
        attribute("sim.start_ps", number(span.start.as_ps())),
        attribute("sim.duration_ps", number(duration.as_ps())),
        attribute("sim.path", text(&*span.path)),
        attribute("sim.lane", text(span.lane.to_string())),
        attribute("sim.level", text(level(span.level))),
        attribute("partial", Value::BoolValue(span.partial)),
        attribute("sim.aggregated", number(span.aggregated)),
    ]);
    attributes.extend(span.attributes.iter().map(|(key, value)| match value {
        Attribute::Number(value) | Attribute::Amount(value) => attribute(key, number(*value)),
        Attribute::Text(value) => attribute(key, text(&**value)),
    }));
    let is_remote = parent.is_some_and(|(_, remote)| remote);
    let remote = if is_remote { SpanFlags::ContextIsRemoteMask as u32 } else { 0 };
    WireSpan {
        trace_id: common.trace.to_be_bytes().to_vec(),
        span_id: span_id(span.id).to_be_bytes().to_vec(),
        parent_span_id: parent.map(|(id, _)| id.to_be_bytes().to_vec()).unwrap_or_default(),
        // Everything is kept, so every span is sampled.
        flags: SAMPLED | SpanFlags::ContextHasIsRemoteMask as u32 | remote,
        name: span.name.to_string(),
        kind: SpanKind::Internal as i32,
        start_time_unix_nano: at(span.start),
        end_time_unix_nano: at(span.end.max(span.start)),
        attributes,
        status: Some(Status::default()),
        ..WireSpan::default()
    }
}

/// Spans of a service, as they travel and as they are kept.
pub(super) fn of_service(resource: &Resource, spans: Vec<WireSpan>) -> ResourceSpans {
    let scope = InstrumentationScope {
        name: SCOPE.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, ..ScopeSpans::default() }];
    ResourceSpans { resource: Some(resource.clone()), scope_spans, ..ResourceSpans::default() }
}
