//! What a call is answered with, before a surface puts it into its own form.

use serde_json::{Map, Value, json};

use crate::refusal::{Code, Refusal};

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// With a result.
    Done,
    /// With a refusal.
    Refused(Refusal),
    /// The executor failed.
    Broken,
}

impl Verdict {
    /// As the audit line says it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "ok",
            Self::Refused(refusal) => match refusal.code {
                Code::Access | Code::Guard | Code::RateLimit | Code::Invalid | Code::Timeout => {
                    refusal.code.as_str()
                }
            },
            Self::Broken => "internal",
        }
    }
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// How it ended.
    pub verdict: Verdict,
    /// One JSON object: the result, or `error` with its code and message; `ms` in both.
    pub body: Value,
    /// The executor's own time for the call.
    pub ms: u64,
}

impl Reply {
    pub(super) fn done(mut result: Map<String, Value>, ms: u64) -> Self {
        result.insert("ms".to_owned(), json!(ms));
        Self { verdict: Verdict::Done, body: Value::Object(result), ms }
    }

    pub(super) fn refused(refusal: Refusal, ms: u64) -> Self {
        let mut error = json!({"code": refusal.code.as_str(), "message": refusal.message});
        if let (Some(seconds), Some(members)) = (refusal.retry_after_s, error.as_object_mut()) {
            members.insert("retryAfter".to_owned(), json!(seconds));
        }
        Self { body: json!({"error": error, "ms": ms}), verdict: Verdict::Refused(refusal), ms }
    }

    pub(super) fn broken(ms: u64) -> Self {
        let error =
            json!({"code": "internal", "message": "the executor failed; the call may be tried again"});
        Self { body: json!({"error": error, "ms": ms}), verdict: Verdict::Broken, ms }
    }
}
