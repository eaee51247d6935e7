//! The client of one model endpoint.

use std::fmt;

use awc::{
    Connector,
    http::{
        Version,
        header::{self, HeaderName, HeaderValue},
    },
};
use bytes::Bytes;
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout_at};

use crate::{
    Assistant, Endpoint, Lack, Limit, Protocol, Request, Stop, Turn, TurnError, Usage, anthropic,
    http::{self, Failure, Pieces},
    openai,
    retry::{random, told, untold},
    sse::{self, SseError},
};

/// The client of one model endpoint, for one arbiter: it is neither `Send` nor `Sync`.
///
/// It keeps a pool of HTTP/1.1 connections, one for each turn in flight; connections are used again once a reply was read to
/// its end. HTTP/1.1 alone, since there a dropped turn closes its connection, which is what stops the model.
pub struct Client {
    endpoint: Endpoint,
    url: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    http: awc::Client,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// Why there is no client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BuildError {
    /// The protocol lacks something, and the deployment has not accepted that.
    #[error("the {} protocol lacks something that is not accepted to be given up: {}", .0.name(), Lacks(.0.lacks()))]
    Degraded(Protocol),
    /// The key can't be sent in a header.
    #[error("the api key holds characters that a header can't carry")]
    ApiKey,
    /// No rustls crypto provider was installed in this process.
    #[error("no tls crypto provider is installed in this process")]
    NoCryptoProvider,
}

struct Lacks(&'static [Lack]);

impl fmt::Display for Lacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, lack) in self.0.iter().enumerate() {
            write!(f, "{}{lack}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// Whether a reply goes on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    More,
    End,
}

/// A whole reply, as read from either protocol.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) assistant: Assistant,
    pub(crate) stop: Stop,
    pub(crate) usage: Usage,
    pub(crate) model: Option<String>,
}

enum Decoder {
    Anthropic(anthropic::Stream),
    OpenAi(openai::Stream),
}

impl Decoder {
    fn event(&mut self, data: &str, key: Option<&str>) -> Result<Flow, TurnError> {
        match self {
            Self::Anthropic(stream) => stream.event(data, key),
            Self::OpenAi(stream) => stream.event(data, key),
        }
    }

    fn finish(self) -> Result<Decoded, TurnError> {
        match self {
            Self::Anthropic(stream) => stream.finish(),
            Self::OpenAi(stream) => stream.finish(),
        }
    }
}

impl Client {
    /// A client of `endpoint`. Connects to nothing yet.
    ///
    /// # Errors
    /// When the protocol lacks something and that is not accepted, when the key can't be sent, or when the process has
    /// installed no crypto provider.
    pub fn new(endpoint: Endpoint) -> Result<Self, BuildError> {
        if !endpoint.protocol.lacks().is_empty() && !endpoint.accept_degraded {
            return Err(BuildError::Degraded(endpoint.protocol));
        }
        // awc panics without one, also where it is not needed.
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            return Err(BuildError::NoCryptoProvider);
        }
        let (url, headers) = match endpoint.protocol {
            Protocol::Anthropic => (endpoint.base_url.messages(), anthropic_headers(&endpoint)?),
            Protocol::OpenAi => (endpoint.base_url.chat_completions(), openai_headers(&endpoint)?),
        };
        let connector = Connector::new()
            .timeout(endpoint.limits.connect)
            .handshake_timeout(endpoint.limits.connect)
            .limit(endpoint.limits.connections.max(1));
        // A key must not travel along a redirect, and the time limits are ours.
        let http = awc::Client::builder()
            .connector(connector)
            .max_http_version(Version::HTTP_11)
            .disable_timeout()
            .disable_redirects()
            .finish();
        Ok(Self { endpoint, url, headers, http })
    }

    /// The endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Makes one model turn: sends the request, reads the whole reply.
    ///
    /// A busy, failing or unreachable server is asked again, with exponential waits or those that it asks for, as long as
    /// no byte of a reply's body was read. After that nothing is sent twice.
    ///
    /// # Errors
    /// See [`TurnError`]. A refusal by the model, or a reply cut short by the limit on tokens, is a [`Turn`].
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection to the model at once and leaves nothing behind; the turn is lost.
    pub async fn turn(&self, request: Request<'_>) -> Result<Turn, TurnError> {
        let body = match self.endpoint.protocol {
            Protocol::Anthropic => anthropic::body(&self.endpoint, &request),
            Protocol::OpenAi => openai::body(&self.endpoint, &request),
        };
        let body = Bytes::from(body.to_string());
        let deadline = Instant::now() + self.endpoint.limits.total;
        // Boxed, since the future is large and lives inside its caller's.
        let attempts = Box::pin(self.attempts(&request, &body, deadline));
        timeout_at(deadline, attempts).await.unwrap_or(Err(TurnError::TimedOut(Limit::Total)))
    }

    async fn attempts(
        &self,
        request: &Request<'_>,
        body: &Bytes,
        deadline: Instant,
    ) -> Result<Turn, TurnError> {
        let limits = &self.endpoint.limits;
        let mut attempt = 1;
        loop {
            let (err, asked) = match self.attempt(request, body.clone(), attempt).await {
                Ok(turn) => return Ok(turn),
                Err(Failure::Final(err)) => return Err(err),
                Err(Failure::Passing(err, asked)) => (err, asked),
            };
            let wait = match asked {
                // To come back sooner than told would only make it worse.
                Some(asked) if asked > limits.max_wait => return Err(err),
                Some(asked) => told(asked, random()),
                None => untold(limits, &err, attempt, random()),
            };
            if attempt >= limits.max_attempts || Instant::now() + wait >= deadline {
                return Err(err);
            }
            tracing::debug!(llm.attempt = attempt, wait_ms = wait.as_millis(), error = %err, "model turn is tried again");
            sleep(wait).await;
            attempt += 1;
        }
    }

    async fn attempt(&self, request: &Request<'_>, body: Bytes, attempt: u32) -> Result<Turn, Failure> {
        let limits = &self.endpoint.limits;
        let key = self.endpoint.api_key.as_ref().map(crate::Secret::expose);
        let first_byte = Instant::now() + limits.first_byte;
        let mut sending = self.http.post(&self.url).no_decompress();
        for header in &self.headers {
            sending = sending.insert_header(header.clone());
        }
        if let Some(traceparent) = request.traceparent.and_then(|it| HeaderValue::from_str(it).ok()) {
            sending = sending.insert_header((HeaderName::from_static("traceparent"), traceparent));
        }
        if let Some(id) = request.request_id.and_then(|it| HeaderValue::from_str(it).ok()) {
            sending = sending.insert_header((HeaderName::from_static("x-request-id"), id));
        }
        let response = match timeout_at(first_byte, sending.send_body(body)).await {
            Err(_) => return Err(TurnError::TimedOut(Limit::FirstByte).into()),
            Ok(Err(err)) => {
                let unreachable = TurnError::Unreachable { reason: http::reason(&err), attempts: attempt };
                return Err(Failure::Passing(unreachable, None));
            }
            Ok(Ok(response)) => response,
        };
        if !response.status().is_success() {
            return Err(http::refused(response, attempt, key).await);
        }
        if !http::is_event_stream(response.headers()) {
            return Err(TurnError::Malformed("the answer is no event stream").into());
        }
        let mut pieces = Pieces::new(response, limits, first_byte);
        let decoded = self.read(&mut pieces, key).await?;
        pieces.drain().await;
        Ok(self.whole(request, decoded, attempt))
    }

    async fn read<S>(&self, pieces: &mut Pieces<S>, key: Option<&str>) -> Result<Decoded, TurnError>
    where
        S: futures_util::Stream<Item = Result<Bytes, awc::error::PayloadError>> + Unpin,
    {
        let mut decoder = match self.endpoint.protocol {
            Protocol::Anthropic => Decoder::Anthropic(anthropic::Stream::default()),
            Protocol::OpenAi => Decoder::OpenAi(openai::Stream::default()),
        };
        let mut reader = sse::Reader::new(self.endpoint.limits.max_response_bytes);
        while let Some(piece) = pieces.next().await? {
            reader.push(&piece).map_err(|err| match err {
                SseError::TooLarge => TurnError::TooLarge,
                SseError::NotUtf8 => TurnError::Malformed("an event is not UTF-8"),
            })?;
            while let Some(event) = reader.next_event() {
                if decoder.event(&event.data, key)? == Flow::End {
                    return decoder.finish();
                }
            }
        }
        Err(TurnError::Truncated)
    }

    fn whole(&self, request: &Request<'_>, decoded: Decoded, attempts: u32) -> Turn {
        let Decoded { assistant, stop, usage, model } = decoded;
        Turn {
            text: assistant.text().to_owned(),
            calls: assistant.calls().to_vec(),
            assistant,
            stop,
            usage,
            model: model.unwrap_or_else(|| request.model.to_owned()),
            degraded: self.endpoint.protocol.lacks(),
            attempts,
        }
    }
}

fn anthropic_headers(endpoint: &Endpoint) -> Result<Vec<(HeaderName, HeaderValue)>, BuildError> {
    let mut headers = shared_headers();
    headers
        .push((HeaderName::from_static("anthropic-version"), HeaderValue::from_static(anthropic::VERSION)));
    if endpoint.fallback {
        headers.push((
            HeaderName::from_static("anthropic-beta"),
            HeaderValue::from_static(anthropic::FALLBACK_BETA),
        ));
    }
    if let Some(key) = &endpoint.api_key {
        headers.push((HeaderName::from_static("x-api-key"), secret_value(key.expose())?));
    }
    Ok(headers)
}

fn openai_headers(endpoint: &Endpoint) -> Result<Vec<(HeaderName, HeaderValue)>, BuildError> {
    let mut headers = shared_headers();
    if let Some(key) = &endpoint.api_key {
        headers.push((header::AUTHORIZATION, secret_value(&format!("Bearer {}", key.expose()))?));
    }
    Ok(headers)
}

/// A stream that is compressed comes late and in large pieces.
fn shared_headers() -> Vec<(HeaderName, HeaderValue)> {
    vec![
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::ACCEPT, HeaderValue::from_static("text/event-stream")),
        (header::ACCEPT_ENCODING, HeaderValue::from_static("identity")),
        (header::USER_AGENT, HeaderValue::from_static(concat!("ask-llm/", env!("CARGO_PKG_VERSION")))),
    ]
}

fn secret_value(text: &str) -> Result<HeaderValue, BuildError> {
    let mut value = HeaderValue::from_str(text).map_err(|_invalid| BuildError::ApiKey)?;
    value.set_sensitive(true);
    Ok(value)
}
