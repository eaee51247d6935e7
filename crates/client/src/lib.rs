//! A client of the ask contract: conversations, asks, their event streams, state and cancel.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use ask_client::{Base, Bearer, Client};
//! use ask_contract::AskRequest;
//!
//! let client = Client::new(Base::parse("http://127.0.0.1:8091")?, Bearer::new("a.b.c")?);
//! let conversation = client.create_conversation().await?;
//! let question = "How many tickets are open?".to_owned();
//! let request = AskRequest { question, context: true, model: None, effort: None, deadline_s: None };
//! let ticket = client.ask(&conversation.conversation_id, &request).await?;
//! let mut events = client.events(&ticket.ticket);
//! while let Some(received) = events.next().await? {
//!     println!("{}", received.raw);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Architecture invariant: this crate knows the contract and HTTP. It knows no service, no person and no rendering. Its
//! types are not `Send`: a client belongs to the thread that made it, which runs an actix or tokio `LocalSet` runtime.

mod backoff;
mod base;
mod bearer;
mod client;
mod credentials;
mod error;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;
mod http;
mod limits;
mod received;
mod sse;
mod stream;

pub use base::{Base, InvalidBase};
pub use bearer::{Bearer, InvalidBearer};
pub use client::Client;
pub use credentials::{Credentials, NoToken, TokenSource};
pub use error::{CallError, Rejection, StreamError, TransportError};
pub use http::Http;
pub use limits::Limits;
pub use received::{MalformedEvent, Received};
pub use sse::{Frame, FrameTooLong, SseParser};
pub use stream::{CutReason, EventStream, Notice, StreamStats};
