//! The executor's binary: settings, files, server, and a clean end.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use ask_auth::Verifier;
use ask_executor::audit::Audit;
use ask_executor::config::Content;
use ask_executor::engine::Engine;
use ask_executor::log::{silence_panics, start_log};
use ask_executor::rate::RateLimit;
use ask_executor::settings::Settings;
use ask_executor::tools::Desk;
use ask_executor::web::Bound;
use clap::Parser;

/// Serves SQL sources and their catalog, read-only and with access rules, over MCP and REST.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Options {
    /// The file that names the sources, the catalog and the access rules.
    #[arg(long, env = "DAS_EXECUTOR_CONFIG", default_value = "executor.json")]
    config: PathBuf,
    /// The port to listen on; 0 takes any free one.
    #[arg(long, env = "DAS_EXECUTOR_PORT", default_value_t = 8092)]
    port: u16,
    /// The address to listen on.
    #[arg(long, env = "DAS_EXECUTOR_HOST", default_value = "127.0.0.1")]
    host: String,
}

/// How many statements run at once.
const STATEMENTS: std::ops::RangeInclusive<usize> = 2..=8;

fn main() -> std::process::ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(err) => {
            drop(writeln!(std::io::stderr(), "ask-executor: {err:#}"));
            std::process::ExitCode::FAILURE
        }
    }
}

#[actix_web::main]
async fn run(options: &Options) -> anyhow::Result<()> {
    start_log().context("the log cannot be started")?;
    silence_panics();
    // An error here says that one is installed already, which is what is wanted.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    #[expect(clippy::disallowed_methods, reason = "the one place where the environment is read")]
    let settings = Settings::read(|name| std::env::var(name).ok())?;
    let content = Content::read(&options.config).context("the configuration cannot be served")?;
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let engine = Engine::start(
        Arc::clone(&content.warehouse),
        settings.limits,
        threads.clamp(*STATEMENTS.start(), *STATEMENTS.end()),
    )
    .context("no threads for the engine")?;
    let rate = RateLimit::new(settings.rate_calls, settings.rate_window);
    let desk = Arc::new(Desk::new(content, engine, rate, Audit::stdout()));
    let verifier = Verifier::start(settings.policy.clone())?;
    let bound = Bound::bind(&options.host, options.port)
        .with_context(|| format!("cannot listen on {}:{}", options.host, options.port))?;
    let address = bound.address;
    let server = bound.serve(&settings, verifier, desk)?;
    writeln!(
        std::io::stderr(),
        "ask-executor listens on http://{address} (sources {}, catalog {})",
        settings.warehouse_path,
        settings.catalog_path
    )?;
    server.await.context("the server failed")
}
