//! An open event stream, read event by event.

use std::collections::VecDeque;
use std::rc::Rc;

use tokio::time::{Duration, Instant};

use crate::http::{Body, Head};
use crate::log::{End, Event, Log, Quiet};
use crate::seen::Seen;
use crate::sse::Reader;

/// A stream whose head was 200.
pub(crate) struct EventStream {
    pub(crate) head: Head,
    body: Body,
    reader: Reader,
    waiting: VecDeque<Event>,
    log: Log,
    over: bool,
    seen: Rc<Seen>,
}

impl EventStream {
    pub(crate) fn new(head: Head, body: Body, seen: Rc<Seen>) -> Self {
        let now = Instant::now();
        let log = Log {
            events: Vec::new(),
            quiet: Vec::new(),
            end: End::Open,
            leftover: Vec::new(),
            ended_at: now,
        };
        Self { head, body, reader: Reader::default(), waiting: VecDeque::new(), log, over: false, seen }
    }

    /// The next event, `None` when the stream is over or the time is.
    pub(crate) async fn next_before(&mut self, deadline: Instant) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if !self.read_before(deadline).await {
                return None;
            }
        }
    }

    /// Reads until an event satisfies `wanted`, and gives that event.
    pub(crate) async fn until(&mut self, limit: Duration, wanted: impl Fn(&Event) -> bool) -> Option<Event> {
        let deadline = Instant::now() + limit;
        while let Some(event) = self.next_before(deadline).await {
            if wanted(&event) {
                return Some(event);
            }
        }
        None
    }

    /// Reads to the end of the stream or of the time; gives everything since the stream was opened.
    pub(crate) async fn rest(mut self, limit: Duration) -> Log {
        let deadline = Instant::now() + limit;
        while self.read_before(deadline).await {}
        self.leave()
    }

    /// Stops reading; gives everything since the stream was opened.
    pub(crate) fn leave(mut self) -> Log {
        self.log.ended_at = Instant::now();
        self.log.leftover = self.reader.leftover().to_vec();
        self.log
    }

    /// Comments so far.
    pub(crate) fn quiet(&self) -> &[Quiet] {
        &self.log.quiet
    }

    /// Whether the end was seen.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Takes in one piece; false when nothing more will come before the deadline.
    pub(crate) async fn read_before(&mut self, deadline: Instant) -> bool {
        if self.over {
            return false;
        }
        let end = match tokio::time::timeout_at(deadline, self.body.piece()).await {
            Ok(Ok(Some(bytes))) => {
                self.take(&bytes);
                return true;
            }
            Ok(Ok(None)) => End::Clean,
            Ok(Err(err)) => End::Broken(err.to_string()),
            Err(_) => return false,
        };
        self.over = true;
        self.log.end = end;
        false
    }

    fn take(&mut self, bytes: &[u8]) {
        for frame in self.reader.feed(bytes, Instant::now()) {
            if frame.is_event() || frame.values("event").next().is_some() {
                let event = Event::new(frame);
                self.seen.event(&event);
                self.waiting.push_back(event.clone());
                self.log.events.push(event);
            } else {
                self.log.quiet.push(Quiet { comment: !frame.comments.is_empty(), at: frame.at });
            }
        }
    }
}
