//! Who is where: from an identifier to its owner and address, for the owner alone.

use std::sync::Arc;

use actix::Addr;
use ask_auth::Owner;
use ask_contract::{ConversationId, TicketId};
use ask_core::ticket::{Log, Snapshot};
use dashmap::DashMap;
use tokio::sync::watch;

use super::conversation::Conversation;
use super::follower::Follower;
use super::ticket::{Cancel, ShutDown, Ticket};

/// The conversations and tickets that are there.
///
/// A map and not an actor: a look-up must not queue behind another conversation. An entry is removed by the actor that it
/// leads to, when that expires.
#[derive(Default)]
pub(crate) struct Directory {
    conversations: DashMap<ConversationId, (Owner, Addr<Conversation>)>,
    tickets: DashMap<TicketId, TicketHandle>,
}

impl Directory {
    pub(super) fn add_conversation(&self, id: ConversationId, owner: Owner, addr: Addr<Conversation>) {
        self.conversations.insert(id, (owner, addr));
    }

    pub(super) fn remove_conversation(&self, id: &ConversationId) {
        self.conversations.remove(id);
    }

    pub(super) fn conversation(&self, id: &ConversationId, owner: &Owner) -> Option<Addr<Conversation>> {
        self.conversations.get(id).filter(|entry| entry.0 == *owner).map(|entry| entry.1.clone())
    }

    pub(super) fn add_ticket(&self, id: TicketId, handle: TicketHandle) {
        self.tickets.insert(id, handle);
    }

    pub(super) fn remove_ticket(&self, id: &TicketId) {
        self.tickets.remove(id);
    }

    pub(super) fn ticket(&self, id: &TicketId, owner: &Owner) -> Option<TicketHandle> {
        self.tickets.get(id).filter(|handle| handle.owner == *owner).map(|handle| handle.clone())
    }

    pub(super) fn close_tickets(&self) {
        for ticket in self.tickets.iter().filter(|ticket| !ticket.log.is_done()) {
            if ticket.addr.try_send(ShutDown).is_err() {
                tracing::warn!("a ticket could not be told of the shutdown");
            }
        }
    }

    /// How many conversations and tickets there are.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.conversations.len(), self.tickets.len())
    }

    pub(super) fn any_running(&self) -> bool {
        self.tickets.iter().any(|ticket| !ticket.log.is_done())
    }
}

/// A ticket as its owner reaches it.
#[derive(Debug, Clone)]
pub(crate) struct TicketHandle {
    owner: Owner,
    conversation_id: ConversationId,
    addr: Addr<Ticket>,
    log: Arc<Log>,
    wake: watch::Receiver<u64>,
}

impl TicketHandle {
    pub(super) const fn new(
        owner: Owner,
        conversation_id: ConversationId,
        addr: Addr<Ticket>,
        log: Arc<Log>,
        wake: watch::Receiver<u64>,
    ) -> Self {
        Self { owner, conversation_id, addr, log, wake }
    }

    /// The conversation that the ticket belongs to.
    pub(crate) const fn conversation_id(&self) -> &ConversationId {
        &self.conversation_id
    }

    /// Where the ticket stands.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.log.snapshot()
    }

    /// The latest `seq`, and whether it is `done`'s.
    pub(crate) fn progress(&self) -> (u64, bool) {
        let done = self.log.is_done();
        (self.log.latest(), done)
    }

    /// How it ended, if it has.
    #[cfg(test)]
    pub(super) fn outcome(&self) -> Option<ask_contract::Outcome> {
        self.log.outcome()
    }

    /// A reader that has seen the events up to `seen`.
    pub(crate) fn follow(&self, seen: u64) -> Follower {
        Follower::new(Arc::clone(&self.log), self.wake.clone(), seen)
    }

    /// Ends the ticket. When this returns the ending is in the log, whoever wrote it.
    pub(crate) async fn cancel(&self) {
        if !self.log.is_done() && self.addr.send(Cancel).await.is_err() {
            // The actor is gone, and its writer has ended the log.
            tracing::debug!("a cancel met a ticket that is gone");
        }
    }
}
