//! What a stand-in is asked and what it replies, free of either wire protocol.

use serde_json::{Map, Value};

/// One request to a stand-in, as both protocols carry it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Asked {
    /// The model name that the caller asked for.
    pub model: String,
    /// The effort that the caller asked for, where the protocol has it.
    pub effort: Option<String>,
    /// The system prompt.
    pub system: String,
    /// The tools offered, in the caller's order.
    pub tools: Vec<Tool>,
    /// The dialogue so far, oldest first.
    pub turns: Vec<Turn>,
}

/// A tool offered to the stand-in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tool {
    /// Its full name, `server__tool` or a local name.
    pub name: String,
    /// What it says of itself.
    pub description: String,
    /// JSON Schema of its input.
    pub input_schema: Value,
}

/// One entry of the dialogue.
#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    /// What the user side said, one string a text part.
    User(Vec<String>),
    /// What the stand-in said and called.
    Assistant {
        /// The text parts, joined.
        text: String,
        /// The calls it made.
        calls: Vec<Call>,
    },
    /// The result of one call.
    Result {
        /// The call's id.
        id: String,
        /// The result as text.
        text: String,
        /// Whether it is an error.
        is_error: bool,
    },
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Unique within the dialogue.
    pub id: String,
    /// The tool's full name.
    pub name: String,
    /// Its input.
    pub args: Map<String, Value>,
}

/// What a stand-in replies in one model turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// Prose, may be empty.
    pub text: String,
    /// Calls to make; their ids are assigned by the protocol layer when empty.
    pub calls: Vec<Call>,
}

/// A program that stands in for a model.
pub trait StandIn: Send + Sync {
    /// The name reported as the model of a reply; says plainly that it is no language model.
    fn name(&self) -> &str;

    /// The reply to one request; deterministic.
    fn reply(&self, asked: &Asked) -> Reply;
}
