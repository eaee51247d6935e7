//! What a model is asked, free of either wire protocol.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Effort, ToolCall};

/// One request to a model.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The model's name, passed on as it is.
    pub model: &'a str,
    /// How hard the model should think, where the protocol has it.
    pub effort: Effort,
    /// The system prompt; may be empty.
    pub system: &'a str,
    /// The tools offered, in an order that stays the same from turn to turn, so that the cached prefix holds.
    pub tools: &'a [Tool],
    /// The dialogue, oldest first. Every call of an [`Assistant`] is answered in the [`Message::Results`] after it.
    pub messages: &'a [Message],
    /// Who asks. Sent only as a keyed pseudonym, and only when [`Endpoint::caller_key`](crate::Endpoint::caller_key) is set.
    pub caller: Option<&'a str>,
    /// The W3C trace context to pass on.
    pub traceparent: Option<&'a str>,
    /// The id of the request that the turn is made for, sent as `X-Request-Id`.
    pub request_id: Option<&'a str>,
}

/// A tool offered to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The full name, `server__tool` or a local name.
    pub name: String,
    /// What the tool does, for the model.
    pub description: String,
    /// JSON Schema of the input, an object.
    pub input_schema: Value,
}

/// One message of the dialogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// What the user says, one string a text part. Empty parts are left out. The last such message begins the current
    /// turn of the conversation: all before it are earlier turns.
    User {
        /// The text parts.
        parts: Vec<String>,
    },
    /// What the model said.
    Assistant(Assistant),
    /// The results of all calls of the message before.
    Results(Vec<ToolResult>),
}

/// The result of one tool call, for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// The result as text.
    pub text: String,
    /// Whether it is an error. A model sees it as one in both protocols.
    pub is_error: bool,
}

/// What the model said in one turn, kept so that it can be sent back exactly as it came.
///
/// Blocks that this crate does not know, and the thinking blocks with their signatures, are kept and sent back unchanged.
/// Cloning is cheap. The tool calls in it are exactly those of the [`Turn`](crate::Turn) it came with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assistant(Arc<Inner>);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Inner {
    text: String,
    calls: Vec<ToolCall>,
    raw: Raw,
}

/// The message as its own protocol carried it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Raw {
    /// Put together by [`Assistant::new`].
    None,
    /// The content blocks.
    Anthropic(Vec<Value>),
    /// The whole message.
    OpenAi(Map<String, Value>),
}

impl Assistant {
    /// A message that no model sent: for tests, and for a dialogue that was begun elsewhere.
    pub fn new(text: impl Into<String>, calls: Vec<ToolCall>) -> Self {
        Self::with_raw(text.into(), calls, Raw::None)
    }

    pub(crate) fn with_raw(text: String, calls: Vec<ToolCall>, raw: Raw) -> Self {
        Self(Arc::new(Inner { text, calls, raw }))
    }

    /// The text of the message; may be empty.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The calls of the message, each of which has to be answered.
    pub fn calls(&self) -> &[ToolCall] {
        &self.0.calls
    }

    pub(crate) fn raw(&self) -> &Raw {
        &self.0.raw
    }
}
