//! What a model replied in one turn, free of either wire protocol.

use serde::{Deserialize, Serialize};

use crate::{Args, Assistant, Lack};

/// One whole model turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The message, to be sent back in the next request.
    pub assistant: Assistant,
    /// The text parts, joined; may be empty. For a refusal, the model's own words of it, if any.
    pub text: String,
    /// The calls to run. Empty unless `stop` is [`Stop::ToolUse`]: a turn that was stopped short has none, since the last
    /// of them may not be what the model meant.
    pub calls: Vec<ToolCall>,
    /// Why the model stopped.
    pub stop: Stop,
    /// What the turn cost.
    pub usage: Usage,
    /// The model's name as the server reports it, else as it was asked for.
    pub model: String,
    /// What the protocol could not do for this turn; empty for Anthropic.
    pub degraded: &'static [Lack],
    /// Requests sent for this turn, the one that succeeded included; at least 1.
    pub attempts: u32,
}

/// A tool call that was received whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id: never empty and unique within its turn, also when the server sent none.
    pub id: String,
    /// The tool's full name, as the model wrote it.
    pub name: String,
    /// Its arguments. Unusable ones go back to the model as an error result.
    pub args: Args,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// It said what it had to say.
    End,
    /// It waits for the results of its calls, of which there is at least one.
    ToolUse,
    /// It reached the limit on tokens; text is cut off.
    MaxTokens,
    /// The dialogue fills the model's context; text is cut off.
    ContextFull,
    /// The model, or a safety layer of its provider, declined.
    Refusal,
    /// The provider's content filter removed content.
    ContentFilter,
    /// The provider paused a long turn: append the message and send the dialogue again.
    Pause,
    /// A reason that this crate does not know.
    Unknown,
}

/// Tokens of one turn. All four are counted apart in both protocols: the whole input is
/// `input + cache_read + cache_write`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens that came from no cache and went into none.
    pub input: u64,
    /// Output tokens, thinking included.
    pub output: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read: u64,
    /// Input tokens written to the provider's cache.
    pub cache_write: u64,
}
