//! The destination of spans: a URL that has been checked before anything is simulated, and a protocol.

use std::fmt;

use tonic::transport::Uri;

/// The protocol of spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP/gRPC, usually on port 4317.
    #[default]
    Grpc,
    /// Binary OTLP/HTTP, usually on port 4318.
    Http,
}

/// A server that takes spans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    uri: Uri,
    protocol: Protocol,
}

/// A URL that cannot be one of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadEndpoint {
    url: String,
    problem: String,
}

impl fmt::Display for BadEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no endpoint: {}", self.url, self.problem)
    }
}

impl std::error::Error for BadEndpoint {}

/// The path at which OTLP/HTTP takes spans if the URL names none of its own.
const TRACES: &str = "/v1/traces";

impl Endpoint {
    /// Looks at a URL such as `http://localhost:4317`.
    ///
    /// # Errors
    /// When it is not the URL of a server that this program can speak to.
    pub fn new(url: &str, protocol: Protocol) -> Result<Self, BadEndpoint> {
        let bad = |problem: String| BadEndpoint { url: url.to_owned(), problem };
        let uri: Uri = url.parse().map_err(|error| bad(format!("{error}")))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err(bad(
                    "only http is spoken here; a collector next to it can forward to https".into()
                ));
            }
            _ => return Err(bad("expected http://HOST:PORT".into())),
        }
        if uri.host().is_none_or(str::is_empty) {
            return Err(bad("it names no host".into()));
        }
        let behind_host = uri.authority().and_then(|authority| authority.as_str().rsplit(['@', ']']).next());
        if behind_host.is_some_and(|text| text.contains(':')) && matches!(uri.port_u16(), None | Some(0)) {
            return Err(bad("its port is no number from 1 to 65535".into()));
        }
        let plain = matches!(uri.path(), "" | "/") && uri.query().is_none();
        match protocol {
            Protocol::Grpc if plain => Ok(Endpoint { uri, protocol }),
            Protocol::Grpc => Err(bad("gRPC knows no paths; expected http://HOST:PORT".into())),
            Protocol::Http if plain => {
                let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
                let uri =
                    format!("http://{authority}{TRACES}").parse().map_err(|error| bad(format!("{error}")))?;
                Ok(Endpoint { uri, protocol })
            }
            Protocol::Http => Ok(Endpoint { uri, protocol }),
        }
    }

    /// The URL, with the path that the protocol adds.
    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Its protocol.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.uri.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_completed_or_explained() {
        let text = |url, protocol| match Endpoint::new(url, protocol) {
            Ok(endpoint) => endpoint.to_string(),
            Err(bad) => bad.to_string(),
        };
        assert_eq!(text("http://localhost:4317", Protocol::Grpc), "http://localhost:4317/");
        assert_eq!(text("http://[::1]:4318/", Protocol::Http), "http://[::1]:4318/v1/traces");
        assert_eq!(text("http://h/otlp/v1/traces", Protocol::Http), "http://h/otlp/v1/traces");
        assert_eq!(
            text("http://h:4317/v1/traces", Protocol::Grpc),
            "`http://h:4317/v1/traces` is no endpoint: gRPC knows no paths; expected http://HOST:PORT"
        );
        for wrong in ["localhost:4317", "localhost", "ftp://h:1", "unix:///tmp/x"] {
            assert!(text(wrong, Protocol::Grpc).contains("is no endpoint: "), "{wrong}");
        }
        assert!(text("https://h:4317", Protocol::Grpc).contains("only http is spoken"));
        for wrong in ["http://h:99999", "http://[::1]:0", "http://h:", "http://me:secret@h:70000"] {
            assert!(text(wrong, Protocol::Grpc).contains("its port is no number"), "{wrong}");
        }
        assert_eq!(text("http://me:secret@h", Protocol::Grpc), "http://me:secret@h/");
        assert!(text("http://a b", Protocol::Http).contains("invalid uri character"));
    }
}
