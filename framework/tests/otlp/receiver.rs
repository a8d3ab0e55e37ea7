//! A server that takes spans, on a thread of its own: OTLP/gRPC by the official generated service, and OTLP/HTTP.

use std::future::{Future, pending};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Request, Response, Status};

/// The receiver's answer to a request.
#[derive(Clone, Copy)]
pub(crate) enum Answer {
    /// Takes it, after a while.
    Take(Duration),
    /// Takes it, but rejects this number of its spans.
    Reject(i64),
    /// Does not take it. HTTP has another word for it: 503 for `Unavailable`, 400 for everything else.
    Refuse(Code),
    /// Takes it and does not answer.
    Never,
}

/// Takes everything at once.
pub(crate) fn take(_: usize) -> Answer {
    Answer::Take(Duration::ZERO)
}

/// The receiver's reason for a refusal or a rejection.
pub(crate) const REASON: &str = "the shelf is full";

#[derive(Clone)]
struct Shelf {
    taken: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
    requests: Arc<Mutex<usize>>,
    answer: Arc<dyn Fn(usize) -> Answer + Send + Sync>,
}

impl Shelf {
    async fn put(&self, request: ExportTraceServiceRequest) -> Result<ExportTraceServiceResponse, Code> {
        let number = {
            let mut requests = self.requests.lock().unwrap();
            *requests += 1;
            *requests - 1
        };
        let answer = (self.answer)(number);
        if let Answer::Refuse(code) = answer {
            return Err(code);
        }
        self.taken.lock().unwrap().push(request);
        let rejected = match answer {
            Answer::Take(after) => {
                tokio::time::sleep(after).await;
                return Ok(ExportTraceServiceResponse { partial_success: None });
            }
            Answer::Never => pending().await,
            Answer::Reject(rejected) => rejected,
            Answer::Refuse(_) => 0,
        };
        let said = ExportTracePartialSuccess { rejected_spans: rejected, error_message: REASON.to_owned() };
        Ok(ExportTraceServiceResponse { partial_success: Some(said) })
    }
}

#[tonic::async_trait]
impl TraceService for Shelf {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.put(request.into_inner()).await.map(Response::new).map_err(|code| Status::new(code, REASON))
    }
}

/// The server; it ends when it is dropped.
pub(crate) struct Receiver {
    address: SocketAddr,
    shelf: Shelf,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    /// OTLP/gRPC; `answer` is asked with the number of each request.
    pub(crate) fn grpc(answer: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
        Self::start(answer, |listener, shelf| async {
            let service = TraceServiceServer::new(shelf);
            let server = Server::builder().add_service(service);
            // Without it the kernel keeps each answer back for 40 ms, to send it with more.
            let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
            server.serve_with_incoming(incoming).await.unwrap();
        })
    }

    /// OTLP/HTTP.
    pub(crate) fn http(answer: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
        Self::start(answer, |listener, shelf| async {
            let traces = post(|body: Bytes| async move {
                let request = ExportTraceServiceRequest::decode(body).unwrap();
                match shelf.put(request).await {
                    Ok(response) => (StatusCode::OK, response.encode_to_vec()),
                    Err(Code::Unavailable) => (StatusCode::SERVICE_UNAVAILABLE, REASON.into()),
                    Err(_) => (StatusCode::BAD_REQUEST, REASON.into()),
                }
            });
            let routes = axum::Router::new().route("/v1/traces", traces);
            // Batches are larger than axum's own limit.
            let routes = routes.layer(axum::extract::DefaultBodyLimit::max(64 << 20));
            axum::serve(listener, routes).await.unwrap();
        })
    }

    fn start<F: Future<Output = ()>>(
        answer: impl Fn(usize) -> Answer + Send + Sync + 'static,
        serve: impl FnOnce(TcpListener, Shelf) -> F + Send + 'static,
    ) -> Self {
        let shelf = Shelf { taken: Arc::default(), requests: Arc::default(), answer: Arc::new(answer) };
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (end, ended) = oneshot::channel();
        let own = shelf.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let serving = serve(TcpListener::from_std(listener).unwrap(), own);
                futures::future::select(pin!(serving), ended).await;
            });
        });
        Receiver { address, shelf, end: Some(end), thread: Some(thread) }
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests that it has taken.
    pub(crate) fn taken(&self) -> Vec<ExportTraceServiceRequest> {
        self.shelf.taken.lock().unwrap().clone()
    }

    /// Number of requests so far, the refused ones included.
    pub(crate) fn requests(&self) -> usize {
        *self.shelf.requests.lock().unwrap()
    }

    /// The services, with their attributes in the order of the keys, and their spans in the order of arrival.
    pub(crate) fn services(&self) -> Vec<(Resource, Vec<Span>)> {
        let mut services: Vec<(Resource, Vec<Span>)> = Vec::new();
        for of_service in self.taken().into_iter().flat_map(|request| request.resource_spans) {
            let mut resource = of_service.resource.unwrap();
            resource.attributes.sort_by(|a, b| a.key.cmp(&b.key));
            let spans = of_service.scope_spans.into_iter().flat_map(|scope| scope.spans);
            match services.iter_mut().find(|(known, _)| *known == resource) {
                Some((_, known)) => known.extend(spans),
                None => services.push((resource, spans.collect())),
            }
        }
        services
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // The assertion that ended the test says more than this thread could.
            let _ = thread.join();
        }
    }
}

/// The text of an attribute.
pub(crate) fn text<'a>(attributes: &'a [KeyValue], key: &str) -> &'a str {
    match value(attributes, key) {
        Some(Value::StringValue(text)) => text,
        other => panic!("{key} is {other:?}"),
    }
}

/// The number of an attribute.
pub(crate) fn number(attributes: &[KeyValue], key: &str) -> u64 {
    match value(attributes, key) {
        Some(Value::IntValue(number)) => u64::try_from(*number).unwrap(),
        other => panic!("{key} is {other:?}"),
    }
}

fn value<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a Value> {
    let attribute = attributes.iter().find(|attribute| attribute.key == key)?;
    attribute.value.as_ref()?.value.as_ref()
}
