//! A Slack app in front of the ask service: a placeholder that is edited as the work goes on, and an ending for what it is.
//!
//! Architecture invariants:
//! * a client of the public contract alone, which asks as the person who wrote the message and never as itself;
//! * nothing that a peer sent becomes a mention, a link or a format of Slack's;
//! * no question, token or value of a row is logged, and nothing is kept but in memory.

pub mod api;
pub mod blocks;
pub mod bot;
pub mod event;
pub mod people;
pub mod signature;
pub mod text;
pub mod web;
