//! Jaeger's pages and an OTLP receiver, on ports that are free.

use std::net::{Ipv4Addr, SocketAddr};

use otlp_embedded::{Config, State, StateRef, TraceServiceImpl, TraceServiceServer, ui_app};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

/// The servers; they end when this is dropped.
pub(crate) struct Jaeger {
    runtime: Runtime,
    state: StateRef,
    pages: SocketAddr,
    otlp: SocketAddr,
}

impl Jaeger {
    /// Starts them.
    pub(crate) fn start() -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("the servers did not start: {error}");
        let runtime = Runtime::new().map_err(failed)?;
        let listen = || runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).map_err(failed);
        let (pages, otlp) = (listen()?, listen()?);
        let addresses = (pages.local_addr().map_err(failed)?, otlp.local_addr().map_err(failed)?);
        let state = State::new(Config { max_length: 10, max_memory_usage: 1 << 27 });
        let service = TraceServiceServer::new(TraceServiceImpl::new(state.clone()));
        let server = Server::builder().add_service(service);
        runtime.spawn(server.serve_with_incoming(TcpIncoming::from(otlp)));
        let app = ui_app(state.clone(), "/");
        runtime.spawn(async move { axum::serve(pages, app).await });
        Ok(Jaeger { runtime, state, pages: addresses.0, otlp: addresses.1 })
    }

    /// The address of the pages.
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
