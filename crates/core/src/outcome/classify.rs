//! What a tool's error means for the run.

use ask_contract::RefusalKind;

/// What a failed tool call means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolFault {
    /// The tool refused: the run ends here when the model asked for the call.
    Refused(RefusalKind),
    /// The call itself was wrong (a statement that does not parse, an unknown column): the model may correct it.
    Invalid,
    /// The statement took too long and was stopped: the model may try a smaller one.
    TimedOut,
    /// The tool server could not serve the call, or no longer takes the asker's token: the run ends in an error.
    Transport,
}

/// Classes a failed call by the executor's own machine-readable code, else by the HTTP status, else as a refusal.
///
/// A code that is not known counts like none: an error that can't be read must not look harmless.
pub fn classify(code: Option<&str>, http_status: Option<u16>) -> ToolFault {
    match code {
        Some("access") => ToolFault::Refused(RefusalKind::Access),
        Some("guard") => ToolFault::Refused(RefusalKind::Guard),
        Some("rate_limit") => ToolFault::Refused(RefusalKind::RateLimit),
        Some("invalid") => ToolFault::Invalid,
        Some("timeout") => ToolFault::TimedOut,
        Some(_) | None => match http_status {
            Some(403) => ToolFault::Refused(RefusalKind::Access),
            Some(429) => ToolFault::Refused(RefusalKind::RateLimit),
            Some(_) => ToolFault::Transport,
            None => ToolFault::Refused(RefusalKind::Guard),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_comes_before_the_status_and_silence_is_a_refusal() {
        for (code, status, expected) in [
            (Some("access"), None, ToolFault::Refused(RefusalKind::Access)),
            (Some("guard"), Some(500), ToolFault::Refused(RefusalKind::Guard)),
            (Some("rate_limit"), Some(403), ToolFault::Refused(RefusalKind::RateLimit)),
            (Some("invalid"), Some(403), ToolFault::Invalid),
            (Some("timeout"), None, ToolFault::TimedOut),
            (None, Some(401), ToolFault::Transport),
            (None, Some(403), ToolFault::Refused(RefusalKind::Access)),
            (None, Some(429), ToolFault::Refused(RefusalKind::RateLimit)),
            (None, Some(502), ToolFault::Transport),
            (Some("whatever"), Some(403), ToolFault::Refused(RefusalKind::Access)),
            (Some("whatever"), None, ToolFault::Refused(RefusalKind::Guard)),
            (None, None, ToolFault::Refused(RefusalKind::Guard)),
        ] {
            assert_eq!(classify(code, status), expected, "{code:?} {status:?}");
        }
    }
}
