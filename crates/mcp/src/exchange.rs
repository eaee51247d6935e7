//! One request and the way to its response, through JSON or an event stream.

use std::time::Duration;

use awc::{
    ClientResponse,
    http::{
        StatusCode,
        header::{HeaderMap, HeaderValue},
    },
};
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::value::RawValue;

use crate::{
    Version,
    error::CallError,
    http::{self, BodyKind, Budget, Wire},
    retry_after::retry_after,
    rpc::{self, Received, RequestId, RpcError},
    sse,
};

/// Most that is read of the body of a failed request.
const MAX_ERROR_BODY: usize = 64 * 1024;
/// How long an answer to a request of the server may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// Longest wait between two attempts to take up a stream.
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// What is read after the response, so that the connection can be used again.
const DRAIN_LIMIT: Duration = Duration::from_secs(1);
const MAX_DRAIN: usize = 64 * 1024;

/// The response to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) result: Box<RawValue>,
    /// The session id that came with the response's headers.
    pub(crate) session_id: Option<HeaderValue>,
}

/// An HTTP status that is no success, with the JSON-RPC error of its body.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) error: Option<RpcError>,
    /// Whether the error names the request it answers.
    pub(crate) is_ours: bool,
}

/// Why there is no answer, in the detail that the handshake and the session need.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The server does not know the session, and has not begun the work.
    SessionGone,
    Refused(Refusal),
    Rpc(RpcError),
    Call(CallError),
}

impl From<CallError> for Fault {
    fn from(err: CallError) -> Self {
        Self::Call(err)
    }
}

impl From<Fault> for CallError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::SessionGone => Self::SessionLost,
            Fault::Rpc(error) => error.into(),
            Fault::Refused(Refusal { status, error: Some(error), is_ours: true, .. })
                if !status_says_more(status) =>
            {
                error.into()
            }
            Fault::Refused(refusal) => {
                Self::Status { status: refusal.status.as_u16(), retry_after: refusal.retry_after }
            }
            Fault::Call(err) => err,
        }
    }
}

/// Whether a status tells more than the JSON-RPC error that came with it: who may not, or how long
/// to wait.
fn status_says_more(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::SERVICE_UNAVAILABLE
    )
}

/// Sends the request `body` and waits for the response with its `id`.
///
/// Has no limit on time of its own: whoever calls this sets one over the whole operation.
///
/// # Cancel safety
///
/// Dropping the future closes the connection. In 2026-07-28 that cancels the request at the server;
/// before, the server may go on and its result is lost. No `notifications/cancelled` is sent.
pub(crate) async fn exchange(
    wire: Wire<'_>,
    id: RequestId,
    body: Bytes,
    headers: HeaderMap,
    budget: &mut Budget,
) -> Result<Answer, Fault> {
    let mut response = wire.post(body, headers).await?;
    let status = response.status();
    if status == StatusCode::NOT_FOUND && wire.session_id.is_some() {
        return Err(Fault::SessionGone);
    }
    if !status.is_success() {
        return Err(Fault::Refused(refusal(&mut response, id).await));
    }
    let session_id = response.headers().get(http::SESSION_ID).cloned();
    let outcome = match http::body_kind(response.headers()) {
        BodyKind::Json => {
            let body = http::read_body(&mut response, budget).await?;
            rpc::response_in(&body, id, wire.version)?.map(ToOwned::to_owned)
        }
        BodyKind::Events => Stream { wire, id, budget, answered: 0 }.follow(response).await?,
        BodyKind::Other => {
            return Err(Fault::Call(CallError::Malformed {
                what: "the reply is neither JSON nor an event stream",
            }));
        }
    };
    match outcome {
        Ok(result) => Ok(Answer { result, session_id }),
        Err(error) => Err(Fault::Rpc(error)),
    }
}

/// Sends a message that has no response, such as a notification.
///
/// # Errors
///
/// `Status` when the server did not accept it.
pub(crate) async fn send(wire: Wire<'_>, body: Bytes, headers: HeaderMap) -> Result<(), CallError> {
    let response = wire.post(body, headers).await?;
    let status = response.status();
    if !status.is_success() {
        return Err(CallError::Status {
            status: status.as_u16(),
            retry_after: retry_after(response.headers()),
        });
    }
    release(response);
    Ok(())
}

async fn refusal(response: &mut ClientResponse, id: RequestId) -> Refusal {
    let retry_after = retry_after(response.headers());
    let body = http::read_body(response, &mut Budget::new(MAX_ERROR_BODY)).await;
    let found = body.ok().and_then(|body| rpc::error_in(&body, id));
    let (error, is_ours) = found.map_or((None, false), |(error, ours)| (Some(error), ours));
    Refusal { status: response.status(), retry_after, error, is_ours }
}

/// A reply that comes as events, perhaps over several connections.
struct Stream<'a, 'b> {
    wire: Wire<'a>,
    id: RequestId,
    budget: &'b mut Budget,
    /// Requests of the server that were answered.
    answered: usize,
}

type Outcome = Result<Box<RawValue>, RpcError>;

impl Stream<'_, '_> {
    async fn follow(&mut self, first: ClientResponse) -> Result<Outcome, CallError> {
        let limits = &self.wire.endpoint.limits;
        let mut reader = sse::Reader::default();
        let mut current = Some(first);
        let mut reconnects = 0;
        // Kept apart from the reader: each connection starts a fresh one.
        let mut last_id: Option<HeaderValue> = None;
        let mut wait = limits.min_retry;
        loop {
            if let Some(mut response) = current.take() {
                if let Some(outcome) = self.read(&mut response, &mut reader).await? {
                    release(response);
                    return Ok(outcome);
                }
                // An id that no header can carry cannot be resumed from.
                if let Some(id) = reader.last_id() {
                    last_id = HeaderValue::from_bytes(id).ok();
                }
                if let Some(ms) = reader.retry_ms() {
                    wait = Duration::from_millis(ms).min(LONGEST_RETRY);
                }
            }
            let may_resume =
                self.wire.version.is_some_and(Version::resumes_streams) && reconnects < limits.max_reconnects;
            let Some(id) = last_id.clone().filter(|_| may_resume) else {
                return Err(CallError::Incomplete);
            };
            reconnects += 1;
            // Zero would let a server that closes at once turn us into a flood.
            tokio::time::sleep(wait.max(limits.min_retry)).await;
            reader = sse::Reader::default();
            current = self.reconnect(id).await?;
        }
    }

    /// Another connection to the same stream; `None` when this attempt failed but another may not.
    async fn reconnect(&self, last_id: HeaderValue) -> Result<Option<ClientResponse>, CallError> {
        let response = match self.wire.resume(last_id).await {
            Ok(response) => response,
            Err(CallError::Unreachable(_)) => return Ok(None),
            Err(err) => return Err(err),
        };
        let status = response.status();
        if status.is_success() && http::body_kind(response.headers()) == BodyKind::Events {
            Ok(Some(response))
        } else if status == StatusCode::NOT_FOUND && self.wire.session_id.is_some() {
            // The work may have been done, so the request is not sent again.
            Err(CallError::SessionLost)
        } else if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            Ok(None)
        } else {
            Err(CallError::Incomplete)
        }
    }

    /// Reads one connection to its end, or to the response.
    async fn read(
        &mut self,
        response: &mut ClientResponse,
        reader: &mut sse::Reader,
    ) -> Result<Option<Outcome>, CallError> {
        // A connection that breaks and one that ends are the same: the response has not come.
        while let Some(Ok(chunk)) = response.next().await {
            self.budget.take(chunk.len())?;
            reader.push(&chunk);
            while let Some(event) = reader.next_event() {
                if !event.is_message || event.data.is_empty() {
                    continue;
                }
                if let Some(outcome) = self.message(&event.data).await? {
                    return Ok(Some(outcome));
                }
            }
        }
        Ok(None)
    }

    async fn message(&mut self, data: &[u8]) -> Result<Option<Outcome>, CallError> {
        let is_array = data.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'[');
        if is_array && self.wire.version.is_some_and(Version::has_batches) {
            return rpc::response_in(data, self.id, self.wire.version)
                .map(|response| Some(response.map(ToOwned::to_owned)));
        }
        match rpc::sort(data, self.id)? {
            Received::Response(response) => Ok(Some(response.map(ToOwned::to_owned))),
            Received::Request { id, is_ping } => {
                self.answer(id, is_ping).await;
                Ok(None)
            }
            Received::Notification => Ok(None),
        }
    }

    /// Answers a request of the server: a ping with a pong, anything else with "not offered".
    ///
    /// Failures are ignored, since the response may come all the same.
    async fn answer(&mut self, id: &RawValue, is_ping: bool) {
        let expected = self.wire.version.is_none_or(Version::has_server_requests);
        if !expected || self.answered >= self.wire.endpoint.limits.max_server_requests {
            return;
        }
        self.answered += 1;
        let sending = send(self.wire, rpc::answer(id, is_ping), HeaderMap::new());
        let sent = tokio::time::timeout(ANSWER_LIMIT, sending).await;
        if !matches!(sent, Ok(Ok(()))) {
            tracing::debug!(server.name = %self.wire.endpoint.name, "an answer was not accepted");
        }
    }
}

/// Reads the rest of a body on the side, since only a body read to its end frees its connection.
pub(crate) fn release(mut response: ClientResponse) {
    let mut left = MAX_DRAIN;
    let mut drain = async move {
        while let Some(Ok(chunk)) = response.next().await {
            match left.checked_sub(chunk.len()) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    }
    .boxed_local();
    if (&mut drain).now_or_never().is_some() {
        return;
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "bounded in time and bytes, holds a connection and nothing of the caller; waiting \
                  for it would delay the result"
    )]
    drop(actix_rt::spawn(async move {
        drop(tokio::time::timeout(DRAIN_LIMIT, drain).await);
    }));
}
