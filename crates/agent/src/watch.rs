//! What a branch tells of the time that its work takes, and what peers are told of whom they work for.

use ask_llm::{Stop, Usage};

use crate::ports::ToolServerKind;

/// A piece of work that another process does for the branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work<'a> {
    /// Sessions with the tool servers are opened and their tools listed.
    Connect,
    /// A model turn.
    ModelTurn {
        /// The model that is asked.
        model: &'a str,
    },
    /// A tool call.
    ToolCall {
        /// The server's name.
        server: &'a str,
        /// What the server is to the run.
        kind: ToolServerKind,
        /// The tool's name on the server.
        tool: &'a str,
    },
}

/// How a piece of work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended<'a> {
    /// Well.
    Done,
    /// Well, with a model's reply.
    Replied {
        /// The model as its server names it.
        model: &'a str,
        /// What the turn cost.
        usage: Usage,
        /// Why the model stopped.
        stop: &'a Stop,
    },
    /// With an error of this kind, a word from a fixed set.
    Failed(&'static str),
}

/// Sees the work of a branch begin and end. Nothing that it is given holds content.
pub trait Watch {
    /// The id of the request that the branch works for, for its peers.
    fn request_id(&self) -> Option<&str> {
        None
    }

    /// The W3C trace context for peers that work for the branch as a whole.
    fn traceparent(&self) -> Option<String> {
        None
    }

    /// A piece of work begins; it ends with what is returned, and is abandoned when that is dropped.
    fn begin(&self, work: Work<'_>) -> Box<dyn Watched>;
}

/// A piece of work that has begun.
pub trait Watched {
    /// The W3C trace context for the peer that does the work.
    fn traceparent(&self) -> Option<&str> {
        None
    }

    /// It has ended.
    fn end(self: Box<Self>, ended: Ended<'_>);
}

/// Nobody watches.
#[derive(Debug, Clone, Copy)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn begin(&self, _: Work<'_>) -> Box<dyn Watched> {
        Box::new(Self)
    }
}

impl Watched for Unwatched {
    fn end(self: Box<Self>, _: Ended<'_>) {}
}
