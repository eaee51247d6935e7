//! One HTTP exchange with a model's server: the request out, the pieces of the body in, within the limits.

use awc::{
    ClientResponse,
    error::{ConnectError, PayloadError, SendRequestError},
    http::{
        StatusCode,
        header::{self, HeaderMap},
    },
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use serde_json::Value;
use tokio::time::{Duration, Instant, timeout, timeout_at};

use crate::{
    Limits, Rejection, TurnError,
    error::{Detail, Limit, kind},
    retry::retry_after,
};

/// How an exchange failed before the first byte of a reply.
#[derive(Debug)]
pub(crate) enum Failure {
    /// For good.
    Final(TurnError),
    /// In a way that may pass, after the wait that the server asked for, if it did.
    Passing(TurnError, Option<Duration>),
}

impl From<TurnError> for Failure {
    fn from(err: TurnError) -> Self {
        Self::Final(err)
    }
}

/// What went wrong on the way, for [`TurnError::Unreachable`].
pub(crate) fn reason(err: &SendRequestError) -> &'static str {
    match err {
        SendRequestError::Connect(ConnectError::Resolver(_) | ConnectError::NoRecords) => {
            "the name does not resolve"
        }
        SendRequestError::Connect(ConnectError::Timeout) => "connecting took too long",
        SendRequestError::Connect(ConnectError::Disconnected) => {
            "the connection was closed without an answer"
        }
        SendRequestError::Connect(_) => "no connection",
        SendRequestError::Response(_) => "the answer is no HTTP",
        SendRequestError::Url(_)
        | SendRequestError::Send(_)
        | SendRequestError::Http(_)
        | SendRequestError::H2(_)
        | SendRequestError::Timeout
        | SendRequestError::TunnelNotSupported
        | SendRequestError::Body(_)
        | SendRequestError::Custom(..)
        | _ => "the connection broke",
    }
}

/// Reads an answer that is not a reply: whether it may pass, and what it says.
///
/// The body is read within small limits of its own; one that stalls or is no JSON counts as empty.
pub(crate) async fn refused<S>(mut response: ClientResponse<S>, attempts: u32, key: Option<&str>) -> Failure
where
    S: Stream<Item = Result<Bytes, PayloadError>> + Unpin,
{
    const MAX_BODY: usize = 16 << 10;
    const MAX_TIME: Duration = Duration::from_secs(5);

    let status = response.status();
    let wait = retry_after(response.headers());
    let forced = should_retry(response.headers());
    let mut body = Vec::new();
    let read = async {
        while let Some(Ok(piece)) = response.next().await {
            body.extend_from_slice(&piece);
            if body.len() > MAX_BODY {
                break;
            }
        }
    };
    // What was read until then is used.
    let _in_time = timeout(MAX_TIME, read).await;
    let (name, said) = error_of(&body);
    let rejection =
        Rejection { status: status.as_u16(), kind: kind(name.as_deref()), detail: Detail::new(&said, key) };

    // Waiting does not fill an empty account.
    let quota = rejection.kind == "insufficient_quota";
    let busy = matches!(status.as_u16(), 429 | 503 | 529);
    let passing = forced
        .unwrap_or((busy || status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT) && !quota);
    match (passing, busy) {
        (false, _) => Failure::Final(TurnError::Rejected(rejection)),
        (true, true) => Failure::Passing(TurnError::Overloaded { rejection, attempts }, wait),
        (true, false) => Failure::Passing(TurnError::Failed { rejection, attempts }, wait),
    }
}

/// What the server itself says of trying again, where it does.
fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match headers.get("x-should-retry")?.as_bytes() {
        b"true" => Some(true),
        b"false" => Some(false),
        _ => None,
    }
}

/// The name and the message of the error in a body, as both protocols and their imitators write them.
fn error_of(body: &[u8]) -> (Option<String>, String) {
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return (None, String::from_utf8_lossy(body).into_owned());
    };
    let error = value.get("error").filter(|error| error.is_object()).unwrap_or(&value);
    error_parts(error)
}

/// The name and the message in an error object. `OpenAI`'s `code` says more than its `type`.
pub(crate) fn error_parts(error: &Value) -> (Option<String>, String) {
    let text = |name: &str| {
        error.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    (text("code").or_else(|| text("type")), text("message").unwrap_or_default())
}

/// Whether a response is an event stream.
pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(|value| {
        let essence = value.split(';').next().unwrap_or_default().trim();
        essence.eq_ignore_ascii_case("text/event-stream")
    })
}

/// The pieces of a reply's body, each within its limit on time.
#[derive(Debug)]
pub(crate) struct Pieces<S> {
    stream: S,
    idle: Duration,
    first_byte: Option<Instant>,
    left: usize,
}

impl<S> Pieces<S>
where
    S: Stream<Item = Result<Bytes, PayloadError>> + Unpin,
{
    /// The body `stream`, whose first piece must be there by `first_byte`.
    pub(crate) fn new(stream: S, limits: &Limits, first_byte: Instant) -> Self {
        Self { stream, idle: limits.idle, first_byte: Some(first_byte), left: limits.max_response_bytes }
    }

    /// The next piece; none at the end of the body, which says nothing of whether the reply is whole.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, TurnError> {
        let (deadline, limit) = match self.first_byte {
            Some(deadline) => (deadline, Limit::FirstByte),
            None => (Instant::now() + self.idle, Limit::Idle),
        };
        let piece =
            timeout_at(deadline, self.stream.next()).await.map_err(|_elapsed| TurnError::TimedOut(limit))?;
        self.first_byte = None;
        match piece {
            None => Ok(None),
            Some(Ok(piece)) => {
                self.left = self.left.checked_sub(piece.len()).ok_or(TurnError::TooLarge)?;
                Ok(Some(piece))
            }
            // Reset, a broken chunk, or whatever else: the rest does not come.
            Some(Err(_)) => Err(TurnError::Truncated),
        }
    }

    /// Reads what is left after the protocol's end, usually the last chunk of the HTTP body, so that the connection can be
    /// used again. Not worth more than a moment.
    pub(crate) async fn drain(mut self) {
        const MOMENT: Duration = Duration::from_millis(25);
        let rest = async { while let Some(Ok(_)) = self.stream.next().await {} };
        // Too late only costs the connection.
        let _in_time = timeout(MOMENT, rest).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_found_in_all_shapes_of_body() {
        let of = |body: &str| error_of(body.as_bytes());
        let some = |name: &str, said: &str| (Some(name.to_owned()), said.to_owned());
        assert_eq!(
            of(r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#),
            some("overloaded_error", "m")
        );
        assert_eq!(
            of(r#"{"error":{"message":"m","type":"t","code":"invalid_api_key"}}"#),
            some("invalid_api_key", "m")
        );
        assert_eq!(of(r#"{"error":{"message":"m","type":"t","code":null}}"#), some("t", "m"));
        assert_eq!(
            of(r#"{"object":"error","message":"m","type":"NotFoundError","code":404}"#),
            some("NotFoundError", "m")
        );
        assert_eq!(of("<html>"), (None, "<html>".to_owned()));
        assert_eq!(of(""), (None, String::new()));
        assert_eq!(of("[]"), (None, String::new()));
    }
}
