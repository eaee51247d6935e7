//! A command that runs with a stack behind it: its exit code is ours, and signals reach it first.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use anyhow::{Context, anyhow};
use rustix::process::{Pid, Signal, getpgrp, kill_process};
use tokio::process::Command;

use super::bound;
use super::places::find_program;
use super::signals::Signals;
use super::stack::Stack;
use super::state::State;

/// Runs a command to its end and returns the exit code that this process should end with: the command's own, or 128
/// and the signal that killed it.
///
/// A program of this project is found beside `launcher`, any other on the `PATH`.
pub(crate) async fn run_command(
    launcher: &Path,
    command: &[OsString],
    state: &State,
    mut stack: Option<&mut Stack>,
    signals: &mut Signals,
) -> anyhow::Result<u8> {
    let (name, args) = command.split_first().ok_or_else(|| anyhow!("there is no command to run"))?;
    let program = match name.to_str() {
        Some(text) if text.starts_with("ask") && !text.contains('/') => {
            find_program(launcher, text).map_or_else(|_not_ours| name.clone(), OsString::from)
        }
        Some(_) | None => name.clone(),
    };
    let mut child = Command::new(launcher)
        .arg(bound::VERB)
        .arg(std::process::id().to_string())
        .arg(program)
        .args(args)
        .envs(state.environment())
        .kill_on_drop(true)
        .spawn()
        .context("cannot start the command")?;
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    loop {
        tokio::select! {
            status = child.wait() => return Ok(exit_code(status.context("cannot wait for the command")?)),
            signal = signals.next() => {
                // What a terminal sends goes to the command by itself; a second copy would count as a second Ctrl-C.
                if let Some(pid) = pid && !(signal == Signal::INT && in_foreground()) {
                    let _gone_already = kill_process(pid, signal);
                }
            }
            broken = broken(&mut stack) => {
                tracing::error!("the stack broke while the command ran: {}", broken?);
                stack = None;
            }
        }
    }
}

/// Waits for the stack to break, if it is ours.
async fn broken(stack: &mut Option<&mut Stack>) -> anyhow::Result<String> {
    match stack {
        Some(stack) => stack.broken().await,
        None => std::future::pending().await,
    }
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| signal.saturating_add(128)));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Whether this process belongs to the group that the terminal sends its signals to.
fn in_foreground() -> bool {
    std::fs::File::open("/dev/tty")
        .ok()
        .and_then(|terminal| rustix::termios::tcgetpgrp(terminal).ok())
        .is_some_and(|foreground| foreground == getpgrp())
}
