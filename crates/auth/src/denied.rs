//! The two answers to a caller who may not call, and the many causes behind the first.

/// Why a call is turned away. Deliberately coarse: it tells the caller what to do, never what went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// No token, or one that does not verify, for any cause at all: HTTP 401.
    #[error("no valid bearer token")]
    Unauthenticated,
    /// A valid token that does not carry the required scope: HTTP 403.
    #[error("the token lacks the required scope")]
    MissingScope,
}

/// The cause of a denial, for the log of the one who runs the service. Holds nothing that came in the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    NoHeader,
    ManyHeaders,
    NotBearer,
    TooLong,
    NotAToken,
    BadHeader,
    UnsupportedHeader,
    BadClaims,
    WrongIssuer,
    WrongAudience,
    NoSubject,
    Expired,
    NotYetValid,
    LivesTooLong,
    SenderConstrained,
    UnknownKey,
    WrongAlgorithm,
    BadSignature,
    NoScope,
}

impl Cause {
    /// A fixed word for the log.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::NoHeader => "no_header",
            Self::ManyHeaders => "many_headers",
            Self::NotBearer => "not_bearer",
            Self::TooLong => "too_long",
            Self::NotAToken => "not_a_token",
            Self::BadHeader => "bad_header",
            Self::UnsupportedHeader => "unsupported_header",
            Self::BadClaims => "bad_claims",
            Self::WrongIssuer => "wrong_issuer",
            Self::WrongAudience => "wrong_audience",
            Self::NoSubject => "no_subject",
            Self::Expired => "expired",
            Self::NotYetValid => "not_yet_valid",
            Self::LivesTooLong => "lives_too_long",
            Self::SenderConstrained => "sender_constrained",
            Self::UnknownKey => "unknown_key",
            Self::WrongAlgorithm => "wrong_algorithm",
            Self::BadSignature => "bad_signature",
            Self::NoScope => "no_scope",
        }
    }

    /// What the caller is told.
    pub(crate) fn public(self) -> Denied {
        match self {
            Self::NoScope => Denied::MissingScope,
            Self::NoHeader
            | Self::ManyHeaders
            | Self::NotBearer
            | Self::TooLong
            | Self::NotAToken
            | Self::BadHeader
            | Self::UnsupportedHeader
            | Self::BadClaims
            | Self::WrongIssuer
            | Self::WrongAudience
            | Self::NoSubject
            | Self::Expired
            | Self::NotYetValid
            | Self::LivesTooLong
            | Self::SenderConstrained
            | Self::UnknownKey
            | Self::WrongAlgorithm
            | Self::BadSignature => Denied::Unauthenticated,
        }
    }
}
