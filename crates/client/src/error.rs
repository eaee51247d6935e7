//! What can go wrong with a call or a stream.

use std::fmt;
use std::time::Duration;

use ask_contract::{Problem, ProblemCode};
use awc::error::{ConnectError, SendRequestError};

use crate::stream::CutReason;
use crate::{FrameTooLong, MalformedEvent, NoToken};

/// Why a call brought no answer that the contract knows.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// There is no token to call with; the service has seen nothing of the call, or has refused the token before.
    #[error("the call can't be made")]
    NoToken(#[source] NoToken),
    /// No connection came about; the service has seen nothing of the call.
    #[error("can't connect")]
    Unreachable(#[source] TransportError),
    /// The connection broke before the answer was whole; the service may have served the call.
    #[error("the connection broke before the answer")]
    Lost(#[source] TransportError),
    /// The answer was not whole in time; the service may have served the call.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The service said no.
    #[error("{0}")]
    Rejected(Box<Rejection>),
    /// The answer exceeds the limit.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The limit that it exceeds.
        limit: usize,
    },
    /// A success whose body is not what the contract promises.
    #[error("the answer is not what the contract says")]
    Malformed(#[source] serde_json::Error),
}

/// Why a stream of events ended before `done`, for good.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// There is no token to ask with.
    #[error("the stream can't be asked for")]
    NoToken(#[source] NoToken),
    /// The service said no: not signed in, not allowed, not there, expired.
    #[error("{0}")]
    Rejected(Box<Rejection>),
    /// A success that is no event stream.
    #[error("the answer is no event stream but {content_type:?}")]
    NotAStream {
        /// The content type that came instead.
        content_type: String,
    },
    /// An event exceeds the limit.
    #[error("an event can't be taken")]
    TooLong(#[source] FrameTooLong),
    /// An event is not what the contract says, on a second reading too.
    #[error("an event is not what the contract says")]
    Malformed(#[source] MalformedEvent),
    /// The connection could not be kept or made again.
    #[error("the stream is lost after event {after}: {attempts} attempts brought nothing new ({last})")]
    Lost {
        /// The latest event that was received.
        after: u64,
        /// The attempts made since.
        attempts: u32,
        /// What ended the latest attempt.
        last: CutReason,
    },
}

/// An answer that is no success, with what its problem body says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The HTTP status.
    pub status: u16,
    /// The machine-readable reason, where the body has one that this client knows.
    pub code: Option<ProblemCode>,
    /// One line for people about the kind of problem; a peer's text.
    pub title: Option<String>,
    /// A sentence about this call; a peer's text.
    pub detail: Option<String>,
    /// How long the service asks to wait.
    pub retry_after: Option<Duration>,
}

impl Rejection {
    /// Reads what can be read of the body; one that is no problem document leaves the status alone.
    pub(crate) fn read(status: u16, retry_after: Option<Duration>, body: &[u8]) -> Self {
        let mut rejection = Self { status, code: None, title: None, detail: None, retry_after };
        if let Ok(problem) = serde_json::from_slice::<Problem>(body) {
            rejection.code = Some(problem.code);
            rejection.title = Some(problem.title);
            rejection.detail = problem.detail;
        } else if let Ok(serde_json::Value::Object(body)) = serde_json::from_slice(body) {
            let text = |name| body.get(name).and_then(serde_json::Value::as_str).map(str::to_owned);
            rejection.title = text("title");
            rejection.detail = text("detail");
        }
        rejection
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the service answered {}", self.status)?;
        for text in [&self.title, &self.detail].into_iter().flatten() {
            write!(f, ": {text}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Rejection {}

/// What the HTTP client says of a failed exchange. A text, since its own errors are bound to their thread.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TransportError(String);

impl TransportError {
    pub(crate) fn new(text: impl fmt::Display) -> Self {
        Self(text.to_string())
    }
}

impl CallError {
    /// Tells an exchange that never began from one that was broken off.
    pub(crate) fn from_send(err: &SendRequestError) -> Self {
        if let SendRequestError::Connect(ConnectError::Disconnected) = err {
            // What the HTTP client calls a connection that was closed before the answer's head.
            Self::Lost(TransportError::new("closed without an answer"))
        } else if let SendRequestError::Connect(reason) = err {
            Self::Unreachable(TransportError::new(reason))
        } else {
            Self::Lost(TransportError::new(err))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_body_is_read() {
        let problem = Problem::new(ProblemCode::InvalidRequest).with_detail("question: blank");
        let read = Rejection::read(422, None, &serde_json::to_vec(&problem).unwrap());
        assert_eq!(read.code, Some(ProblemCode::InvalidRequest));
        assert_eq!(read.to_string(), "the service answered 422: The request is not valid: question: blank");
    }

    #[test]
    fn a_code_of_a_later_day_keeps_its_title_and_detail() {
        let read = Rejection::read(
            418,
            None,
            br#"{"type":"urn:x","title":"Teapot","status":418,"code":"teapot","detail":"short"}"#,
        );
        assert_eq!(
            (read.code, read.title.as_deref(), read.detail.as_deref()),
            (None, Some("Teapot"), Some("short"))
        );
    }

    #[test]
    fn a_body_of_another_kind_leaves_the_status() {
        for body in ["", "<html>Bad gateway</html>", "[1]", "null"] {
            assert_eq!(Rejection::read(502, None, body.as_bytes()).to_string(), "the service answered 502");
        }
    }
}
