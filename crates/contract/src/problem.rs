//! Problem details (RFC 9457): one code per reason, one status per code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The media type of every error body.
pub const PROBLEM_MEDIA_TYPE: &str = "application/problem+json";

/// Why a call was not served. Each has a page under `docs/errors/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ProblemCode {
    /// No bearer, or one that does not verify; the two are not told apart.
    Unauthenticated,
    /// A valid bearer without the required scope.
    InsufficientScope,
    /// Not there, or not the caller's; the two are not told apart.
    NotFound,
    /// The path exists for other methods.
    MethodNotAllowed,
    /// An ask already runs in this conversation.
    AskRunning,
    /// The conversation has had as many asks as it may.
    ConversationFull,
    /// The caller used this `Idempotency-Key` for another request.
    IdempotencyKeyReused,
    /// The caller's ticket has expired.
    TicketExpired,
    /// The caller's ticket was lost with an earlier process of the service.
    TicketLost,
    /// The body exceeds the limit.
    BodyTooLarge,
    /// The body is not JSON by its content type.
    UnsupportedMediaType,
    /// The body is no valid request; the detail names the member.
    InvalidRequest,
    /// The caller has too much open or asks too often.
    TooManyRequests,
    /// The service is full or shutting down.
    Unavailable,
    /// The service failed.
    Internal,
}

impl ProblemCode {
    /// Every code.
    pub const ALL: [Self; 15] = [
        Self::Unauthenticated,
        Self::InsufficientScope,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::AskRunning,
        Self::ConversationFull,
        Self::IdempotencyKeyReused,
        Self::TicketExpired,
        Self::TicketLost,
        Self::BodyTooLarge,
        Self::UnsupportedMediaType,
        Self::InvalidRequest,
        Self::TooManyRequests,
        Self::Unavailable,
        Self::Internal,
    ];

    /// The HTTP status.
    pub const fn status(self) -> u16 {
        match self {
            Self::Unauthenticated => 401,
            Self::InsufficientScope => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::AskRunning | Self::ConversationFull | Self::IdempotencyKeyReused => 409,
            Self::TicketExpired | Self::TicketLost => 410,
            Self::BodyTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::InvalidRequest => 422,
            Self::TooManyRequests => 429,
            Self::Internal => 500,
            Self::Unavailable => 503,
        }
    }

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unauthenticated => "unauthenticated",
            Self::InsufficientScope => "insufficient_scope",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::AskRunning => "ask_running",
            Self::ConversationFull => "conversation_full",
            Self::IdempotencyKeyReused => "idempotency_key_reused",
            Self::TicketExpired => "ticket_expired",
            Self::TicketLost => "ticket_lost",
            Self::BodyTooLarge => "body_too_large",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::InvalidRequest => "invalid_request",
            Self::TooManyRequests => "too_many_requests",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        }
    }

    /// One line for people, the same for every occurrence.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Unauthenticated => "A valid bearer token is required",
            Self::InsufficientScope => "The token lacks the required scope",
            Self::NotFound => "There is no such thing for you here",
            Self::MethodNotAllowed => "This path does not take that method",
            Self::AskRunning => "An ask already runs in this conversation",
            Self::ConversationFull => "This conversation has had as many asks as it may",
            Self::IdempotencyKeyReused => "This idempotency key was used for another request",
            Self::TicketExpired => "The ticket has expired",
            Self::TicketLost => "The ticket was lost when the service restarted",
            Self::BodyTooLarge => "The request body is too large",
            Self::UnsupportedMediaType => "The request body must be application/json",
            Self::InvalidRequest => "The request is not valid",
            Self::TooManyRequests => "Too many requests",
            Self::Unavailable => "The service can't take this now",
            Self::Internal => "The service failed",
        }
    }
}

/// The body of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// Identifies the kind of problem: `urn:ask:problem:<code>`.
    #[serde(rename = "type")]
    pub kind: String,
    /// One line for people, the same for every occurrence of the kind.
    pub title: String,
    /// The HTTP status, repeated.
    pub status: u16,
    /// The machine-readable reason.
    pub code: ProblemCode,
    /// What is wrong with this call; shows the caller's own input at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The request's id, as in the header `X-Request-Id`; not with 401 and 404, which are alike for everyone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl Problem {
    /// A problem of this kind without further detail.
    pub fn new(code: ProblemCode) -> Self {
        Self {
            kind: format!("urn:ask:problem:{}", code.as_str()),
            title: code.title().to_owned(),
            status: code.status(),
            code,
            detail: None,
            request_id: None,
        }
    }

    /// The same with a sentence about this call.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_written_as_their_word() {
        for code in ProblemCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
            assert!((400..600).contains(&code.status()));
        }
    }
}
