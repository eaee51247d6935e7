//! Failures of the client in words, with what a person can do about them.

use std::error::Error;
use std::fmt::Write as _;

use ask_client::{Base, CallError, Rejection, StreamError};
use ask_contract::ProblemCode;

use crate::neutral;

/// A failed call in one sentence.
pub(super) fn call(err: &CallError, base: &Base) -> String {
    match err {
        CallError::Rejected(rejection) => rejected(rejection),
        CallError::Unreachable(_) => format!("can't reach the service at {base}: {}", causes(err)),
        CallError::Malformed(_) => format!("what answers at {base} is no ask service: {}", causes(err)),
        CallError::NoToken(_) => format!("no one is signed in: {}", causes(err)),
        CallError::Lost(_) | CallError::TimedOut(_) | CallError::TooLarge { .. } => {
            format!("{} ({base})", chain(err))
        }
    }
}

/// A failed stream in one sentence.
pub(super) fn stream(err: &StreamError) -> String {
    match err {
        StreamError::Rejected(rejection) => rejected(rejection),
        StreamError::NoToken(_)
        | StreamError::NotAStream { .. }
        | StreamError::TooLong(_)
        | StreamError::Malformed(_)
        | StreamError::Lost { .. } => chain(err),
    }
}

fn rejected(rejection: &Rejection) -> String {
    let mut text = neutral::line(&rejection.to_string()).into_owned();
    let advice = match (rejection.code, rejection.status) {
        (Some(ProblemCode::AskRunning), _) => "Wait for it, or end it with `ask cancel TICKET`.",
        (_, 401) => "Sign in again.",
        (_, 403) => "The sign-in lacks a scope; ask whoever runs the service.",
        (_, 404) => "It may have expired, belong to someone else, or never have been.",
        (_, 410) => "Ask again.",
        _ => "",
    };
    if !advice.is_empty() {
        // Writing to a string can't fail.
        write!(text, ". {advice}").unwrap_or_default();
    }
    if let Some(wait) = rejection.retry_after {
        write!(text, " Try again in {} s.", wait.as_secs()).unwrap_or_default();
    }
    text
}

fn chain(err: &dyn Error) -> String {
    let causes = causes(err);
    let own = neutral::line(&err.to_string()).into_owned();
    if causes.is_empty() { own } else { format!("{own}: {causes}") }
}

fn causes(err: &dyn Error) -> String {
    let mut causes = Vec::new();
    let mut cause = err.source();
    while let Some(err) = cause {
        causes.push(neutral::line(&err.to_string()).into_owned());
        cause = err.source();
    }
    causes.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peers_words_are_neutralised() {
        let rejection = Rejection {
            status: 409,
            code: Some(ProblemCode::AskRunning),
            title: Some("busy\u{1b}[2J".to_owned()),
            detail: None,
            retry_after: Some(std::time::Duration::from_secs(3)),
        };
        assert_eq!(
            rejected(&rejection),
            "the service answered 409: busy\u{FFFD}[2J. Wait for it, or end it with `ask cancel TICKET`. Try again in 3 s."
        );
    }
}
