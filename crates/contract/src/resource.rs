//! What the service answers with, apart from events and problems.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ConversationId, Event, TicketId, Timestamp};

/// A conversation to ask within.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conversation {
    /// Its identifier.
    pub conversation_id: ConversationId,
    /// When it is forgotten; every ask moves it on.
    pub expires_at: Timestamp,
}

/// The promise that a question has been taken, given before any tool call runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ticket {
    /// Its identifier.
    pub ticket: TicketId,
    /// The conversation that it belongs to.
    pub conversation_id: ConversationId,
    /// The place of this ask among the conversation's asks, from 1.
    #[schemars(range(min = 1))]
    pub turn: u32,
    /// Always 0: nothing has been emitted yet.
    #[schemars(extend("const" = 0))]
    pub seq: u64,
    /// The earliest moment at which the ticket can expire; a run and its end move it on.
    pub expires_at: Timestamp,
}

/// Where an ask stands, for clients without Server-Sent Events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskState {
    /// The ticket's identifier.
    pub ticket: TicketId,
    /// The conversation that it belongs to.
    pub conversation_id: ConversationId,
    /// Whether `done` has been emitted.
    pub status: AskStatus,
    /// The latest event's `seq`.
    pub seq: u64,
    /// The terminal event, once there is one.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub terminal: Option<Event>,
    /// The `done` event, once there is one.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub done: Option<Event>,
}

/// Whether an ask still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum AskStatus {
    /// `done` is still to come.
    Running,
    /// `done` has been emitted.
    Finished,
}

/// The answer to a cancel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelReceipt {
    /// The ticket's identifier.
    pub ticket: TicketId,
    /// Whether the ask is over; its ending is then in the log.
    pub finished: bool,
}

/// That the process serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// `ok`.
    pub status: String,
    /// The contract's version.
    pub contract: String,
}
