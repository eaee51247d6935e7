//! The sample stack's command: one part of it, all of it, or all of it for the life of a command.

mod args;
mod up;

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use ask_devstack::{identity, sample};
use clap::Parser;

use args::{Args, Verb};
use up::{Places, Plan, Signals, Stack, StandInPlan, State, Surroundings, read_state};

/// What is logged when nobody asks for more.
///
/// The servers' own complaints about connections that were cut are left out: a stand-in cuts them on purpose.
const QUIET_LOGS: &str = "warn,actix_http=off";

fn main() -> ExitCode {
    let args = Args::parse();
    if let Verb::Bound { parent, program, args } = &args.verb {
        return match up::become_program(*parent, program, args) {
            Ok(()) => ExitCode::SUCCESS,
            Err(err) => {
                say(&format!("{err:#}"));
                ExitCode::from(127)
            }
        };
    }
    let around = Surroundings::read();
    let filter = tracing_subscriber::EnvFilter::new(around.get("RUST_LOG").unwrap_or(QUIET_LOGS));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_target(false).init();
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    match actix_rt::System::new().block_on(perform(args, around)) {
        Ok(code) => ExitCode::from(code),
        Err(err) => {
            say(&format!("{err:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn perform(args: Args, around: Surroundings) -> anyhow::Result<u8> {
    let places = Places::find(args.run_dir, around.raw("XDG_RUNTIME_DIR"))?;
    match args.verb {
        Verb::Identity { port } => serve_identity(port).await.map(|()| 0),
        Verb::Data { dir } => write_data(&dir.unwrap_or_else(|| places.data_dir())).map(|()| 0),
        Verb::Model { port, model } => serve_model(port, model.into()).await.map(|()| 0),
        Verb::Up { port, console_port, model } => {
            let plan = Plan {
                logs: places.logs_dir(),
                places,
                port: Some(port),
                console_port,
                stand_in: model.into(),
                around,
            };
            bring_up(plan).await.map(|()| 0)
        }
        Verb::Run { port, model, keep_logs, command } => {
            let plan = Plan {
                logs: places.own_logs_dir(),
                places,
                port,
                console_port: None,
                stand_in: model.into(),
                around,
            };
            run(plan, &command, keep_logs).await
        }
        Verb::Status => status(&places).await,
        Verb::Bound { .. } => bail!("handled before anything else is set up"),
    }
}

/// Serves the issuer alone until a signal comes.
async fn serve_identity(port: u16) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let listener = listen(port)?;
    let (server, handle) =
        identity::serve(listener, identity::Settings::default()).context("cannot serve the issuer")?;
    let addresses = handle.issuer().addresses();
    show(&[("issuer", &addresses.url()), ("token", &addresses.token_url())])?;
    tokio::select! {
        ended = server => ended.context("the issuer failed"),
        _ = signals.next() => Ok(()),
    }
}

/// Serves the model stand-in alone until a signal comes.
async fn serve_model(port: u16, stand_in: StandInPlan) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let listener = listen(port)?;
    let address = listener.local_addr().context("no address")?;
    let server = stand_in.serve(listener)?;
    show(&[("model", &format!("http://{address}"))])?;
    tokio::select! {
        ended = server => ended.context("the model stand-in failed"),
        _ = signals.next() => Ok(()),
    }
}

fn listen(port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind(("127.0.0.1", port)).with_context(|| format!("cannot listen on port {port}"))
}

fn write_data(dir: &Path) -> anyhow::Result<()> {
    let written = sample::write(dir).context("cannot write the sample data")?;
    show(&[
        ("data", &dir.display().to_string()),
        ("state", if written { "written" } else { "there already" }),
    ])
}

/// Starts everything, tells where it is, and ends everything when a signal comes.
async fn bring_up(plan: Plan) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    if let Some(state) = running(&plan.places).await {
        bail!("a stack is up already: {} (process {})", state.base_url, state.pid);
    }
    let file = plan.places.state_file();
    let mut stack = tokio::select! {
        started = Stack::start(&plan) => started?,
        _ = signals.next() => bail!("stopped while starting"),
    };
    let state = stack.state.clone();
    state.write(&file)?;
    let told = tell(&state);
    let ending = tokio::select! {
        _ = signals.next() => told,
        broken = stack.broken() => broken.and_then(|what| bail!("{what}; see {}", state.service.log.display())),
    };
    state.remove(&file);
    tokio::select! {
        stopped = stack.stop() => stopped?,
        // The children die with this process.
        _ = signals.next() => bail!("stopped while stopping"),
    }
    ending
}

/// Runs a command with the stack that is up, or with one of its own.
async fn run(plan: Plan, command: &[OsString], keep_logs: bool) -> anyhow::Result<u8> {
    let mut signals = Signals::listen()?;
    let launcher = plan.places.launcher.clone();
    if plan.port.is_none()
        && let Some(state) = running(&plan.places).await
    {
        return up::run_command(&launcher, command, &state, None, &mut signals).await;
    }
    let logs = plan.logs.clone();
    let mut stack = tokio::select! {
        started = Stack::start(&plan) => started?,
        _ = signals.next() => bail!("stopped while starting"),
    };
    let state = stack.state.clone();
    let code = up::run_command(&launcher, command, &state, Some(&mut stack), &mut signals).await;
    stack.stop().await?;
    if keep_logs {
        say(&format!("logs: {}", logs.display()));
    } else {
        // Nothing depends on their being gone.
        let _kept = std::fs::remove_dir_all(&logs);
    }
    code
}

/// Tells of the stack that is up. Exit code 1 when there is none.
async fn status(places: &Places) -> anyhow::Result<u8> {
    let Some(state) = running(places).await else {
        say("no stack is up");
        return Ok(1);
    };
    tell(&state).map(|()| 0)
}

/// The stack that the state file tells of, if its service and its issuer answer: a file left behind may name ports that
/// are others' by now.
async fn running(places: &Places) -> Option<State> {
    let state = read_state(&places.state_file())?;
    let client = awc::Client::builder().disable_redirects().timeout(Duration::from_secs(1)).finish();
    let answers =
        up::is_healthy(&client, &state.health_url()).await && up::is_healthy(&client, &state.jwks_url).await;
    answers.then_some(state)
}

fn tell(state: &State) -> anyhow::Result<()> {
    show(&[
        ("console", &state.console_url),
        ("ask service", &state.base_url),
        ("issuer", &state.issuer),
        ("token", &state.token_url),
        ("executor", &state.executor.url),
        (
            "model",
            &format!("{}{}", state.model.base_url, if state.model.stand_in { " (stand-in)" } else { "" }),
        ),
        ("data", &state.data_dir.display().to_string()),
        ("logs", &state.service.log.display().to_string()),
        ("", &state.executor.log.display().to_string()),
        ("process", &state.pid.to_string()),
    ])
}

/// Writes names and values to standard output.
fn show(lines: &[(&str, &str)]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    for (name, value) in lines {
        writeln!(out, "{name:<12} {value}").context("cannot write to standard output")?;
    }
    out.flush().context("cannot write to standard output")
}

/// Writes a line to standard error, where there is nobody left to tell when that fails.
fn say(line: &str) {
    let _nobody_listens = writeln!(io::stderr(), "ask-devstack: {line}");
}
