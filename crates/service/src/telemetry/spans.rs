//! The spans of an ask: taken in, worked on by a branch in model turns and tool calls, ended. Names and numbers, no content.

use std::sync::Arc;
use std::time::Duration;

use ask_agent::{Ended, ToolServerKind, Watch, Watched, Work};
use ask_contract::{ErrorKind, Timestamp};
use ask_core::ticket::{Terminal, TicketSpec};
use ask_llm::Stop;
use tokio::time::Instant;

use super::metrics::Metrics;
use super::origin::Origin;
use super::otlp::{Attribute, Kind, Span, SpanExporter};
use super::{Sampler, TraceContext};

/// What everything that is watched shares.
#[derive(Debug, Clone)]
pub(crate) struct Telemetry(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    metrics: Arc<Metrics>,
    exporter: Option<SpanExporter>,
    sampler: Sampler,
    provider: &'static str,
    /// A moment by both clocks, so that spans are in order also when the time of day is put back.
    anchor: (u64, Instant),
}

impl Telemetry {
    pub(crate) fn new(
        metrics: Arc<Metrics>,
        exporter: Option<SpanExporter>,
        sampler: Sampler,
        provider: &'static str,
        now: Timestamp,
    ) -> Self {
        let now_ns = u64::try_from(now.unix_ms()).unwrap_or(0).saturating_mul(1_000_000);
        Self(Arc::new(Shared { metrics, exporter, sampler, provider, anchor: (now_ns, Instant::now()) }))
    }

    /// One that exports nothing.
    #[cfg(test)]
    pub(crate) fn silent() -> Self {
        Self::new(Arc::default(), None, Sampler::default(), "none", Timestamp::from_unix_ms(0))
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// Sends out what waits, for as long as the limit allows.
    pub(crate) async fn flush(&self, limit: Duration) {
        if let Some(exporter) = &self.0.exporter {
            exporter.flush(limit).await;
        }
    }

    /// The origin of a request, from what it says of itself.
    pub(crate) fn origin(&self, request_id: Option<&str>, traceparent: Option<&str>) -> Origin {
        let parent = TraceContext::begin(traceparent, self.0.sampler);
        Origin::new(request_id, parent, self.now_ns())
    }

    fn now_ns(&self) -> u64 {
        let (ns, at) = self.0.anchor;
        ns.saturating_add(u64::try_from(at.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn record(&self, span: Span) {
        if span.context.sampled
            && let Some(exporter) = &self.0.exporter
        {
            exporter.take(span);
        }
    }

    /// Records that the request of an ask was answered with a ticket.
    pub(crate) fn accepted(&self, origin: &Origin, route: &str) {
        self.record(Span {
            name: format!("POST {route}"),
            kind: Kind::Server,
            context: origin.trace,
            parent: origin.parent,
            began_ns: origin.began_ns,
            ended_ns: self.now_ns(),
            attributes: vec![
                ("http.request.method", "POST".into()),
                ("http.route", route.into()),
                ("http.response.status_code", 202.into()),
                ("ask.request.id", origin.request_id.as_str().into()),
            ],
            error: None,
        });
    }
}

/// An ask and its one branch, from accepted to done.
#[derive(Debug)]
pub(crate) struct AskSpan {
    telemetry: Telemetry,
    origin: Arc<Origin>,
    ask: TraceContext,
    branch: TraceContext,
    began: Instant,
    began_ns: u64,
}

impl AskSpan {
    pub(crate) fn begin(telemetry: &Telemetry, origin: Arc<Origin>) -> Self {
        let ask = origin.trace.child();
        telemetry.metrics().accepted.add(1);
        Self {
            began_ns: telemetry.now_ns(),
            telemetry: telemetry.clone(),
            origin,
            ask,
            branch: ask.child(),
            began: Instant::now(),
        }
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Who watches the branch.
    pub(crate) fn watch(&self) -> RunWatch {
        RunWatch {
            telemetry: self.telemetry.clone(),
            branch: self.branch,
            request_id: self.origin.request_id.as_str().into(),
        }
    }

    /// The ask has ended.
    pub(crate) fn end(&self, spec: &TicketSpec, terminal: &Terminal) {
        let metrics = self.telemetry.metrics();
        let outcome = terminal.outcome().as_str();
        metrics.ended.add(outcome, 1);
        metrics.ask_seconds.observe(self.began.elapsed());
        let error = match terminal {
            Terminal::Error(failure) => Some(kind_word(failure.kind)),
            Terminal::Answer(_) | Terminal::Abstention(_) | Terminal::Refusal(_) => None,
        };
        if let Some(kind) = error {
            metrics.failed.add(kind, 1);
        }
        if !self.ask.sampled {
            return;
        }
        let ended_ns = self.telemetry.now_ns();
        let span = |name: &str, context, parent, attributes| Span {
            name: name.to_owned(),
            kind: Kind::Internal,
            context,
            parent,
            began_ns: self.began_ns,
            ended_ns,
            attributes,
            error,
        };
        let branch = vec![("ask.branch.role", "supervisor".into())];
        self.telemetry.record(span("branch supervisor", self.branch, self.ask.span_id, branch));
        let ask = vec![
            ("gen_ai.operation.name", "invoke_agent".into()),
            ("gen_ai.agent.name", "ask-service".into()),
            ("gen_ai.provider.name", self.telemetry.0.provider.into()),
            ("gen_ai.conversation.id", spec.conversation_id.as_str().into()),
            ("gen_ai.request.model", spec.model.as_str().into()),
            ("ask.ticket.id", spec.ticket.as_str().into()),
            ("ask.turn", u64::from(spec.turn).into()),
            ("ask.outcome", outcome.into()),
            ("ask.request.id", self.origin.request_id.as_str().into()),
        ];
        self.telemetry.record(span("invoke_agent ask-service", self.ask, self.origin.trace.span_id, ask));
    }
}

/// Watches the model turns and tool calls of a branch.
#[derive(Debug, Clone)]
pub(crate) struct RunWatch {
    telemetry: Telemetry,
    branch: TraceContext,
    request_id: Arc<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Connect,
    ModelTurn,
    ToolCall { catalog: bool },
}

struct RunWork {
    telemetry: Telemetry,
    piece: Piece,
    span: Option<Span>,
    began: Instant,
    traceparent: String,
}

impl Watch for RunWatch {
    fn request_id(&self) -> Option<&str> {
        Some(&self.request_id)
    }

    fn traceparent(&self) -> Option<String> {
        Some(self.branch.traceparent())
    }

    fn begin(&self, work: Work<'_>) -> Box<dyn Watched> {
        let context = self.branch.child();
        let (piece, kind, name, attributes): (_, _, _, Vec<(&'static str, Attribute)>) = match work {
            Work::Connect => (Piece::Connect, Kind::Internal, "connect tool servers".to_owned(), Vec::new()),
            Work::ModelTurn { model } => (
                Piece::ModelTurn,
                Kind::Client,
                format!("chat {model}"),
                vec![
                    ("gen_ai.operation.name", "chat".into()),
                    ("gen_ai.provider.name", self.telemetry.0.provider.into()),
                    ("gen_ai.request.model", model.into()),
                ],
            ),
            Work::ToolCall { server, kind, tool } => (
                Piece::ToolCall { catalog: kind == ToolServerKind::Catalog },
                Kind::Client,
                format!("tools/call {tool}"),
                vec![
                    ("mcp.method.name", "tools/call".into()),
                    ("gen_ai.operation.name", "execute_tool".into()),
                    ("gen_ai.tool.name", tool.into()),
                    ("ask.tool.server", server.into()),
                ],
            ),
        };
        let began_ns = self.telemetry.now_ns();
        let span = Span {
            name,
            kind,
            context,
            parent: self.branch.span_id,
            began_ns,
            ended_ns: began_ns,
            attributes,
            error: None,
        };
        Box::new(RunWork {
            telemetry: self.telemetry.clone(),
            piece,
            span: Some(span),
            began: Instant::now(),
            traceparent: context.traceparent(),
        })
    }
}

impl RunWork {
    fn finish(&mut self, ended: Option<Ended<'_>>) {
        let Some(mut span) = self.span.take() else { return };
        let metrics = self.telemetry.metrics();
        let took = self.began.elapsed();
        let (result, error) = match ended {
            Some(Ended::Done | Ended::Replied { .. }) => ("ok", None),
            Some(Ended::Failed(kind)) => ("error", Some(kind)),
            None => ("abandoned", Some("cancelled")),
        };
        match self.piece {
            Piece::Connect => {}
            Piece::ModelTurn => {
                metrics.model_turns.add(result, 1);
                metrics.model_seconds.observe(took);
            }
            Piece::ToolCall { catalog } => metrics.tool_called(catalog, result, took),
        }
        if let Some(Ended::Replied { model, usage, stop }) = ended {
            for (kind, count) in [
                ("input", usage.input),
                ("output", usage.output),
                ("cache_read", usage.cache_read),
                ("cache_write", usage.cache_write),
            ] {
                metrics.tokens.add(kind, count);
            }
            // The conventions' input is the whole of it, what came from a cache included.
            let input = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
            span.attributes.extend([
                ("gen_ai.response.model", model.into()),
                ("gen_ai.response.finish_reasons", Attribute::Words(vec![stop_word(stop)])),
                ("gen_ai.usage.input_tokens", input.into()),
                ("gen_ai.usage.output_tokens", usage.output.into()),
                ("gen_ai.usage.cache_read.input_tokens", usage.cache_read.into()),
                ("gen_ai.usage.cache_creation.input_tokens", usage.cache_write.into()),
            ]);
        }
        span.error = error;
        span.ended_ns = self.telemetry.now_ns();
        self.telemetry.record(span);
    }
}

const fn kind_word(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Cancelled => "cancelled",
        ErrorKind::MaxSteps => "max_steps",
        ErrorKind::Model => "model",
        ErrorKind::Transport => "transport",
        ErrorKind::Internal => "internal",
    }
}

const fn stop_word(stop: &Stop) -> &'static str {
    match stop {
        Stop::End => "stop",
        Stop::ToolUse => "tool_calls",
        Stop::MaxTokens => "length",
        Stop::ContextFull => "context_full",
        Stop::Refusal => "refusal",
        Stop::ContentFilter => "content_filter",
        Stop::Pause => "pause",
        Stop::Unknown => "unknown",
    }
}

impl Watched for RunWork {
    fn traceparent(&self) -> Option<&str> {
        Some(&self.traceparent)
    }

    fn end(mut self: Box<Self>, ended: Ended<'_>) {
        self.finish(Some(ended));
    }
}

impl Drop for RunWork {
    fn drop(&mut self) {
        self.finish(None);
    }
}
