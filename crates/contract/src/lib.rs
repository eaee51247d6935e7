//! The wire contract of the ask service: requests, resources, events and problems, with their JSON Schema and OpenAPI.
//!
//! Architecture invariant: this crate knows the wire and nothing else. It has no I/O, no clock and no rule about when an
//! event may be sent; those live in `ask-core`. Every other crate that speaks the contract uses these types, except the
//! conformance harness, which must not share what it judges.

mod event;
mod id;
mod openapi;
mod own;
mod problem;
mod request;
mod resource;
mod schema;
mod timestamp;

pub use event::{
    Abstention, Accepted, Answer, AnswerPath, Branch, BranchRole, BranchState, Done, ErrorKind, Event,
    EventBody, EventType, Failure, Headline, HeadlineValue, Milestone, Outcome, PathDetail, Phase,
    Provenance, Refusal, RefusalKind, ResultTable, Speed, Step,
};
pub use id::{BranchId, ConversationId, TicketId};
pub use openapi::openapi;
pub use own::{ConversationPage, ConversationState, Feedback, FeedbackReason, FeedbackReceipt, Rating};
pub use problem::{PROBLEM_MEDIA_TYPE, Problem, ProblemCode};
pub use request::{AskRequest, Effort, UnknownEffort};
pub use resource::{AskState, AskStatus, CancelReceipt, Conversation, Health, Ticket};
pub use schema::events_schema;
pub use timestamp::{InvalidTimestamp, Timestamp};

/// The version of the contract that this crate describes, as `accepted.contract_version` and `/health` carry it.
pub const CONTRACT_VERSION: &str = "1";
