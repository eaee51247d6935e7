//! How a turn fails.

use std::fmt;

use thiserror::Error;

/// Why there is no turn.
///
/// The `Display` of each is one clause that is safe to log and to show an operator: no body, key or dialogue is in it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TurnError {
    /// The server understood and said no (a 4xx or a redirect): the same request would fail again.
    #[error("the model's server rejected the request with status {} ({})", .0.status, .0.kind)]
    Rejected(Rejection),
    /// The server was too busy at every attempt (429, 503, 529), or asked for a longer wait than allowed.
    #[error("the model's server was overloaded at {attempts} attempts, last with status {} ({})", rejection.status, rejection.kind)]
    Overloaded {
        /// The last answer.
        rejection: Rejection,
        /// Requests sent.
        attempts: u32,
    },
    /// The server failed at every attempt (any other 5xx, 408).
    #[error("the model's server failed at {attempts} attempts, last with status {} ({})", rejection.status, rejection.kind)]
    Failed {
        /// The last answer.
        rejection: Rejection,
        /// Requests sent.
        attempts: u32,
    },
    /// No answer could be had at any attempt.
    #[error("the model's server could not be reached in {attempts} attempts ({reason})")]
    Unreachable {
        /// What went wrong at the last attempt, in a few words of ours.
        reason: &'static str,
        /// Requests tried.
        attempts: u32,
    },
    /// A limit on time ran out.
    #[error("the model's reply ran over the {0} limit")]
    TimedOut(Limit),
    /// The reply ended before the protocol's own end.
    #[error("the model's reply was cut off")]
    Truncated,
    /// The server reported an error in mid-reply.
    #[error("the model's server reported an error in mid-reply ({kind})")]
    Interrupted {
        /// The provider's name for it.
        kind: String,
        /// What it said.
        detail: Detail,
    },
    /// The reply is not what the protocol says.
    #[error("the model's reply does not follow the protocol: {0}")]
    Malformed(&'static str),
    /// The reply, or one event of it, is larger than allowed.
    #[error("the model's reply is larger than allowed")]
    TooLarge,
}

impl TurnError {
    /// Whether the same request may well succeed a little later.
    ///
    /// The client has already used up its own attempts where an error carries their number.
    pub fn is_worth_retrying(&self) -> bool {
        match self {
            Self::Overloaded { .. } | Self::Failed { .. } | Self::Unreachable { .. } | Self::Truncated => {
                true
            }
            Self::TimedOut(limit) => match limit {
                Limit::FirstByte | Limit::Idle => true,
                Limit::Total => false,
            },
            Self::Interrupted { kind, .. } => !matches!(
                kind.as_str(),
                "invalid_request_error" | "authentication_error" | "permission_error" | "not_found_error"
            ),
            Self::Rejected(_) | Self::Malformed(_) | Self::TooLarge => false,
        }
    }
}

/// A limit on time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::first_byte`](crate::Limits::first_byte).
    FirstByte,
    /// [`Limits::idle`](crate::Limits::idle).
    Idle,
    /// [`Limits::total`](crate::Limits::total).
    Total,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FirstByte => "first byte",
            Self::Idle => "idle",
            Self::Total => "total",
        })
    }
}

/// What a server said instead of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The HTTP status.
    pub status: u16,
    /// The provider's name for the error, such as `invalid_request_error`, cut down to letters, digits, `_`, `-` and `.`;
    /// `unspecified` where there is none.
    pub kind: String,
    /// What it said.
    pub detail: Detail,
}

/// An excerpt of what a provider said about an error, at most 512 bytes, without our own key.
///
/// A provider may repeat the request in it, so its `Debug` shows only the length: look at it with [`Detail::expose`], and
/// never log it or show it to a user.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Detail(String);

impl Detail {
    const MAX: usize = 512;

    /// Takes the beginning of `text`, with every occurrence of `key` cut out.
    pub(crate) fn new(text: &str, key: Option<&str>) -> Self {
        let text = match key {
            Some(key) if !key.is_empty() => text.replace(key, "[key]"),
            Some(_) | None => text.to_owned(),
        };
        let mut excerpt = String::new();
        for char in text.chars().map(|char| if char.is_control() { ' ' } else { char }) {
            if excerpt.len() + char.len_utf8() > Self::MAX {
                break;
            }
            excerpt.push(char);
        }
        Self(excerpt)
    }

    /// The excerpt.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Detail({} bytes)", self.0.len())
    }
}

/// A provider's name for an error, made safe for logs.
pub(crate) fn kind(name: Option<&str>) -> String {
    match name {
        Some(name)
            if (1..=64).contains(&name.len())
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')) =>
        {
            name.to_owned()
        }
        Some(_) | None => "unspecified".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detail_is_bounded_and_without_the_key() {
        let detail = Detail::new(&format!("bad key sk-canary\r\n{}", "ü".repeat(600)), Some("sk-canary"));
        assert!(detail.expose().starts_with("bad key [key]  ü"));
        assert!(detail.expose().len() <= 512);
        assert!(!format!("{detail:?}").contains("bad"));
    }

    #[test]
    fn kind_is_a_plain_word() {
        assert_eq!(kind(Some("rate_limit_error")), "rate_limit_error");
        for odd in [None, Some(""), Some("a b"), Some("x\n"), Some("ü")] {
            assert_eq!(kind(odd), "unspecified");
        }
        assert_eq!(kind(Some(&"a".repeat(65))), "unspecified");
    }
}
