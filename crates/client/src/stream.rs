//! The events of one ask, across dropped connections, each once and in order.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ask_contract::{EventBody, TicketId};
use awc::http::{Method, StatusCode, header};
use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt as _, Stream};
use tokio::time::{Instant, Sleep, sleep};

use crate::backoff::{jitter, pause};
use crate::http::{Body, exchange, read_all, retry_after};
use crate::{
    Base, Bearer, CallError, Credentials, Frame, Http, Limits, Received, Rejection, SseParser, StreamError,
};

/// A problem body is short; more than this of it is not read.
const PROBLEM_BYTES: usize = 64 << 10;

/// The events of one ask: resumed with `Last-Event-ID` until `done`, without a duplicate, and without a gap other than
/// the steps that the service itself had to drop.
///
/// Statuses 401, 403, 404, 410 and other refusals are definite. Network failures, 408, 425, 429, 5xx, silence, and a body
/// that ends before `done` are cuts: the stream waits and resumes, with exponential back-off and jitter, no sooner than
/// the service's `retry:` or `Retry-After` asks. 204 says that there is nothing more.
pub struct EventStream {
    http: Http,
    base: Rc<Base>,
    credentials: Credentials,
    limits: Rc<Limits>,
    ticket: TicketId,
    after: u64,
    from_start: bool,
    state: State,
    parser: SseParser,
    hint: Duration,
    failures: u32,
    malformed_after: Option<u64>,
    steps: u64,
    stats: StreamStats,
    observer: Option<Box<dyn FnMut(Notice)>>,
}

enum State {
    Fresh,
    Connecting(LocalBoxFuture<'static, Opened>),
    Reading { body: Body, silence: Pin<Box<Sleep>>, since: Instant },
    Waiting(Pin<Box<Sleep>>),
    Over,
}

enum Opened {
    Stream(Body),
    NothingMore,
    Cut(CutReason, Option<Duration>),
    Refused(StreamError),
}

/// Something happened to the connection that a person who asked for a trace wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The connection is gone; it is made again after a pause.
    Cut {
        /// What ended it.
        reason: CutReason,
        /// Attempts in a row that brought nothing new.
        attempt: u32,
        /// The pause before the next one.
        pause: Duration,
    },
    /// The stream goes on.
    Resumed {
        /// The latest event that was received before.
        after: u64,
    },
}

/// What ended a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutReason {
    /// It did not come about.
    Unreachable,
    /// It broke, or no answer came in time.
    Broken,
    /// The service or a gateway said to come back later, with this status.
    Status(u16),
    /// The body ended before `done`.
    Ended,
    /// Nothing came, not even a comment.
    Silent,
    /// An event could not be read; once can be a fault of the way.
    Garbled,
}

impl fmt::Display for CutReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable => f.write_str("can't connect"),
            Self::Broken => f.write_str("the connection broke"),
            Self::Status(status) => write!(f, "the service answered {status}"),
            Self::Ended => f.write_str("the stream ended early"),
            Self::Silent => f.write_str("the stream fell silent"),
            Self::Garbled => f.write_str("an event could not be read"),
        }
    }
}

/// What a stream has been through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamStats {
    /// Events handed out.
    pub events: u64,
    /// Connections made.
    pub connections: u32,
    /// Events that came again after a resume and were not handed out again.
    pub duplicates: u64,
    /// Places in the stream for which no event came; dropped steps, if the service keeps the contract.
    pub missing: u64,
    /// Missing events that `done` says were no steps; known once it came, on a stream read from the start.
    pub unexplained: u64,
}

impl EventStream {
    pub(crate) fn new(
        http: Http,
        base: Rc<Base>,
        credentials: Credentials,
        limits: Rc<Limits>,
        ticket: TicketId,
        after: u64,
    ) -> Self {
        let parser = SseParser::new(limits.event_bytes);
        Self {
            http,
            base,
            credentials,
            limits,
            ticket,
            after,
            from_start: after == 0,
            state: State::Fresh,
            parser,
            hint: Duration::ZERO,
            failures: 0,
            malformed_after: None,
            steps: 0,
            stats: StreamStats::default(),
            observer: None,
        }
    }

    /// Has `observer` told of cuts and resumptions from now on.
    pub fn observe(&mut self, observer: impl FnMut(Notice) + 'static) {
        self.observer = Some(Box::new(observer));
    }

    /// The latest event that was handed out; a later stream can start after it.
    pub const fn after(&self) -> u64 {
        self.after
    }

    /// What the stream has been through so far.
    pub const fn stats(&self) -> StreamStats {
        self.stats
    }

    /// The next event; `None` after `done`, or when the service says that there is nothing more.
    ///
    /// # Errors
    ///
    /// A [`StreamError`] is the stream's last word.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: connection, timers and what is half read stay with the stream, and nothing is lost or restarted.
    pub async fn next(&mut self) -> Result<Option<Received>, StreamError> {
        poll_fn(|cx| self.poll_received(cx)).await
    }

    fn poll_received(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Received>, StreamError>> {
        loop {
            match &mut self.state {
                State::Over => return Poll::Ready(Ok(None)),
                State::Fresh => self.connect(),
                State::Waiting(pause) => {
                    ready!(pause.as_mut().poll(cx));
                    self.connect();
                }
                State::Connecting(attempt) => match ready!(attempt.as_mut().poll(cx)) {
                    Opened::Stream(body) => self.start_reading(body),
                    Opened::NothingMore => self.state = State::Over,
                    Opened::Cut(reason, hint) => self.cut(reason, hint)?,
                    Opened::Refused(err) => return Poll::Ready(Err(self.give_up(err))),
                },
                State::Reading { body, silence, .. } => {
                    if let Some(frame) = self.parser.next_frame() {
                        if let Some(received) = self.take(frame)? {
                            return Poll::Ready(Ok(Some(received)));
                        }
                        continue;
                    }
                    match body.as_mut().poll_next(cx) {
                        Poll::Ready(Some(Ok(chunk))) => {
                            silence.as_mut().reset(Instant::now() + self.limits.idle);
                            let fed = self.parser.feed(&chunk);
                            if let Some(hint) = self.parser.take_retry() {
                                self.hint = hint;
                            }
                            if let Err(err) = fed {
                                return Poll::Ready(Err(self.give_up(StreamError::TooLong(err))));
                            }
                        }
                        Poll::Ready(Some(Err(_))) => self.cut(CutReason::Broken, None)?,
                        Poll::Ready(None) => self.cut(CutReason::Ended, None)?,
                        Poll::Pending => {
                            ready!(silence.as_mut().poll(cx));
                            self.cut(CutReason::Silent, None)?;
                        }
                    }
                }
            }
        }
    }

    fn connect(&mut self) {
        let attempt = connect(
            Wanted {
                http: self.http.clone(),
                base: Rc::clone(&self.base),
                limits: Rc::clone(&self.limits),
                ticket: self.ticket.clone(),
                after: self.after,
            },
            self.credentials.clone(),
        );
        self.state = State::Connecting(attempt.boxed_local());
    }

    fn start_reading(&mut self, body: Body) {
        self.parser = SseParser::new(self.limits.event_bytes);
        let silence = Box::pin(sleep(self.limits.idle));
        self.state = State::Reading { body, silence, since: Instant::now() };
        self.stats.connections += 1;
        if self.stats.connections > 1 {
            self.tell(Notice::Resumed { after: self.after });
        }
    }

    /// Reads a frame that arrived; `None` when it is nothing new to the caller.
    fn take(&mut self, frame: Frame) -> Result<Option<Received>, StreamError> {
        let received = match Received::read(frame, &self.ticket) {
            Ok(Some(received)) => received,
            Ok(None) => return Ok(None),
            Err(err) if self.malformed_after == Some(self.after) => {
                return Err(self.give_up(StreamError::Malformed(err)));
            }
            Err(_) => {
                self.malformed_after = Some(self.after);
                self.cut(CutReason::Garbled, None)?;
                return Ok(None);
            }
        };
        if received.seq <= self.after {
            self.stats.duplicates += 1;
            return Ok(None);
        }
        self.stats.missing += received.seq - self.after - 1;
        self.stats.events += 1;
        self.after = received.seq;
        self.failures = 0;
        match received.event.as_ref().map(|event| &event.body) {
            Some(EventBody::Step(_)) => self.steps += 1,
            Some(EventBody::Done(done)) => {
                if self.from_start {
                    let dropped = done.steps.saturating_sub(self.steps);
                    self.stats.unexplained = self.stats.missing.saturating_sub(dropped);
                }
                self.state = State::Over;
            }
            _ => {}
        }
        Ok(Some(received))
    }

    /// The connection is gone: plans the next attempt, unless enough were made in vain.
    fn cut(&mut self, reason: CutReason, hint: Option<Duration>) -> Result<(), StreamError> {
        if let State::Reading { since, .. } = &self.state
            && since.elapsed() >= self.limits.healthy_after
            && reason != CutReason::Silent
        {
            self.failures = 0;
        }
        let wait = pause(&self.limits, self.failures, self.hint.max(hint.unwrap_or_default()), jitter());
        self.failures += 1;
        if self.failures >= self.limits.attempts {
            let lost = StreamError::Lost { after: self.after, attempts: self.failures, last: reason };
            return Err(self.give_up(lost));
        }
        self.state = State::Waiting(Box::pin(sleep(wait)));
        self.tell(Notice::Cut { reason, attempt: self.failures, pause: wait });
        Ok(())
    }

    fn give_up(&mut self, err: StreamError) -> StreamError {
        self.state = State::Over;
        err
    }

    fn tell(&mut self, notice: Notice) {
        if let Some(observer) = &mut self.observer {
            observer(notice);
        }
    }
}

impl Stream for EventStream {
    type Item = Result<Received, StreamError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_received(cx).map(Result::transpose)
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("ticket", &self.ticket)
            .field("after", &self.after)
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}

/// Which stream is wanted, and how.
struct Wanted {
    http: Http,
    base: Rc<Base>,
    limits: Rc<Limits>,
    ticket: TicketId,
    after: u64,
}

/// One attempt, with the token of now; where that is refused, with the next.
async fn connect(wanted: Wanted, credentials: Credentials) -> Opened {
    let bearer = match credentials.current().await {
        Ok(bearer) => bearer,
        Err(err) => return Opened::Refused(StreamError::NoToken(err)),
    };
    let opened = wanted.open(&bearer).await;
    let Opened::Refused(StreamError::Rejected(rejection)) = &opened else { return opened };
    if rejection.status != 401 {
        return opened;
    }
    match credentials.renew(&bearer).await {
        Ok(Some(next)) => wanted.open(&next).await,
        Ok(None) => opened,
        Err(err) => Opened::Refused(StreamError::NoToken(err)),
    }
}

impl Wanted {
    async fn open(&self, bearer: &Bearer) -> Opened {
        let path = ["v1", "asks", self.ticket.as_str(), "events"];
        let mut request = self
            .http
            .request(Method::GET, &self.base, &path, Some(bearer))
            .insert_header((header::ACCEPT, "text/event-stream"))
            .insert_header((header::CACHE_CONTROL, "no-cache"));
        if self.after > 0 {
            request = request.insert_header(("last-event-id", self.after.to_string()));
        }
        let opened = tokio::time::timeout(self.limits.answer_within, open(request)).await;
        opened.unwrap_or(Opened::Cut(CutReason::Broken, None))
    }
}

/// Makes one connection and judges the answer's head.
async fn open(request: awc::ClientRequest) -> Opened {
    let answer = match exchange(request, Bytes::new()).await {
        Ok(answer) => answer,
        Err(CallError::Unreachable(_)) => return Opened::Cut(CutReason::Unreachable, None),
        Err(_) => return Opened::Cut(CutReason::Broken, None),
    };
    let hint = retry_after(&answer.headers);
    match answer.status {
        StatusCode::OK => {}
        StatusCode::NO_CONTENT => return Opened::NothingMore,
        status if is_passing(status) => return Opened::Cut(CutReason::Status(status.as_u16()), hint),
        status => {
            let body = read_all(answer.body, PROBLEM_BYTES).await.unwrap_or_default();
            let rejection = Rejection::read(status.as_u16(), hint, &body);
            return Opened::Refused(StreamError::Rejected(Box::new(rejection)));
        }
    }
    let content_type = answer.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("text/event-stream") {
        Opened::Stream(answer.body)
    } else {
        Opened::Refused(StreamError::NotAStream { content_type: content_type.to_owned() })
    }
}

/// Whether a status may be gone on the next attempt.
fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429)
}
