//! The five machine-readable ways in which a call is turned down.

use serde::Serialize;

/// Why a call was turned down, as a client may switch on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The caller has no right to what the call asks for.
    Access,
    /// The statement is of a kind that nobody may run here.
    Guard,
    /// The caller has made too many calls.
    RateLimit,
    /// The call is mistaken and may be corrected: it does not parse, or names what does not exist.
    Invalid,
    /// The statement was stopped at its time limit.
    Timeout,
}

impl Code {
    /// The code as it goes over the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Guard => "guard",
            Self::RateLimit => "rate_limit",
            Self::Invalid => "invalid",
            Self::Timeout => "timeout",
        }
    }
}

/// A call turned down, with a message made for the person or model that made the call.
///
/// The message holds names from the schema and from the caller's own statement, never a value from a row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What kind of refusal it is.
    pub code: Code,
    /// One or two plain sentences.
    pub message: String,
    /// Whole seconds after which the call may be tried again; only with [`Code::RateLimit`].
    pub retry_after_s: Option<u64>,
}

impl Refusal {
    fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retry_after_s: None }
    }

    /// The caller has no right to it.
    pub fn access(message: impl Into<String>) -> Self {
        Self::new(Code::Access, message)
    }

    /// Nobody may do it.
    pub fn guard(message: impl Into<String>) -> Self {
        Self::new(Code::Guard, message)
    }

    /// The call is mistaken and may be corrected.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::Invalid, message)
    }

    /// It took too long.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(Code::Timeout, message)
    }

    /// Too many calls; `retry_after_s` says when the next one will be let through.
    pub fn rate_limit(message: impl Into<String>, retry_after_s: u64) -> Self {
        Self { retry_after_s: Some(retry_after_s), ..Self::new(Code::RateLimit, message) }
    }
}

/// How a call can fail.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It was turned down, for a reason that the caller is told.
    #[error("the call was turned down")]
    Refused(#[from] Refusal),
    /// The executor itself failed; the caller is told no more than that.
    #[error("the engine failed")]
    Engine(#[from] rusqlite::Error),
    /// A worker thread is gone.
    #[error("the engine is not running")]
    Stopped,
}
