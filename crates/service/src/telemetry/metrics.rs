//! The service's metrics. Every label's values are a fixed set: none names a person, a ticket, a tool or a word of anyone's.

use std::time::Duration;

use super::counters::{Counter, Histogram, Labelled, head, line};

/// What is counted while the service runs.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub(crate) accepted: Counter,
    pub(crate) ended: Labelled<4>,
    pub(crate) failed: Labelled<5>,
    pub(crate) cancels: Counter,
    pub(crate) ask_seconds: Histogram,
    pub(crate) events: Counter,
    pub(crate) dropped: Counter,
    pub(crate) streams: Counter,
    pub(crate) model_turns: Labelled<3>,
    pub(crate) model_seconds: Histogram,
    pub(crate) tokens: Labelled<4>,
    pub(crate) catalog_calls: Labelled<3>,
    pub(crate) catalog_seconds: Histogram,
    pub(crate) source_calls: Labelled<3>,
    pub(crate) source_seconds: Histogram,
    pub(crate) refusals: Labelled<8>,
    pub(crate) responses: Labelled<4>,
    pub(crate) spans: Labelled<3>,
}

/// What is read when it is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gauges {
    pub(crate) running: u64,
    pub(crate) conversations: u64,
    pub(crate) tickets: u64,
    pub(crate) streams: u64,
    pub(crate) ready: bool,
}

/// How a call or a turn ended: with a result, with an error, or not at all since its run was over.
const ENDINGS: [&str; 3] = ["ok", "error", "abandoned"];

impl Default for Metrics {
    fn default() -> Self {
        Self {
            accepted: Counter::default(),
            ended: Labelled::new("outcome", ["answer", "abstention", "refusal", "error"]),
            failed: Labelled::new("kind", ["cancelled", "max_steps", "model", "transport", "internal"]),
            cancels: Counter::default(),
            ask_seconds: Histogram::default(),
            events: Counter::default(),
            dropped: Counter::default(),
            streams: Counter::default(),
            model_turns: Labelled::new("result", ENDINGS),
            model_seconds: Histogram::default(),
            tokens: Labelled::new("type", ["input", "output", "cache_read", "cache_write"]),
            catalog_calls: Labelled::new("kind=\"catalog\",result", ENDINGS),
            catalog_seconds: Histogram::default(),
            source_calls: Labelled::new("kind=\"source\",result", ENDINGS),
            source_seconds: Histogram::default(),
            refusals: Labelled::new(
                "limit",
                [
                    "conversations",
                    "tickets",
                    "running",
                    "rate",
                    "everyone",
                    "conversation_full",
                    "ask_running",
                    "closing",
                ],
            ),
            responses: Labelled::new("class", ["2xx", "3xx", "4xx", "5xx"]),
            spans: Labelled::new("result", ["exported", "dropped", "failed"]),
        }
    }
}

impl Metrics {
    pub(crate) fn answered(&self, status: u16) {
        self.responses.add(
            match status {
                200..300 => "2xx",
                300..400 => "3xx",
                400..500 => "4xx",
                _ => "5xx",
            },
            1,
        );
    }

    pub(crate) fn tool_called(&self, catalog: bool, result: &str, took: Duration) {
        let (calls, seconds) = if catalog {
            (&self.catalog_calls, &self.catalog_seconds)
        } else {
            (&self.source_calls, &self.source_seconds)
        };
        calls.add(result, 1);
        seconds.observe(took);
    }

    /// Everything, in Prometheus' text format.
    pub(crate) fn text(&self, gauges: Gauges) -> String {
        let mut text = String::with_capacity(8 * 1024);
        let out = &mut text;
        let counter = |out: &mut String, name: &str, help: &str, counter: &Counter| {
            head(out, name, help, "counter");
            line(out, format_args!("{name} {}", counter.get()));
        };
        let gauge = |out: &mut String, name: &str, help: &str, value: u64| {
            head(out, name, help, "gauge");
            line(out, format_args!("{name} {value}"));
        };
        head(out, "ask_build_info", "The running version.", "gauge");
        line(out, format_args!("ask_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION")));
        gauge(
            out,
            "ask_ready",
            "Whether asks are taken: keys are there and no shutdown runs.",
            gauges.ready.into(),
        );
        counter(out, "ask_asks_accepted_total", "Asks that got a ticket.", &self.accepted);
        self.ended.write(out, "ask_asks_ended_total", "Asks that ended, by their outcome.");
        self.failed.write(out, "ask_asks_failed_total", "Asks that ended in an error, by its kind.");
        gauge(out, "ask_asks_running", "Asks that run.", gauges.running);
        counter(out, "ask_cancels_received_total", "Calls to cancel an ask of the caller's.", &self.cancels);
        head(out, "ask_asks_duration_seconds", "From accepted to done.", "histogram");
        self.ask_seconds.write(out, "ask_asks_duration_seconds", "");
        gauge(out, "ask_conversations_open", "Conversations that have not expired.", gauges.conversations);
        gauge(out, "ask_tickets_retained", "Tickets that run or have not expired.", gauges.tickets);
        counter(out, "ask_events_emitted_total", "Events written to the logs of tickets.", &self.events);
        counter(out, "ask_events_dropped_total", "Step events that full logs let go.", &self.dropped);
        counter(
            out,
            "ask_streams_opened_total",
            "Event streams opened, reconnects among them.",
            &self.streams,
        );
        gauge(out, "ask_streams_open", "Event streams that are open.", gauges.streams);
        self.model_turns.write(out, "ask_model_turns_total", "Model turns, by how they ended.");
        head(out, "ask_model_turn_duration_seconds", "A model turn, retries included.", "histogram");
        self.model_seconds.write(out, "ask_model_turn_duration_seconds", "");
        self.tokens.write(
            out,
            "ask_model_tokens_total",
            "Tokens of model turns, as the model's server counts them.",
        );
        self.catalog_calls.write(
            out,
            "ask_tool_calls_total",
            "Tool calls, by what their server is and how they ended.",
        );
        let mut source_calls = String::new();
        self.source_calls.write(&mut source_calls, "ask_tool_calls_total", "");
        source_calls
            .lines()
            .filter(|sample| !sample.starts_with('#'))
            .for_each(|sample| line(out, format_args!("{sample}")));
        head(out, "ask_tool_call_duration_seconds", "A tool call, as its caller waits for it.", "histogram");
        self.catalog_seconds.write(out, "ask_tool_call_duration_seconds", "kind=\"catalog\",");
        self.source_seconds.write(out, "ask_tool_call_duration_seconds", "kind=\"source\",");
        self.refusals.write(
            out,
            "ask_limits_refusals_total",
            "Asks and conversations that were not taken, by the limit.",
        );
        self.responses.write(
            out,
            "ask_http_responses_total",
            "Responses of the API, by the class of their status.",
        );
        self.spans.write(
            out,
            "ask_trace_spans_total",
            "Spans of traces: exported, dropped at a full queue, or lost with a failed export.",
        );
        text
    }
}
