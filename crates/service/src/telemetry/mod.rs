//! What the service tells its operators: log lines, metrics and traces. None of it holds content.

mod counters;
mod log;
mod metrics;
mod origin;
mod otlp;
mod spans;
mod trace;

pub use log::{begin_logging, silence_panics};

pub(crate) use metrics::{Gauges, Metrics};
pub(crate) use origin::Origin;
pub(crate) use otlp::SpanExporter;
pub(crate) use spans::{AskSpan, RunWatch, Telemetry};
pub use trace::Sampler;
pub(crate) use trace::TraceContext;
