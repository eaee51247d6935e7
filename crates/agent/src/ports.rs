//! What a branch needs of the world, as small traits.

use std::time::Duration;

use ask_core::ticket::{HopUsage, Progress};
use ask_llm::{Request, Turn, TurnError};
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};

use crate::watch::{Unwatched, Watch};

/// The ticket has ended, so there is no one left to work for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the ticket has ended")]
pub struct Stopped;

/// What a branch tells of its work.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// Something to emit.
    Progress(Progress),
    /// A model call begins.
    HopBegan,
    /// A model call ended.
    HopEnded {
        /// What it used.
        usage: HopUsage,
        /// What its protocol could not do.
        degraded: Vec<&'static str>,
    },
}

/// Where a branch tells of its work.
pub trait Sink {
    /// Hands a report over, in order; waits while the receiver is busy.
    ///
    /// # Errors
    ///
    /// [`Stopped`] when nothing more is taken: the branch then ends at once.
    fn tell(&self, report: Report) -> LocalBoxFuture<'_, Result<(), Stopped>>;

    /// Who sees how long the work takes; nobody unless the place says so.
    fn watch(&self) -> &dyn Watch {
        &Unwatched
    }
}

/// A language model.
pub trait Model {
    /// One model turn. Dropping the future stops it.
    fn turn<'a>(&'a self, request: Request<'a>) -> LocalBoxFuture<'a, Result<Turn, TurnError>>;
}

/// The tool servers of one run, reached as one caller.
pub trait ToolServers {
    /// Connects to every server that the run may use, all at once.
    ///
    /// # Errors
    ///
    /// The first failure: a run without one of its servers would answer something else than was asked.
    fn connect(
        &self,
        with_catalog: bool,
    ) -> LocalBoxFuture<'_, Result<Vec<Box<dyn ToolServer>>, ToolFailure>>;
}

/// What a tool server is to the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolServerKind {
    /// States meanings; withheld from an ask without context.
    Catalog,
    /// Runs statements.
    Source,
}

/// One connected tool server.
pub trait ToolServer {
    /// The first half of its tools' names.
    fn name(&self) -> &str;

    /// What it is to the run.
    fn kind(&self) -> ToolServerKind;

    /// Its tools.
    fn tools(&self) -> &[ToolDefinition];

    /// Whether an error that it gives no code is the model's mistake, and not a refusal: so for a server that decides nothing.
    fn uncoded_is_mistake(&self) -> bool {
        false
    }

    /// Calls a tool. A call that has begun is let finish on the server, also when the future is dropped.
    fn call(
        &self,
        tool: &str,
        args: &Map<String, Value>,
    ) -> LocalBoxFuture<'static, Result<ToolReply, ToolFailure>>;

    /// The same, on behalf of a span of a trace (W3C Trace Context), where the way to the server can carry it.
    fn call_within(
        &self,
        tool: &str,
        args: &Map<String, Value>,
        traceparent: Option<&str>,
    ) -> LocalBoxFuture<'static, Result<ToolReply, ToolFailure>> {
        let _ = traceparent;
        self.call(tool, args)
    }
}

/// A tool as its server describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// Its name on the server.
    pub name: String,
    /// What it says of itself: data, shown to the model as the server's words.
    pub description: String,
    /// JSON Schema of its input.
    pub input_schema: Value,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolReply {
    /// Whether the tool says that it failed.
    pub is_error: bool,
    /// Its answer as JSON, where it gave one.
    pub structured: Option<Value>,
    /// Its answer as text for the model, bounded.
    pub text: String,
}

/// Why a tool did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolFailure {
    /// The server answered with an HTTP error.
    #[error("the tool server {server} answered with status {status}")]
    Status {
        /// The server's name.
        server: String,
        /// The HTTP status.
        status: u16,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// The server knows the call but not its name or arguments: the model's mistake.
    #[error("the tool server {server} takes no such call")]
    Invalid {
        /// The server's name.
        server: String,
        /// What it says, bounded.
        message: String,
    },
    /// The server could not be reached, or its answer could not be used.
    #[error("the tool server {server} failed: {reason}")]
    Transport {
        /// The server's name.
        server: String,
        /// Why, without anything that the server said.
        reason: String,
    },
}
