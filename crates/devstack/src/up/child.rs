//! A process of the stack: started with a log file, watched while it comes up, ended by its id.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child as Process, Command};
use tokio::time::{sleep, timeout};

use super::bound;
use super::health::is_healthy;

/// How long a process may take to answer its health route.
const START_LIMIT: Duration = Duration::from_secs(15);
/// How often it is asked.
const ASK_EVERY: Duration = Duration::from_millis(5);
/// How long it may take to end after it was asked to.
const END_LIMIT: Duration = Duration::from_secs(3);
/// How much of its log is shown when it does not come up.
const SHOWN_LINES: usize = 8;

/// What to start, and how.
pub(crate) struct Program {
    /// What it is called in messages and as a log file.
    pub(crate) name: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<OsString>,
    /// Its whole environment.
    pub(crate) env: Vec<(OsString, OsString)>,
}

/// A running process. It dies with this one, however this one ends.
#[derive(Debug)]
pub(crate) struct Child {
    name: &'static str,
    pid: Pid,
    process: Process,
    log: PathBuf,
}

impl Child {
    /// Starts a program with its output in `<logs>/<name>.log`. `launcher` is this project's own executable.
    pub(crate) fn start(program: Program, launcher: &Path, logs: &Path) -> anyhow::Result<Self> {
        let Program { name, path, args, env } = program;
        let log = logs.join(format!("{name}.log"));
        let output = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let errors = output.try_clone().context("cannot share the log file")?;
        let process = Command::new(launcher)
            .arg(bound::VERB)
            .arg(std::process::id().to_string())
            .arg(&path)
            .args(args)
            .env_clear()
            .envs(env)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            // A group of its own: Ctrl-C at the terminal is for the command in front of it.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", path.display()))?;
        let pid = process
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
            .ok_or_else(|| anyhow!("{name} ended before it began"))?;
        Ok(Self { name, pid, process, log })
    }

    /// Waits until the process answers at `url` with 200.
    pub(crate) async fn wait_healthy(&mut self, client: &awc::Client, url: &str) -> anyhow::Result<()> {
        let asked = async {
            while !is_healthy(client, url).await {
                sleep(ASK_EVERY).await;
            }
        };
        tokio::select! {
            waited = timeout(START_LIMIT, asked) => match waited {
                Ok(()) => Ok(()),
                Err(_elapsed) => {
                    bail!("{} did not come up in {} s\n{}", self.name, START_LIMIT.as_secs(), self.last_words())
                }
            },
            status = self.process.wait() => {
                let status = status.context("cannot wait for a child process")?;
                bail!("{} ended while it came up ({status})\n{}", self.name, self.last_words())
            }
        }
    }

    /// Waits until the process ends by itself.
    ///
    /// # Cancel safety
    ///
    /// May be dropped and called again.
    pub(crate) async fn ended(&mut self) -> anyhow::Result<ExitStatus> {
        self.process.wait().await.with_context(|| format!("cannot wait for {}", self.name))
    }

    /// Ends the process: asked first, and killed when it has not gone after three seconds.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        if self.process.try_wait().context("cannot look after a child process")?.is_some() {
            return Ok(());
        }
        // The process has not been waited for, so its id is still its own. It may have ended all the same.
        let _gone_already = kill_process(self.pid, Signal::TERM);
        if timeout(END_LIMIT, self.process.wait()).await.is_err() {
            self.process.kill().await.with_context(|| format!("cannot kill {}", self.name))?;
        }
        Ok(())
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn id(&self) -> i32 {
        self.pid.as_raw_pid()
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    fn last_words(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let shown = lines.get(lines.len().saturating_sub(SHOWN_LINES)..).unwrap_or_default().join("\n  ");
        format!("  {shown}\n  (all of it: {})", self.log.display())
    }
}
