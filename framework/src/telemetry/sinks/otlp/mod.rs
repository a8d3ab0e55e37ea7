//! Spans as OTLP, for Jaeger and whatever else reads OpenTelemetry.
//!
//! A [`RunTrace`] turns spans of simulated time into spans of wall-clock time: times are scaled, every
//! component belongs to a service, ids are the run's own. [`send`] hands them to a server batch by batch;
//! [`save`] writes the unsent ones to a file, which [`Saved`] reads, to be sent another time.
//!
//! No span is dropped in silence. OpenTelemetry's SDK is therefore not used: its batch processor discards anything
//! beyond its queue. Here a batch waits until the server has acknowledged the batch before; the queue of batches is
//! short, and the producer waits when it is full.

mod connection;
mod endpoint;
mod mapping;
mod saved;
mod send;
mod trace;

use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;

pub use endpoint::{BadEndpoint, Endpoint};
pub use mapping::{DEFAULT_SCALE, Scale};
pub use saved::{BadFile, Saved, save};
pub use send::{Exported, Options, send};
pub use trace::{Identity, RunTrace, Service, Setting, Unshowable};

/// Spans of one service that travel together.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Their service: an index into [`Outbox::services`].
    pub service: usize,
    /// The spans.
    pub spans: Vec<Span>,
}

/// Spans to be sent, in batches that are the same on every request.
pub trait Outbox {
    /// The services, as a server knows them.
    fn services(&self) -> &[Resource];

    /// Number of spans.
    fn spans(&self) -> u64;

    /// Number of batches.
    fn len(&self) -> usize;

    /// Whether the outbox has no batches to send.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The batches but the first `skip`. One that cannot be had gives the reason.
    fn batches(&self, skip: usize) -> Box<dyn Iterator<Item = Result<Batch, BadFile>> + '_>;
}
