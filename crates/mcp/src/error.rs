//! What can go wrong between this client and a tool server.

use std::time::Duration;

use crate::config::ConfigError;

/// Why a request to a tool server gave no result.
///
/// A tool's own failure (`isError`) is a result, not an error. No variant prints text that came
/// from the server; such text is in fields, for whoever may show it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The server answered with an HTTP status that is no success.
    #[error("the tool server answered with HTTP status {status}")]
    Status {
        /// The HTTP status.
        status: u16,
        /// How long the server asks to wait, from `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// No connection, or it broke before the reply began.
    #[error("the tool server cannot be reached")]
    Unreachable(#[source] NetworkError),
    /// The limit on wall-clock time ran out. The server may still have done the work.
    #[error("the tool server did not answer within {} ms", after.as_millis())]
    TimedOut {
        /// The limit that ran out.
        after: Duration,
    },
    /// The reply was larger than allowed.
    #[error("the reply is larger than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The reply ended before the response was complete, and could not be taken up again.
    #[error("the reply ended before the response was complete")]
    Incomplete,
    /// The reply is not what the protocol says.
    #[error("the reply is malformed: {what}")]
    Malformed {
        /// Which rule was broken.
        what: &'static str,
    },
    /// The reply carries the id of another request.
    #[error("the reply belongs to another request")]
    ForeignReply,
    /// The server answered with a JSON-RPC error.
    #[error("the tool server answered with JSON-RPC error {code}")]
    Rpc {
        /// The JSON-RPC error code.
        code: i64,
        /// The server's message: untrusted text, bounded, without control characters.
        message: String,
    },
    /// The server wants something that this client cannot give, such as input from a person.
    #[error("the tool server asks for what this client cannot give")]
    Unsupported {
        /// The `resultType` of the reply: untrusted text, bounded, without control characters.
        result_type: String,
    },
    /// The session was lost and could not be renewed, or was lost again at once.
    #[error("the session is lost")]
    SessionLost,
    /// The server answered with a redirect, which is never followed.
    #[error("the tool server answered with a redirect ({status}), which is refused")]
    RedirectRefused {
        /// The HTTP status.
        status: u16,
    },
    /// The tool name has characters or a length that no tool name has; nothing was sent.
    #[error("the tool name is not valid")]
    BadToolName,
    /// The session was closed; nothing was sent.
    #[error("the session is closed")]
    Closed,
}

/// Why no session came about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The server's configuration, or the caller's bearer, cannot be used.
    #[error("the tool server's configuration is not valid")]
    Config(#[source] ConfigError),
    /// The server speaks no protocol version that this client speaks.
    #[error("no protocol version in common with the tool server")]
    UnsupportedVersion {
        /// What the server offered: untrusted text, bounded, without control characters.
        offered: String,
    },
    /// The exchange with the server failed.
    #[error("the session could not be opened")]
    Failed(#[source] CallError),
}

/// What the network said, as text, since the errors of the HTTP client cannot cross threads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NetworkError(pub(crate) String);

/// Longest text from a server that is kept in an error or a note.
const MAX_FOREIGN_TEXT: usize = 500;

/// Makes text from a server fit to be kept: bounded, one line, no control characters.
pub(crate) fn tame(text: &str, max: usize) -> String {
    let mut out: String = text
        .chars()
        .take(max.min(MAX_FOREIGN_TEXT))
        .map(|c| if is_harmless(c) { c } else { '\u{fffd}' })
        .collect();
    if text.chars().nth(max.min(MAX_FOREIGN_TEXT)).is_some() {
        out.push('…');
    }
    out
}

/// Not a control character, and not one that reorders the text around it.
fn is_harmless(c: char) -> bool {
    !c.is_control()
        && !matches!(c,
            '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_bounded_and_has_no_controls() {
        let tamed = tame("a\u{1b}[31m\nb\u{202e}c", 100);
        assert_eq!(tamed, "a\u{fffd}[31m\u{fffd}b\u{fffd}c");
        assert_eq!(tame(&"x".repeat(10_000), 20).chars().count(), 21);
        assert_eq!(tame("exact", 5), "exact");
    }

    #[test]
    fn no_error_prints_text_of_the_server() {
        let shown = [
            CallError::Rpc { code: -1, message: "canary".into() }.to_string(),
            CallError::Unsupported { result_type: "canary".into() }.to_string(),
            ConnectError::UnsupportedVersion { offered: "canary".into() }.to_string(),
        ];
        assert!(shown.iter().all(|text| !text.contains("canary")));
    }
}
