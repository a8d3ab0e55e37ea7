//! Jaeger's pages and an OTLP receiver, on ports that are free.

use std::net::{Ipv4Addr, SocketAddr};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::DefaultBodyLimit;
use axum::http::{Request, StatusCode};
use axum::routing::post;
use otlp_embedded::{Config, State, StateRef, TraceServiceImpl, TraceServiceServer, ui_app};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tonic::codegen::Service;

/// The largest batch that is taken.
const LARGEST: usize = 64 << 20;
/// Bytes in front of a message of gRPC: a flag, and the length.
const PREFIX: usize = 5;

/// Hands a request of OTLP/HTTP to the receiver, which speaks gRPC: the same message behind a prefix.
async fn export(
    mut receiver: TraceServiceServer<TraceServiceImpl>,
    body: Bytes,
) -> Result<Bytes, (StatusCode, String)> {
    let failed = |error: &dyn std::fmt::Display| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    let mut message = vec![0];
    message.extend((body.len() as u32).to_be_bytes());
    message.extend_from_slice(&body);
    let request = Request::post("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
        .header("content-type", "application/grpc")
        .body(Body::from(message))
        .map_err(|error| failed(&error))?;
    let response = receiver.call(request).await.map_err(|error| failed(&error))?;
    let said = response.headers().get("grpc-status").cloned();
    let body = to_bytes(Body::new(response.into_body()), LARGEST).await.map_err(|error| failed(&error))?;
    match said.filter(|status| status != "0") {
        Some(status) => Err(failed(&format!("gRPC status {}", status.to_str().unwrap_or("unknown")))),
        None => Ok(body.slice(PREFIX.min(body.len())..)),
    }
}

/// The servers; they end when this is dropped.
pub(crate) struct Jaeger {
    runtime: Runtime,
    state: StateRef,
    pages: SocketAddr,
    otlp: SocketAddr,
}

impl Jaeger {
    pub(crate) fn start() -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("the servers did not start: {error}");
        let runtime = Runtime::new().map_err(failed)?;
        let listen = || runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).map_err(failed);
        let (pages, otlp) = (listen()?, listen()?);
        let addresses = (pages.local_addr().map_err(failed)?, otlp.local_addr().map_err(failed)?);
        let state = State::new(Config { max_length: 10, max_memory_usage: 1 << 27 });
        let service = TraceServiceServer::new(TraceServiceImpl::new(state.clone()));
        let traces = post(move |body| export(service.clone(), body));
        let routes = axum::Router::new().route("/v1/traces", traces).layer(DefaultBodyLimit::max(LARGEST));
        runtime.spawn(async move { axum::serve(otlp, routes).await });
        let app = ui_app(state.clone(), "/");
        runtime.spawn(async move { axum::serve(pages, app).await });
        Ok(Jaeger { runtime, state, pages: addresses.0, otlp: addresses.1 })
    }

    pub(crate) fn pages(&self) -> String {
        format!("http://{}", self.pages)
    }

    /// The address for spans.
    pub(crate) fn otlp(&self) -> String {
        format!("http://{}", self.otlp)
    }

    /// The number of the trace that has arrived, with all parents of its spans.
    pub(crate) fn only_trace(&self) -> Result<String, String> {
        let state = self.runtime.block_on(self.state.read());
        let whole: Vec<String> = state.get_all_complete().map(|trace| trace.hex_id()).collect();
        match (state.len(), whole.as_slice()) {
            (1, [trace]) => Ok(trace.clone()),
            (all, whole) => Err(format!("{all} traces arrived, {} of them whole; one was sent", whole.len())),
        }
    }
}
