//! How a tool server is configured: where it is, what it may receive, how much it may take.

use std::{fmt, time::Duration};

use awc::http::{
    Uri,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};

use crate::{Version, secret::Secret};

/// One tool server as an operator configures it.
#[derive(Clone)]
pub struct ServerConfig {
    /// Name of the server, the first half of the names its tools go by: 1 to 32 of `a-z A-Z 0-9 _ -`.
    pub name: String,
    /// Where the server is: an absolute `http` or `https` URL without user name or fragment.
    pub url: String,
    /// Headers sent with each request, such as a subscription key.
    pub headers: Vec<(String, Secret)>,
    /// Whether the caller's bearer is sent to this server.
    pub forward_bearer: bool,
    /// The one version to speak; `None` agrees on the newest that both sides speak.
    pub version: Option<Version>,
    /// What the server may take in time and size.
    pub limits: Limits,
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A URL may carry a key in its query, so only the part before it is shown.
        let url = self.url.split('?').next().unwrap_or_default();
        f.debug_struct("ServerConfig")
            .field("name", &self.name)
            .field("url", &url)
            .field("headers", &self.headers)
            .field("forward_bearer", &self.forward_bearer)
            .field("version", &self.version)
            .field("limits", &self.limits)
            .finish()
    }
}

impl ServerConfig {
    /// A server without headers and bearer, with the default limits.
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            url: url.into(),
            headers: Vec::new(),
            forward_bearer: false,
            version: None,
            limits: Limits::default(),
        }
    }

    /// Checks everything that can be checked without the server, so that a start can stop early.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), ConfigError> {
        Endpoint::new(self, None, None).map(drop)
    }
}

/// Bounds on what one server may take, for each operation of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time to agree on a version and open a session.
    pub handshake: Duration,
    /// Part of `handshake` that a server may stay silent on `server/discover` before it is taken
    /// for one that only knows `initialize`.
    pub probe: Duration,
    /// Wall-clock time of one tool call, with its reconnects and a renewed session.
    pub call: Duration,
    /// Wall-clock time to list all tools, over all pages.
    pub list: Duration,
    /// Wall-clock time to say goodbye.
    pub close: Duration,
    /// Bytes of all reply bodies of one operation.
    pub max_reply_bytes: usize,
    /// Tools taken from a server; more are left out with a note.
    pub max_tools: usize,
    /// Pages of a tool list that are read.
    pub max_pages: usize,
    /// How often a broken reply stream is taken up again within one operation.
    pub max_reconnects: u32,
    /// Shortest wait before a reconnect, whatever the server says in `retry:`.
    pub min_retry: Duration,
    /// Bytes of a tool's input schema; a larger one leaves the tool out with a note.
    pub max_schema_bytes: usize,
    /// Nesting of a tool's input schema; a deeper one leaves the tool out with a note.
    pub max_schema_depth: usize,
    /// Bytes of a tool's description; a longer one is cut with a note.
    pub max_description_bytes: usize,
    /// Requests of the server that are answered within one operation; more are ignored.
    pub max_server_requests: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            probe: Duration::from_secs(3),
            call: Duration::from_secs(60),
            list: Duration::from_secs(15),
            close: Duration::from_secs(2),
            max_reply_bytes: 8 * 1024 * 1024,
            max_tools: 256,
            max_pages: 50,
            max_reconnects: 3,
            min_retry: Duration::from_millis(250),
            max_schema_bytes: 64 * 1024,
            max_schema_depth: 32,
            max_description_bytes: 8 * 1024,
            max_server_requests: 16,
        }
    }
}

/// What is wrong with a server's configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The name is empty, too long, or has other characters than allowed.
    #[error("the server name must be 1 to 32 letters, digits, '_' or '-'")]
    Name,
    /// The URL cannot be used.
    #[error("the URL must be absolute, http or https, without user name or fragment")]
    Url,
    /// A header cannot be sent, or belongs to the protocol.
    #[error("the header {name:?} cannot be set")]
    Header {
        /// The header's name.
        name: String,
    },
    /// The bearer has characters that no token has.
    #[error("the bearer cannot be sent as a header")]
    Bearer,
}

/// Headers that the client sets itself, or that would change how a message is framed.
const RESERVED: [&str; 15] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "traceparent",
];

/// A server's configuration made ready for sending, with the caller's own headers in it.
pub(crate) struct Endpoint {
    pub(crate) name: String,
    pub(crate) uri: Uri,
    /// Headers of each request, the bearer among them.
    pub(crate) headers: HeaderMap,
    pub(crate) traceparent: Option<String>,
    pub(crate) version: Option<Version>,
    pub(crate) limits: Limits,
}

impl Endpoint {
    pub(crate) fn new(
        config: &ServerConfig,
        bearer: Option<&str>,
        traceparent: Option<&str>,
    ) -> Result<Self, ConfigError> {
        let name_ok = (1..=32).contains(&config.name.len())
            && config.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if !name_ok {
            return Err(ConfigError::Name);
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &config.headers {
            let (name, value) = checked_header(name, value, config.forward_bearer)?;
            headers.append(name, value);
        }
        if config.forward_bearer
            && let Some(token) = bearer
        {
            let mut value = token
                .bytes()
                .all(|b| b.is_ascii_graphic())
                .then(|| HeaderValue::try_from(format!("Bearer {token}")).ok())
                .flatten()
                .filter(|_| !token.is_empty())
                .ok_or(ConfigError::Bearer)?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        // A trace id that cannot be sent costs the trace, not the call.
        let traceparent = traceparent
            .filter(|text| text.len() <= 128 && text.bytes().all(|b| b.is_ascii_graphic()))
            .map(str::to_owned);
        if let Some(text) = &traceparent
            && let Ok(value) = HeaderValue::from_str(text)
        {
            headers.insert(HeaderName::from_static("traceparent"), value);
        }
        Ok(Self {
            name: config.name.clone(),
            uri: checked_url(&config.url)?,
            headers,
            traceparent,
            version: config.version,
            limits: config.limits.clone(),
        })
    }
}

fn checked_url(url: &str) -> Result<Uri, ConfigError> {
    if url.contains('#') {
        return Err(ConfigError::Url);
    }
    let uri: Uri = url.parse().ok().ok_or(ConfigError::Url)?;
    let scheme_ok = matches!(uri.scheme_str(), Some("http" | "https"));
    let authority_ok = uri
        .authority()
        .is_some_and(|authority| !authority.as_str().contains('@') && !authority.host().is_empty());
    if scheme_ok && authority_ok { Ok(uri) } else { Err(ConfigError::Url) }
}

fn checked_header(
    name: &str,
    value: &Secret,
    forward_bearer: bool,
) -> Result<(HeaderName, HeaderValue), ConfigError> {
    let refuse = || ConfigError::Header { name: name.to_owned() };
    let parsed = HeaderName::try_from(name).ok().ok_or_else(refuse)?;
    let text = parsed.as_str();
    let reserved = RESERVED.contains(&text)
        || text.starts_with("mcp-")
        || (forward_bearer && parsed == header::AUTHORIZATION);
    if reserved {
        return Err(refuse());
    }
    let mut value = HeaderValue::from_str(value.expose()).ok().ok_or_else(refuse)?;
    value.set_sensitive(true);
    Ok((parsed, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: &str) -> ServerConfig {
        ServerConfig::new("warehouse", url)
    }

    #[test]
    fn only_plain_absolute_urls_are_taken() {
        for good in ["http://127.0.0.1:1/mcp", "https://h.example/a?key=1", "http://[::1]:80/"] {
            assert_eq!(config(good).check(), Ok(()), "{good}");
        }
        for bad in [
            "",
            "/mcp",
            "mcp",
            "ftp://h/",
            "http://user:pw@h/",
            "http://h/#x",
            "file:///etc/passwd",
            "http:///x",
        ] {
            assert_eq!(config(bad).check(), Err(ConfigError::Url), "{bad}");
        }
    }

    #[test]
    fn headers_of_the_protocol_cannot_be_configured() {
        for name in ["Host", "content-length", "Mcp-Session-Id", "MCP-Protocol-Version", "Accept", "a b", ""]
        {
            let mut config = config("http://h/");
            config.headers.push((name.to_owned(), Secret::new("x")));
            assert!(matches!(config.check(), Err(ConfigError::Header { .. })), "{name}");
        }
        let mut split = config("http://h/");
        split.headers.push(("x-key".to_owned(), Secret::new("a\r\nEvil: 1")));
        assert!(split.check().is_err());
    }

    #[test]
    fn a_configured_authorization_and_a_forwarded_bearer_exclude_each_other() {
        let mut own_key = config("http://h/");
        own_key.headers.push(("Authorization".to_owned(), Secret::new("Basic x")));
        assert_eq!(own_key.check(), Ok(()));
        own_key.forward_bearer = true;
        assert!(own_key.check().is_err());
    }

    #[test]
    fn the_bearer_is_put_in_only_when_the_server_may_have_it() {
        let mut config = config("http://h/");
        let without = Endpoint::new(&config, Some("token"), None).unwrap();
        assert!(!without.headers.contains_key(header::AUTHORIZATION));
        config.forward_bearer = true;
        let with = Endpoint::new(&config, Some("token"), None).unwrap();
        assert_eq!(with.headers.get("authorization").unwrap(), "Bearer token");
        for bad in ["", "a b", "a\r\nb", "tökén"] {
            assert_eq!(Endpoint::new(&config, Some(bad), None).err(), Some(ConfigError::Bearer));
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        let mut config = config("http://h/mcp?key=canary");
        config.headers.push(("x-key".to_owned(), Secret::new("canary")));
        assert!(!format!("{config:?}").contains("canary"));
    }
}
