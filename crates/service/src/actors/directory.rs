//! Who is where: from an identifier to its owner and address, for the owner alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix::Addr;
use ask_auth::Owner;
use ask_contract::{ConversationId, ConversationState, Feedback, TicketId};
use ask_core::forgotten::Forgotten;
use ask_core::page::{Place, page};
use ask_core::ticket::{Log, Snapshot};
use dashmap::DashMap;
use tokio::sync::watch;

use super::conversation::Conversation;
use super::follower::Follower;
use super::standing::Standing;
use super::ticket::{Cancel, Forget, Rate, Rated, ShutDown, Ticket};

/// The conversations and tickets that are there.
///
/// A map and not an actor: a look-up must not queue behind another conversation. An entry is removed by the actor that it
/// leads to, when that expires.
pub(crate) struct Directory {
    conversations: DashMap<ConversationId, Entry>,
    /// The places of each owner's conversations; an owner without any is not in here.
    places: DashMap<Owner, BTreeMap<Place, Arc<Standing>>>,
    tickets: DashMap<TicketId, TicketHandle>,
    forgotten: Mutex<Forgotten>,
}

/// A conversation that is there.
struct Entry {
    owner: Owner,
    addr: Addr<Conversation>,
    standing: Arc<Standing>,
}

/// How many tickets that were forgotten on request are known as such: 8 bytes each, some 40 with their containers.
const FORGOTTEN: usize = 1_000_000;

impl Default for Directory {
    fn default() -> Self {
        Self {
            conversations: DashMap::new(),
            places: DashMap::new(),
            tickets: DashMap::new(),
            forgotten: Mutex::new(Forgotten::new(FORGOTTEN)),
        }
    }
}

impl Directory {
    pub(super) fn add_conversation(
        &self,
        id: ConversationId,
        owner: Owner,
        addr: Addr<Conversation>,
        standing: Arc<Standing>,
    ) {
        let place = Place::new(standing.created_at(), id.clone());
        self.places.entry(owner.clone()).or_default().insert(place, Arc::clone(&standing));
        self.conversations.insert(id, Entry { owner, addr, standing });
    }

    pub(super) fn remove_conversation(&self, id: &ConversationId, owner: &Owner) {
        let Some((_, entry)) = self.conversations.remove(id) else { return };
        let place = Place::new(entry.standing.created_at(), id.clone());
        if let Some(mut places) = self.places.get_mut(owner) {
            places.remove(&place);
        }
        self.places.remove_if(owner, |_, places| places.is_empty());
    }

    pub(super) fn conversation(&self, id: &ConversationId, owner: &Owner) -> Option<Addr<Conversation>> {
        self.conversations.get(id).filter(|entry| entry.owner == *owner).map(|entry| entry.addr.clone())
    }

    /// Where a conversation stands.
    pub(super) fn standing(&self, id: &ConversationId, owner: &Owner) -> Option<ConversationState> {
        let standing = self
            .conversations
            .get(id)
            .filter(|entry| entry.owner == *owner)
            .map(|entry| Arc::clone(&entry.standing))?;
        Some(standing.state(id))
    }

    /// An owner's conversations behind a place, the newest first, and the place to go on behind.
    pub(super) fn page(
        &self,
        owner: &Owner,
        after: Option<&Place>,
        limit: usize,
    ) -> (Vec<ConversationState>, Option<Place>) {
        let Some(places) = self.places.get(owner) else { return (Vec::new(), None) };
        let rest = match after {
            Some(after) => places.range(..after),
            None => places.range::<Place, _>(..),
        };
        let (found, next) = page(rest.rev().map(|(place, _)| place.clone()), limit);
        let states = found
            .iter()
            .filter_map(|place| places.get(place).map(|standing| standing.state(place.id())))
            .collect();
        (states, next)
    }

    pub(super) fn add_ticket(&self, id: TicketId, handle: TicketHandle) {
        self.tickets.insert(id, handle);
    }

    pub(super) fn remove_ticket(&self, id: &TicketId) {
        self.tickets.remove(id);
    }

    pub(super) fn has_ticket(&self, id: &TicketId) -> bool {
        self.tickets.contains_key(id)
    }

    /// Takes a ticket out, and keeps in mind that it was forgotten. One that had expired stays expired.
    pub(super) fn forget_ticket(&self, id: &TicketId) -> Option<TicketHandle> {
        // Known as forgotten before it is out, so that no look-up in between takes it for expired.
        if self.has_ticket(id) {
            self.forgotten().add(id);
        }
        self.tickets.remove(id).map(|(_, handle)| handle)
    }

    /// Whether a ticket was forgotten on request.
    pub(super) fn is_forgotten(&self, id: &TicketId) -> bool {
        self.forgotten().has(id)
    }

    // A writer that panicked left a number more or less, which makes one ticket expired instead of forgotten.
    fn forgotten(&self) -> MutexGuard<'_, Forgotten> {
        self.forgotten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.conversations.is_empty() && self.places.is_empty() && self.tickets.is_empty()
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

impl TicketHandle {
    /// Ends the ticket if it runs, and its actor. When this returns the ending is in the log for those who still read it.
    pub(super) async fn forget(self) {
        // An actor that is gone has ended the log.
        self.addr.send(Forget).await.ok();
    }

    /// Takes what the asker thinks of the ending; `None` when the ticket has gone meanwhile.
    pub(crate) async fn rate(&self, oid: String, feedback: Feedback) -> Option<Rated> {
        self.addr.send(Rate { oid, feedback }).await.ok()
    }

    /// Waits until `done` is in the log, or the time is over.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when dropped.
    pub(crate) async fn ended(&self, limit: Duration) {
        let mut wake = self.wake.clone();
        let ended = async {
            loop {
                drop(wake.borrow_and_update());
                // The writer is gone only when the log is over.
                if self.log.is_done() || wake.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::time::timeout(limit, ended).await.ok();
    }
}
