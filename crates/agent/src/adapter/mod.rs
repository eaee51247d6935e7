//! The traits of this crate over the real model protocols and tool servers.

mod model;
mod tools;

pub use tools::{ConfiguredServer, McpServers, Spawn};
