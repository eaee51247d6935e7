//! One branch's work: look meanings up, let the model plan, run its tool calls, and gather the facts that decide the ending.
//!
//! Architecture invariant: this crate knows no HTTP server and no actor. It is given a place to tell what happens
//! ([`Sink`]), a model ([`Model`]) and tool servers ([`ToolServers`]), and it is stopped by dropping its future.

pub mod adapter;
mod bounds;
mod branch;
mod call;
mod conclude;
mod facts;
mod foreign;
mod grounding;
mod ports;
mod prompt;
mod terms;
mod toolbox;
mod watch;

pub use branch::{BranchReport, BranchTask, Ceilings, run_branch};
pub use grounding::GroundingLimits;
pub use ports::{
    Model, Report, Sink, Stopped, ToolDefinition, ToolFailure, ToolReply, ToolServer, ToolServerKind,
    ToolServers,
};
pub use watch::{Ended, Unwatched, Watch, Watched, Work};
