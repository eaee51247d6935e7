//! The loop of one branch: ground, let the model work in turns, run its calls in parallel, end with facts.

use std::time::Duration;

use ask_contract::{BranchId, BranchRole, Effort, ErrorKind, Failure};
use ask_core::outcome::{Conclusion, RefusedCall, RunFacts, ToolFault};
use ask_core::ticket::{HopUsage, Progress};
use ask_llm::{Message, Request, Stop, ToolCall, ToolResult, Turn, TurnError};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;

use crate::call::{EndedCall, PlannedCall, make_call};
use crate::conclude::{CONCLUDE, read_conclusion};
use crate::facts::{FactBook, TABLE_ARGUMENTS, sends_statement};
use crate::grounding::{GroundingLimits, ground, look_up_tables};
use crate::ports::{Model, Report, Sink, Stopped, ToolFailure, ToolServerKind, ToolServers};
use crate::prompt::{grounding_part, system};
use crate::toolbox::Toolbox;
use crate::watch::{Ended, Work};

/// Tool calls a run may make for each model turn that it may take.
const CALLS_A_TURN: u32 = 8;

/// What a branch is asked to do.
#[derive(Debug, Clone)]
pub struct BranchTask {
    /// Names the branch within its ticket.
    pub branch_id: BranchId,
    /// What it is for.
    pub role: BranchRole,
    /// The source that it works on; only for [`BranchRole::Source`].
    pub source: Option<String>,
    /// The question.
    pub question: String,
    /// Whether the catalog's tools are offered.
    pub with_catalog: bool,
    /// The model to ask.
    pub model: String,
    /// How hard it should try.
    pub effort: Effort,
    /// Who asks, for the provider's abuse controls; sent only as a pseudonym.
    pub caller: Option<String>,
    /// The conversation's earlier turns, in full.
    pub history: Vec<Message>,
    /// What is looked up before the first model turn; nothing when absent.
    pub grounding: Option<GroundingLimits>,
    /// What the branch may use.
    pub ceilings: Ceilings,
}

/// What a branch may use before it is broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceilings {
    /// Model turns.
    pub model_turns: u32,
    /// Time for the whole branch.
    pub total: Duration,
}

/// What came of a branch.
#[derive(Debug, Clone, Default)]
pub struct BranchReport {
    /// What the outcome is decided from.
    pub facts: RunFacts,
    /// This turn of the conversation, to be resent with the next: complete, each call with its result.
    pub transcript: Vec<Message>,
}

/// Runs a branch to its end. Tells of all that happens, and of its opening and closing unless it is the run's own.
///
/// # Errors
///
/// [`Stopped`] when the ticket ended meanwhile.
///
/// # Cancel safety
///
/// Dropping the future stops the model turn in flight and makes no further call. Tool calls in flight are let finish by
/// their server; their results are discarded.
pub async fn run_branch(
    task: BranchTask,
    model: &dyn Model,
    servers: &dyn ToolServers,
    sink: &dyn Sink,
) -> Result<BranchReport, Stopped> {
    let total = task.ceilings.total;
    // The run's own branch is opened and closed by its ticket, so that an ending at any moment closes it.
    let of_the_run = task.role == BranchRole::Supervisor;
    let closed = Progress::BranchClosed { branch_id: task.branch_id.clone() };
    if !of_the_run {
        let (branch_id, role, source) = (task.branch_id.clone(), task.role, task.source.clone());
        sink.tell(Report::Progress(Progress::BranchOpened { branch_id, role, source })).await?;
    }
    let report =
        if let Ok(report) = tokio::time::timeout(total, Branch::work(task, model, servers, sink)).await {
            report?
        } else {
            let detail = format!("the run took longer than its limit of {} s", total.as_secs());
            let failure = Some(Failure { kind: ErrorKind::MaxSteps, detail });
            BranchReport { facts: RunFacts { failure, ..RunFacts::default() }, transcript: Vec::new() }
        };
    if !of_the_run {
        sink.tell(Report::Progress(closed)).await?;
    }
    Ok(report)
}

struct Branch<'w> {
    task: BranchTask,
    model: &'w dyn Model,
    sink: &'w dyn Sink,
    toolbox: Toolbox,
    book: FactBook,
    calls_left: u32,
}

impl<'w> Branch<'w> {
    async fn work(
        task: BranchTask,
        model: &'w dyn Model,
        servers: &'w dyn ToolServers,
        sink: &'w dyn Sink,
    ) -> Result<BranchReport, Stopped> {
        let watched = sink.watch().begin(Work::Connect);
        let toolbox = match servers.connect(task.with_catalog).await {
            Ok(servers) => Toolbox::new(servers),
            Err(failure) => {
                watched.end(Ended::Failed("transport"));
                return Ok(not_connected(&failure));
            }
        };
        watched.end(Ended::Done);
        let calls_left = task.ceilings.model_turns.saturating_mul(CALLS_A_TURN);
        let mut branch = Self { task, model, sink, toolbox, book: FactBook::default(), calls_left };
        let transcript = branch.ask().await?;
        branch.read_caveats_of_tables().await?;
        Ok(BranchReport { facts: branch.book.facts, transcript })
    }

    /// Grounds the question and takes model turns until the run has ended one way or another.
    async fn ask(&mut self) -> Result<Vec<Message>, Stopped> {
        let parts = self.opening_parts().await?;
        if self.book.facts.failure.is_some() {
            return Ok(Vec::new());
        }
        let mut messages = std::mem::take(&mut self.task.history);
        let begin = messages.len();
        messages.push(Message::User { parts });
        let system = system(self.task.with_catalog);
        for _ in 0..self.task.ceilings.model_turns {
            let Some(turn) = self.model_turn(&system, &messages).await? else { return Ok(Vec::new()) };
            messages.push(Message::Assistant(turn.assistant.clone()));
            match turn.stop {
                Stop::ToolUse => {
                    let concluded = self.run_calls(&turn.calls, &mut messages).await?;
                    if concluded || self.must_stop() {
                        return Ok(messages.split_off(begin));
                    }
                }
                Stop::End => {
                    self.book.facts.prose = turn.text;
                    return Ok(messages.split_off(begin));
                }
                // The provider wants the dialogue sent again as it stands.
                Stop::Pause => {}
                Stop::MaxTokens | Stop::ContextFull => {
                    return Ok(self.fail_model("the model's reply was cut at its limit on tokens"));
                }
                Stop::Refusal | Stop::ContentFilter => {
                    return Ok(self.fail_model("the model or its provider declined to answer"));
                }
                Stop::Unknown => return Ok(self.fail_model("the model stopped for an unknown reason")),
            }
        }
        let detail = format!("no answer within {} model turns", self.task.ceilings.model_turns);
        self.book.facts.failure = Some(Failure { kind: ErrorKind::MaxSteps, detail });
        Ok(Vec::new())
    }

    /// The parts of the newest user message: what was looked up, then the question.
    async fn opening_parts(&mut self) -> Result<Vec<String>, Stopped> {
        let question = self.task.question.clone();
        let Some(limits) = self.task.grounding else { return Ok(vec![question]) };
        let grounded =
            ground(self.sink, &self.task.branch_id, &self.toolbox, &mut self.book, &question, limits).await?;
        if let Some(detail) = grounded.broken {
            self.book.facts.failure = Some(Failure { kind: ErrorKind::Transport, detail });
        }
        let part = grounding_part(&grounded.look_ups, &grounded.closed, limits.prompt_bytes);
        Ok(part.into_iter().chain([question]).collect())
    }

    async fn model_turn(&mut self, system: &str, messages: &[Message]) -> Result<Option<Turn>, Stopped> {
        self.sink.tell(Report::HopBegan).await?;
        let watch = self.sink.watch();
        let watched = watch.begin(Work::ModelTurn { model: &self.task.model });
        let request = Request {
            model: &self.task.model,
            effort: effort(self.task.effort),
            system,
            tools: self.toolbox.offered(),
            messages,
            caller: self.task.caller.as_deref(),
            traceparent: watched.traceparent(),
            request_id: watch.request_id(),
        };
        let outcome: Result<Turn, TurnError> = self.model.turn(request).await;
        let turn = match outcome {
            Ok(turn) => {
                let (model, usage) = (turn.model.as_str(), turn.usage);
                watched.end(Ended::Replied { model, usage, stop: &turn.stop });
                turn
            }
            Err(err) => {
                watched.end(Ended::Failed("model"));
                self.book.facts.failure = Some(Failure { kind: ErrorKind::Model, detail: err.to_string() });
                return Ok(None);
            }
        };
        let usage = HopUsage {
            tokens_in: turn.usage.input,
            tokens_out: turn.usage.output,
            cache_read_tokens: turn.usage.cache_read,
            cache_write_tokens: turn.usage.cache_write,
        };
        let degraded = turn.degraded.iter().map(|lack| lack.name()).collect();
        self.sink.tell(Report::HopEnded { usage, degraded }).await?;
        Ok(Some(turn))
    }

    /// Runs the calls of one turn in parallel and adds their results; says whether the model concluded.
    async fn run_calls(&mut self, calls: &[ToolCall], messages: &mut Vec<Message>) -> Result<bool, Stopped> {
        let count = u32::try_from(calls.len()).unwrap_or(u32::MAX);
        if count > self.calls_left {
            let detail = "the model made more tool calls than a run may make".to_owned();
            self.book.facts.failure = Some(Failure { kind: ErrorKind::MaxSteps, detail });
            return Ok(false);
        }
        self.calls_left -= count;
        let mut results: Vec<Option<ToolResult>> = vec![None; calls.len()];
        let mut conclusion: Option<Conclusion> = None;
        let mut running = FuturesUnordered::new();
        for (at, call) in calls.iter().enumerate() {
            let answered = match self.plan(call) {
                Planned::Call(planned) => {
                    if let Some((server, tool)) = self.toolbox.find(&call.name) {
                        let (sink, branch_id) = (self.sink, &self.task.branch_id);
                        running.push(async move {
                            (at, make_call(sink, branch_id, server, tool, *planned).await)
                        });
                    }
                    continue;
                }
                Planned::Conclusion(concluded) => {
                    conclusion = Some(*concluded);
                    (String::from("noted"), false)
                }
                Planned::Mistake(said) => (said, true),
            };
            if let Some(slot) = results.get_mut(at) {
                *slot = Some(ToolResult { id: call.id.clone(), text: answered.0, is_error: answered.1 });
            }
        }
        let mut ended = Vec::new();
        while let Some((at, call)) = running.next().await {
            ended.push((at, call?));
        }
        drop(running);
        ended.sort_by_key(|(at, _)| *at);
        for (at, call) in ended {
            if let (Some(slot), Some(asked)) = (results.get_mut(at), calls.get(at)) {
                *slot = Some(ToolResult {
                    id: asked.id.clone(),
                    text: call.text.clone(),
                    is_error: call.fault.is_some(),
                });
            }
            self.take_in(&call);
        }
        messages.push(Message::Results(results.into_iter().flatten().collect()));
        let concluded = conclusion.is_some();
        self.book.facts.conclusion = conclusion;
        Ok(concluded)
    }

    /// What a call of the model's comes to before anything is sent.
    fn plan(&self, call: &ToolCall) -> Planned {
        let args = match &call.args {
            Ok(args) => args.clone(),
            Err(err) => return Planned::Mistake(err.to_string()),
        };
        if call.name == CONCLUDE {
            return match read_conclusion(&args) {
                Ok(conclusion) => Planned::Conclusion(Box::new(conclusion)),
                Err(said) => Planned::Mistake(said),
            };
        }
        let Some((server, tool)) = self.toolbox.find(&call.name) else {
            return Planned::Mistake("there is no tool of this name".to_owned());
        };
        let text = |name: &str| args.get(name).and_then(Value::as_str).map(str::to_owned);
        let statement = sends_statement(tool, &args).filter(|_| server.kind() == ToolServerKind::Source);
        let subject = match (server.kind(), statement) {
            (_, Some(sql)) => self.book.subject_of(sql),
            (ToolServerKind::Catalog, None) => text("query")
                .or_else(|| text("fqn").map(|fqn| self.book.term_of(&fqn).unwrap_or(&fqn).to_owned())),
            (ToolServerKind::Source, None) => TABLE_ARGUMENTS.iter().find_map(|name| text(name)),
        };
        let named = text("source").filter(|_| server.kind() == ToolServerKind::Source);
        let source = named.or_else(|| statement.and_then(|sql| self.book.source_of(sql)));
        Planned::Call(Box::new(PlannedCall { full_name: call.name.clone(), args, subject, source }))
    }

    /// Takes in what a call of the model's came to.
    fn take_in(&mut self, call: &EndedCall) {
        let tool = self.toolbox.find(&call.planned.full_name).map_or("", |(_, tool)| tool).to_owned();
        if call.kind == ToolServerKind::Catalog {
            self.book.note_search(&call.planned.args);
        }
        match &call.fault {
            None => self.book.note_reply(
                call.kind,
                &tool,
                &call.planned.args,
                call.structured.as_ref(),
                call.records.as_ref(),
            ),
            Some((ToolFault::Refused(what), detail)) => {
                self.book.facts.refused.get_or_insert_with(|| RefusedCall {
                    what: *what,
                    detail: detail.clone(),
                    source: call.planned.source.clone(),
                });
            }
            Some((ToolFault::Transport, detail)) => {
                let failure = Failure { kind: ErrorKind::Transport, detail: detail.clone() };
                self.book.facts.failure.get_or_insert(failure);
            }
            Some((ToolFault::Invalid | ToolFault::TimedOut, _)) => {}
        }
    }

    /// Whether no further model call may be made.
    const fn must_stop(&self) -> bool {
        self.book.facts.refused.is_some() || self.book.facts.failure.is_some()
    }

    fn fail_model(&mut self, detail: &str) -> Vec<Message> {
        self.book.facts.failure = Some(Failure { kind: ErrorKind::Model, detail: detail.to_owned() });
        Vec::new()
    }

    /// What the catalog raises about a table belongs to every answer that rests on it, also when no one read it before.
    async fn read_caveats_of_tables(&mut self) -> Result<(), Stopped> {
        let facts = &self.book.facts;
        if facts.refused.is_some() || facts.failure.is_some() {
            return Ok(());
        }
        let mut tables: Vec<String> =
            facts.statements.iter().flat_map(|ran| ran.tables.iter().cloned()).collect();
        tables.sort_unstable();
        tables.dedup();
        look_up_tables(self.sink, &self.task.branch_id, &self.toolbox, &mut self.book, &tables).await
    }
}

/// What a call of the model's comes to.
enum Planned {
    Call(Box<PlannedCall>),
    Conclusion(Box<Conclusion>),
    Mistake(String),
}

fn not_connected(failure: &ToolFailure) -> BranchReport {
    let mut facts = RunFacts::default();
    match failure {
        ToolFailure::Status { status, .. } => match ask_core::outcome::classify(None, Some(*status)) {
            ToolFault::Refused(what) => {
                facts.refused = Some(RefusedCall { what, detail: failure.to_string(), source: None });
            }
            ToolFault::Invalid | ToolFault::TimedOut | ToolFault::Transport => {
                facts.failure = Some(Failure { kind: ErrorKind::Transport, detail: failure.to_string() });
            }
        },
        ToolFailure::Invalid { .. } | ToolFailure::Transport { .. } => {
            facts.failure = Some(Failure { kind: ErrorKind::Transport, detail: failure.to_string() });
        }
    }
    BranchReport { facts, transcript: Vec::new() }
}

const fn effort(effort: Effort) -> ask_llm::Effort {
    match effort {
        Effort::Low => ask_llm::Effort::Low,
        Effort::Medium => ask_llm::Effort::Medium,
        Effort::High => ask_llm::Effort::High,
        Effort::Xhigh => ask_llm::Effort::Xhigh,
        Effort::Max => ask_llm::Effort::Max,
    }
}
