//! What the ask service decides, without any I/O: identifiers, time, the ticket's life, its log, and how a run ends.
//!
//! Architecture invariant: nothing here waits, spawns, reads a socket or knows an actor. Every rule of the contract that
//! says when an event may be emitted lives in this crate, so that property tests can drive every interleaving.

pub mod clock;
pub mod forgotten;
pub mod id;
pub mod outcome;
pub mod page;
pub mod question;
pub mod ticket;
