//! The executor's log lines, and what a panic may say.

use tracing::Level;
use tracing::subscriber::SetGlobalDefaultError;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

/// Begins to log to the standard error.
///
/// The MCP library's lines are cut at warnings whatever is asked for, since below that it logs whole messages; the log crate is
/// not listened to at all, since the SQL parser writes statements to it.
///
/// # Errors
///
/// When the process logs already.
pub fn start_log() -> Result<(), SetGlobalDefaultError> {
    let wanted = EnvFilter::try_from_default_env().unwrap_or_else(|_unset| EnvFilter::new("info"));
    let quiet =
        filter_fn(|metadata| !metadata.target().starts_with("rmcp") || *metadata.level() <= Level::WARN);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_filter(wanted)
        .with_filter(quiet);
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(lines))
}

/// Makes a panic say where it was and not what it held: its message may hold a statement or a row.
pub fn silence_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(panic.location = %place, "a part of the executor panicked");
    }));
}
