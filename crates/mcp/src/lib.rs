//! Tool servers over MCP Streamable HTTP: one session per caller and server, bounded in time and size.
//!
//! A [`Client`] belongs to one thread and owns its connections. [`Client::connect`] agrees on a
//! protocol version with a server and gives a [`Session`], which lists the server's tools and calls
//! them as one caller. Nothing here decides what a result means: results are data, errors are named.
//!
//! What this crate promises:
//!
//! * a caller's bearer goes to the configured URL alone, and redirects are refused;
//! * a session is never shared between callers, and request ids are unique within the process, so
//!   that a reply meant for another request is recognised and refused;
//! * every operation has a limit on wall-clock time, bytes, pages and reconnects;
//! * a reply counts only when the protocol's own end was seen: a JSON-RPC response with our id.
//!
//! Why not a ready client: `docs/adr/0004-mcp-client.md`.

mod client;
mod config;
mod error;
mod exchange;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;
mod handshake;
mod http;
mod list;
mod param_headers;
mod render;
mod result;
mod retry_after;
mod rpc;
mod schema;
mod secret;
mod session;
mod sse;
mod tool;
mod version;

pub use client::{Client, ClientLimits};
pub use config::{ConfigError, Limits, ServerConfig};
pub use error::{CallError, ConnectError, NetworkError};
pub use render::Rendered;
pub use result::{CallResult, Content};
pub use secret::Secret;
pub use session::Session;
pub use tool::{Note, NoteKind, Tool, ToolList};
pub use version::Version;
