//! One line per call: who called what, how it ended and how long it took. Never a statement's text, never a value.

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use sha2::{Digest, Sha256};

/// What one line says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The tool.
    pub op: String,
    /// The caller's object id.
    pub oid: String,
    /// `mcp` or `rest`.
    pub surface: &'static str,
    /// The source, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The tables that were read or described.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<String>,
    /// How many columns the result has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<usize>,
    /// How many rows or entries the result has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<usize>,
    /// The statement's SHA-256, so that two lines can be seen to be about one statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sql_sha256: Option<String>,
    /// `ok`, the code of the refusal, or `internal`.
    pub verdict: &'static str,
    /// The executor's own time for the call, in milliseconds; the same number as in the result.
    pub ms: u64,
    /// The caller's `X-Request-Id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The trace id of the caller's `traceparent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
}

/// Where the lines go. Each is written as a whole before the call is answered.
#[derive(Clone)]
pub struct Audit {
    out: Arc<Mutex<dyn Write + Send>>,
}

impl fmt::Debug for Audit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Audit").finish_non_exhaustive()
    }
}

impl Audit {
    /// Lines on the standard output.
    pub fn stdout() -> Self {
        Self::to(std::io::stdout())
    }

    /// Lines to another place.
    pub fn to(out: impl Write + Send + 'static) -> Self {
        Self { out: Arc::new(Mutex::new(out)) }
    }

    /// Writes one line. A place that cannot be written to is reported in the log; calls go on.
    pub fn write(&self, entry: &Entry) {
        let line = match serde_json::to_string(entry) {
            Ok(json) => format!("audit {json}\n"),
            Err(err) => {
                tracing::error!(error = %err, "an audit line could not be made");
                return;
            }
        };
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(err) = out.write_all(line.as_bytes()).and_then(|()| out.flush()) {
            tracing::error!(error = %err, "an audit line could not be written");
        }
    }
}

/// The SHA-256 of a statement, in hexadecimal.
pub fn digest(sql: &str) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(sql.as_bytes()))
}
