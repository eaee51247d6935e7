//! One conversation: its owner's memory, and the one place that decides whether an ask may run.

use std::sync::Arc;

use actix::{
    Actor, ActorContext as _, ActorFutureExt as _, Addr, AsyncContext as _, Context, Handler, Message,
    ResponseActFuture, WrapFuture as _,
};
use actix_rt::ArbiterHandle;
use ask_agent::BranchTask;
use ask_auth::{Identity, Owner};
use ask_contract::{AskRequest, BranchRole, ConversationId, Outcome, TicketId};
use ask_core::ticket::{Log, TicketLife, TicketSpec, supervisor_branch};
use tokio::time::Instant;

use super::directory::TicketHandle;
use super::idempotency::Kept;
use super::parts::RunParts;
use super::quota::{Held, Resource};
use super::standing::Standing;
use super::supervisor::{RunPlan, Supervisor};
use super::ticket::{Asker, Attach, Ticket};
use super::{Refused, Shared, owner_key};
use crate::telemetry::{AskSpan, Origin};

/// The actor of one conversation.
pub(crate) struct Conversation {
    shared: Arc<Shared>,
    id: ConversationId,
    owner: Owner,
    standing: Arc<Standing>,
    /// Those that the directory still leads to, and perhaps some that have expired since.
    tickets: Vec<TicketId>,
    asks: u32,
    history: Vec<ask_llm::Packed>,
    last: Option<LastAsk>,
    touched: Instant,
    /// Both are given back when the conversation goes.
    held: Option<Held>,
    kept: Option<Kept>,
    forgotten: bool,
}

/// The newest ask: it may run, and what it came to is remembered when it has ended well.
struct LastAsk {
    ticket: TicketId,
    log: Arc<Log>,
    transcript: Option<ask_llm::Packed>,
}

/// Takes a question.
#[derive(Message)]
#[rtype(result = "Result<ask_contract::Ticket, Refused>")]
pub(super) struct Ask {
    pub(super) caller: Arc<Identity>,
    pub(super) request: AskRequest,
    /// Goes with the ticket.
    pub(super) kept: Option<Kept>,
    pub(super) origin: Arc<Origin>,
}

/// Hands over what a turn came to, before its `done` is emitted.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct TurnEnded {
    pub(super) ticket: TicketId,
    pub(super) transcript: ask_llm::Packed,
}

/// Forgets the conversation: what runs is cancelled, and its tickets go with it.
#[derive(Message)]
#[rtype(result = "Result<(), Refused>")]
pub(super) struct Forget;

impl Conversation {
    /// Opens a conversation on an arbiter.
    pub(super) fn open(
        arbiter: &ArbiterHandle,
        shared: &Arc<Shared>,
        id: ConversationId,
        owner: Owner,
        standing: Arc<Standing>,
        held: Held,
        kept: Option<Kept>,
    ) -> Addr<Self> {
        let shared = Arc::clone(shared);
        Self::start_in_arbiter(arbiter, move |_| Self {
            shared,
            id,
            owner,
            standing,
            tickets: Vec::new(),
            asks: 0,
            history: Vec::new(),
            last: None,
            touched: Instant::now(),
            held: Some(held),
            kept,
            forgotten: false,
        })
    }

    fn is_running(&self) -> bool {
        self.last.as_ref().is_some_and(|last| !last.log.is_done())
    }

    /// Moves the newest ask into memory, if it ended in a way that a follow-up can build on.
    fn remember_last(&mut self) {
        let Some(last) = self.last.take() else { return };
        match last.log.outcome() {
            Some(Outcome::Answer | Outcome::Abstention) => {
                self.history.extend(last.transcript);
            }
            Some(Outcome::Refusal | Outcome::Error) | None => {}
        }
    }

    /// Ends the conversation when it has been idle for its whole life, else looks again when it could have been.
    fn expire_when_idle(&self, ctx: &mut Context<Self>) {
        let ttl = self.shared.settings.retention.ttl;
        let idle = self.touched.elapsed();
        if self.forgotten {
            return;
        }
        if !self.is_running() && idle >= ttl {
            self.shared.directory.remove_conversation(&self.id, &self.owner);
            ctx.stop();
            return;
        }
        let wait = if self.is_running() { ttl } else { ttl.saturating_sub(idle) };
        ctx.run_later(wait, |conversation, ctx| conversation.expire_when_idle(ctx));
    }

    /// Begins the idle time anew.
    fn touch(&mut self) {
        self.touched = Instant::now();
        self.standing.touched(self.shared.expiry(self.shared.clock.now()));
    }

    fn accept(
        &mut self,
        caller: &Identity,
        request: AskRequest,
        kept: Option<Kept>,
        origin: Arc<Origin>,
        ctx: &Context<Self>,
    ) -> Result<ask_contract::Ticket, Refused> {
        if self.asks >= self.shared.settings.quotas.turns {
            return Err(Refused::Full);
        }
        let running = self.shared.quota.take(&self.owner, Resource::Running)?;
        let retained = self.shared.quota.take(&self.owner, Resource::Ticket)?;
        self.shared.quota.spend(&self.owner)?;
        let now = self.shared.clock.now();
        let ticket_id = self.shared.mint.ticket(&owner_key(&self.owner))?;
        self.remember_last();
        self.asks += 1;
        self.touch();
        let runs = &self.shared.settings.runs;
        let mut ceilings = runs.ceilings;
        if let Some(deadline_s) = request.deadline_s {
            ceilings.total = ceilings.total.min(std::time::Duration::from_secs(deadline_s.into()));
        }
        let model = request.model.unwrap_or_else(|| runs.model.clone());
        let effort = request.effort.unwrap_or(runs.effort);
        let spec = TicketSpec {
            ticket: ticket_id.clone(),
            conversation_id: self.id.clone(),
            question: request.question.clone(),
            turn: self.asks,
            model: model.clone(),
            effort: effort.as_str().to_owned(),
            max_events: self.shared.settings.retention.max_events,
        };
        let life = TicketLife::accept(spec, now);
        let span = AskSpan::begin(&self.shared.telemetry, origin);
        let watch = span.watch();
        let ticket = Ticket::new(
            Arc::clone(&self.shared),
            life,
            Asker { oid: caller.oid.clone(), span },
            &self.owner,
            running,
            retained,
            kept,
        );
        let (log, wake) = (ticket.log(), ticket.wake());
        let ticket = ticket.start();
        let handle =
            TicketHandle::new(self.owner.clone(), self.id.clone(), ticket.clone(), Arc::clone(&log), wake);
        self.shared.directory.add_ticket(ticket_id.clone(), handle);
        let task = BranchTask {
            branch_id: supervisor_branch(),
            role: BranchRole::Supervisor,
            source: None,
            question: request.question,
            with_catalog: request.context,
            model,
            effort,
            caller: Some(owner_key(&self.owner)),
            history: self.history.iter().flat_map(ask_llm::Packed::messages).collect(),
            grounding: runs.grounding,
            ceilings,
        };
        let plan = RunPlan {
            ticket_id: ticket_id.clone(),
            tasks: vec![task],
            bearer: caller.bearer.clone(),
            parts: RunParts::here(&self.shared.settings.runs),
            watch,
        };
        let supervisor = Supervisor::new(plan, ticket.clone(), ctx.address()).start();
        if ticket.try_send(Attach(supervisor)).is_err() {
            tracing::error!(ticket.id = %ticket_id, "a new ticket takes no message");
        }
        self.tickets.retain(|ticket| self.shared.directory.has_ticket(ticket));
        self.tickets.push(ticket_id.clone());
        self.standing.asked(self.asks, ticket_id.clone(), Arc::clone(&log));
        self.last = Some(LastAsk { ticket: ticket_id.clone(), log, transcript: None });
        Ok(ask_contract::Ticket {
            ticket: ticket_id,
            conversation_id: self.id.clone(),
            turn: self.asks,
            seq: 0,
            expires_at: self.shared.expiry(now),
        })
    }
}

impl Drop for Conversation {
    /// A conversation that is lost with its thread is not left in anyone's list.
    fn drop(&mut self) {
        self.shared.directory.remove_conversation(&self.id, &self.owner);
    }
}

impl Actor for Conversation {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.expire_when_idle(ctx);
    }
}

impl Handler<Ask> for Conversation {
    type Result = Result<ask_contract::Ticket, Refused>;

    fn handle(&mut self, ask: Ask, ctx: &mut Context<Self>) -> Self::Result {
        if self.forgotten {
            return Err(Refused::NotFound);
        }
        if self.is_running() {
            return Err(Refused::Running);
        }
        let Ask { caller, request, kept, origin } = ask;
        self.accept(&caller, request, kept, origin, ctx)
    }
}

impl Handler<TurnEnded> for Conversation {
    type Result = ();

    fn handle(&mut self, TurnEnded { ticket, transcript }: TurnEnded, _: &mut Context<Self>) {
        self.touch();
        if let Some(last) = self.last.as_mut().filter(|last| last.ticket == ticket) {
            last.transcript = Some(transcript);
        }
    }
}

impl Handler<Forget> for Conversation {
    type Result = ResponseActFuture<Self, Result<(), Refused>>;

    /// From here on no look-up leads here or to a ticket of this conversation. The tickets end themselves; this one goes
    /// when they have. It goes on by itself, whether or not the caller still waits for it.
    fn handle(&mut self, _: Forget, _: &mut Context<Self>) -> Self::Result {
        if self.forgotten {
            // The first one is at it, and must not be cut short by this one's end.
            return Box::pin(actix::fut::err(Refused::NotFound));
        }
        self.forgotten = true;
        self.shared.directory.remove_conversation(&self.id, &self.owner);
        let tickets: Vec<_> = self
            .tickets
            .drain(..)
            .filter_map(|ticket| self.shared.directory.forget_ticket(&ticket))
            .collect();
        // A ticket awaits no one, so none can hold this up.
        let gone = futures_util::future::join_all(tickets.into_iter().map(TicketHandle::forget));
        Box::pin(gone.into_actor(self).map(|_gone, conversation, ctx| {
            conversation.last = None;
            conversation.history.clear();
            conversation.held = None;
            conversation.kept = None;
            ctx.stop();
            Ok(())
        }))
    }
}
