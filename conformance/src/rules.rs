//! The rules that hold on every stream, each as a function from a log to what breaks it.

use std::collections::BTreeMap;

use serde_json::Value;
use time::format_description::well_known::Rfc3339;

use crate::log::{End, Event, Log};

/// A member of an event and the JSON it may hold.
struct Member(&'static str, Shape);

enum Shape {
    Text,
    Count,
    Flag,
    Object,
    List,
    OneOf(&'static [&'static str]),
    OrNull(&'static Shape),
    Optional(&'static Shape),
    Any,
}

impl Shape {
    fn takes(&self, value: Option<&Value>) -> bool {
        match (self, value) {
            (Self::Optional(inner), value) => value.is_none_or(|value| inner.takes(Some(value))),
            (_, None) => false,
            (Self::OrNull(inner), Some(value)) => value.is_null() || inner.takes(Some(value)),
            (Self::Text, Some(value)) => value.is_string(),
            (Self::Count, Some(value)) => value.is_u64(),
            (Self::Flag, Some(value)) => value.is_boolean(),
            (Self::Object, Some(value)) => value.is_object(),
            (Self::List, Some(value)) => {
                value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
            }
            (Self::OneOf(names), Some(value)) => value.as_str().is_some_and(|name| names.contains(&name)),
            (Self::Any, Some(_)) => true,
        }
    }
}

const NULLABLE_TEXT: Shape = Shape::OrNull(&Shape::Text);
const OPTIONAL_TEXT: Shape = Shape::Optional(&NULLABLE_TEXT);
const NULLABLE_OBJECT: Shape = Shape::OrNull(&Shape::Object);
const OPTIONAL_OBJECT: Shape = Shape::Optional(&NULLABLE_OBJECT);

fn members_of(kind: &str) -> Option<&'static [Member]> {
    Some(match kind {
        "accepted" => &[
            Member("question", Shape::Text),
            Member("turn", Shape::Count),
            Member("contract_version", Shape::OneOf(&["1"])),
        ],
        "branch" => &[
            Member("branch_id", Shape::Text),
            Member("state", Shape::OneOf(&["opened", "closed"])),
            Member("role", Shape::OneOf(&["supervisor", "grounding", "source", "divergence"])),
            Member("source", OPTIONAL_TEXT),
        ],
        "step" => &[
            Member("branch_id", Shape::Text),
            Member("tool", Shape::Text),
            Member("args", Shape::Object),
            Member("ms", Shape::Count),
            Member("is_error", Shape::Flag),
        ],
        "milestone" => &[
            Member("branch_id", Shape::Text),
            Member("phase", Shape::OneOf(&["grounding", "discovering", "querying", "reconciling"])),
            Member("subject", OPTIONAL_TEXT),
            Member("source", OPTIONAL_TEXT),
        ],
        "answer" => &[
            Member("text", Shape::Text),
            Member("path", Shape::Object),
            Member("provenance", Shape::Any),
            Member("sources", Shape::List),
            Member("tables", Shape::List),
            Member("sql", Shape::List),
            Member("caveats", Shape::List),
            Member("result", OPTIONAL_OBJECT),
            Member("headline", OPTIONAL_OBJECT),
            Member("divergence", OPTIONAL_OBJECT),
        ],
        "abstention" => &[Member("text", Shape::Text), Member("searched_terms", Shape::List)],
        "refusal" => &[
            Member("what", Shape::OneOf(&["access", "guard", "rate_limit"])),
            Member("detail", Shape::Text),
            Member("source", OPTIONAL_TEXT),
        ],
        "error" => &[
            Member("kind", Shape::OneOf(&["cancelled", "max_steps", "model", "transport", "internal"])),
            Member("detail", Shape::Text),
        ],
        "done" => &[
            Member("outcome", Shape::OneOf(&["answer", "abstention", "refusal", "error"])),
            Member("hops", Shape::Count),
            Member("steps", Shape::Count),
            Member("tokens_in", Shape::Count),
            Member("tokens_out", Shape::Count),
            Member("cache_read_tokens", Shape::Count),
            Member("cache_write_tokens", Shape::Count),
            Member("ms", Shape::Count),
            Member("model", Shape::Text),
            Member("effort", Shape::Text),
        ],
        _ => return None,
    })
}

/// Each event has the members of its type, by the contract's own table.
pub(crate) fn shapes(log: &Log) -> Vec<String> {
    let mut found = Vec::new();
    for event in &log.events {
        let Some(members) = members_of(event.kind()) else {
            found.push(format!("seq {} has the unknown type {:?}", event.seq(), event.kind()));
            continue;
        };
        for Member(name, shape) in members {
            let value = event.data.get(name);
            if !shape.takes(value) {
                found.push(format!("{}.{name} is {}", event.kind(), shown(value)));
            }
        }
        if event.kind() == "answer" {
            found.extend(answer_shape(event));
        }
    }
    found
}

fn answer_shape(answer: &Event) -> Vec<String> {
    let mut found = Vec::new();
    let path = answer.data.get("path");
    let member = |name: &str| path.and_then(|path| path.get(name)).and_then(Value::as_str);
    if !matches!(member("speed"), Some("fast" | "full")) {
        found.push(format!("answer.path is {}", shown(path)));
    }
    if !matches!(member("detail"), Some("catalog" | "warehouse" | "multi")) {
        found.push(format!("answer.path is {}", shown(path)));
    }
    let provenance = answer.data.get("provenance");
    let whole = provenance.and_then(Value::as_array).is_some_and(|entries| {
        entries.iter().all(|entry| {
            ["term", "statement", "source", "kind"]
                .iter()
                .all(|name| entry.get(name).is_some_and(Value::is_string))
        })
    });
    if !whole {
        found.push(format!("answer.provenance is {}", shown(provenance)));
    }
    if let Some(result) = answer.data.get("result").filter(|result| !result.is_null()) {
        let columns = result.get("columns").and_then(Value::as_array).map(Vec::len);
        let rows = result.get("rows").and_then(Value::as_array);
        let square = rows.is_some_and(|rows| rows.iter().all(|row| row.as_array().map(Vec::len) == columns));
        if columns.is_none() || !square || !result.get("truncated").is_some_and(Value::is_boolean) {
            found.push(format!("answer.result is {}", shown(Some(result))));
        }
    }
    found
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "missing".to_owned(), |value| value.to_string().chars().take(120).collect())
}

/// Each frame is `id`, `event` and one line of `data`, and says what its data says.
pub(crate) fn frames(log: &Log) -> Vec<String> {
    let mut found = Vec::new();
    for event in &log.events {
        let frame = &event.frame;
        let names: Vec<_> = frame.fields.iter().map(|(name, _)| name.as_str()).collect();
        if names != ["id", "event", "data"] {
            found.push(format!("a frame has the fields {names:?}"));
        }
        if !frame.utf8 {
            found.push(format!("frame {} is not UTF-8", event.seq()));
        }
        if !event.data.is_object() {
            found.push(format!("the data of frame {:?} is not one JSON object", frame.only("id")));
            continue;
        }
        if frame.only("id") != Some(event.seq().to_string().as_str()) {
            found.push(format!("id {:?} carries seq {}", frame.only("id").unwrap_or_default(), event.seq()));
        }
        if frame.only("event") != Some(event.kind()) {
            found.push(format!("event {:?} carries type {:?}", frame.only("event"), event.kind()));
        }
    }
    if !log.leftover.is_empty() {
        found.push(format!("{} bytes after the last whole frame", log.leftover.len()));
    }
    found
}

/// Each event carries the envelope of this ticket.
pub(crate) fn envelope(log: &Log, ticket: &str, conversation: &str) -> Vec<String> {
    let mut found = Vec::new();
    for event in &log.events {
        if event.data.get("seq").and_then(Value::as_u64).is_none_or(|seq| seq < 1) {
            found.push(format!("{}.seq is {}", event.kind(), shown(event.data.get("seq"))));
        }
        if event.text("ticket") != ticket {
            found.push(format!("{}.ticket is {}", event.kind(), shown(event.data.get("ticket"))));
        }
        if event.text("conversation_id") != conversation {
            found.push(format!(
                "{}.conversation_id is {}",
                event.kind(),
                shown(event.data.get("conversation_id"))
            ));
        }
        if event.kind().is_empty() {
            found.push(format!("seq {} has no type", event.seq()));
        }
    }
    found
}

/// `ts` is RFC 3339 in UTC with milliseconds.
pub(crate) fn timestamps(log: &Log) -> Vec<String> {
    let mut found = Vec::new();
    for event in &log.events {
        let ts = event.text("ts");
        let fraction = ts.rsplit_once('.').map(|(_, fraction)| fraction).unwrap_or_default();
        let milliseconds = fraction.len() == 4
            && fraction
                .strip_suffix('Z')
                .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        if time::OffsetDateTime::parse(ts, &Rfc3339).is_err() || !milliseconds {
            found.push(format!("{}.ts is {}", event.kind(), shown(event.data.get("ts"))));
        }
    }
    found
}

/// `seq` starts at 1 and rises by one.
pub(crate) fn sequence(log: &Log) -> Vec<String> {
    let mut found = Vec::new();
    for (expected, event) in (1..).zip(&log.events) {
        if event.seq() != expected {
            found.push(format!("event {expected} of the stream ({}) has seq {}", event.kind(), event.seq()));
        }
    }
    found
}

/// `accepted` is first and once.
pub(crate) fn accepted(log: &Log) -> Vec<String> {
    let mut found = Vec::new();
    if log.events.first().map(Event::kind) != Some("accepted") {
        found.push(format!("the stream does not start with accepted: {}", log.outline()));
    }
    let count = log.of("accepted").count();
    if count != 1 {
        found.push(format!("{count} accepted events"));
    }
    found
}

/// Exactly one of the four terminals.
pub(crate) fn one_terminal(log: &Log) -> Vec<String> {
    let count = log.events.iter().filter(|event| event.is_terminal()).count();
    if count == 1 { Vec::new() } else { vec![format!("{count} terminal events: {}", log.outline())] }
}

/// Exactly one `done`, last.
pub(crate) fn done_last(log: &Log) -> Vec<String> {
    let mut found = Vec::new();
    let count = log.of("done").count();
    if count != 1 {
        found.push(format!("{count} done events: {}", log.outline()));
    }
    if log.events.last().map(Event::kind) != Some("done") {
        found.push(format!("done is not last: {}", log.outline()));
    }
    found
}

/// The terminal event comes right before `done`.
pub(crate) fn terminal_then_done(log: &Log) -> Vec<String> {
    let mut kinds = log.events.iter().rev();
    match (kinds.next(), kinds.next()) {
        (Some(done), Some(terminal)) if done.kind() == "done" && terminal.is_terminal() => Vec::new(),
        _ => vec![format!("the terminal is not followed by done alone: {}", log.outline())],
    }
}

/// The stream ends as HTTP announces it once `done` is out.
pub(crate) fn closes(log: &Log) -> Vec<String> {
    if log.end == End::Clean { Vec::new() } else { vec![format!("after done the stream was {:?}", log.end)] }
}

/// `done.outcome` names the terminal.
pub(crate) fn outcome(log: &Log) -> Vec<String> {
    let terminal = log.terminal().map(Event::kind).unwrap_or_default();
    let outcome = log.done().map(|done| done.text("outcome")).unwrap_or_default();
    if terminal == outcome {
        Vec::new()
    } else {
        vec![format!("done.outcome {outcome:?} after {terminal:?}")]
    }
}

/// `done.steps` counts the steps.
pub(crate) fn steps(log: &Log) -> Vec<String> {
    let emitted = log.of("step").count() as u64;
    let said = log.done().and_then(|done| done.data.get("steps")).and_then(Value::as_u64);
    if said == Some(emitted) {
        Vec::new()
    } else {
        vec![format!("done.steps is {said:?}, the stream had {emitted} steps")]
    }
}

/// Every branch that opens closes, each once; the supervisor is the only one of its role.
pub(crate) fn branch_pairs(log: &Log) -> Vec<String> {
    let mut found = Vec::new();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut supervisors = 0;
    for event in log.of("branch") {
        let (opened, closed) = counts.entry(event.text("branch_id")).or_default();
        if event.text("state") == "opened" {
            *opened += 1;
            supervisors += usize::from(event.text("role") == "supervisor");
        } else {
            *closed += 1;
        }
    }
    for (id, (opened, closed)) in &counts {
        if (*opened, *closed) != (1, 1) {
            found.push(format!("branch {id:?} opened {opened} and closed {closed} times"));
        }
    }
    if supervisors != 1 {
        found.push(format!("{supervisors} supervisor branches: {}", log.outline()));
    }
    found
}

/// No step or milestone outside the life of its branch.
pub(crate) fn branch_life(log: &Log) -> Vec<String> {
    let mut found = Vec::new();
    let mut alive: Vec<&str> = Vec::new();
    for event in &log.events {
        let id = event.text("branch_id");
        match event.kind() {
            "branch" if event.text("state") == "opened" => alive.push(id),
            "branch" => {
                if !alive.contains(&id) {
                    found.push(format!("branch {id:?} closes before it opens"));
                }
                alive.retain(|open| *open != id);
            }
            "step" | "milestone" if !alive.contains(&id) => {
                found.push(format!("{} {} outside the life of branch {id:?}", event.kind(), event.seq()));
            }
            _ => {}
        }
    }
    found
}

/// Only `source` branches name a source; a branch closes with the role that it opened with.
pub(crate) fn branch_source(log: &Log) -> Vec<String> {
    let mut found = Vec::new();
    let mut roles: BTreeMap<&str, &str> = BTreeMap::new();
    for event in log.of("branch") {
        let named = event.data.get("source").is_some_and(Value::is_string);
        if named != (event.text("role") == "source") {
            found.push(format!(
                "a {} branch has source {}",
                event.text("role"),
                shown(event.data.get("source"))
            ));
        }
        let role = *roles.entry(event.text("branch_id")).or_insert_with(|| event.text("role"));
        if role != event.text("role") {
            found.push(format!(
                "branch {:?} opened as {role} and closed as {}",
                event.text("branch_id"),
                event.text("role")
            ));
        }
    }
    found
}

/// A step's tool is `server__tool`.
pub(crate) fn tool_names(log: &Log) -> Vec<String> {
    let mut found = Vec::new();
    for step in log.of("step") {
        let tool = step.text("tool");
        let whole =
            tool.split_once("__").is_some_and(|(server, name)| !server.is_empty() && !name.is_empty());
        if !whole {
            found.push(format!("a step's tool is {tool:?}"));
        }
    }
    found
}
