//! The control API of a scripted model: what it shall reply next, and what it was sent.
//!
//! `POST {base}/script` takes a JSON list of replies that are given in order and replaces what is left of the last one;
//! a reply has `text`, `calls` (`name`, `args`), `delay_head_ms`, or instead of a reply `status`, or `cut_after_bytes`.
//! `GET {base}/requests` lists what the model was sent, each entry with its `number` from 1, headers and body;
//! `GET {base}/state` tells in `received` how many there were.

use serde_json::{Value, json};
use url::Url;

use crate::http::{Client, Request};

/// One scripted model turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    text: String,
    calls: Vec<(String, Value)>,
    delay_ms: u64,
    fault: Option<Fault>,
}

/// How a scripted turn goes wrong.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// An HTTP status instead of a reply.
    Status(u16),
    /// A stream that ends before the reply is whole.
    Truncated,
}

impl Reply {
    /// Prose without a call.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// One call.
    pub(crate) fn call(tool: &str, args: Value) -> Self {
        Self { calls: vec![(tool.to_owned(), args)], ..Self::default() }
    }

    /// A turn that fails.
    pub(crate) fn fault(fault: Fault) -> Self {
        Self {
            fault: Some(fault),
            text: "half of a reply that is never whole ".repeat(20),
            ..Self::default()
        }
    }

    /// The same with one more call in the same turn.
    pub(crate) fn and(mut self, tool: &str, args: Value) -> Self {
        self.calls.push((tool.to_owned(), args));
        self
    }

    /// The same after a wait.
    pub(crate) fn after_ms(mut self, delay_ms: u64) -> Self {
        self.delay_ms = delay_ms;
        self
    }

    fn json(&self) -> Value {
        let calls: Vec<_> =
            self.calls.iter().map(|(name, args)| json!({"name": name, "args": args})).collect();
        match self.fault {
            Some(Fault::Status(status)) => json!({"status": status, "delay_head_ms": self.delay_ms}),
            Some(Fault::Truncated) => {
                json!({"text": self.text, "cut_after_bytes": 120, "delay_head_ms": self.delay_ms})
            }
            None => json!({"text": self.text, "calls": calls, "delay_head_ms": self.delay_ms}),
        }
    }
}

/// A scripted model's control API.
#[derive(Debug)]
pub(crate) struct Control {
    base: Url,
    http: Client,
}

/// Why the control API could not be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControlError {
    #[error("the model's control API can't be reached")]
    Http(#[from] crate::http::HttpError),
    #[error("the model's control API answered {0}")]
    Status(u16),
    #[error("the model's control API did not answer as described")]
    Shape,
}

impl Control {
    pub(crate) fn new(base: Url, http: Client) -> Self {
        Self { base, http }
    }

    fn url(&self, leaf: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{leaf}", self.base.path().trim_end_matches('/')));
        url
    }

    /// Replaces what is left of the script.
    pub(crate) async fn script(&self, replies: &[Reply]) -> Result<(), ControlError> {
        let body = Value::Array(replies.iter().map(Reply::json).collect()).to_string();
        let request = Request::new("POST", self.url("script")).body("application/json", body);
        let answer = self.http.send(&request).await?;
        if (200..300).contains(&answer.status()) {
            Ok(())
        } else {
            Err(ControlError::Status(answer.status()))
        }
    }

    /// How many requests the model was sent so far.
    pub(crate) async fn received(&self) -> Result<u64, ControlError> {
        let state = self.get("state").await?;
        state.get("received").and_then(Value::as_u64).ok_or(ControlError::Shape)
    }

    /// The requests after the first `after` and up to number `upto`, oldest first.
    pub(crate) async fn requests(&self, after: u64, upto: u64) -> Result<Vec<Value>, ControlError> {
        let Value::Array(requests) = self.get("requests").await? else { return Err(ControlError::Shape) };
        let asked = |request: &Value| {
            request
                .get("number")
                .and_then(Value::as_u64)
                .is_some_and(|number| number > after && number <= upto)
        };
        Ok(requests.into_iter().filter(asked).collect())
    }

    async fn get(&self, leaf: &str) -> Result<Value, ControlError> {
        let answer = self.http.send(&Request::new("GET", self.url(leaf))).await?;
        if answer.status() != 200 {
            return Err(ControlError::Status(answer.status()));
        }
        answer.json().ok_or(ControlError::Shape)
    }
}
