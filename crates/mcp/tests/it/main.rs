//! The client against real servers on loopback: scripted ones that misbehave, and rmcp's own.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]
#![expect(
    clippy::disallowed_methods,
    reason = "the servers of a test run beside it and end with its runtime"
)]

mod bodies;
mod handshake;
mod listing;
mod peer;
mod rmcp_peer;
mod secrets;
mod sessions;
mod streams;
