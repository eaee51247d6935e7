//! One run: opens its branches, gathers their reports, decides the ending.

use actix::{
    Actor, ActorContext as _, ActorFutureExt as _, Addr, AsyncContext as _, Context, Handler, Message,
    WrapFuture as _,
};
use ask_agent::{BranchReport, BranchTask};
use ask_auth::Bearer;
use ask_contract::{ErrorKind, Failure, TicketId};
use ask_core::outcome::{RunFacts, decide};

use super::branch::{Branch, StopBranch, TicketSink};
use super::conversation::{Conversation, TurnEnded};
use super::parts::{BuildFailed, RunParts};
use super::ticket::{End, RunLost, Ticket};
use crate::telemetry::RunWatch;

/// What a run is made of.
pub(super) struct RunPlan {
    pub(super) ticket_id: TicketId,
    /// One a branch. A run has one branch for now; nothing here depends on that.
    pub(super) tasks: Vec<BranchTask>,
    pub(super) bearer: Bearer,
    pub(super) parts: Result<RunParts, BuildFailed>,
    pub(super) watch: RunWatch,
}

/// The actor of one run.
pub(crate) struct Supervisor {
    ticket_id: TicketId,
    plan: Option<RunPlan>,
    ticket: Addr<Ticket>,
    conversation: Addr<Conversation>,
    branches: Vec<Addr<Branch>>,
    outstanding: usize,
    facts: RunFacts,
    transcript: Vec<ask_llm::Message>,
    concluded: bool,
}

/// What a branch came to.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct BranchReported(pub(super) BranchReport);

/// A branch ended without a report.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct BranchLost;

/// Stops the run: its ticket has ended.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Stop;

impl Supervisor {
    pub(super) fn new(plan: RunPlan, ticket: Addr<Ticket>, conversation: Addr<Conversation>) -> Self {
        Self {
            ticket_id: plan.ticket_id.clone(),
            outstanding: plan.tasks.len(),
            plan: Some(plan),
            ticket,
            conversation,
            branches: Vec::new(),
            facts: RunFacts::default(),
            transcript: Vec::new(),
            concluded: false,
        }
    }

    /// Remembers the turn, then ends the ticket: a follow-up that is sent at the sight of `done` finds the turn.
    fn conclude(&mut self, ctx: &mut Context<Self>) {
        let terminal = decide(std::mem::take(&mut self.facts));
        let transcript = ask_llm::Packed::of(std::mem::take(&mut self.transcript));
        let turn = TurnEnded { ticket: self.ticket_id.clone(), transcript };
        let (conversation, ticket) = (self.conversation.clone(), self.ticket.clone());
        let ending = async move {
            // Neither awaits this actor, so neither can hold it up. One that is gone needs no word.
            conversation.send(turn).await.ok();
            ticket.send(End(terminal)).await.ok();
        };
        ctx.spawn(ending.into_actor(self).map(|(), supervisor, ctx| {
            supervisor.concluded = true;
            ctx.stop();
        }));
    }
}

impl Actor for Supervisor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let Some(plan) = self.plan.take() else { return };
        match plan.parts {
            Ok(parts) => {
                for task in plan.tasks {
                    let sink = TicketSink::new(self.ticket.clone(), plan.watch.clone());
                    let branch = Branch::new(task, &parts, &plan.bearer, sink, ctx.address());
                    self.branches.push(branch.start());
                }
            }
            Err(err) => {
                tracing::error!(ticket.id = %self.ticket_id, error = %err, "a run could not begin");
                self.facts.failure = Some(Failure { kind: ErrorKind::Internal, detail: err.to_string() });
                self.conclude(ctx);
            }
        }
    }
}

impl Handler<BranchReported> for Supervisor {
    type Result = ();

    fn handle(&mut self, BranchReported(report): BranchReported, ctx: &mut Context<Self>) {
        self.facts.absorb(report.facts);
        self.transcript.extend(report.transcript);
        self.outstanding = self.outstanding.saturating_sub(1);
        if self.outstanding == 0 {
            self.conclude(ctx);
        }
    }
}

impl Handler<BranchLost> for Supervisor {
    type Result = ();

    /// A run without one of its branches would answer something else than was asked.
    fn handle(&mut self, _: BranchLost, ctx: &mut Context<Self>) {
        ctx.stop();
    }
}

impl Handler<Stop> for Supervisor {
    type Result = ();

    fn handle(&mut self, _: Stop, ctx: &mut Context<Self>) {
        ctx.stop();
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        for branch in self.branches.drain(..) {
            // A closed mailbox is a branch that is over.
            branch.try_send(StopBranch).ok();
        }
        if !self.concluded {
            // A ticket that has ended takes no notice; a ticket that is gone has ended its log.
            self.ticket.try_send(RunLost).ok();
        }
    }
}
