//! The verifier as its users see it: tokens in, callers or denials out, keys from a published document.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::string_slice,
    clippy::indexing_slicing,
    reason = "a test says by panicking that it failed, in its set-up too"
)]

mod accepted;
mod freshness;
mod hostile;
mod issuer;
mod memory;
mod refused;
mod shapes;
mod transport;
