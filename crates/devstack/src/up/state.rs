//! `stack.json`: what others need to know to use the stack that is up.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// A stack that is up. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    /// The process that ends the stack when it is asked to.
    pub(crate) pid: i32,
    /// Root of the ask service, without `/v1`.
    pub(crate) base_url: String,
    /// The console, for a browser.
    pub(crate) console_url: String,
    /// The `iss` of its tokens.
    pub(crate) issuer: String,
    /// Where the issuer publishes its keys.
    pub(crate) jwks_url: String,
    /// Where a person's name buys a token.
    pub(crate) token_url: String,
    /// Where tokens are made to order, for tests.
    pub(crate) mint_url: String,
    /// The scope to ask for.
    pub(crate) scope: String,
    /// Who asks when nobody is named.
    pub(crate) default_user: String,
    /// The model behind the service.
    pub(crate) model: ModelState,
    /// The ask service's process.
    pub(crate) service: ProcessState,
    /// The executor's process.
    pub(crate) executor: ProcessState,
    /// Where the sample data lie.
    pub(crate) data_dir: PathBuf,
}

/// A model endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ModelState {
    /// Whether it is this stack's own stand-in.
    pub(crate) stand_in: bool,
    /// `anthropic` or `openai`.
    pub(crate) protocol: String,
    /// Where it is reached.
    pub(crate) base_url: String,
}

/// A child process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessState {
    pub(crate) pid: i32,
    pub(crate) url: String,
    pub(crate) log: PathBuf,
}

impl State {
    /// The route that tells whether the service is up.
    pub(crate) fn health_url(&self) -> String {
        format!("{}/health", self.base_url)
    }

    /// What a command needs to use the stack, by the names that it looks for.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![
            ("ASK_BASE_URL", self.base_url.clone()),
            ("ASK_CONSOLE_URL", self.console_url.clone()),
            ("ASK_ISSUER", self.issuer.clone()),
            ("ASK_TOKEN_URL", self.token_url.clone()),
            ("ASK_MINT_URL", self.mint_url.clone()),
            ("ASK_EXECUTOR_URL", self.executor.url.clone()),
            ("ASK_EXECUTOR_AUDIT", self.executor.log.display().to_string()),
            ("ASK_SERVICE_LOG", self.service.log.display().to_string()),
        ];
        if self.model.stand_in {
            all.push(("ASK_MODEL_CONTROL", format!("{}/control", self.model.base_url)));
        }
        all
    }

    /// Writes the file as a whole, readable by its owner alone.
    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let fresh = path.with_extension(format!("{}.new", self.pid));
        let text = serde_json::to_string_pretty(self).context("cannot put the state into words")?;
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&fresh)
            .and_then(|mut file| writeln!(file, "{text}"))
            .and_then(|()| fs::rename(&fresh, path))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Removes the file, if it still tells of this stack.
    pub(crate) fn remove(&self, path: &Path) {
        if read_state(path).is_some_and(|found| found.pid == self.pid) {
            // Somebody else may have removed it in between, which is just as well.
            let _gone = fs::remove_file(path);
        }
    }
}

/// The stack that the file tells of, if it tells of one. It may be long gone.
pub(crate) fn read_state(path: &Path) -> Option<State> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}
