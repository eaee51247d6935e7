//! Following one ask: its events to the screen, and the person's leaving to the service.

use std::pin::Pin;
use std::time::Duration;

use ask_client::{CallError, Client, EventStream, Notice, Received, StreamError};
use ask_contract::{
    BranchState, CancelReceipt, ErrorKind, Event, EventBody, Milestone, Outcome, Step, TicketId,
};
use futures_util::FutureExt as _;
use futures_util::future::{LocalBoxFuture, OptionFuture};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, Sleep, interval, sleep, timeout};

use super::{Desk, explain};
use crate::args::Format;
use crate::exit::Exit;
use crate::progress::TICK;
use crate::render::{self, Layout};
use crate::screen::Closed;
use crate::{neutral, words};

/// How long a cancel may take, from the person's wish to the ending.
const CANCEL_WITHIN: Duration = Duration::from_secs(5);

/// Which ask is followed, and whether leaving cancels it.
pub(super) struct Following {
    ticket: TicketId,
    after: u64,
    own: bool,
}

impl Following {
    /// An ask that this process made: whoever leaves cancels it, since the run spends their quota.
    pub(super) const fn own(ticket: TicketId) -> Self {
        Self { ticket, after: 0, own: true }
    }

    /// An ask that was there before: whoever leaves only stops watching.
    pub(super) const fn others(ticket: TicketId, after: u64) -> Self {
        Self { ticket, after, own: false }
    }
}

/// What happens next.
enum Next {
    Left,
    Cancelled(Result<CancelReceipt, CallError>),
    Overdue,
    Tick,
    Notice(Notice),
    Event(Box<Received>),
    Over(Option<Box<StreamError>>),
}

/// A cancel under way.
#[derive(Default)]
struct Cancelling {
    call: OptionFuture<LocalBoxFuture<'static, Result<CancelReceipt, CallError>>>,
    overdue: OptionFuture<Pin<Box<Sleep>>>,
    begun: bool,
}

impl Cancelling {
    fn begin(&mut self, client: &Client, ticket: &TicketId) {
        let (client, ticket) = (client.clone(), ticket.clone());
        self.call = Some(async move { client.cancel(&ticket).await }.boxed_local()).into();
        self.overdue = Some(Box::pin(sleep(CANCEL_WITHIN))).into();
        self.begun = true;
    }
}

/// Shows the ask's events until its ending, and returns what the process exits with.
pub(super) async fn follow(desk: &mut Desk, following: Following) -> Exit {
    let Following { ticket, after, own } = following;
    let mut events = desk.client.events_after(&ticket, after);
    let mut notices = watch_connection(&mut events, desk.output.trace);
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut cancelling = Cancelling::default();
    let mut ending = None;
    loop {
        let next = tokio::select! {
            biased;
            () = desk.leaving.next() => Next::Left,
            Some(cancelled) = &mut cancelling.call => Next::Cancelled(cancelled),
            Some(()) = &mut cancelling.overdue => Next::Overdue,
            Some(notice) = notices.recv() => Next::Notice(notice),
            event = events.next() => match event {
                Ok(Some(received)) => Next::Event(Box::new(received)),
                Ok(None) => Next::Over(None),
                Err(err) => Next::Over(Some(Box::new(err))),
            },
            _ = ticks.tick(), if desk.screen.progress.turns() => Next::Tick,
        };
        match next {
            Next::Tick => desk.screen.progress.tick(),
            Next::Notice(notice) => desk.screen.note(desk.screen.note_style.dim(connection(notice))),
            Next::Left if !own => return left(desk, "Stopped watching; the ask goes on."),
            Next::Left if cancelling.begun => return left(desk, &left_behind(&ticket)),
            Next::Left => {
                desk.screen.progress.say("Cancelling");
                cancelling.begin(&desk.client, &ticket);
            }
            Next::Cancelled(Ok(_)) => cancelling.call = None.into(),
            Next::Cancelled(Err(err)) => {
                let text = format!("can't cancel: {}", explain::call(&err, desk.client.base()));
                desk.screen.progress.stop();
                desk.screen.problem(&text);
                return left(desk, &left_behind(&ticket));
            }
            Next::Overdue => return left(desk, &left_behind(&ticket)),
            Next::Event(received) => {
                let done = received.is_done();
                match show(desk, *received) {
                    Ok(told) => ending = ending.or(told),
                    Err(Closed(exit)) => {
                        abandon(desk, &ticket, own && !done).await;
                        return exit;
                    }
                }
            }
            Next::Over(err) => return settle(desk, &ticket, ending, err.map(|err| *err)).await,
        }
    }
}

/// The stream is over. Where it brought no ending, the ask's state may.
async fn settle(desk: &mut Desk, ticket: &TicketId, ending: Option<Exit>, err: Option<StreamError>) -> Exit {
    if let Some(exit) = ending {
        return exit;
    }
    let told = match &err {
        Some(err) if !matches!(err, StreamError::Lost { .. }) => None,
        Some(_) | None => desk.client.state(ticket).await.ok().and_then(|state| state.terminal),
    };
    if let Some(event) = told {
        let raw = serde_json::to_string(&event).unwrap_or_default();
        let kind = event.body.event_type().as_str().to_owned();
        let received = Received { seq: event.seq, kind, raw, event: Some(event) };
        return match show(desk, received) {
            Ok(told) => told.unwrap_or(Exit::Error),
            Err(Closed(exit)) => exit,
        };
    }
    desk.screen.progress.stop();
    let Some(err) = err else {
        desk.screen.problem("the stream is over without an ending");
        return Exit::Error;
    };
    desk.screen.problem(&explain::stream(&err));
    if let StreamError::Lost { after, .. } = err {
        let ticket = neutral::shell_word(ticket.as_str());
        desk.screen.note(format_args!("The ask may still run; see with: ask watch {ticket} --after {after}"));
    }
    Exit::of_stream(&err)
}

/// Nobody reads any more: an ask of one's own is cancelled, without a word.
async fn abandon(desk: &Desk, ticket: &TicketId, running: bool) {
    if running {
        drop(timeout(CANCEL_WITHIN, desk.client.cancel(ticket)).await);
    }
}

fn left(desk: &mut Desk, text: &str) -> Exit {
    desk.screen.progress.stop();
    desk.screen.note(text);
    Exit::Cancelled
}

fn left_behind(ticket: &TicketId) -> String {
    let ticket = neutral::shell_word(ticket.as_str());
    format!("Left without seeing the ask end; it may still run. End it with: ask cancel {ticket}")
}

/// Has cuts and resumptions told, where the person asked for a trace.
fn watch_connection(events: &mut EventStream, trace: bool) -> mpsc::UnboundedReceiver<Notice> {
    let (tell, notices) = mpsc::unbounded_channel();
    if trace {
        // Nobody listens when the ask is over; that is no failure.
        events.observe(move |notice| tell.send(notice).unwrap_or_default());
    }
    notices
}

fn connection(notice: Notice) -> String {
    match notice {
        Notice::Cut { reason, attempt, pause } => {
            format!("  connection: {reason}; attempt {attempt}, again in {} ms", pause.as_millis())
        }
        Notice::Resumed { after } => format!("  connection: resumed after event {after}"),
    }
}

/// Shows one event; a terminal one tells the exit.
fn show(desk: &mut Desk, received: Received) -> Result<Option<Exit>, Closed> {
    let ends = received.event.as_ref().is_some_and(|event| event.body.event_type().is_terminal());
    if desk.output.json {
        desk.screen.data(&format!("{}\n", neutral::json(&received.raw)))?;
    } else if ends {
        desk.screen.progress.stop();
        if desk.output.format == Format::Json {
            desk.screen.data(&format!("{}\n", neutral::json(&received.raw)))?;
        }
    }
    let Some(Event { body, .. }) = received.event else { return Ok(None) };
    let exit = exit_of(&body);
    if desk.output.trace {
        trace(desk, &body);
    }
    if !desk.output.json {
        tell(desk, &body)?;
    }
    Ok(exit)
}

const fn exit_of(body: &EventBody) -> Option<Exit> {
    match body {
        EventBody::Answer(_) => Some(Exit::Answer),
        EventBody::Abstention(_) => Some(Exit::Abstention),
        EventBody::Refusal(_) => Some(Exit::Refusal),
        EventBody::Error(failure) if matches!(failure.kind, ErrorKind::Cancelled) => Some(Exit::Cancelled),
        EventBody::Error(_) => Some(Exit::Error),
        // A stream that is watched from behind its terminal still tells the outcome.
        EventBody::Done(done) => Some(match done.outcome {
            Outcome::Answer => Exit::Answer,
            Outcome::Abstention => Exit::Abstention,
            Outcome::Refusal => Exit::Refusal,
            Outcome::Error => Exit::Error,
        }),
        EventBody::Accepted(_) | EventBody::Branch(_) | EventBody::Step(_) | EventBody::Milestone(_) => None,
    }
}

fn tell(desk: &mut Desk, body: &EventBody) -> Result<(), Closed> {
    let style = desk.screen.note_style;
    match body {
        EventBody::Answer(answer) => {
            let Desk { output, screen, chats, .. } = desk;
            let layout = Layout {
                style: screen.style,
                width: screen.width,
                rows: output.rows,
                sql: output.sql,
                sql_by: if *chats { "/sql" } else { "--sql" },
                chart: output.chart,
            };
            match output.format {
                Format::Table => screen.data(&render::text(answer, layout))?,
                Format::Markdown => screen.data(&render::markdown(answer, layout))?,
                Format::Csv => {
                    screen.data(&render::csv(answer))?;
                    let beside = render::beside_rows(answer, style);
                    if !beside.is_empty() {
                        screen.prose(&beside);
                    }
                }
                Format::Json => {}
            }
        }
        EventBody::Abstention(abstention) => desk.screen.prose(&render::abstention(abstention, style)),
        EventBody::Refusal(refusal) => desk.screen.prose(&render::refusal(refusal, style)),
        EventBody::Error(failure) if failure.kind == ErrorKind::Cancelled => desk.screen.note("Cancelled."),
        EventBody::Error(failure) => desk.screen.prose(&render::failure(failure, style)),
        EventBody::Milestone(milestone) => {
            let id = milestone.branch_id.as_str();
            desk.screen.progress.say_in(id, &words::milestone(milestone));
        }
        EventBody::Branch(branch) => match branch.state {
            BranchState::Opened => {
                if let Some(name) = words::branch(branch) {
                    desk.screen.progress.open(branch.branch_id.as_str(), &name);
                }
            }
            BranchState::Closed => desk.screen.progress.close(branch.branch_id.as_str()),
        },
        EventBody::Done(done) => {
            if !desk.output.quiet {
                desk.screen.prose(&style.dim(format!("Took {}.", render::summary(done))).to_string());
            }
            for lack in &done.degraded {
                desk.screen.note(style.dim(format!("The model's protocol lacks: {}", neutral::line(lack))));
            }
        }
        EventBody::Accepted(_) | EventBody::Step(_) => {}
    }
    Ok(())
}

fn trace(desk: &mut Desk, body: &EventBody) {
    let style = desk.screen.note_style;
    let line = match body {
        EventBody::Step(step) => step_line(step),
        EventBody::Branch(branch) => {
            let state = match branch.state {
                BranchState::Opened => "opened",
                BranchState::Closed => "closed",
            };
            let source = branch.source.as_deref().map(neutral::line).unwrap_or_default();
            format!("  branch {} {state} {source}", neutral::line(branch.branch_id.as_str()))
        }
        EventBody::Milestone(Milestone { branch_id, .. }) if desk.output.json => {
            format!("  milestone of {}", neutral::line(branch_id.as_str()))
        }
        EventBody::Done(done) => format!(
            "  tokens: {} in, {} out, {} read from cache, {} written to cache",
            done.tokens_in, done.tokens_out, done.cache_read_tokens, done.cache_write_tokens
        ),
        EventBody::Accepted(_)
        | EventBody::Milestone(_)
        | EventBody::Answer(_)
        | EventBody::Abstention(_)
        | EventBody::Refusal(_)
        | EventBody::Error(_) => return,
    };
    desk.screen.note(style.dim(line.trim_end()));
}

fn step_line(step: &Step) -> String {
    let args = serde_json::Value::Object(step.args.clone()).to_string();
    let failed = if step.is_error { " FAILED" } else { "" };
    let ms = words::span(step.ms);
    format!("  {ms:>8}  {}{failed}  {}", neutral::line(&step.tool), neutral::json(&args))
}
