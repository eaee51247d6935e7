//! The ask service's command: reads settings, serves, and is gone within two seconds of a signal.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use ask_service::settings::{Settings, environment, table};
use ask_service::{begin_logging, probe, run_until_signal, silence_panics, start};
use clap::Parser;

/// Gives back what peaks took: with the system's own allocator memory kept growing with each peak that was a little higher.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Serves the ask contract. Settings come from the environment; see docs/operations.md.
#[derive(Parser)]
#[command(name = "ask-service", version)]
struct Options {
    /// A file of NAME=value lines; the environment comes before it.
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// Ask the service that listens at the configured address whether it is alive, and end with 0 if it is.
    #[arg(long)]
    probe: bool,
    /// Say what settings there are: each with its default, unit and meaning, as tables in Markdown.
    #[arg(long)]
    settings: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let done = if options.settings {
        std::io::stdout().write_all(table::markdown().as_bytes()).map_err(Into::into)
    } else {
        serve(&options)
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            complain(&err);
            ExitCode::FAILURE
        }
    }
}

fn serve(options: &Options) -> anyhow::Result<()> {
    let settings = Settings::read(&environment(options.env_file.as_deref())?)?;
    if options.probe {
        probe(settings.listen).with_context(|| format!("no live service at {}", settings.listen))?;
        return Ok(());
    }
    begin_logging(settings.log);
    silence_panics();
    let mount = settings.mount.clone();
    actix_web::rt::System::new().block_on(async {
        let running = start(settings)?;
        tracing::info!(server.address = %running.addr(), server.mount = %mount, "listening");
        if let Some(addr) = running.metrics_addr() {
            tracing::info!(metrics.address = %addr, "serving metrics");
        }
        say(&format!("ask-service listening on http://{}", running.addr()));
        run_until_signal(running).await?;
        Ok(())
    })
}

#[expect(clippy::print_stderr, reason = "the one line that a person or a script waits for")]
fn say(line: &str) {
    eprintln!("{line}");
}

#[expect(clippy::print_stderr, reason = "the process ends here, and this is why")]
fn complain(err: &anyhow::Error) {
    eprintln!("ask-service: {err:#}");
}
