//! Audit and gap lines on standard output: who asked what kind of thing, never the words.

use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use ask_contract::{Feedback, FeedbackReason, Outcome, Rating, Timestamp};
use ask_core::ticket::{Terminal, TicketLife, TicketSpec};
use data_encoding::HEXLOWER;
use hmac::{Hmac, Mac as _};
use serde::Serialize;
use sha2::Sha256;

use crate::telemetry::Origin;

/// Lines that may wait for standard output before a run waits for it too: an audit line is never dropped.
const QUEUE: usize = 4096;

/// Where audit lines go.
#[derive(Clone)]
pub(crate) struct Audit {
    lines: SyncSender<String>,
    pseudonyms: Hmac<Sha256>,
}

/// The writer of the lines; joined at the end, so that none is lost.
#[derive(Debug)]
pub(crate) struct AuditWriter(JoinHandle<()>);

/// What of an ending goes into the lines.
#[derive(Debug)]
pub(crate) struct AskRecord {
    outcome: Outcome,
    sources: Vec<String>,
    tables: Vec<String>,
    terms: Vec<String>,
}

impl AskRecord {
    pub(crate) fn of(terminal: &Terminal, life: &TicketLife) -> Self {
        let (sources, tables, terms) = match terminal {
            Terminal::Answer(answer) => (answer.sources.clone(), answer.tables.clone(), Vec::new()),
            Terminal::Abstention(abstention) => {
                (Vec::new(), Vec::new(), life.without_question(&abstention.searched_terms))
            }
            Terminal::Refusal(refusal) => (refusal.source.iter().cloned().collect(), Vec::new(), Vec::new()),
            Terminal::Error(_) => (Vec::new(), Vec::new(), Vec::new()),
        };
        Self {
            outcome: terminal.outcome(),
            sources: life.without_question(&sources),
            tables: life.without_question(&tables),
            terms,
        }
    }
}

/// Who asked, as the lines name them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub(crate) oid: &'a str,
    pub(crate) owner_key: &'a str,
    pub(crate) origin: &'a Origin,
}

#[derive(Serialize)]
struct AskLine<'a> {
    op: &'static str,
    oid: &'a str,
    ticket: &'a str,
    conversation: &'a str,
    turn: u32,
    verdict: &'static str,
    steps: u64,
    sources: &'a [String],
    tables: &'a [String],
    ms: u64,
    request_id: &'a str,
    trace_id: &'a str,
}

#[derive(Serialize)]
struct FeedbackLine<'a> {
    op: &'static str,
    oid: &'a str,
    ticket: &'a str,
    conversation: &'a str,
    turn: u32,
    verdict: &'static str,
    rating: Rating,
    reason: Option<FeedbackReason>,
}

#[derive(Serialize)]
struct GapLine<'a> {
    op: &'static str,
    verdict: &'static str,
    subject: &'a str,
    terms: &'a [String],
}

impl Audit {
    /// Starts the writer of lines to `out`. Pseudonyms are made under `key`.
    ///
    /// # Errors
    ///
    /// When the system starts no thread.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
    pub(crate) fn start(
        key: &[u8],
        out: impl Write + Send + 'static,
    ) -> std::io::Result<(Self, AuditWriter)> {
        let (lines, queued) = sync_channel(QUEUE);
        let writer =
            std::thread::Builder::new().name("audit".to_owned()).spawn(move || write_lines(&queued, out))?;
        let pseudonyms = Hmac::new_from_slice(key).expect("HMAC takes keys of any length");
        Ok((Self { lines, pseudonyms }, AuditWriter(writer)))
    }

    /// Writes the line of an ask that has ended, and of the gap that it found.
    pub(crate) fn ask(&self, record: &AskRecord, life: &TicketLife, asker: &Asker<'_>, now: Timestamp) {
        let spec = life.spec();
        self.write(
            "audit",
            &AskLine {
                op: "ask",
                oid: asker.oid,
                ticket: spec.ticket.as_str(),
                conversation: spec.conversation_id.as_str(),
                turn: spec.turn,
                verdict: record.outcome.as_str(),
                steps: life.steps(),
                sources: &record.sources,
                tables: &record.tables,
                ms: life.age_ms(now),
                request_id: &asker.origin.request_id,
                trace_id: &asker.origin.trace.trace_hex(),
            },
        );
        if record.outcome == Outcome::Abstention {
            let mut mac = self.pseudonyms.clone();
            mac.update(asker.owner_key.as_bytes());
            let subject = HEXLOWER.encode(&mac.finalize().into_bytes());
            let subject = subject.get(..32).unwrap_or(&subject);
            self.write(
                "gap",
                &GapLine { op: "ask", verdict: record.outcome.as_str(), subject, terms: &record.terms },
            );
        }
    }

    /// Writes the line of what an asker thinks of how an ask ended.
    pub(crate) fn feedback(&self, feedback: Feedback, outcome: Outcome, spec: &TicketSpec, oid: &str) {
        self.write(
            "audit",
            &FeedbackLine {
                op: "feedback",
                oid,
                ticket: spec.ticket.as_str(),
                conversation: spec.conversation_id.as_str(),
                turn: spec.turn,
                verdict: outcome.as_str(),
                rating: feedback.rating,
                reason: feedback.reason,
            },
        );
    }

    fn write(&self, prefix: &str, line: &impl Serialize) {
        match serde_json::to_string(line) {
            Ok(json) => {
                if self.lines.send(format!("{prefix} {json}\n")).is_err() {
                    tracing::error!("the audit writer is gone");
                }
            }
            Err(err) => tracing::error!(error = %err, "an audit line could not be written"),
        }
    }
}

impl AuditWriter {
    /// Waits until every line is out; every [`Audit`] must be dropped by then.
    pub(crate) fn finish(self, limit: std::time::Duration) {
        let end = tokio::time::Instant::now() + limit;
        while !self.0.is_finished() && tokio::time::Instant::now() < end {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

fn write_lines(queued: &Receiver<String>, mut out: impl Write) {
    while let Ok(line) = queued.recv() {
        let mut written = out.write_all(line.as_bytes());
        while let (Ok(()), Ok(line)) = (&written, queued.try_recv()) {
            written = out.write_all(line.as_bytes());
        }
        // There is no one to tell when the output is closed.
        written.and_then(|()| out.flush()).ok();
    }
}
