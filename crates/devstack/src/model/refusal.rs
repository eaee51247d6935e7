//! A request that is refused, before it is put into a protocol's own form.

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The HTTP status.
    pub(super) status: u16,
    /// The error's type, as both protocols name it.
    pub(super) kind: String,
    /// What is wrong, for the developer.
    pub(super) message: String,
}

impl Refusal {
    /// A request that does not follow the protocol.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self { status: 400, kind: "invalid_request_error".to_owned(), message: message.into() }
    }

    /// A request without the right key.
    pub(super) fn key() -> Self {
        Self { status: 401, kind: "authentication_error".to_owned(), message: "invalid api key".to_owned() }
    }

    /// The refusal that goes with a status, as the Messages API pairs them.
    pub(super) fn of_status(status: u16, kind: Option<&str>) -> Self {
        let usual = match status {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            400..=499 => "invalid_request_error",
            _ => "api_error",
        };
        Self {
            status,
            kind: kind.unwrap_or(usual).to_owned(),
            message: format!("scripted answer with status {status}"),
        }
    }
}
