//! Facts that the exporter only logs: why a server refused, and how many spans it took but threw away.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, Interest};
use tracing::{Event, Metadata, Subscriber};

/// The exporter's log.
const TARGET: &str = "opentelemetry-otlp";

/// Log entries since the last request.
#[derive(Default)]
pub(super) struct Heard {
    /// Spans of a batch that the server acknowledged, but did not want.
    pub(super) rejected: u64,
    /// Reasons, the last one said.
    pub(super) reason: Option<String>,
}

/// Listens to the exporters of one thread, whose log goes nowhere else.
#[derive(Clone, Default)]
pub(super) struct Ear(Arc<Mutex<Heard>>);

impl Ear {
    /// Listens on the calling thread until the guard is dropped.
    pub(super) fn listen(&self) -> DefaultGuard {
        tracing::subscriber::set_default(self.clone())
    }

    /// The log entries, which are then forgotten.
    pub(super) fn take(&self) -> Heard {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Subscriber for Ear {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == TARGET
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        event.record(&mut Listener(&mut heard));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Listener<'a>(&'a mut Heard);

impl Visit for Listener<'_> {
    fn record_i64(&mut self, field: &Field, value: i64) {
        if field.name() == "rejected_spans" {
            self.0.rejected += u64::try_from(value).unwrap_or(0);
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let reasons = ["grpc_message", "error_message", "error", "response_body"];
        if reasons.contains(&field.name()) && !value.is_empty() {
            self.0.reason = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
