//! One HTTP request to a tool server, and the bounded reading of its body.

use awc::{
    ClientRequest, ClientResponse,
    error::SendRequestError,
    http::{
        Method,
        header::{self, HeaderMap, HeaderName, HeaderValue},
    },
};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;

use crate::{
    Version,
    config::Endpoint,
    error::{CallError, NetworkError},
};

pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

const USER_AGENT: &str = concat!("ask-mcp/", env!("CARGO_PKG_VERSION"));

/// Bytes that one operation may still read, over all its replies.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: usize,
    left: usize,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, left: limit }
    }

    /// Takes `count` bytes off.
    ///
    /// # Errors
    ///
    /// `TooLarge` when fewer are left.
    pub(crate) fn take(&mut self, count: usize) -> Result<(), CallError> {
        match self.left.checked_sub(count) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(CallError::TooLarge { limit: self.limit }),
        }
    }
}

/// The way to one server within one session, or before there is one.
#[derive(Clone, Copy)]
pub(crate) struct Wire<'a> {
    pub(crate) http: &'a awc::Client,
    pub(crate) endpoint: &'a Endpoint,
    /// The agreed version; `None` only while `initialize` is asking for it.
    pub(crate) version: Option<Version>,
    pub(crate) session_id: Option<&'a HeaderValue>,
}

impl Wire<'_> {
    /// Posts a message. Redirects are refused here, so that no caller can forget to.
    pub(crate) async fn post(&self, body: Bytes, extra: HeaderMap) -> Result<ClientResponse, CallError> {
        let mut request = self
            .request(Method::POST)
            .insert_header((header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream")))
            .insert_header((header::CONTENT_TYPE, HeaderValue::from_static("application/json")));
        for (name, value) in extra {
            request.headers_mut().insert(name, value);
        }
        refuse_redirect(request.send_body(body).await.map_err(unreachable)?)
    }

    /// Takes up a broken reply stream again.
    pub(crate) async fn resume(&self, last_id: HeaderValue) -> Result<ClientResponse, CallError> {
        let request = self
            .request(Method::GET)
            .insert_header((header::ACCEPT, HeaderValue::from_static("text/event-stream")))
            .insert_header((LAST_EVENT_ID, last_id));
        refuse_redirect(request.send().await.map_err(unreachable)?)
    }

    /// Ends the session at the server.
    pub(crate) async fn delete(&self) -> Result<ClientResponse, CallError> {
        let request = self.request(Method::DELETE);
        refuse_redirect(request.send().await.map_err(unreachable)?)
    }

    /// The headers that name method and tool, in the version that has them.
    pub(crate) fn standard_headers(&self, method: &'static str, name: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if self.version.is_some_and(Version::has_request_metadata) {
            headers.insert(METHOD, HeaderValue::from_static(method));
            // Tool names are checked before they come here and need no encoding.
            if let Some(value) = name.and_then(|name| HeaderValue::from_str(name).ok()) {
                headers.insert(NAME, value);
            }
        }
        headers
    }

    fn request(&self, method: Method) -> ClientRequest {
        let mut request = self.http.request(method, self.endpoint.uri.clone()).no_decompress();
        let headers = request.headers_mut();
        for (name, value) in &self.endpoint.headers {
            headers.append(name.clone(), value.clone());
        }
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        if let Some(version) = self.version {
            headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(version.as_str()));
        }
        if let Some(id) = self.session_id {
            headers.insert(SESSION_ID, id.clone());
        }
        request
    }
}

fn refuse_redirect(response: ClientResponse) -> Result<ClientResponse, CallError> {
    let status = response.status();
    if status.is_redirection() {
        return Err(CallError::RedirectRefused { status: status.as_u16() });
    }
    Ok(response)
}

#[expect(clippy::needless_pass_by_value, reason = "used as the function of a map_err")]
fn unreachable(err: SendRequestError) -> CallError {
    CallError::Unreachable(NetworkError(err.to_string()))
}

/// The kinds of body that the protocol knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Json,
    Events,
    Other,
}

/// What the headers say the body is.
pub(crate) fn body_kind(headers: &HeaderMap) -> BodyKind {
    let encoded = headers
        .get(header::CONTENT_ENCODING)
        .is_some_and(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity"));
    let essence = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .map(|essence| essence.trim().to_ascii_lowercase());
    match essence.as_deref() {
        Some("application/json") if !encoded => BodyKind::Json,
        Some("text/event-stream") if !encoded => BodyKind::Events,
        Some(_) | None => BodyKind::Other,
    }
}

/// Reads a whole body, never more than the budget holds.
///
/// A body that is cut short can look whole here; the JSON reader notices.
pub(crate) async fn read_body(
    response: &mut ClientResponse,
    budget: &mut Budget,
) -> Result<Bytes, CallError> {
    let announced = response
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<usize>().ok());
    if announced.is_some_and(|length| length > budget.left) {
        return Err(CallError::TooLarge { limit: budget.limit });
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = response.next().await {
        let chunk = chunk.ok().ok_or(CallError::Incomplete)?;
        budget.take(chunk.len())?;
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}
