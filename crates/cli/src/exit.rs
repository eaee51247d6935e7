//! What the process says to its caller in the end.

use std::process::ExitCode;

use ask_client::{CallError, StreamError};

/// How `ask` ended, and the exit code for it. The codes are a promise to scripts; `--help` and the README list them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// An answer was printed, or the verb did what it says.
    Answer,
    /// Standard output could not be written.
    Output,
    /// The command line, or what the service thinks of the question or an option.
    Usage,
    /// The service looked and could not answer.
    Abstention,
    /// A tool refused.
    Refusal,
    /// The ask failed, or the service did not take it.
    Error,
    /// The ask was cancelled, or the person left.
    Cancelled,
    /// The service can't be reached, or does not accept the sign-in.
    NoAccess,
    /// The reader of standard output has gone.
    Pipe,
}

/// The table of exit codes, as `--help` shows it.
pub(crate) const TABLE: &str = "\
Exit codes:
    0  an answer
    2  bad usage, or a question or option that the service does not take
    3  an abstention: the service looked and could not answer
    4  a refusal: a source said no
    5  an error: the ask failed, or was not taken
    6  cancelled
    7  the service can't be reached, nobody is signed in, or the sign-in is not accepted;
       of doctor: something is missing
    1  standard output can't be written; 141 its reader has gone
With --then the code is that of the last question asked; an ending that is no answer
ends the row.";

impl Exit {
    /// The exit code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Answer => 0,
            Self::Output => 1,
            Self::Usage => 2,
            Self::Abstention => 3,
            Self::Refusal => 4,
            Self::Error => 5,
            Self::Cancelled => 6,
            Self::NoAccess => 7,
            // What a shell reports for a process that SIGPIPE ended.
            Self::Pipe => 141,
        }
    }

    /// What a failed call ends in.
    pub(crate) fn of_call(err: &CallError) -> Self {
        match err {
            CallError::Rejected(rejection) => Self::of_status(rejection.status),
            CallError::NoToken(_)
            | CallError::Unreachable(_)
            | CallError::Lost(_)
            | CallError::TimedOut(_)
            | CallError::TooLarge { .. }
            | CallError::Malformed(_) => Self::NoAccess,
        }
    }

    /// What a failed stream ends in.
    pub(crate) fn of_stream(err: &StreamError) -> Self {
        match err {
            StreamError::Rejected(rejection) => Self::of_status(rejection.status),
            StreamError::NoToken(_) | StreamError::NotAStream { .. } | StreamError::Lost { .. } => {
                Self::NoAccess
            }
            StreamError::TooLong(_) | StreamError::Malformed(_) => Self::Error,
        }
    }

    const fn of_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::NoAccess,
            413 | 422 => Self::Usage,
            _ => Self::Error,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_every_code() {
        for exit in [
            Exit::Answer,
            Exit::Output,
            Exit::Usage,
            Exit::Abstention,
            Exit::Refusal,
            Exit::Error,
            Exit::Cancelled,
            Exit::NoAccess,
            Exit::Pipe,
        ] {
            assert!(TABLE.contains(&format!("{} ", exit.code())), "{exit:?}");
        }
    }
}
