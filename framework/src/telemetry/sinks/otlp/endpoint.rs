//! The destination of spans: a URL that has been checked before anything is simulated.

use std::fmt;

use hyper::Uri;

/// A server that takes spans by OTLP/HTTP, in binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    uri: Uri,
}

/// A URL that cannot be one of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadEndpoint {
    url: String,
    problem: String,
}

impl fmt::Display for BadEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not an endpoint: {}", self.url, self.problem)
    }
}

impl std::error::Error for BadEndpoint {}

/// The path at which OTLP/HTTP takes spans if the URL names none of its own.
const TRACES: &str = "/v1/traces";

impl Endpoint {
    /// Parses a URL such as `http://localhost:4318`.
    ///
    /// # Errors
    /// If the URL is not that of a server with which this program can speak.
    pub fn new(url: &str) -> Result<Self, BadEndpoint> {
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
        let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
        if authority.contains('@') {
            return Err(bad("a user and a password are not sent".into()));
        }
        let behind_host = authority.rsplit(']').next().unwrap_or_default();
        if behind_host.contains(':') && matches!(uri.port_u16(), None | Some(0)) {
            return Err(bad("its port is not a number from 1 to 65535".into()));
        }
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Ok(Endpoint { uri });
        }
        let uri = format!("http://{authority}{TRACES}").parse().map_err(|error| bad(format!("{error}")))?;
        Ok(Endpoint { uri })
    }

    /// The URL, with the path of traces.
    pub(super) fn uri(&self) -> &Uri {
        &self.uri
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
        let text = |url| match Endpoint::new(url) {
            Ok(endpoint) => endpoint.to_string(),
            Err(bad) => bad.to_string(),
        };
        assert_eq!(text("http://localhost:4318"), "http://localhost:4318/v1/traces");
        assert_eq!(text("http://[::1]:4318/"), "http://[::1]:4318/v1/traces");
        assert_eq!(text("http://h/otlp/v1/traces"), "http://h/otlp/v1/traces");
        for wrong in ["localhost:4318", "localhost", "ftp://h:1", "unix:///tmp/x"] {
            assert!(text(wrong).contains("is not an endpoint: "), "{wrong}");
        }
        assert!(text("https://h:4318").contains("only http is spoken"));
        for wrong in ["http://h:99999", "http://[::1]:0", "http://h:"] {
            assert!(text(wrong).contains("its port is not a number"), "{wrong}");
        }
        assert!(text("http://me:secret@h").contains("a user and a password are not sent"));
        assert!(text("http://a b").contains("invalid uri character"));
    }
}
