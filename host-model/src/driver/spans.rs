//! Spans of the host's work.

use counterpoint_framework::telemetry::{Attribute, Attributes, Lane, Level, SpanId};

use super::Driver;

impl Driver<'_> {
    /// Begins a span of the run.
    pub fn begin(&self, parent: Option<SpanId>, level: Level, name: impl Into<String>) -> SpanId {
        self.sim.open_span(level, parent, name.into(), Lane::Only)
    }

    pub(crate) fn begin_run(&mut self) -> SpanId {
        let run = self.begin(None, Level::Phases, format!("run {}", self.application.name));
        *self.run.insert(run)
    }

    /// Ends a span of the run.
    pub fn end(&self, span: SpanId) {
        self.end_with(span, Attributes::new());
    }

    /// Ends a span of the run that shows something.
    pub fn end_with(&self, span: SpanId, attributes: Attributes) {
        self.sim.close_span(span, attributes);
    }

    pub(super) fn end_transfer(&self, span: SpanId, bytes: u64) {
        self.sim.close_span(span, vec![("bytes", Attribute::Amount(bytes))]);
    }
}
