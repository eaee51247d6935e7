//! The executor's promises, tried from outside: the library first, then both surfaces, then the program.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect should fail at once"
)]

mod access;
mod audit;
mod binary;
mod catalog;
mod fixture;
mod functions;
mod guard;
mod issuer;
mod limits;
mod mcp;
mod random;
mod rest;
mod stack;
