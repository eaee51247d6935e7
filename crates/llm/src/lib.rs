//! The two model protocols, streamed: Anthropic Messages and OpenAI chat completions.
//!
//! A [`Client`] takes a [`Request`] that is free of either protocol and gives back one whole [`Turn`]. What a protocol
//! can't do is declared by [`Protocol::lacks`], refused by [`Client::new`] unless accepted, and recorded on every turn.
//!
//! What holds for every turn, whatever the model's server does:
//!
//! * A turn is returned only after the protocol's own end (`message_stop`; a finish reason and `[DONE]`). Anything shorter is
//!   [`TurnError::Truncated`], since a body that was cut off looks whole to the HTTP client.
//! * A tool call that was not received whole, or that belongs to a turn which was stopped short, is never returned.
//! * The shape of a request comes from the [`Endpoint`]'s settings, never from the name of a model.
//! * No error shows a response body, a key or anything of the request.
//!
//! This crate knows nothing of tool servers, actors or bearer tokens. It runs on an actix arbiter and installs no crypto
//! provider: that is the process's choice, made before the first [`Client::new`].

mod anthropic;
mod call_args;
mod client;
mod dialogue;
mod endpoint;
mod error;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;
mod http;
mod openai;
mod packed;
mod pseudonym;
mod retry;
mod secret;
pub mod sse;
mod turn;

pub use call_args::{Args, InvalidArgs};
pub use client::{BuildError, Client};
pub use dialogue::{Assistant, Message, Request, Tool, ToolResult};
pub use endpoint::{
    BaseUrl, BaseUrlError, Effort, Endpoint, Lack, Limits, MaxTokensField, Protocol, UnknownName,
};
pub use error::{Detail, Limit, Rejection, TurnError};
pub use openai::{ERROR_MARKER, RESULT_MARKER};
pub use packed::Packed;
pub use secret::Secret;
pub use turn::{Stop, ToolCall, Turn, Usage};
