//! The server side of OpenAI chat completions.

mod read;
mod write;

pub(super) use read::read;
pub(super) use write::{endless_delta, endless_start, error, event, events, whole};
