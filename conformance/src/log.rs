//! What was read from one event stream, as frames and as events.

use serde_json::Value;
use tokio::time::Instant;

use crate::sse::Frame;

/// One event with the frame that carried it.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) frame: Frame,
    /// The `data` object; null when it isn't JSON.
    pub(crate) data: Value,
}

impl Event {
    /// Reads the frame's data.
    pub(crate) fn new(frame: Frame) -> Self {
        let data = frame.only("data").and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
        Self { frame, data }
    }

    /// `seq`, 0 when there is none.
    pub(crate) fn seq(&self) -> u64 {
        self.data.get("seq").and_then(Value::as_u64).unwrap_or_default()
    }

    /// `type`, empty when there is none.
    pub(crate) fn kind(&self) -> &str {
        self.text("type")
    }

    /// A string member, empty when there is none.
    pub(crate) fn text(&self, member: &str) -> &str {
        self.data.get(member).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether it is one of the four that decide the ticket.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self.kind(), "answer" | "abstention" | "refusal" | "error")
    }
}

/// How a stream came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// As HTTP announces it.
    Clean,
    /// Cut, or broken framing.
    Broken(String),
    /// Still open when the reader's time was over, or when the reader left.
    Open,
}

/// A block without an event, and when it came.
#[derive(Debug, Clone)]
pub(crate) struct Quiet {
    /// Whether it is a comment, which may be empty, and not a bare `retry:`.
    pub(crate) comment: bool,
    pub(crate) at: Instant,
}

/// One reading of one stream.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    pub(crate) events: Vec<Event>,
    pub(crate) quiet: Vec<Quiet>,
    pub(crate) end: End,
    /// Bytes after the last whole frame.
    pub(crate) leftover: Vec<u8>,
    /// When the stream ended or the reading stopped.
    pub(crate) ended_at: Instant,
}

impl Log {
    /// Events of that type.
    pub(crate) fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Event> {
        self.events.iter().filter(move |event| event.kind() == kind)
    }

    /// The first event of that type.
    pub(crate) fn first(&self, kind: &str) -> Option<&Event> {
        self.events.iter().find(|event| event.kind() == kind)
    }

    /// The first terminal event.
    pub(crate) fn terminal(&self) -> Option<&Event> {
        self.events.iter().find(|event| event.is_terminal())
    }

    /// The `done` event.
    pub(crate) fn done(&self) -> Option<&Event> {
        self.first("done")
    }

    /// The last `seq`, 0 when nothing was read.
    pub(crate) fn last_seq(&self) -> u64 {
        self.events.last().map_or(0, Event::seq)
    }

    /// The frames' bytes after position `seq`, joined.
    pub(crate) fn bytes_after(&self, seq: u64) -> Vec<u8> {
        self.events
            .iter()
            .filter(|event| event.seq() > seq)
            .flat_map(|event| event.frame.raw.clone())
            .collect()
    }

    /// The types in order, for people.
    pub(crate) fn outline(&self) -> String {
        let kinds: Vec<_> = self
            .events
            .iter()
            .map(|event| if event.kind().is_empty() { "?" } else { event.kind() })
            .collect();
        if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(" ") }
    }
}
