//! A log that holds lines of a prefix and one JSON object, such as `audit {..}`, and is still being written.

use std::path::Path;

use serde_json::Value;
use tokio::time::{Duration, Instant};

use crate::check::{Failure, not_exercised};

/// A log that another process writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AuditLog<'a> {
    path: &'a Path,
}

impl<'a> AuditLog<'a> {
    pub(crate) fn new(path: &'a Path) -> Self {
        Self { path }
    }

    /// All of its text so far.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        match std::fs::read(self.path) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(err) => not_exercised(format!("{}: {err}", self.path.display())),
        }
    }

    /// Waits until its text satisfies a condition, since writers may be a moment behind.
    pub(crate) async fn waited<T>(&self, found: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Failure> {
        let deadline = Instant::now() + Duration::from_secs(3);
        loop {
            if let Some(found) = found(&self.text()?) {
                return Ok(Some(found));
            }
            if Instant::now() > deadline {
                return Ok(None);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// The JSON of every line with that prefix; the prefix may stand behind a log's own columns.
pub(crate) fn lines(text: &str, prefix: &str) -> Vec<Value> {
    text.lines()
        .filter_map(|line| {
            let at = line.find(&format!("{prefix} {{"))?;
            serde_json::from_str(line.get(at + prefix.len() + 1..)?.trim_end()).ok()
        })
        .collect()
}
