//! One ask: the only writer of its log.

use std::sync::Arc;

use actix::{Actor, ActorContext as _, Addr, AsyncContext as _, Context, Handler, Message, MessageResponse};
use ask_agent::Report;
use ask_auth::Owner;
use ask_contract::{ErrorKind, Feedback, TicketId};
use ask_core::ticket::{Log, Rejected, Terminal, TicketLife};
use tokio::sync::watch;

use super::idempotency::Kept;
use super::quota::Held;
use super::supervisor::{Stop, Supervisor};
use super::{Shared, owner_key};
use crate::audit::{self, AskRecord};
use crate::telemetry::AskSpan;

/// Time beyond a run's own limit after which its ticket ends without having heard from it.
const GRACE: std::time::Duration = std::time::Duration::from_secs(10);

/// How often the asker may change their mind: each time writes an audit line.
const RATINGS: u32 = 8;

/// Reports may queue: a turn's parallel calls begin and end together.
const MAILBOX: usize = 256;

/// The actor of one ticket.
pub(crate) struct Ticket {
    shared: Arc<Shared>,
    /// Freed at the end of the run. It stands before the writer, since a dropped writer ends the log.
    running: Option<Held>,
    writer: Writer,
    supervisor: Option<Addr<Supervisor>>,
    /// Freed when the ticket expires or is forgotten.
    retained: Option<Held>,
    kept: Option<Kept>,
    feedback: Option<Feedback>,
    /// How often the feedback was changed.
    rated: u32,
}

/// Who asks, and in which trace.
pub(super) struct Asker {
    pub(super) oid: String,
    pub(super) span: AskSpan,
}

/// Emits or counts what a branch tells.
#[derive(Message)]
#[rtype(result = "Result<(), Rejected>")]
pub(super) struct Emit(pub(super) Report);

/// Ends the ticket as its run decided.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct End(pub(super) Terminal);

/// Names the supervisor to stop when the ticket ends early.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Attach(pub(super) Addr<Supervisor>);

/// Ends the ticket for its owner.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Cancel;

/// Ends the ticket if it runs, and its actor.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Forget;

/// Takes what the asker thinks of the ending.
#[derive(Message)]
#[rtype(result = "Rated")]
pub(super) struct Rate {
    pub(super) oid: String,
    pub(super) feedback: Feedback,
}

/// What became of a rating.
#[derive(Debug, Clone, Copy, PartialEq, Eq, MessageResponse)]
pub(crate) enum Rated {
    /// It counts now.
    Taken,
    /// There is no ending yet to rate.
    Running,
    /// It was changed as often as it may.
    TooOften,
}

/// Ends the ticket because its run is gone.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct RunLost;

/// Ends the ticket because the service ends.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct ShutDown;

impl Ticket {
    pub(super) fn new(
        shared: Arc<Shared>,
        life: TicketLife,
        asker: Asker,
        owner: &Owner,
        running: Held,
        retained: Held,
        kept: Option<Kept>,
    ) -> Self {
        let (wake, _) = watch::channel(life.log().latest());
        let mut writer = Writer {
            shared: Arc::clone(&shared),
            life,
            wake,
            asker,
            owner_key: owner_key(owner),
            counted: (0, 0),
        };
        writer.count();
        Self {
            shared,
            writer,
            supervisor: None,
            running: Some(running),
            retained: Some(retained),
            kept,
            feedback: None,
            rated: 0,
        }
    }

    pub(super) fn log(&self) -> Arc<Log> {
        Arc::clone(self.writer.life.log())
    }

    pub(super) fn wake(&self) -> watch::Receiver<u64> {
        self.writer.wake.subscribe()
    }

    fn ticket_id(&self) -> TicketId {
        self.writer.life.spec().ticket.clone()
    }

    /// Ends the ticket if it has not ended, frees what the run held, and begins the time until it expires.
    fn end(&mut self, terminal: Terminal, ctx: &mut Context<Self>) {
        // Whoever has seen the ending may ask again at once, and is not to be told that this one still runs.
        self.running = None;
        if self.writer.end(terminal).is_ok() {
            self.expire_in_time(ctx);
        }
    }

    /// Leaves the directory when the ticket's time is over; looks again when the clock says that it is not.
    fn expire_in_time(&self, ctx: &mut Context<Self>) {
        let ttl_ms = i64::try_from(self.shared.settings.retention.ttl.as_millis()).unwrap_or(i64::MAX);
        let Some(expires_at) = self.writer.life.expires_at(ttl_ms) else { return };
        let left = expires_at.unix_ms().saturating_sub(self.shared.clock.now().unix_ms());
        if left <= 0 {
            self.shared.directory.remove_ticket(&self.ticket_id());
            ctx.stop();
            return;
        }
        let left = std::time::Duration::from_millis(u64::try_from(left).unwrap_or(0));
        ctx.run_later(left, |ticket, ctx| ticket.expire_in_time(ctx));
    }

    fn fail(&mut self, kind: ErrorKind, detail: &str, ctx: &mut Context<Self>) {
        let failure = ask_contract::Failure { kind, detail: detail.to_owned() };
        self.end(Terminal::Error(failure), ctx);
        if let Some(supervisor) = self.supervisor.take()
            && supervisor.try_send(Stop).is_err()
        {
            // A closed mailbox is a run that is over; a full one belongs to a run that ends at its next event.
            tracing::debug!("a run could not be told to stop");
        }
    }
}

impl Actor for Ticket {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.set_mailbox_capacity(MAILBOX);
        let deadline = self.shared.settings.runs.ceilings.total + GRACE;
        ctx.run_later(deadline, |ticket, ctx| ticket.fail(ErrorKind::Internal, "the run was lost", ctx));
    }
}

impl Handler<Emit> for Ticket {
    type Result = Result<(), Rejected>;

    fn handle(&mut self, Emit(report): Emit, _: &mut Context<Self>) -> Self::Result {
        self.writer.take(report)
    }
}

impl Handler<End> for Ticket {
    type Result = ();

    fn handle(&mut self, End(terminal): End, ctx: &mut Context<Self>) {
        self.end(terminal, ctx);
        self.supervisor = None;
    }
}

impl Handler<Attach> for Ticket {
    type Result = ();

    fn handle(&mut self, Attach(supervisor): Attach, _: &mut Context<Self>) {
        if self.writer.life.outcome().is_none() {
            self.supervisor = Some(supervisor);
        } else if supervisor.try_send(Stop).is_err() {
            tracing::debug!("a run could not be told to stop");
        }
    }
}

impl Handler<Cancel> for Ticket {
    type Result = ();

    fn handle(&mut self, _: Cancel, ctx: &mut Context<Self>) {
        self.fail(ErrorKind::Cancelled, "cancelled by the asker", ctx);
    }
}

impl Handler<Forget> for Ticket {
    type Result = ();

    fn handle(&mut self, _: Forget, ctx: &mut Context<Self>) {
        self.fail(ErrorKind::Cancelled, "cancelled by the asker", ctx);
        // Free before the answer, and not only when the actor is dropped.
        self.retained = None;
        self.kept = None;
        ctx.stop();
    }
}

impl Handler<Rate> for Ticket {
    type Result = Rated;

    /// The latest rating counts; the same again changes nothing and writes nothing.
    fn handle(&mut self, Rate { oid, feedback }: Rate, _: &mut Context<Self>) -> Rated {
        let Some(outcome) = self.writer.life.outcome() else { return Rated::Running };
        if self.feedback == Some(feedback) {
            return Rated::Taken;
        }
        if self.rated >= RATINGS {
            return Rated::TooOften;
        }
        self.rated += 1;
        self.feedback = Some(feedback);
        self.shared.audit.feedback(feedback, outcome, self.writer.life.spec(), &oid);
        Rated::Taken
    }
}

impl Handler<RunLost> for Ticket {
    type Result = ();

    fn handle(&mut self, _: RunLost, ctx: &mut Context<Self>) {
        self.fail(ErrorKind::Internal, "the run was lost", ctx);
    }
}

impl Handler<ShutDown> for Ticket {
    type Result = ();

    fn handle(&mut self, _: ShutDown, ctx: &mut Context<Self>) {
        self.fail(ErrorKind::Internal, "the service is shutting down", ctx);
    }
}

/// Writes a ticket's log, wakes its readers, and never leaves it without an ending.
struct Writer {
    shared: Arc<Shared>,
    life: TicketLife,
    wake: watch::Sender<u64>,
    asker: Asker,
    owner_key: String,
    /// Events and drops that the metrics know of.
    counted: (u64, u64),
}

impl Writer {
    fn take(&mut self, report: Report) -> Result<(), Rejected> {
        match report {
            Report::Progress(progress) => {
                let now = self.shared.clock.now();
                self.life.emit(progress, now)?;
                self.wake_readers();
                Ok(())
            }
            Report::HopBegan => {
                self.life.count_hop();
                self.life.outcome().map_or(Ok(()), |_| Err(Rejected::Ended))
            }
            Report::HopEnded { usage, degraded } => {
                self.life.count_usage(usage, &degraded);
                Ok(())
            }
        }
    }

    fn end(&mut self, terminal: Terminal) -> Result<(), Rejected> {
        let now = self.shared.clock.now();
        let record = AskRecord::of(&terminal, &self.life);
        let failure = match &terminal {
            Terminal::Error(failure) if failure.kind != ErrorKind::Cancelled => Some(failure.clone()),
            Terminal::Error(_) | Terminal::Answer(_) | Terminal::Abstention(_) | Terminal::Refusal(_) => None,
        };
        let ended = terminal.clone();
        self.life.end(terminal, now)?;
        self.asker.span.end(self.life.spec(), &ended);
        let origin = self.asker.span.origin();
        if let Some(failure) = failure {
            // The detail is a sentence of ours: it holds nothing that a model, a tool or a person said.
            let ticket = &self.life.spec().ticket;
            tracing::warn!(ticket.id = %ticket, request.id = %origin.request_id, trace.id = %origin.trace.trace_hex(), error.kind = ?failure.kind, error.detail = %failure.detail, "a run failed");
        }
        let asker = audit::Asker { oid: &self.asker.oid, owner_key: &self.owner_key, origin };
        self.shared.audit.ask(&record, &self.life, &asker, now);
        self.wake_readers();
        Ok(())
    }

    /// Adds what was emitted and dropped since the last time to the metrics.
    fn count(&mut self) {
        let (latest, dropped) = (self.life.log().latest(), self.life.log().dropped());
        let metrics = self.shared.telemetry.metrics();
        metrics.events.add(latest.saturating_sub(self.counted.0));
        if dropped > self.counted.1 {
            metrics.dropped.add(dropped - self.counted.1);
        }
        self.counted = (latest, dropped);
    }

    fn wake_readers(&mut self) {
        self.count();
        self.wake.send_replace(self.life.log().latest());
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let failure =
            ask_contract::Failure { kind: ErrorKind::Internal, detail: "the ticket was lost".to_owned() };
        if self.end(Terminal::Error(failure)).is_ok() {
            tracing::error!(ticket.id = %self.life.spec().ticket, "a ticket's actor was lost; its log was ended");
        }
    }
}
