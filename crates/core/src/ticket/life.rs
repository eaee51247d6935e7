//! The life of a ticket: the only judge of what may be emitted, and the only writer of its log.

use std::sync::Arc;

use ask_contract::{
    Accepted, BranchId, BranchRole, BranchState, CONTRACT_VERSION, ConversationId, Done, ErrorKind, Event,
    EventBody, Failure, Outcome, TicketId, Timestamp,
};

use super::frame::encode;
use super::log::Log;
use super::progress::{HopUsage, Progress, Terminal, branch_event};
use super::redact::redact;
use crate::question::QuestionCut;

/// The run's own branch: open from acceptance to the end.
pub fn supervisor_branch() -> BranchId {
    BranchId::new("b1")
}

/// What a ticket is about.
#[derive(Debug, Clone)]
pub struct TicketSpec {
    /// Its identifier.
    pub ticket: TicketId,
    /// The conversation that it belongs to.
    pub conversation_id: ConversationId,
    /// The question as received.
    pub question: String,
    /// The place of this ask among the conversation's asks, from 1.
    pub turn: u32,
    /// The model that is asked.
    pub model: String,
    /// The effort that is asked for.
    pub effort: String,
    /// Retained events before steps are dropped.
    pub max_events: usize,
}

/// Why something was not emitted. The log is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// The ticket has ended.
    #[error("the ticket has ended")]
    Ended,
    /// The branch is not open.
    #[error("the branch is not open")]
    BranchNotOpen,
    /// A branch of this name was opened before.
    #[error("a branch of this name was opened before")]
    BranchKnown,
    /// Only `source` branches carry a source, and they all do.
    #[error("a source belongs to source branches alone")]
    SourceMisplaced,
}

/// A ticket from `accepted` to `done`.
///
/// Guarantees, whatever is called in whatever order: `accepted` is first; `seq` rises by one; no event carries a branch
/// outside its life; the end closes every open branch and appends one terminal and one `done` in one go, after which
/// nothing is taken; the question stands in `accepted` alone; only steps are dropped from the log.
#[derive(Debug)]
pub struct TicketLife {
    spec: TicketSpec,
    cut: QuestionCut,
    log: Arc<Log>,
    accepted_at: Timestamp,
    seq: u64,
    open: Vec<OpenBranch>,
    known: Vec<BranchId>,
    hops: u32,
    steps: u64,
    usage: HopUsage,
    degraded: Vec<String>,
    ended: Option<Ended>,
}

/// How and when a ticket ended.
#[derive(Debug, Clone, Copy)]
struct Ended {
    outcome: Outcome,
    at: Timestamp,
}

#[derive(Debug)]
struct OpenBranch {
    branch_id: BranchId,
    role: BranchRole,
    source: Option<String>,
}

impl TicketLife {
    /// Begins a ticket: `accepted` is in its log when this returns, and the run's own branch is open, so that an ending at
    /// any moment closes one.
    pub fn accept(spec: TicketSpec, now: Timestamp) -> Self {
        let cut = QuestionCut::new(&spec.question);
        let log = Arc::new(Log::new(spec.max_events));
        let accepted = EventBody::Accepted(Accepted {
            question: spec.question.clone(),
            turn: spec.turn,
            contract_version: CONTRACT_VERSION.to_owned(),
        });
        let mut life = Self {
            spec,
            cut,
            log,
            accepted_at: now,
            seq: 0,
            open: Vec::new(),
            known: Vec::new(),
            hops: 0,
            steps: 0,
            usage: HopUsage::default(),
            degraded: Vec::new(),
            ended: None,
        };
        life.append(accepted, now);
        life.open(supervisor_branch(), BranchRole::Supervisor, None, now);
        life
    }

    /// What the ticket is about.
    pub const fn spec(&self) -> &TicketSpec {
        &self.spec
    }

    /// The log, to be shared with readers.
    pub const fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// How the ticket ended, once it has.
    pub fn outcome(&self) -> Option<Outcome> {
        self.ended.map(|ended| ended.outcome)
    }

    /// When the ticket expires that is kept `ttl_ms` milliseconds after its end; `None` while it runs.
    pub fn expires_at(&self, ttl_ms: i64) -> Option<Timestamp> {
        self.ended.map(|ended| ended.at.plus_ms(ttl_ms))
    }

    const fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Steps emitted so far.
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// Milliseconds since acceptance.
    pub fn age_ms(&self, now: Timestamp) -> u64 {
        u64::try_from(now.unix_ms() - self.accepted_at.unix_ms()).unwrap_or(0)
    }

    /// The texts as they may stand outside `accepted`: without the question, unless it is a mere term.
    pub fn without_question(&self, texts: &[String]) -> Vec<String> {
        let clean = |text: &String| {
            if self.cut.is_sentence() { self.cut.cut(text).into_owned() } else { text.clone() }
        };
        texts.iter().map(clean).collect()
    }

    /// Emits progress.
    ///
    /// # Errors
    ///
    /// When the ticket has ended or the event does not fit its branch's life; nothing is appended then.
    pub fn emit(&mut self, progress: Progress, now: Timestamp) -> Result<(), Rejected> {
        if self.has_ended() {
            return Err(Rejected::Ended);
        }
        let body = match progress {
            Progress::BranchOpened { branch_id, role, source } => {
                if self.known.contains(&branch_id) {
                    return Err(Rejected::BranchKnown);
                }
                if source.is_some() != (role == BranchRole::Source) {
                    return Err(Rejected::SourceMisplaced);
                }
                self.open(branch_id, role, source, now);
                return Ok(());
            }
            Progress::BranchClosed { branch_id } => {
                let at = self.open_branch(&branch_id)?;
                let OpenBranch { branch_id, role, source } = self.open.remove(at);
                branch_event(branch_id, BranchState::Closed, role, source)
            }
            Progress::Step(step) => {
                self.open_branch(&step.branch_id)?;
                self.steps += 1;
                EventBody::Step(step)
            }
            Progress::Milestone(milestone) => {
                self.open_branch(&milestone.branch_id)?;
                EventBody::Milestone(milestone)
            }
        };
        self.append(body, now);
        Ok(())
    }

    /// Counts a model call that begins.
    pub const fn count_hop(&mut self) {
        if !self.has_ended() {
            self.hops = self.hops.saturating_add(1);
        }
    }

    /// Counts what a model call used, and notes what its protocol could not do.
    pub fn count_usage(&mut self, usage: HopUsage, degraded: &[&str]) {
        if self.has_ended() {
            return;
        }
        self.usage.tokens_in += usage.tokens_in;
        self.usage.tokens_out += usage.tokens_out;
        self.usage.cache_read_tokens += usage.cache_read_tokens;
        self.usage.cache_write_tokens += usage.cache_write_tokens;
        for lost in degraded {
            if !self.degraded.iter().any(|known| known == lost) {
                self.degraded.push((*lost).to_owned());
            }
        }
    }

    /// Ends the ticket: closes open branches, newest first, and appends the terminal and `done`.
    ///
    /// # Errors
    ///
    /// [`Rejected::Ended`] when it has ended before; that ending stands.
    pub fn end(&mut self, terminal: Terminal, now: Timestamp) -> Result<(), Rejected> {
        if self.has_ended() {
            return Err(Rejected::Ended);
        }
        while let Some(OpenBranch { branch_id, role, source }) = self.open.pop() {
            self.append(branch_event(branch_id, BranchState::Closed, role, source), now);
        }
        let outcome = terminal.outcome();
        self.append(terminal.into_body(), now);
        self.ended = Some(Ended { outcome, at: now });
        let done = EventBody::Done(Done {
            outcome,
            hops: self.hops,
            steps: self.steps,
            tokens_in: self.usage.tokens_in,
            tokens_out: self.usage.tokens_out,
            cache_read_tokens: self.usage.cache_read_tokens,
            cache_write_tokens: self.usage.cache_write_tokens,
            ms: self.age_ms(now),
            model: self.spec.model.clone(),
            effort: self.spec.effort.clone(),
            degraded: std::mem::take(&mut self.degraded),
        });
        self.append(done, now);
        Ok(())
    }

    /// Ends the ticket in an error.
    ///
    /// # Errors
    ///
    /// [`Rejected::Ended`] when it has ended before; that ending stands.
    pub fn fail(&mut self, kind: ErrorKind, detail: &str, now: Timestamp) -> Result<(), Rejected> {
        self.end(Terminal::Error(Failure { kind, detail: detail.to_owned() }), now)
    }

    fn open(&mut self, branch_id: BranchId, role: BranchRole, source: Option<String>, now: Timestamp) {
        self.known.push(branch_id.clone());
        self.open.push(OpenBranch { branch_id: branch_id.clone(), role, source: source.clone() });
        self.append(branch_event(branch_id, BranchState::Opened, role, source), now);
    }

    fn open_branch(&self, branch_id: &BranchId) -> Result<usize, Rejected> {
        self.open.iter().position(|open| open.branch_id == *branch_id).ok_or(Rejected::BranchNotOpen)
    }

    fn append(&mut self, mut body: EventBody, now: Timestamp) {
        redact(&self.cut, &mut body);
        self.seq += 1;
        let event = Event {
            seq: self.seq,
            ticket: self.spec.ticket.clone(),
            conversation_id: self.spec.conversation_id.clone(),
            ts: now,
            body,
        };
        let frame = encode(&event);
        self.log.append(self.seq, &event.body, frame);
    }
}
