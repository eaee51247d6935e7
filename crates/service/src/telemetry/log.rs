//! Log lines on standard error: what happened, never what was asked.

use tracing_subscriber::EnvFilter;

/// Crates whose log lines are ours to vouch for. Others, at detailed levels, may print headers and bodies.
const OURS: [&str; 6] = ["ask_service", "ask_agent", "ask_core", "ask_auth", "ask_llm", "ask_mcp"];

/// Begins to log as JSON lines, this service's own at `level` and everybody else's at warnings.
pub fn begin_logging(level: tracing::Level) {
    let own = OURS.map(|name| format!("{name}={level}")).join(",");
    let filter = EnvFilter::new(format!("warn,{own}"));
    let begun =
        tracing_subscriber::fmt().json().with_env_filter(filter).with_writer(std::io::stderr).try_init();
    if begun.is_err() {
        tracing::debug!("logging had begun before");
    }
}

/// Makes a panic say where it was and not what it held: its message may hold anything.
pub fn silence_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(panic.location = %place, "a part of the service panicked");
    }));
}
