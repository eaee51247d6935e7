//! Spans over OTLP/HTTP in JSON: queued within a bound, sent in batches from a thread of their own, never waited for.

use std::time::Duration;

use actix_rt::Arbiter;
use ask_core::id::random_key;
use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::TraceContext;
use super::metrics::Metrics;
use crate::settings::TraceExport;

/// Spans that may wait; beyond them spans are dropped and counted.
const QUEUE: usize = 2048;
/// Spans of one request to the collector.
const BATCH: usize = 512;
/// The longest time that a span waits for others to go with it.
const DELAY: Duration = Duration::from_secs(1);
/// How long a collector may take.
const LIMIT: Duration = Duration::from_secs(5);
/// How long a collector that is busy is given before the one further attempt.
const PAUSE: Duration = Duration::from_secs(1);

/// What a span is in the conversation of two processes; the numbers are OTLP's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Attribute {
    Text(String),
    Number(u64),
    Words(Vec<&'static str>),
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for Attribute {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

/// One span that has ended.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) context: TraceContext,
    pub(super) parent: [u8; 8],
    pub(super) began_ns: u64,
    pub(super) ended_ns: u64,
    pub(super) attributes: Vec<(&'static str, Attribute)>,
    /// A word for what went wrong.
    pub(super) error: Option<&'static str>,
}

impl Span {
    fn json(&self) -> Value {
        let mut attributes: Vec<Value> =
            self.attributes.iter().map(|(key, value)| attribute(key, value)).collect();
        if let Some(kind) = self.error {
            attributes.push(attribute("error.type", &kind.into()));
        }
        let mut span = json!({
            "traceId": self.context.trace_hex(),
            "spanId": HEXLOWER.encode(&self.context.span_id),
            "flags": u32::from(self.context.sampled),
            "name": self.name,
            "kind": self.kind as u32,
            "startTimeUnixNano": self.began_ns.to_string(),
            "endTimeUnixNano": self.ended_ns.to_string(),
            "attributes": attributes,
            "status": if self.error.is_some() { json!({"code": 2}) } else { json!({}) },
        });
        if self.parent != [0; 8]
            && let Some(members) = span.as_object_mut()
        {
            members.insert("parentSpanId".to_owned(), HEXLOWER.encode(&self.parent).into());
        }
        span
    }
}

fn attribute(key: &str, value: &Attribute) -> Value {
    let value = match value {
        Attribute::Text(text) => json!({"stringValue": text}),
        Attribute::Number(number) => json!({"intValue": number.to_string()}),
        Attribute::Words(words) => {
            let values: Vec<Value> = words.iter().map(|word| json!({"stringValue": word})).collect();
            json!({"arrayValue": {"values": values}})
        }
    };
    json!({"key": key, "value": value})
}

enum Message {
    Span(Box<Span>),
    Flush(oneshot::Sender<()>),
}

/// The way to the collector.
#[derive(Clone)]
pub(crate) struct SpanExporter {
    queue: mpsc::Sender<Message>,
    metrics: Arc<Metrics>,
}

impl std::fmt::Debug for SpanExporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpanExporter").finish_non_exhaustive()
    }
}

impl SpanExporter {
    /// Starts the thread that sends. Connects to nothing before there is a span.
    pub(crate) fn start(export: TraceExport, metrics: Arc<Metrics>) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let counts = Arc::clone(&metrics);
        let arbiter = Arbiter::new();
        #[expect(clippy::disallowed_methods, reason = "ends when the last sender of the queue is dropped")]
        let send = move || drop(actix_rt::spawn(Sender::new(export, counts).run(waiting)));
        // An arbiter that could not be reached leaves the queue without a reader, and spans are counted as dropped.
        arbiter.spawn_fn(send);
        Self { queue, metrics }
    }

    /// Queues a span, or drops it when the queue is full. Never waits.
    pub(super) fn take(&self, span: Span) {
        if self.queue.try_send(Message::Span(Box::new(span))).is_err() {
            self.metrics.spans.add("dropped", 1);
        }
    }

    /// Sends what waits, for as long as the limit allows.
    pub(super) async fn flush(&self, limit: Duration) {
        let (done, flushed) = oneshot::channel();
        let flush = async {
            if self.queue.send(Message::Flush(done)).await.is_ok() {
                flushed.await.ok();
            }
        };
        if timeout(limit, flush).await.is_err() {
            tracing::debug!("spans were left unsent");
        }
    }
}

struct Sender {
    export: TraceExport,
    metrics: Arc<Metrics>,
    resource: Value,
    http: awc::Client,
    /// Whether the last batch was lost: the log says so once, until one goes through again.
    failing: bool,
}

impl Sender {
    fn new(export: TraceExport, metrics: Arc<Metrics>) -> Self {
        let instance = random_key().map(|key| HEXLOWER.encode(key.get(..16).unwrap_or_default()));
        let text = |text: &str| Attribute::from(text);
        let resource = json!({"attributes": [
            attribute("service.name", &text(&export.service_name)),
            attribute("service.version", &text(env!("CARGO_PKG_VERSION"))),
            attribute("service.instance.id", &text(&instance.unwrap_or_default())),
            attribute("telemetry.sdk.name", &text("ask-service")),
            attribute("telemetry.sdk.language", &text("rust")),
            attribute("telemetry.sdk.version", &text(env!("CARGO_PKG_VERSION"))),
        ]});
        // Headers may hold a key, which must not travel along a redirect.
        let http = awc::Client::builder().disable_timeout().disable_redirects().finish();
        Self { export, metrics, resource, http, failing: false }
    }

    async fn run(mut self, mut waiting: mpsc::Receiver<Message>) {
        while let Some(first) = waiting.recv().await {
            let mut batch = Vec::new();
            let mut flushed = None;
            let end = Instant::now() + DELAY;
            let mut next = Some(first);
            while let Some(message) = next.take() {
                match message {
                    Message::Span(span) => batch.push(*span),
                    Message::Flush(done) => {
                        flushed = Some(done);
                        break;
                    }
                }
                if batch.len() < BATCH {
                    next = timeout_at(end, waiting.recv()).await.ok().flatten();
                }
            }
            if !batch.is_empty() {
                self.send(&batch).await;
            }
            if let Some(done) = flushed {
                // Whoever asked may have gone.
                done.send(()).ok();
            }
        }
    }

    async fn send(&mut self, batch: &[Span]) {
        let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        let spans: Vec<Value> = batch.iter().map(Span::json).collect();
        let body = json!({"resourceSpans": [{
            "resource": self.resource,
            "scopeSpans": [{"scope": {"name": "ask-service", "version": env!("CARGO_PKG_VERSION")}, "spans": spans}],
        }]})
        .to_string();
        let mut outcome = self.attempt(&body).await;
        if outcome.as_ref().is_err_and(|failure| failure.passes) {
            sleep(PAUSE).await;
            outcome = self.attempt(&body).await;
        }
        match outcome {
            Ok(()) => {
                self.metrics.spans.add("exported", count);
                self.failing = false;
            }
            Err(failure) => {
                self.metrics.spans.add("failed", count);
                if !std::mem::replace(&mut self.failing, true) {
                    tracing::warn!(error = %failure.what, "spans could not be exported");
                }
            }
        }
    }

    async fn attempt(&self, body: &str) -> Result<(), Failure> {
        let mut request =
            self.http.post(&self.export.url).insert_header(("content-type", "application/json"));
        for (name, value) in &self.export.headers {
            request = request.insert_header((name.as_str(), value.expose()));
        }
        let failed = |passes, what: String| Err(Failure { passes, what });
        match timeout(LIMIT, request.send_body(body.to_owned())).await {
            Err(_) => failed(true, "the collector took too long".to_owned()),
            Ok(Err(err)) => failed(true, err.to_string()),
            Ok(Ok(mut response)) => {
                let status = response.status();
                // Read to its end, so that the connection can be used again.
                timeout(LIMIT, response.body().limit(64 * 1024)).await.ok();
                if status.is_success() {
                    return Ok(());
                }
                failed(matches!(status.as_u16(), 429 | 502..=504), format!("status {}", status.as_u16()))
            }
        }
    }
}

struct Failure {
    /// Whether it may pass.
    passes: bool,
    what: String,
}
