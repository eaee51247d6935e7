//! Where a conversation stands, to be read without its mailbox.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ask_contract::{ConversationId, ConversationState, TicketId, Timestamp};
use ask_core::ticket::Log;

/// Written by the conversation's actor alone, read by anyone who was led to it.
#[derive(Debug)]
pub(super) struct Standing {
    created_at: Timestamp,
    now: Mutex<Now>,
}

#[derive(Debug)]
struct Now {
    expires_at: Timestamp,
    turns: u32,
    last: Option<(TicketId, Arc<Log>)>,
}

impl Standing {
    /// That of a conversation which has only just been opened.
    pub(super) const fn opened(created_at: Timestamp, expires_at: Timestamp) -> Self {
        Self { created_at, now: Mutex::new(Now { expires_at, turns: 0, last: None }) }
    }

    pub(super) const fn created_at(&self) -> Timestamp {
        self.created_at
    }

    pub(super) fn touched(&self, expires_at: Timestamp) {
        self.lock().expires_at = expires_at;
    }

    pub(super) fn asked(&self, turns: u32, ticket: TicketId, log: Arc<Log>) {
        let mut now = self.lock();
        now.turns = turns;
        now.last = Some((ticket, log));
    }

    /// As the contract shows it.
    pub(super) fn state(&self, id: &ConversationId) -> ConversationState {
        let now = self.lock();
        let running = now.last.as_ref().filter(|(_, log)| !log.is_done()).map(|(ticket, _)| ticket.clone());
        ConversationState {
            conversation_id: id.clone(),
            created_at: self.created_at,
            expires_at: now.expires_at,
            turns: now.turns,
            running,
        }
    }

    // Each change is an assignment: a writer that panicked left nothing half done.
    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
