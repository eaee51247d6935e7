//! Where a model is reached and within which limits.

use std::{fmt, str::FromStr, time::Duration};

use awc::http::Uri;
use thiserror::Error;

use crate::Secret;

/// A model protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI chat completions, as many servers speak them.
    OpenAi,
}

impl Protocol {
    /// What the protocol can't do. Not empty means: usable only when the deployment accepts it.
    pub const fn lacks(self) -> &'static [Lack] {
        match self {
            Self::Anthropic => &[],
            Self::OpenAi => &[Lack::CacheBreakpoints, Lack::Effort, Lack::Fallback],
        }
    }

    /// The name used in settings: `anthropic` or `openai`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }
}

impl FromStr for Protocol {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        [Self::Anthropic, Self::OpenAi]
            .into_iter()
            .find(|it| it.name() == name)
            .ok_or(UnknownName("anthropic or openai"))
    }
}

/// Something that a protocol can't do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lack {
    /// The caller can't say which prefix is to be cached.
    CacheBreakpoints,
    /// The caller can't say how hard the model is to think.
    Effort,
    /// The provider can't be told to fall back to another model when one declines.
    Fallback,
}

impl Lack {
    /// Its name in logs and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CacheBreakpoints => "cache_breakpoints",
            Self::Effort => "effort",
            Self::Fallback => "fallback",
        }
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How hard a model should think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effort {
    /// The least.
    Low,
    /// Less than usual.
    Medium,
    /// The default.
    High,
    /// More than usual.
    Xhigh,
    /// The most.
    Max,
}

impl Effort {
    /// The name on the wire and in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }
}

impl FromStr for Effort {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        [Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max]
            .into_iter()
            .find(|it| it.name() == name)
            .ok_or(UnknownName("low, medium, high, xhigh or max"))
    }
}

/// A name that is none of those allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("expected {0}")]
pub struct UnknownName(&'static str);

/// The member that carries the limit on output tokens in an OpenAI request.
///
/// `OpenAI`'s reasoning models refuse the old name, some compatible servers do not know the new one; so it is a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MaxTokensField {
    /// `max_completion_tokens`, the current name.
    #[default]
    MaxCompletionTokens,
    /// `max_tokens`, the former name.
    MaxTokens,
}

/// The address below which a model server's routes are: `http` or `https`, a host, maybe a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(String);

impl BaseUrl {
    /// The address without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The address of the Messages route; a base that already ends in `/v1` is not given another.
    pub(crate) fn messages(&self) -> String {
        if self.0.ends_with("/v1") {
            format!("{}/messages", self.0)
        } else {
            format!("{}/v1/messages", self.0)
        }
    }

    /// The address of the chat completions route.
    pub(crate) fn chat_completions(&self) -> String {
        format!("{}/chat/completions", self.0)
    }
}

impl FromStr for BaseUrl {
    type Err = BaseUrlError;

    fn from_str(text: &str) -> Result<Self, BaseUrlError> {
        let text = text.trim().trim_end_matches('/');
        // Uri drops a fragment without a word.
        if text.contains('#') {
            return Err(BaseUrlError::QueryOrFragment);
        }
        let uri: Uri = text.parse().map_err(|_invalid| BaseUrlError::NotAnUrl)?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(BaseUrlError::Scheme);
        }
        let authority = uri.authority().ok_or(BaseUrlError::NotAnUrl)?;
        if authority.host().is_empty() {
            return Err(BaseUrlError::NotAnUrl);
        }
        if authority.as_str().contains('@') {
            return Err(BaseUrlError::Credentials);
        }
        if uri.query().is_some() {
            return Err(BaseUrlError::QueryOrFragment);
        }
        Ok(Self(text.to_owned()))
    }
}

/// Why a text is no base address. None of these shows the text, which may hold a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BaseUrlError {
    /// Not an absolute URL.
    #[error("not an absolute URL with a host")]
    NotAnUrl,
    /// Neither `http` nor `https`.
    #[error("the scheme is neither http nor https")]
    Scheme,
    /// A user name or password in the URL would end up in logs.
    #[error("the URL holds a user name or password")]
    Credentials,
    /// Routes are appended to the URL, so it can have neither.
    #[error("the URL holds a query or a fragment")]
    QueryOrFragment,
}

/// Where and how a model is reached.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The protocol spoken there.
    pub protocol: Protocol,
    /// The address.
    pub base_url: BaseUrl,
    /// The key: `x-api-key` for Anthropic, a bearer for OpenAI. None for a server that wants none.
    pub api_key: Option<Secret>,
    /// The most output tokens of one turn.
    pub max_tokens: u32,
    /// Whether a protocol that lacks something may be used.
    pub accept_degraded: bool,
    /// The key for the callers' pseudonyms. None: nothing is said of the caller.
    pub caller_key: Option<Secret>,
    /// Whether the provider may answer with another model when the one asked for declines (Anthropic, a beta there).
    pub fallback: bool,
    /// The member for `max_tokens` in OpenAI requests.
    pub max_tokens_field: MaxTokensField,
    /// The limits on one turn.
    pub limits: Limits,
}

impl Endpoint {
    /// An endpoint with the defaults: no key, 16,000 tokens, nothing degraded accepted, no fallback, default limits.
    pub fn new(protocol: Protocol, base_url: BaseUrl) -> Self {
        Self {
            protocol,
            base_url,
            api_key: None,
            max_tokens: 16_000,
            accept_degraded: false,
            caller_key: None,
            fallback: false,
            max_tokens_field: MaxTokensField::default(),
            limits: Limits::default(),
        }
    }
}

/// The limits on one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// To a connection, the TLS handshake included, per attempt. Too long counts as unreachable and is tried again.
    pub connect: Duration,
    /// From the start of an attempt to the first byte of the response's body.
    pub first_byte: Duration,
    /// Between two pieces of the body. Keep-alive pings count as pieces.
    pub idle: Duration,
    /// For the whole turn, all attempts and the waits between them included.
    pub total: Duration,
    /// The most bytes of a response's body.
    pub max_response_bytes: usize,
    /// The most requests for one turn, at least 1.
    pub max_attempts: u32,
    /// The wait before the second attempt at a server that is there but can't serve, doubled for each further one, with jitter.
    pub backoff_base: Duration,
    /// The same for a server that can't be reached, where nothing is gained by a long wait: whoever asked is to learn within a
    /// second that the model is gone.
    pub reconnect_base: Duration,
    /// The longest wait that a server may ask for with `Retry-After`; one that asks for more is not tried again. Also the
    /// longest wait of the back-off.
    pub max_wait: Duration,
    /// The most connections at once, which is the most turns in flight, per client.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(600),
            max_response_bytes: 8 << 20,
            max_attempts: 4,
            backoff_base: Duration::from_millis(500),
            reconnect_base: Duration::from_millis(100),
            max_wait: Duration::from_secs(20),
            connections: 1_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> Result<BaseUrl, BaseUrlError> {
        text.parse()
    }

    #[test]
    fn routes_are_appended_without_doubling_the_version() {
        for (text, messages) in [
            ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            ("https://api.anthropic.com/", "https://api.anthropic.com/v1/messages"),
            ("http://127.0.0.1:8080/s/a", "http://127.0.0.1:8080/s/a/v1/messages"),
            ("https://gateway.test/llm/v1/", "https://gateway.test/llm/v1/messages"),
        ] {
            assert_eq!(base(text).unwrap().messages(), messages);
        }
        assert_eq!(base("http://h:1/v1").unwrap().chat_completions(), "http://h:1/v1/chat/completions");
        assert_eq!(
            base("http://h:1/openai/").unwrap().chat_completions(),
            "http://h:1/openai/chat/completions"
        );
    }

    #[test]
    fn a_base_that_can_not_carry_routes_is_refused() {
        assert_eq!(base(""), Err(BaseUrlError::NotAnUrl));
        assert_eq!(base("/v1"), Err(BaseUrlError::Scheme));
        assert_eq!(base("api.test"), Err(BaseUrlError::Scheme));
        assert_eq!(base("ftp://api.test"), Err(BaseUrlError::Scheme));
        assert_eq!(base("https://user:pw@api.test"), Err(BaseUrlError::Credentials));
        assert_eq!(base("https://api.test/?key=1"), Err(BaseUrlError::QueryOrFragment));
        assert_eq!(base("https://api.test/#v1"), Err(BaseUrlError::QueryOrFragment));
    }

    #[test]
    fn names_are_those_of_the_settings() {
        assert_eq!("openai".parse(), Ok(Protocol::OpenAi));
        assert_eq!("xhigh".parse(), Ok(Effort::Xhigh));
        assert_eq!(
            "High".parse::<Effort>().unwrap_err().to_string(),
            "expected low, medium, high, xhigh or max"
        );
    }
}
