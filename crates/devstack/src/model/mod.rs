//! Model stand-ins behind the two model protocols.

pub mod dialogue;
