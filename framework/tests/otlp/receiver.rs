//! A server that takes spans by OTLP/HTTP, on a thread of its own.

use std::convert::Infallible;
use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// The receiver's answer to a request.
#[derive(Clone, Copy)]
pub(crate) enum Answer {
    /// Takes it, after a while.
    Take(Duration),
    /// Takes it, but rejects this number of its spans.
    Reject(i64),
    /// Does not take it: the same may be sent again (503), or not (400).
    Refuse(StatusCode),
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
    async fn put(
        &self,
        request: ExportTraceServiceRequest,
    ) -> Result<ExportTraceServiceResponse, StatusCode> {
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

/// The answer to a request of HTTP.
async fn respond(shelf: Shelf, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    assert_eq!((request.method().as_str(), request.uri().path()), ("POST", "/v1/traces"));
    assert_eq!(request.headers()["content-type"], "application/x-protobuf");
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    let (status, body) = match shelf.put(request).await {
        Ok(response) => (StatusCode::OK, response.encode_to_vec()),
        Err(status) => (status, REASON.into()),
    };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    Ok(response)
}

async fn serve(listener: TcpListener, shelf: Shelf) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        // Without it the kernel keeps each answer back for 40 ms, to send it with more.
        stream.set_nodelay(true).unwrap();
        let shelf = shelf.clone();
        let service = service_fn(move |request| respond(shelf.clone(), request));
        tokio::spawn(async move {
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await)
        });
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
    /// `answer` is asked with the number of each request.
    pub(crate) fn new(answer: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
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

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

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

pub(crate) fn text<'a>(attributes: &'a [KeyValue], key: &str) -> &'a str {
    match value(attributes, key) {
        Some(Value::StringValue(text)) => text,
        other => panic!("{key} is {other:?}"),
    }
}

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
