//! A connection to a server of OTLP/HTTP, and the meaning of the server's answers.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::Endpoint;

/// The content type of binary OTLP/HTTP.
const PROTOBUF: &str = "application/x-protobuf";

/// Headers of every request: `name=value` after `name=value`, with commas between them, and `%20` for a space.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

/// The port of OTLP/gRPC, by convention.
const GRPC_PORT: u16 = 4317;

/// The reason why a batch has not arrived.
pub(super) struct Failure {
    pub(super) problem: String,
    /// Whether another attempt would fail, too.
    pub(super) is_final: bool,
}

impl Failure {
    pub(super) fn retry(problem: String) -> Self {
        Failure { problem, is_final: false }
    }
}

/// The body of an error, as the specification of OTLP/HTTP demands it: a `google.rpc.Status`.
#[derive(prost::Message)]
struct RpcStatus {
    #[prost(string, tag = "2")]
    message: String,
}

/// A connection, opened by the first request after it was closed.
pub(super) struct Connection<'a> {
    endpoint: &'a Endpoint,
    headers: HeaderMap,
    open: Option<Open>,
}

struct Open {
    sender: SendRequest<Full<Bytes>>,
    /// Ends with the connection, and has the reason.
    task: JoinHandle<hyper::Result<()>>,
}

impl<'a> Connection<'a> {
    /// A connection to a server. Its requests have the headers that the user's environment sets.
    pub(super) fn new(endpoint: &'a Endpoint) -> Result<Self, String> {
        let wanted = std::env::var(HEADERS).unwrap_or_default();
        Ok(Connection { endpoint, headers: headers(&wanted)?, open: None })
    }

    /// Makes the next request open another connection.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// Sends an encoded request, and decodes the answer.
    pub(super) async fn post(&mut self, body: Bytes) -> Result<ExportTraceServiceResponse, Failure> {
        let again = |error: &dyn std::error::Error| Failure::retry(with_causes(error));
        let mut open = match self.open.take().filter(|open| !open.sender.is_closed()) {
            Some(open) => open,
            None => self.connect().await?,
        };
        let uri = self.endpoint.uri();
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let host = uri.authority().map_or("", |authority| authority.as_str());
        let request = Request::post(path).header(HOST, host).header(CONTENT_TYPE, PROTOBUF);
        let mut request = request.body(Full::new(body)).map_err(|error| again(&error))?;
        request.headers_mut().extend(self.headers.clone());
        if let Err(closed) = open.sender.ready().await {
            // The connection knows why.
            let reason = open.task.await.ok().and_then(Result::err).unwrap_or(closed);
            return Err(self.no_answer(&reason));
        }
        let response = open.sender.send_request(request).await.map_err(|error| self.no_answer(&error))?;
        self.open = Some(open);
        answer(response).await
    }

    async fn connect(&self) -> Result<Open, Failure> {
        let uri = self.endpoint.uri();
        // An address of IPv6 has brackets in a URL only.
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let stream = TcpStream::connect((host, uri.port_u16().unwrap_or(80))).await;
        let stream = stream.map_err(|error| Failure::retry(error.to_string()))?;
        // A batch is one message: nothing follows for which it could wait.
        stream.set_nodelay(true).map_err(|error| Failure::retry(error.to_string()))?;
        let (sender, connection) =
            handshake(TokioIo::new(stream)).await.map_err(|error| self.no_answer(&error))?;
        Ok(Open { sender, task: tokio::spawn(connection) })
    }

    /// The failure of a server that does not answer in HTTP.
    fn no_answer(&self, error: &hyper::Error) -> Failure {
        let problem = format!("no answer in HTTP: {}", with_causes(error));
        if self.endpoint.uri().port_u16() == Some(GRPC_PORT) {
            let hint = "port 4317 is usually OTLP/gRPC; spans are sent by OTLP/HTTP, usually port 4318";
            return Failure { problem: format!("{problem}: {hint}"), is_final: true };
        }
        Failure::retry(problem)
    }
}

/// The headers in a text such as `api-key=abc,tenant=lab`.
fn headers(text: &str) -> Result<HeaderMap, String> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let header = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let value = percent_encoding::percent_decode_str(value.trim()).collect::<Vec<u8>>();
        let name: HeaderName = name.trim().parse().ok()?;
        Some((name, HeaderValue::from_bytes(&value).ok()?))
    };
    let wrong = |pair| format!("`{pair}` in {HEADERS} is not a header: expected name=value");
    pairs.map(|pair| header(pair).ok_or_else(|| wrong(pair))).collect()
}

/// An error with all its causes, as those of HTTP name the place alone.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// The meaning of a response. Servers ask for another attempt by the status codes that OTLP names.
async fn answer(response: Response<Incoming>) -> Result<ExportTraceServiceResponse, Failure> {
    let status = response.status();
    let is_binary = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == PROTOBUF);
    let body = response.into_body().collect().await.map_err(|error| Failure::retry(with_causes(&error)))?;
    let body = body.to_bytes();
    if status.is_success() {
        return ExportTraceServiceResponse::decode(body).map_err(|_| Failure {
            problem: "the server's answer is not one of OTLP/HTTP".to_owned(),
            is_final: true,
        });
    }
    let said = match is_binary {
        true => RpcStatus::decode(body).map(|status| status.message).unwrap_or_default(),
        false => String::from_utf8_lossy(&body).trim().to_owned(),
    };
    let colon = if said.is_empty() { "" } else { ": " };
    let later = [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
    ];
    Err(Failure { problem: format!("status {status}{colon}{said}"), is_final: !later.contains(&status) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_or_the_wrong_one_is_named() {
        let map = headers("api-key=a%20b, tenant=lab,").unwrap();
        assert_eq!([&map["api-key"], &map["tenant"]], ["a b", "lab"]);
        let problem = headers("api-key=a,tenant").unwrap_err();
        assert_eq!(problem, "`tenant` in OTEL_EXPORTER_OTLP_HEADERS is not a header: expected name=value");
        assert!(headers("a b=c").is_err() && headers("a=b%0ac").is_err());
    }
}
