//! Sends the content of an outbox over OTLP/HTTP, batch by batch, each after the server has acknowledged the one before.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;

use super::connection::{Connection, Failure};
use super::mapping::of_service;
use super::{Batch, Endpoint, Outbox};

/// Pause before the first retry; each later one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

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
    let sender = Sender { services: outbox.services(), endpoint, options };
    let mut exported = std::thread::scope(|scope| {
        // The thread owns its end of the channel: when the thread gives up, no producer waits for the queue any more.
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
}

impl Sender<'_> {
    fn run(&self, batches: flume::Receiver<Batch>) -> Exported {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let mut exported = Exported::default();
        let result = match runtime {
            Ok(runtime) => runtime.block_on(self.deliver(batches, &mut exported)),
            Err(error) => Err(format!("no runtime to send with: {error}")),
        };
        exported.error = result.err().or(exported.error);
        exported
    }

    async fn deliver(&self, batches: flume::Receiver<Batch>, exported: &mut Exported) -> Result<(), String> {
        let mut connection = Connection::new(self.endpoint)?;
        while let Ok(Batch { service, spans }) = batches.recv_async().await {
            let count = spans.len() as u64;
            let resource_spans = vec![of_service(&self.services[service], spans)];
            let body = ExportTraceServiceRequest { resource_spans }.encode_to_vec();
            let answer = self.until_stopped(self.deliver_one(&mut connection, body)).await?;
            let refused = answer.partial_success.unwrap_or_default();
            let rejected = u64::try_from(refused.rejected_spans).unwrap_or(0).min(count);
            exported.batches += 1;
            exported.sent += count - rejected;
            exported.rejected += rejected;
            if rejected > 0 {
                let reason = Some(refused.error_message).filter(|reason| !reason.is_empty());
                exported.error = Some(reason.unwrap_or_else(|| "the server did not say why".to_owned()));
            }
        }
        Ok(())
    }

    /// Waits for an export, until a stop is requested at most.
    async fn until_stopped<T>(&self, export: impl Future<Output = Result<T, String>>) -> Result<T, String> {
        let mut export = pin!(export);
        loop {
            if self.options.stop.load(Ordering::Relaxed) {
                return Err("the export was interrupted".to_owned());
            }
            if let Ok(result) = tokio::time::timeout(LOOK, export.as_mut()).await {
                return result;
            }
        }
    }

    /// Sends a batch until the server acknowledges it, refuses it for good, or is away for too long.
    async fn deliver_one(
        &self,
        connection: &mut Connection<'_>,
        body: Vec<u8>,
    ) -> Result<ExportTraceServiceResponse, String> {
        let Options { timeout, retries, .. } = *self.options;
        let body = bytes::Bytes::from(body);
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut left = retries;
        loop {
            let Failure { problem, is_final } =
                match tokio::time::timeout(timeout, connection.post(body.clone())).await {
                    Ok(Ok(answer)) => return Ok(answer),
                    Ok(Err(failure)) => failure,
                    Err(_) => Failure::retry(format!("no answer within {:.1} s", timeout.as_secs_f64())),
                };
            if is_final || left == 0 || begun.elapsed() + pause > timeout {
                return Err(problem);
            }
            connection.close();
            tokio::time::sleep(pause).await;
            pause *= 2;
            left -= 1;
        }
    }
}
