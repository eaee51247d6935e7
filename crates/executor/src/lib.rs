//! The reference executor: guarded, access-controlled reads of SQL sources, and the catalog that says what they mean.
//!
//! Architecture invariants:
//! * what runs on the engine has passed the guard as this caller, and the engine's own lock denies the rest again;
//! * both surfaces, MCP and REST, are thin: a call is counted, checked, run and audited in [`tools`];
//! * nothing that blocks runs on a thread that serves HTTP;
//! * no statement's text and no value of a row is logged.

pub mod access;
pub mod audit;
pub mod caller;
pub mod catalog;
pub mod config;
pub mod engine;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod guard;
pub mod log;
pub mod mcp;
pub mod rate;
pub mod refusal;
pub mod settings;
pub mod tools;
pub mod warehouse;
pub mod web;
