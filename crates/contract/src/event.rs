//! The events of a ticket's stream.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{BranchId, ConversationId, TicketId, Timestamp};

/// One event as it stands in the stream: the envelope, then the members of its type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Place in the ticket's stream, from 1; the SSE `id`.
    pub seq: u64,
    /// The ticket.
    pub ticket: TicketId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// When it was emitted.
    pub ts: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened, by type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum EventBody {
    /// The question was taken.
    Accepted(Accepted),
    /// A unit of work opened or closed.
    Branch(Branch),
    /// A tool call ended.
    Step(Step),
    /// Progress that a person could be told.
    Milestone(Milestone),
    /// Terminal: the result.
    Answer(Box<Answer>),
    /// Terminal: looked, could not answer.
    Abstention(Abstention),
    /// Terminal: a tool refused.
    Refusal(Refusal),
    /// Terminal: a failure that is no refusal.
    Error(Failure),
    /// Always last, exactly once.
    Done(Done),
}

/// The name of an event's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventType {
    /// `accepted`
    Accepted,
    /// `branch`
    Branch,
    /// `step`
    Step,
    /// `milestone`
    Milestone,
    /// `answer`
    Answer,
    /// `abstention`
    Abstention,
    /// `refusal`
    Refusal,
    /// `error`
    Error,
    /// `done`
    Done,
}

impl EventType {
    /// Every type, in the contract's order.
    pub const ALL: [Self; 9] = [
        Self::Accepted,
        Self::Branch,
        Self::Step,
        Self::Milestone,
        Self::Answer,
        Self::Abstention,
        Self::Refusal,
        Self::Error,
        Self::Done,
    ];

    /// The word on the wire: the SSE `event` and the member `type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Branch => "branch",
            Self::Step => "step",
            Self::Milestone => "milestone",
            Self::Answer => "answer",
            Self::Abstention => "abstention",
            Self::Refusal => "refusal",
            Self::Error => "error",
            Self::Done => "done",
        }
    }

    /// Whether it ends a run; `done` follows a terminal and is none itself.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Answer | Self::Abstention | Self::Refusal | Self::Error)
    }
}

impl EventBody {
    /// The name of this event's type.
    pub const fn event_type(&self) -> EventType {
        match self {
            Self::Accepted(_) => EventType::Accepted,
            Self::Branch(_) => EventType::Branch,
            Self::Step(_) => EventType::Step,
            Self::Milestone(_) => EventType::Milestone,
            Self::Answer(_) => EventType::Answer,
            Self::Abstention(_) => EventType::Abstention,
            Self::Refusal(_) => EventType::Refusal,
            Self::Error(_) => EventType::Error,
            Self::Done(_) => EventType::Done,
        }
    }
}

/// The question was taken; the only event that carries it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accepted {
    /// The question as received.
    pub question: String,
    /// The place of this ask among the conversation's asks, from 1.
    #[schemars(range(min = 1))]
    pub turn: u32,
    /// The contract that this stream follows.
    #[schemars(extend("const" = "1"))]
    pub contract_version: String,
}

/// A unit of work opened or closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Branch {
    /// Names the branch within its ticket.
    pub branch_id: BranchId,
    /// Opened or closed.
    pub state: BranchState,
    /// What the branch is for.
    pub role: BranchRole,
    /// The source that a `source` branch works on; null on every other.
    #[serde(default)]
    pub source: Option<String>,
}

/// Whether a branch begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum BranchState {
    /// It begins.
    Opened,
    /// It ends.
    Closed,
}

/// What a branch is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum BranchRole {
    /// The run's own.
    Supervisor,
    /// Looks the question's words up.
    Grounding,
    /// Works on one source.
    Source,
    /// Works out what the answer would be without the catalog.
    Divergence,
}

/// One tool call as it happened, for the trace; the only event that may be dropped on overflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The branch that made the call.
    pub branch_id: BranchId,
    /// `server__tool`.
    pub tool: String,
    /// The arguments as sent; a refused call's are kept.
    pub args: Map<String, Value>,
    /// Milliseconds: the executor's own figure where it gives one, else measured here.
    pub ms: u64,
    /// Whether the call failed or was refused.
    pub is_error: bool,
}

/// Progress that a person could be told, as structure; the sentence is the client's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Milestone {
    /// The branch that it is about.
    pub branch_id: BranchId,
    /// What kind of work goes on.
    pub phase: Phase,
    /// What it is about, in the catalog's words.
    #[serde(default)]
    pub subject: Option<String>,
    /// The source that is worked on.
    #[serde(default)]
    pub source: Option<String>,
}

/// A kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Phase {
    /// Looking meanings up in the catalog.
    Grounding,
    /// Finding out what sources and tables there are.
    Discovering,
    /// Asking a source.
    Querying,
    /// Bringing results together.
    Reconciling,
}

/// The result, its meanings, its provenance and its caveats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The answer as prose.
    pub text: String,
    /// How the answer came about.
    pub path: AnswerPath,
    /// The stated meanings that the answer rests on.
    pub provenance: Vec<Provenance>,
    /// The sources that were queried.
    pub sources: Vec<String>,
    /// The tables that were queried.
    pub tables: Vec<String>,
    /// Every statement that ran, as the executor reported it.
    pub sql: Vec<String>,
    /// What the catalog itself raised; a client must show every one.
    pub caveats: Vec<String>,
    /// The rows of the statement that the answer rests on.
    #[serde(default)]
    pub result: Option<ResultTable>,
    /// The one salient figure, where there is one.
    #[serde(default)]
    pub headline: Option<Headline>,
    /// What the answer would have been without the catalog; always null for now.
    #[serde(default)]
    pub divergence: Option<Map<String, Value>>,
}

/// How an answer came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct AnswerPath {
    /// Whether the sources were queried: the fact that a client may build on.
    pub speed: Speed,
    /// What answered, for display and diagnostics.
    pub detail: PathDetail,
}

/// Whether the sources were queried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Speed {
    /// Nothing beyond metadata was consulted.
    Fast,
    /// At least one source was queried.
    Full,
}

/// What answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum PathDetail {
    /// The catalog alone.
    Catalog,
    /// One source.
    Warehouse,
    /// More than one source.
    Multi,
}

/// A stated meaning that the answer rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Provenance {
    /// The term, in the catalog's words.
    pub term: String,
    /// Its stated meaning.
    pub statement: String,
    /// Who states it: the catalog's own name for the entry.
    pub source: String,
    /// The kind of statement; the set may grow, so show it and do not depend on it.
    pub kind: String,
}

/// Rows as a source returned them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ResultTable {
    /// Column names, in order.
    pub columns: Vec<String>,
    /// One list of cells a row, in the columns' order.
    #[schemars(schema_with = "rows")]
    pub rows: Vec<Vec<Value>>,
    /// Whether rows were left out.
    pub truncated: bool,
}

/// Rows of any cells, said without the bare `true` that some generators of clients do not read as a schema.
fn rows(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "items": {"type": "array", "items": {"description": "A cell: any JSON value, null where there is none."}},
    })
}

/// The one salient figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Headline {
    /// The figure, or the name that won.
    pub value: HeadlineValue,
    /// Its unit.
    #[serde(default)]
    pub unit: Option<String>,
    /// What it is.
    pub label: String,
}

/// A number or a word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum HeadlineValue {
    /// A figure.
    Number(serde_json::Number),
    /// A name.
    Text(String),
}

/// Looked, could not answer: a gap that a steward can act on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Abstention {
    /// Why, as prose.
    pub text: String,
    /// The catalog words tried, in order, without repeats.
    pub searched_terms: Vec<String>,
}

/// A tool refused: a security event that stays attached to an identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// What kind of refusal.
    pub what: RefusalKind,
    /// The refusing tool's own message.
    pub detail: String,
    /// The source that refused.
    #[serde(default)]
    pub source: Option<String>,
}

/// Kinds of refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum RefusalKind {
    /// The asker may not see it.
    Access,
    /// The statement may not be run by anyone here.
    Guard,
    /// Too many calls.
    RateLimit,
}

/// A failure that is not a refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// What kind of failure.
    pub kind: ErrorKind,
    /// What happened, without secrets or causes.
    pub detail: String,
}

/// Kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ErrorKind {
    /// The asker cancelled.
    Cancelled,
    /// A ceiling on steps or time was reached.
    MaxSteps,
    /// The model failed.
    Model,
    /// A tool server could not be reached, or no longer takes the asker's token.
    Transport,
    /// The service failed, or is shutting down.
    Internal,
}

/// The bill, always last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    /// The terminal's type.
    pub outcome: Outcome,
    /// Model calls made.
    pub hops: u32,
    /// Step events emitted, before any drop.
    pub steps: u64,
    /// Input tokens, without those read from or written to a cache.
    pub tokens_in: u64,
    /// Output tokens.
    pub tokens_out: u64,
    /// Input tokens read from the model's cache.
    pub cache_read_tokens: u64,
    /// Input tokens written to the model's cache.
    pub cache_write_tokens: u64,
    /// Milliseconds from acceptance to this event.
    pub ms: u64,
    /// The model that was asked.
    pub model: String,
    /// The effort that was asked for.
    pub effort: String,
    /// What the model's protocol could not do, where the deployment accepted that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
}

/// The terminal's type, in `done`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Outcome {
    /// `answer`
    Answer,
    /// `abstention`
    Abstention,
    /// `refusal`
    Refusal,
    /// `error`
    Error,
}

impl Outcome {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Abstention => "abstention",
            Self::Refusal => "refusal",
            Self::Error => "error",
        }
    }
}
