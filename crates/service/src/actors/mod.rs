//! The actors: who owns what while a question is worked on.
//!
//! | actor | one per | owns |
//! |---|---|---|
//! | [`Conversation`](conversation::Conversation) | conversation | the answered turns, which ticket runs, the idle timer |
//! | [`Ticket`](ticket::Ticket) | ask | the ticket's life and log, its expiry timer |
//! | [`Supervisor`](supervisor::Supervisor) | run | the branches and their reports |
//! | [`Branch`](branch::Branch) | unit of work | the model turn and the tool calls in flight |
//!
//! **Place.** All actors of a conversation live on one arbiter, so what belongs together never crosses a thread.
//!
//! **Order.** A branch awaits the ticket for each event, a supervisor awaits the conversation and then the ticket; no
//! one awaits in the other direction, so no two can wait for each other. A turn is remembered before its `done` is in
//! the log, so that a follow-up sent at the sight of `done` finds it.
//!
//! **Cancel.** The ticket ends itself before it replies, then stops its supervisor, which stops its branches; dropping
//! the branch's future closes the connection to the model. Late events find a ticket that has ended.
//!
//! **Death.** Whoever is dropped without having reported says so from its `Drop`: a branch to its supervisor, a
//! supervisor to the ticket; the ticket's writer ends the log by itself. A ticket also has a deadline of its own.
//!
//! **Reading** takes no mailbox: a [`TicketHandle`] shares the log and a wake-up, and each reader keeps a cursor.

mod branch;
mod conversation;
mod directory;
#[cfg(test)]
mod faults;
mod follower;
#[cfg(test)]
mod forgetting;
mod idempotency;
mod parts;
mod quota;
mod standing;
mod supervisor;
#[cfg(test)]
mod tests;
mod ticket;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use actix_rt::{Arbiter, ArbiterHandle};
use ask_auth::{Identity, Owner};
use ask_contract::{AskRequest, ConversationId, ConversationPage, ConversationState, Ticket, TicketId};
use ask_core::clock::Clock;
use ask_core::id::{IdMint, MadeBy, NoRandomness};
use ask_core::page::Place;

pub(crate) use directory::TicketHandle;
pub(crate) use follower::Follower;
pub(crate) use idempotency::{Fingerprint, Idempotency, Kept, Once};
pub(crate) use quota::{Allowance, QuotaExceeded};
pub(crate) use ticket::Rated;

use crate::audit::Audit;
use crate::settings::Settings;
use crate::telemetry::{Gauges, Origin, Telemetry};
use conversation::{Ask, Conversation, Forget};
use directory::Directory;
use quota::{Quota, Resource};
use standing::Standing;

/// Why an ask or a conversation was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// The conversation is not there, or not the caller's.
    #[error("no such conversation of this caller")]
    NotFound,
    /// An ask runs in it.
    #[error("an ask runs in this conversation")]
    Running,
    /// The conversation has had as many asks as it may.
    #[error("this conversation has had as many asks as it may")]
    Full,
    /// Someone has too much.
    #[error(transparent)]
    Quota(#[from] QuotaExceeded),
    /// The service is shutting down.
    #[error("the service is shutting down")]
    Closing,
    /// No identifier could be made.
    #[error("no identifier could be made")]
    NoId(#[from] NoRandomness),
}

impl Refused {
    /// The limit that was met, as metrics call it.
    const fn limit(&self) -> Option<&'static str> {
        match self {
            Self::NotFound | Self::NoId(_) => None,
            Self::Running => Some("ask_running"),
            Self::Full => Some("conversation_full"),
            Self::Closing => Some("closing"),
            Self::Quota(QuotaExceeded::Conversations) => Some("conversations"),
            Self::Quota(QuotaExceeded::Tickets) => Some("tickets"),
            Self::Quota(QuotaExceeded::Running) => Some("running"),
            Self::Quota(QuotaExceeded::Rate(_)) => Some("rate"),
            Self::Quota(QuotaExceeded::Everyone) => Some("everyone"),
        }
    }
}

/// Where a ticket is, for a caller.
#[derive(Debug)]
pub(crate) enum Found {
    /// It is the caller's.
    Here(TicketHandle),
    /// It was the caller's and has expired.
    Expired,
    /// It was the caller's, and was lost with an earlier process.
    Lost,
    /// It is not there, or not the caller's: the two are one.
    Nowhere,
}

/// What every actor shares.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) mint: IdMint,
    pub(crate) directory: Directory,
    pub(crate) quota: Arc<Quota>,
    pub(crate) audit: Audit,
    pub(crate) telemetry: Telemetry,
}

/// The house of the actors; what the web layer talks to.
#[derive(Clone)]
pub(crate) struct House {
    shared: Arc<Shared>,
    arbiters: Arc<[Arbiter]>,
    next: Arc<AtomicUsize>,
    closing: Arc<AtomicBool>,
    answers: Arc<Idempotency>,
}

impl House {
    pub(crate) fn new(
        settings: Settings,
        clock: Arc<dyn Clock>,
        mint: IdMint,
        audit: Audit,
        telemetry: Telemetry,
    ) -> Self {
        let arbiters = (0..settings.arbiters).map(|_| Arbiter::new()).collect();
        let quota = Arc::new(Quota::new(settings.quotas));
        let shared = Arc::new(Shared {
            settings,
            clock,
            mint,
            directory: Directory::default(),
            quota,
            audit,
            telemetry,
        });
        Self { shared, arbiters, next: Arc::default(), closing: Arc::default(), answers: Arc::default() }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    pub(crate) fn telemetry(&self) -> &Telemetry {
        &self.shared.telemetry
    }

    /// Whether no ask is taken any more.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// How much there is of everything now.
    pub(crate) fn gauges(&self, streams: u64, has_keys: bool) -> Gauges {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let (conversations, tickets) = self.shared.directory.counts();
        Gauges {
            running: count(self.shared.quota.running()),
            conversations: count(conversations),
            tickets: count(tickets),
            streams,
            ready: has_keys && !self.is_closing(),
        }
    }

    /// The answers that were given under an idempotency key.
    pub(crate) const fn answers(&self) -> &Arc<Idempotency> {
        &self.answers
    }

    /// How many more asks the caller may make before the window is over.
    pub(crate) fn allowance(&self, owner: &Owner) -> Allowance {
        self.shared.quota.allowance(owner)
    }

    /// Opens a conversation, and keeps the key of its request with it.
    pub(crate) fn open_conversation(
        &self,
        owner: &Owner,
        kept: Option<Kept>,
    ) -> Result<ask_contract::Conversation, Refused> {
        self.open(owner, kept).inspect_err(|refused| self.count(refused))
    }

    /// Counts what was not taken because of a limit.
    fn count(&self, refused: &Refused) {
        if let Some(limit) = refused.limit() {
            self.shared.telemetry.metrics().refusals.add(limit, 1);
        }
    }

    fn open(&self, owner: &Owner, kept: Option<Kept>) -> Result<ask_contract::Conversation, Refused> {
        if self.closing.load(Ordering::Acquire) {
            return Err(Refused::Closing);
        }
        let held = self.shared.quota.take(owner, Resource::Conversation)?;
        let now = self.shared.clock.now();
        let conversation_id = self.shared.mint.conversation(&owner_key(owner))?;
        let arbiter = self.next_arbiter().ok_or(Refused::Closing)?;
        let standing = Arc::new(Standing::opened(now, self.shared.expiry(now)));
        let addr = Conversation::open(
            &arbiter,
            &self.shared,
            conversation_id.clone(),
            owner.clone(),
            Arc::clone(&standing),
            held,
            kept,
        );
        self.shared.directory.add_conversation(conversation_id.clone(), owner.clone(), addr, standing);
        Ok(ask_contract::Conversation { conversation_id, expires_at: self.shared.expiry(now) })
    }

    /// The arbiters in turn, passing over any whose thread is gone.
    fn next_arbiter(&self) -> Option<ArbiterHandle> {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let mut in_turn = self.arbiters.iter().cycle().skip(first % self.arbiters.len().max(1));
        let alive = in_turn
            .by_ref()
            .take(self.arbiters.len())
            .map(Arbiter::handle)
            .find(|arbiter| arbiter.spawn_fn(|| {}));
        if alive.is_none() {
            tracing::error!("no thread is left to run conversations on");
        }
        alive
    }

    /// Whether the caller owns the conversation.
    pub(crate) fn owns(&self, conversation_id: &ConversationId, owner: &Owner) -> bool {
        self.shared.directory.conversation(conversation_id, owner).is_some()
    }

    /// Where a conversation of the caller's stands.
    pub(crate) fn conversation(
        &self,
        conversation_id: &ConversationId,
        owner: &Owner,
    ) -> Result<ConversationState, Refused> {
        self.shared.directory.standing(conversation_id, owner).ok_or(Refused::NotFound)
    }

    /// Some of the caller's conversations, the newest first.
    pub(crate) fn conversations(
        &self,
        owner: &Owner,
        after: Option<&Place>,
        limit: usize,
    ) -> ConversationPage {
        let (conversations, next) = self.shared.directory.page(owner, after, limit);
        ConversationPage { conversations, next: next.map(|next| next.to_string()) }
    }

    /// Forgets a conversation of the caller's with all its tickets. When this returns nothing leads to any of them, what
    /// ran has ended, and their places in the quota are free.
    pub(crate) async fn forget(
        &self,
        conversation_id: &ConversationId,
        owner: &Owner,
    ) -> Result<(), Refused> {
        let conversation =
            self.shared.directory.conversation(conversation_id, owner).ok_or(Refused::NotFound)?;
        // A closed mailbox is a conversation that went between the look-up and now.
        conversation.send(Forget).await.unwrap_or(Err(Refused::NotFound))
    }

    /// Takes a question. The ticket's `accepted` is in its log when this returns, and no tool has been called.
    pub(crate) async fn ask(
        &self,
        conversation_id: &ConversationId,
        caller: Arc<Identity>,
        request: AskRequest,
        kept: Option<Kept>,
        origin: Arc<Origin>,
    ) -> Result<Ticket, Refused> {
        let taken = self.take(conversation_id, Ask { caller, request, kept, origin }).await;
        taken.inspect_err(|refused| self.count(refused))
    }

    async fn take(&self, conversation_id: &ConversationId, ask: Ask) -> Result<Ticket, Refused> {
        let conversation = self
            .shared
            .directory
            .conversation(conversation_id, &ask.caller.owner)
            .ok_or(Refused::NotFound)?;
        if self.closing.load(Ordering::Acquire) {
            return Err(Refused::Closing);
        }
        // A closed mailbox is a conversation that expired between the look-up and now.
        conversation.send(ask).await.unwrap_or(Err(Refused::NotFound))
    }

    /// Finds a ticket for a caller.
    pub(crate) fn find(&self, ticket: &TicketId, owner: &Owner) -> Found {
        match self.shared.directory.ticket(ticket, owner) {
            Some(handle) => Found::Here(handle),
            None if self.shared.directory.is_forgotten(ticket) => Found::Nowhere,
            None => match self.shared.mint.made_ticket_for(ticket, &owner_key(owner)) {
                Some(MadeBy::This) => Found::Expired,
                Some(MadeBy::Another) => Found::Lost,
                None => Found::Nowhere,
            },
        }
    }

    /// Ends everything: no ask is taken any more, and every running ticket ends in an error.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.shared.directory.close_tickets();
    }

    /// Whether a ticket is still running.
    pub(crate) fn is_busy(&self) -> bool {
        self.shared.directory.any_running()
    }

    /// Stops the arbiters.
    pub(crate) fn stop(&self) {
        for arbiter in self.arbiters.iter() {
            arbiter.stop();
        }
    }
}

impl Shared {
    /// When something that is begun now and never touched again expires.
    pub(crate) fn expiry(&self, now: ask_contract::Timestamp) -> ask_contract::Timestamp {
        now.plus_ms(i64::try_from(self.settings.retention.ttl.as_millis()).unwrap_or(i64::MAX))
    }
}

/// An owner as one text, for keyed functions over it; the parts can't run into each other.
pub(crate) fn owner_key(owner: &Owner) -> String {
    let (kind, subject) = match owner.subject() {
        ask_auth::Subject::Object(id) => ("oid", id),
        ask_auth::Subject::Subject(id) => ("sub", id),
    };
    format!("{}\n{}\n{kind}\n{subject}", owner.issuer(), owner.tenant().unwrap_or_default())
}
