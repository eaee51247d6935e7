//! A caller's own conversations, and what they think of an answer: identifiers, times and codes, never text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ConversationId, TicketId, Timestamp};

/// Where a conversation stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationState {
    /// Its identifier.
    pub conversation_id: ConversationId,
    /// When it was opened.
    pub created_at: Timestamp,
    /// The earliest moment at which it can be forgotten; every ask and every answer move it on.
    pub expires_at: Timestamp,
    /// How many asks were taken.
    pub turns: u32,
    /// The ticket of the ask that runs, or null.
    pub running: Option<TicketId>,
}

/// Some of a caller's conversations, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationPage {
    /// At most as many as were asked for.
    pub conversations: Vec<ConversationState>,
    /// What to send as `after` to get those that follow; null when there are none.
    pub next: Option<String>,
}

/// What the asker thinks of how an ask ended. A member that is not listed here is refused with 422.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Feedback {
    /// Good or bad.
    pub rating: Rating,
    /// What it was good or bad in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<FeedbackReason>,
}

/// Good or bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Rating {
    /// Good.
    Up,
    /// Bad.
    Down,
}

/// What an ending was good or bad in: each goes with either rating.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum FeedbackReason {
    /// Whether it is right.
    Correctness,
    /// Whether anything is missing.
    Completeness,
    /// Whether it answers what was asked.
    Understanding,
    /// Whether the stated meanings are those that the asker goes by.
    Definitions,
    /// Whether the data is recent enough.
    Freshness,
    /// Whether it can be understood.
    Clarity,
    /// Whether it came in time.
    Speed,
    /// None of these.
    Other,
}

/// The feedback that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FeedbackReceipt {
    /// The ticket's identifier.
    pub ticket: TicketId,
    /// Good or bad.
    pub rating: Rating,
    /// What it was good or bad in, or null.
    pub reason: Option<FeedbackReason>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feedback_has_a_rating_a_code_and_no_text() {
        let read = |text: &str| serde_json::from_str::<Feedback>(text);
        let good = Feedback { rating: Rating::Up, reason: None };
        assert_eq!(read(r#"{"rating":"up"}"#).unwrap(), good);
        let bad = Feedback { rating: Rating::Down, reason: Some(FeedbackReason::Freshness) };
        assert_eq!(read(r#"{"rating":"down","reason":"freshness"}"#).unwrap(), bad);
        for refused in
            ["{}", r#"{"rating":"meh"}"#, r#"{"rating":"up","reason":"x"}"#, r#"{"rating":"up","text":"x"}"#]
        {
            assert!(read(refused).is_err(), "{refused}");
        }
    }
}
