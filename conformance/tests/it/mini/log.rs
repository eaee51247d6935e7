//! A ticket's log: numbers, cuts, retains and hands out frames.

use std::cell::{Cell, RefCell};

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::{MAX_EVENTS, Mini, Ticket, redact};

/// One event as it goes out.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) seq: u64,
    pub(crate) kind: &'static str,
    pub(crate) frame: Vec<u8>,
    pub(crate) data: Value,
}

pub(crate) struct Log {
    pub(crate) question: String,
    entries: RefCell<Vec<Entry>>,
    next: Cell<u64>,
    pub(crate) steps: Cell<u64>,
    terminal: Cell<bool>,
    pub(crate) finished: Cell<Option<Instant>>,
    pub(crate) changed: watch::Sender<u64>,
}

fn timestamp(mini: &Mini) -> String {
    let now = time::OffsetDateTime::now_utc();
    let whole = format!("{}T{:02}:{:02}:{:02}", now.date(), now.hour(), now.minute(), now.second());
    if mini.is("ts-without-milliseconds") {
        format!("{whole}Z")
    } else {
        format!("{whole}.{:03}Z", now.millisecond())
    }
}

impl Log {
    pub(super) fn new(question: String) -> Self {
        Self {
            question,
            entries: RefCell::default(),
            next: Cell::new(0),
            steps: Cell::new(0),
            terminal: Cell::new(false),
            finished: Cell::new(None),
            changed: watch::Sender::new(0),
        }
    }

    pub(super) fn last_seq(&self) -> u64 {
        self.entries.borrow().last().map_or(0, |entry| entry.seq)
    }

    pub(super) fn find(&self, wanted: impl Fn(&Entry) -> bool) -> Option<Value> {
        self.entries.borrow().iter().find(|entry| wanted(entry)).map(|entry| entry.data.clone())
    }

    /// Everything after a position.
    pub(super) fn after(&self, position: u64) -> Vec<Entry> {
        self.entries.borrow().iter().filter(|entry| entry.seq > position).cloned().collect()
    }

    /// Forgets everything; only a faulty service does.
    pub(super) fn forget(&self) {
        self.entries.borrow_mut().clear();
    }
}

fn is_terminal(kind: &str) -> bool {
    matches!(kind, "answer" | "abstention" | "refusal" | "error")
}

impl Ticket {
    /// Adds an event, unless what is over is over.
    pub(super) fn emit(&self, mini: &Mini, kind: &'static str, members: Value) {
        let log = &self.log;
        let late = mini.is("emits-after-done") && kind == "step";
        let two = mini.is("two-terminals")
            || mini.is("cancel-races-to-two-terminals")
            || mini.is("two-cancels-two-endings");
        if log.finished.get().is_some() && !late && !two && !mini.is("done-twice") {
            return;
        }
        if log.terminal.get() && kind != "done" && !late && !two && !mini.is("branch-closes-after-terminal") {
            return;
        }
        if mini.is("drops-done") && kind == "done" {
            log.finished.set(Some(Instant::now()));
            log.changed.send_modify(|version| *version += 1);
            return;
        }
        let members = self.cut(mini, kind, members);
        let seq = self.number(mini, kind);
        let shown = if mini.is("seq-from-zero") { seq - 1 } else { seq };
        let mut data = json!({
            "seq": shown, "ticket": self.id, "conversation_id": self.conversation,
            "ts": timestamp(mini), "type": kind,
        });
        for (name, value) in members.as_object().into_iter().flatten() {
            data[name] = value.clone();
        }
        if mini.is("done-lacks-conversation") && kind == "done" {
            data.as_object_mut().unwrap().remove("conversation_id");
        }
        if kind == "step" {
            log.steps.set(log.steps.get() + 1);
        }
        let frame = frame(mini, shown, kind, &data);
        log.entries.borrow_mut().push(Entry { seq, kind, frame, data });
        self.shrink(mini);
        log.terminal.set(log.terminal.get() || is_terminal(kind));
        if kind == "done" {
            log.finished.set(Some(Instant::now()));
        }
        log.changed.send_modify(|version| *version += 1);
    }

    fn cut(&self, mini: &Mini, kind: &str, members: Value) -> Value {
        let whole = kind == "accepted"
            || (mini.is("question-left-in-steps") && kind == "step")
            || (mini.is("question-left-in-answers") && kind == "answer")
            || (mini.is("question-left-in-refusals") && kind == "refusal")
            || (mini.is("question-left-in-errors") && kind == "error")
            || (mini.is("question-left-in-milestones") && kind == "milestone");
        if whole {
            return members;
        }
        let mut cut = redact::cut_all(mini, &members, &self.log.question);
        if mini.is("question-left-in-search-terms") && kind == "abstention" {
            cut["searched_terms"] = members["searched_terms"].clone();
        }
        if mini.is("abstention-echoes-question") && kind == "abstention" {
            cut["text"] = json!(format!("Nothing was found for: {}", self.log.question));
        }
        cut
    }

    fn number(&self, mini: &Mini, kind: &str) -> u64 {
        let next = &self.log.next;
        let step = match kind {
            "step" if mini.is("seq-repeats") => 0,
            "branch" if mini.is("seq-skips") => 2,
            _ => 1,
        };
        next.set(next.get() + step);
        next.get()
    }

    fn shrink(&self, mini: &Mini) {
        let mut entries = self.log.entries.borrow_mut();
        while entries.len() > MAX_EVENTS && !mini.is("buffer-unbounded") {
            let mut droppable = entries.iter().enumerate().filter(|(_, entry)| match entry.kind {
                "step" => true,
                "milestone" => mini.is("drops-milestones"),
                "accepted" => mini.is("drops-accepted"),
                _ => false,
            });
            let at = if mini.is("drops-newest-steps") { droppable.next_back() } else { droppable.next() };
            let Some((at, _)) = at else { break };
            let gone = entries.remove(at);
            if mini.is("done-counts-retained-steps") && gone.kind == "step" {
                self.log.steps.set(self.log.steps.get() - 1);
            }
        }
    }
}

fn frame(mini: &Mini, seq: u64, kind: &str, data: &Value) -> Vec<u8> {
    let id = if mini.is("frames-without-id") { String::new() } else { format!("id: {seq}\n") };
    let name = if mini.is("event-name-differs") && kind == "done" { "message" } else { kind };
    let text = if mini.is("data-in-two-lines") {
        data.to_string().replacen(",\"", ",\ndata: \"", 1)
    } else {
        data.to_string()
    };
    format!("{id}event: {name}\ndata: {text}\n\n").into_bytes()
}
