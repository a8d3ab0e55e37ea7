//! Sends the content of an outbox, batch by batch, each after the one before has been acknowledged.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use opentelemetry_otlp::{RetryPolicy, SpanExporter, WithExportConfig, WithHttpConfig, WithTonicConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::SpanExporter as _;
use tonic::transport::Channel;

use super::ear::Ear;
use super::{Batch, Endpoint, Outbox, Protocol};

/// Number of batches that wait before the sender; beyond it, their producer waits, too.
const QUEUE: usize = 4;

/// Interval of the checks whether the export should stop.
const LOOK: Duration = Duration::from_millis(50);

/// Time limits and retries of an export.
#[derive(Clone, Debug)]
pub struct Options {
    /// Time limit of a server for one batch, and of the retries of a batch.
    pub timeout: Duration,
    /// Number of retries of a batch when the server is away or busy: after 0.1 s, 0.2 s, 0.4 s …
    pub retries: usize,
    /// Set by someone else to end the export.
    pub stop: Arc<AtomicBool>,
}

impl Default for Options {
    fn default() -> Self {
        Options { timeout: Duration::from_secs(10), retries: 5, stop: Arc::default() }
    }
}

/// Result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Spans that the server has.
    pub sent: u64,
    /// Spans that the server took and threw away; why is in `error`, if it said so.
    pub rejected: u64,
    /// Spans that have not arrived, as far as is known: those of the batch that failed and of all after it.
    pub failed: u64,
    /// Batches that arrived: those to leave out when the rest is saved.
    pub batches: usize,
    /// The error.
    pub error: Option<String>,
}

impl Exported {
    /// Whether the server has everything.
    pub fn is_complete(&self) -> bool {
        self.failed == 0 && self.rejected == 0
    }
}

/// Sends everything, or everything up to the first batch that fails in spite of all patience. The caller waits, and needs
/// no runtime.
pub fn send(outbox: &dyn Outbox, endpoint: &Endpoint, options: &Options) -> Exported {
    let (hand_over, batches) = flume::bounded(QUEUE);
    let sender = Sender { services: outbox.services(), endpoint, options, ear: Ear::default() };
    let mut exported = std::thread::scope(|scope| {
        // The thread owns its end of the channel: when it gives up, nobody waits for a place in the queue any more.
        let thread = scope.spawn(move || sender.run(batches));
        let mut unreadable = None;
        for batch in outbox.batches(0) {
            let batch = match batch {
                Ok(batch) => batch,
                Err(bad) => {
                    unreadable = Some(bad.to_string());
                    break;
                }
            };
            // The sender may have given up: the rest would only be made to be thrown away.
            if hand_over.send(batch).is_err() {
                break;
            }
        }
        drop(hand_over);
        let mut exported = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        exported.error = exported.error.or(unreadable);
        exported
    });
    exported.failed = outbox.spans() - exported.sent - exported.rejected;
    exported
}

struct Sender<'a> {
    services: &'a [Resource],
    endpoint: &'a Endpoint,
    options: &'a Options,
    ear: Ear,
}

impl Sender<'_> {
    /// The thread that sends.
    fn run(&self, batches: flume::Receiver<Batch>) -> Exported {
        let listening = self.ear.listen();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let mut exported = Exported::default();
        let result = match runtime {
            Ok(runtime) => runtime.block_on(self.deliver(batches, &mut exported)),
            Err(error) => Err(format!("no runtime to send with: {error}")),
        };
        drop(listening);
        // A logger elsewhere shall not pay for the entries heard here.
        tracing::callsite::rebuild_interest_cache();
        exported.error = result.err().or(exported.error);
        exported
    }

    async fn deliver(&self, batches: flume::Receiver<Batch>, exported: &mut Exported) -> Result<(), String> {
        let exporters = self.exporters()?;
        while let Ok(Batch { service, spans }) = batches.recv_async().await {
            let count = spans.len() as u64;
            let result = self.deliver_one(&exporters[service], spans).await;
            let heard = self.ear.take();
            if let Err(problem) = result {
                return Err(match heard.reason {
                    Some(reason) if !problem.contains(&reason) => format!("{problem}: {reason}"),
                    _ => problem,
                });
            }
            let rejected = heard.rejected.min(count);
            exported.batches += 1;
            exported.sent += count - rejected;
            exported.rejected += rejected;
            if rejected > 0 {
                exported.error =
                    Some(heard.reason.unwrap_or_else(|| "the server did not say why".to_owned()));
            }
        }
        Ok(())
    }

    async fn deliver_one(
        &self,
        exporter: &SpanExporter,
        spans: Vec<opentelemetry_sdk::trace::SpanData>,
    ) -> Result<(), String> {
        // The last attempt begins before the timeout and may take as long again. The exporter counts so itself, but not
        // where a server has begun to answer.
        let patience = 2 * self.options.timeout + LOOK;
        let begun = Instant::now();
        let mut export = pin!(exporter.export(spans));
        loop {
            if self.options.stop.load(Ordering::Relaxed) {
                return Err("the export was interrupted".to_owned());
            }
            match tokio::time::timeout(LOOK, export.as_mut()).await {
                Ok(result) => return said(result),
                Err(_) if begun.elapsed() > patience => {
                    return Err(format!("no answer within {:.1} s", patience.as_secs_f64()));
                }
                Err(_) => {}
            }
        }
    }

    /// One exporter for each service; those that speak gRPC share a connection.
    fn exporters(&self) -> Result<Vec<SpanExporter>, String> {
        let Options { timeout, retries, .. } = *self.options;
        let retry = RetryPolicy::default().with_max_retries(retries);
        let channel = Channel::builder(self.endpoint.uri().clone()).connect_timeout(timeout).timeout(timeout);
        let channel = channel.connect_lazy();
        let build = |resource: &Resource| {
            let mut exporter = match self.endpoint.protocol() {
                Protocol::Grpc => SpanExporter::builder()
                    .with_tonic()
                    .with_channel(channel.clone())
                    .with_timeout(timeout)
                    .with_retry_policy(retry.clone())
                    .build(),
                Protocol::Http => SpanExporter::builder()
                    .with_http()
                    .with_protocol(opentelemetry_otlp::Protocol::HttpBinary)
                    .with_endpoint(self.endpoint.uri().to_string())
                    .with_timeout(timeout)
                    .with_retry_policy(retry.clone())
                    .build(),
            }
            .map_err(|error| error.to_string())?;
            exporter.set_resource(resource);
            Ok(exporter)
        };
        self.services.iter().map(build).collect()
    }
}

/// The text that the exporter puts before the reason.
const WRAPPING: &str = "TonicTracesClient export failed with ";

/// The exporter's message, without the words that wrap all of it.
fn said(result: OTelSdkResult) -> Result<(), String> {
    result.map_err(|error| match error {
        OTelSdkError::InternalFailure(message) => message.trim_start_matches(WRAPPING).to_owned(),
        other => other.to_string(),
    })
}
