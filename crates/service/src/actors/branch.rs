//! One unit of work: the agent's loop as a future that can be dropped.

use actix::{
    Actor, ActorContext as _, ActorFutureExt as _, Addr, AsyncContext as _, Context, Handler, Message,
    SpawnHandle, WrapFuture as _,
};
use ask_agent::{BranchTask, Report, Sink, Stopped, Watch};
use ask_auth::Bearer;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;

use super::parts::{RunParts, Work};
use super::supervisor::{BranchLost, BranchReported, Supervisor};
use super::ticket::{Emit, Ticket};
use crate::telemetry::RunWatch;

/// The actor of one branch.
pub(crate) struct Branch {
    work: Option<Work>,
    in_flight: Option<SpawnHandle>,
    supervisor: Addr<Supervisor>,
    reported: bool,
}

/// Stops the branch: its model turn at once; tool calls in flight are let finish by their server.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct StopBranch;

impl Branch {
    pub(super) fn new(
        task: BranchTask,
        parts: &RunParts,
        bearer: &Bearer,
        sink: TicketSink,
        supervisor: Addr<Supervisor>,
    ) -> Self {
        let work = parts.work(task, bearer, sink);
        Self { work: Some(work), in_flight: None, supervisor, reported: false }
    }
}

impl Actor for Branch {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let Some(work) = self.work.take() else { return };
        self.in_flight = Some(ctx.spawn(work.into_actor(self).map(|outcome, branch, ctx| {
            if let Ok(report) = outcome {
                branch.reported = branch.supervisor.try_send(BranchReported(report)).is_ok();
            }
            ctx.stop();
        })));
    }
}

impl Handler<StopBranch> for Branch {
    type Result = ();

    fn handle(&mut self, _: StopBranch, ctx: &mut Context<Self>) {
        if let Some(in_flight) = self.in_flight.take() {
            ctx.cancel_future(in_flight);
        }
        ctx.stop();
    }
}

impl Drop for Branch {
    fn drop(&mut self) {
        if !self.reported {
            // A supervisor that is gone has told the ticket by itself.
            self.supervisor.try_send(BranchLost).ok();
        }
    }
}

/// Tells a ticket what a branch does.
pub(super) struct TicketSink {
    ticket: Addr<Ticket>,
    watch: RunWatch,
}

impl TicketSink {
    pub(super) const fn new(ticket: Addr<Ticket>, watch: RunWatch) -> Self {
        Self { ticket, watch }
    }
}

impl Sink for TicketSink {
    fn tell(&self, report: Report) -> LocalBoxFuture<'_, Result<(), Stopped>> {
        self.ticket
            .send(Emit(report))
            .map(|outcome| match outcome {
                Ok(Ok(())) => Ok(()),
                Ok(Err(rejected)) => {
                    if rejected != ask_core::ticket::Rejected::Ended {
                        tracing::error!(%rejected, "an event did not fit its branch's life");
                    }
                    Err(Stopped)
                }
                Err(_gone) => Err(Stopped),
            })
            .boxed_local()
    }

    fn watch(&self) -> &dyn Watch {
        &self.watch
    }
}
