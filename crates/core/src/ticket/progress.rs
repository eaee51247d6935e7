//! What a run tells its ticket.

use ask_contract::{
    Abstention, Answer, Branch, BranchId, BranchRole, BranchState, EventBody, Failure, Milestone, Outcome,
    Refusal, Step,
};

/// Something that happened in a run and does not end it.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// A unit of work opened.
    BranchOpened {
        /// Names it within the ticket.
        branch_id: BranchId,
        /// What it is for.
        role: BranchRole,
        /// The source it works on; only for [`BranchRole::Source`].
        source: Option<String>,
    },
    /// A unit of work closed.
    BranchClosed {
        /// Names it within the ticket.
        branch_id: BranchId,
    },
    /// A tool call ended.
    Step(Step),
    /// A person could be told this.
    Milestone(Milestone),
}

impl Progress {
    /// The branch that this is about.
    pub const fn branch_id(&self) -> &BranchId {
        match self {
            Self::BranchOpened { branch_id, .. } | Self::BranchClosed { branch_id } => branch_id,
            Self::Step(step) => &step.branch_id,
            Self::Milestone(milestone) => &milestone.branch_id,
        }
    }
}

/// How a run ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Terminal {
    /// With a result.
    Answer(Box<Answer>),
    /// Looked, could not answer.
    Abstention(Abstention),
    /// A tool refused.
    Refusal(Refusal),
    /// It failed.
    Error(Failure),
}

impl Terminal {
    /// The outcome that `done` will name.
    pub const fn outcome(&self) -> Outcome {
        match self {
            Self::Answer(_) => Outcome::Answer,
            Self::Abstention(_) => Outcome::Abstention,
            Self::Refusal(_) => Outcome::Refusal,
            Self::Error(_) => Outcome::Error,
        }
    }

    pub(super) fn into_body(self) -> EventBody {
        match self {
            Self::Answer(answer) => EventBody::Answer(answer),
            Self::Abstention(abstention) => EventBody::Abstention(abstention),
            Self::Refusal(refusal) => EventBody::Refusal(refusal),
            Self::Error(failure) => EventBody::Error(failure),
        }
    }
}

/// What one model call used; added up in `done`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HopUsage {
    /// Input tokens, without those read from or written to a cache.
    pub tokens_in: u64,
    /// Output tokens.
    pub tokens_out: u64,
    /// Input tokens read from the model's cache.
    pub cache_read_tokens: u64,
    /// Input tokens written to the model's cache.
    pub cache_write_tokens: u64,
}

pub(super) const fn branch_event(
    branch_id: BranchId,
    state: BranchState,
    role: BranchRole,
    source: Option<String>,
) -> EventBody {
    EventBody::Branch(Branch { branch_id, state, role, source })
}
