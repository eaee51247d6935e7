//! One tool call: its milestone when it starts, its step when it ends, and what its failure means.

use std::time::Duration;

use ask_contract::{BranchId, Milestone, Phase, ResultTable, Step};
use ask_core::outcome::{ToolFault, classify};
use ask_core::ticket::Progress;
use serde_json::{Map, Value};

use crate::bounds::result_text;
use crate::facts::sends_statement;
use crate::foreign;
use crate::ports::{Report, Sink, Stopped, ToolFailure, ToolReply, ToolServer, ToolServerKind};
use crate::watch::{Ended, Work};

/// The longest wait that a server may ask for before its "too many requests" counts.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A call that is about to be made.
#[derive(Debug, Clone)]
pub(crate) struct PlannedCall {
    /// `server__tool`.
    pub(crate) full_name: String,
    /// As the server takes them.
    pub(crate) args: Map<String, Value>,
    /// What it is about, in the catalog's words.
    pub(crate) subject: Option<String>,
    /// The source it is about.
    pub(crate) source: Option<String>,
}

/// A call that has ended.
#[derive(Debug, Clone)]
pub(crate) struct EndedCall {
    pub(crate) kind: ToolServerKind,
    pub(crate) planned: PlannedCall,
    /// The tool's answer as JSON, where it gave one.
    pub(crate) structured: Option<Value>,
    /// The rows of a source's answer that has them in a form of its own.
    pub(crate) records: Option<ResultTable>,
    /// The tool's answer, or its error, as text for the model.
    pub(crate) text: String,
    /// What its failure means, if it failed.
    pub(crate) fault: Option<(ToolFault, String)>,
}

/// Makes a call. Its milestone is told before, its step after, also when it fails.
pub(crate) async fn make_call(
    sink: &dyn Sink,
    branch_id: &BranchId,
    server: &dyn ToolServer,
    tool: &str,
    planned: PlannedCall,
) -> Result<EndedCall, Stopped> {
    let kind = server.kind();
    let milestone = Milestone {
        branch_id: branch_id.clone(),
        phase: phase(kind, tool, &planned.args),
        subject: planned.subject.clone(),
        source: planned.source.clone(),
    };
    sink.tell(Report::Progress(Progress::Milestone(milestone))).await?;
    let began = tokio::time::Instant::now();
    let watched = sink.watch().begin(Work::ToolCall { server: server.name(), kind, tool });
    let outcome = call_with_one_wait(server, tool, &planned.args, watched.traceparent()).await;
    let elapsed = began.elapsed();
    let ended = read_outcome(server, planned, outcome);
    watched.end(ended.fault.as_ref().map_or(Ended::Done, |(fault, _)| Ended::Failed(fault_word(*fault))));
    let reported = ended.structured.as_ref().and_then(|reply| reply.get("ms")).and_then(Value::as_u64);
    let step = Step {
        branch_id: branch_id.clone(),
        tool: ended.planned.full_name.clone(),
        args: ended.planned.args.clone(),
        ms: reported.unwrap_or_else(|| u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)),
        is_error: ended.fault.is_some(),
    };
    sink.tell(Report::Progress(Progress::Step(step))).await?;
    Ok(ended)
}

fn phase(kind: ToolServerKind, tool: &str, args: &Map<String, Value>) -> Phase {
    match kind {
        ToolServerKind::Catalog => Phase::Grounding,
        ToolServerKind::Source if sends_statement(tool, args).is_some() => Phase::Querying,
        ToolServerKind::Source => Phase::Discovering,
    }
}

/// Waits once for a server that asks for a short pause.
async fn call_with_one_wait(
    server: &dyn ToolServer,
    tool: &str,
    args: &Map<String, Value>,
    traceparent: Option<&str>,
) -> Result<ToolReply, ToolFailure> {
    let outcome = server.call_within(tool, args, traceparent).await;
    match &outcome {
        Err(ToolFailure::Status { status: 429, retry_after: Some(wait), .. }) if *wait <= LONGEST_WAIT => {
            tokio::time::sleep(*wait).await;
            server.call_within(tool, args, traceparent).await
        }
        Ok(_) | Err(_) => outcome,
    }
}

fn read_outcome(
    server: &dyn ToolServer,
    planned: PlannedCall,
    outcome: Result<ToolReply, ToolFailure>,
) -> EndedCall {
    let kind = server.kind();
    match outcome {
        Ok(reply) => {
            let structured = reply.structured.or_else(|| serde_json::from_str(&reply.text).ok());
            let structured = structured.filter(Value::is_object).map(foreign::unwrapped);
            let text = result_text(structured.as_ref(), &reply.text);
            let fault = reply.is_error.then(|| {
                let error = structured.as_ref().and_then(|answer| answer.get("error"));
                let member = |name: &str| error.and_then(|error| error.get(name)).and_then(Value::as_str);
                let said = member("message").unwrap_or(&text);
                let fault = match member("code") {
                    None if server.uncoded_is_mistake() => ToolFault::Invalid,
                    code => classify(code, None),
                };
                (fault, first_line(said))
            });
            let records = match (kind, &fault) {
                (ToolServerKind::Source, None) => foreign::records(structured.as_ref(), &reply.text),
                (ToolServerKind::Source | ToolServerKind::Catalog, _) => None,
            };
            // No answer rests on a statement that failed: a failure in prose goes back to the model as its mistake.
            let fault = fault.or_else(|| {
                let unread = kind == ToolServerKind::Source && records.is_none();
                let said = unread.then(|| foreign::failure(structured.as_ref(), &reply.text)).flatten()?;
                Some((ToolFault::Invalid, first_line(&said)))
            });
            EndedCall { kind, planned, structured, records, text, fault }
        }
        Err(failure) => {
            let text = failure.to_string();
            let fault = match &failure {
                ToolFailure::Status { status, .. } => (classify(None, Some(*status)), text.clone()),
                ToolFailure::Invalid { message, .. } => (ToolFault::Invalid, message.clone()),
                ToolFailure::Transport { .. } => (ToolFault::Transport, text.clone()),
            };
            EndedCall {
                kind,
                planned,
                structured: None,
                records: None,
                text: format!("{text}: {}", fault.1),
                fault: Some(fault),
            }
        }
    }
}

/// A message as one bounded line.
fn first_line(text: &str) -> String {
    const BYTES: usize = 600;
    let line = text.trim().lines().next().unwrap_or_default();
    line.get(..line.floor_char_boundary(BYTES)).unwrap_or_default().to_owned()
}

/// What a fault is called where only fixed words may stand.
const fn fault_word(fault: ToolFault) -> &'static str {
    match fault {
        ToolFault::Refused(_) => "refused",
        ToolFault::Invalid => "invalid",
        ToolFault::TimedOut => "timeout",
        ToolFault::Transport => "transport",
    }
}
