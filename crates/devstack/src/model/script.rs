//! What a test tells the stub to answer.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{cache::Figures, dialogue::Call};

/// One scripted answer. The default is a reply of empty text; members combine where that makes sense.
///
/// What is answered, the first of these that is set: `status`, `hang`, `raw`, `endless`, `stand_in`, else `text` and `calls`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scripted {
    /// The reply's text.
    pub text: String,
    /// The reply's calls.
    pub calls: Vec<ScriptedCall>,
    /// The reason to stop in the Messages API's words (`max_tokens`, `refusal`, `pause_turn`, ...), put into the other
    /// protocol's where it has one. By default what goes with the reply.
    pub stop: Option<String>,
    /// The reported model; by default `stub:` and the model that was asked for.
    pub model: Option<String>,
    /// The reported usage; by default what the texts come to.
    pub usage: Option<Figures>,
    /// An HTTP status instead of a reply, with `headers`, and `error` as the error's type.
    pub status: Option<u16>,
    /// Headers of the answer.
    pub headers: BTreeMap<String, String>,
    /// The type of an error: of the body that goes with `status`, else of an error event in mid-reply.
    pub error: Option<String>,
    /// How many events go out before the error event; 3 by default.
    pub error_after: Option<usize>,
    /// Stops answering.
    pub hang: Option<Hang>,
    /// This body instead of a reply, to the byte, with `text/event-stream` unless `headers` say otherwise.
    pub raw: Option<String>,
    /// Text without end, every `delay_chunk_ms`, or every 10 ms.
    pub endless: bool,
    /// The stand-in's own reply, with the faults and waits given here.
    pub stand_in: bool,
    /// A wait before the response's head, in milliseconds.
    pub delay_head_ms: u64,
    /// A wait between the head and the first byte of the body, in milliseconds.
    pub delay_first_byte_ms: u64,
    /// A wait before each further event, in milliseconds.
    pub delay_chunk_ms: u64,
    /// Cuts the connection after so many bytes of the body.
    pub cut_after_bytes: Option<usize>,
}

/// A call in a scripted reply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// The tool's full name.
    pub name: String,
    /// Its input.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// Its id; made up when left out.
    #[serde(default)]
    pub id: String,
}

impl From<&ScriptedCall> for Call {
    fn from(call: &ScriptedCall) -> Self {
        Self { id: call.id.clone(), name: call.name.clone(), args: call.args.clone() }
    }
}

/// Where the stub stops answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hang {
    /// Before the response's head.
    Head,
    /// After the head.
    Body,
    /// After the first events of the reply.
    Reply,
}

impl Scripted {
    /// A reply of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A reply with one call.
    ///
    /// `args` that are no object count as none.
    pub fn call(name: impl Into<String>, args: Value) -> Self {
        Self::default().and_call(name, args)
    }

    /// The same reply with one more call.
    #[must_use]
    pub fn and_call(mut self, name: impl Into<String>, args: Value) -> Self {
        let args = if let Value::Object(args) = args { args } else { Map::new() };
        self.calls.push(ScriptedCall { name: name.into(), args, id: String::new() });
        self
    }

    /// An answer with an HTTP status.
    pub fn status(status: u16) -> Self {
        Self { status: Some(status), ..Self::default() }
    }

    /// The same answer with a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// No answer from there on.
    pub fn hang(at: Hang) -> Self {
        Self { hang: Some(at), ..Self::default() }
    }

    pub(super) fn delay_head(&self) -> Duration {
        Duration::from_millis(self.delay_head_ms)
    }

    pub(super) fn delay_first_byte(&self) -> Duration {
        Duration::from_millis(self.delay_first_byte_ms)
    }

    pub(super) fn delay_chunk(&self) -> Duration {
        Duration::from_millis(self.delay_chunk_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_is_written_as_short_json() {
        let script: Vec<Scripted> = serde_json::from_str(
            r#"[{"text":"hi"},{"calls":[{"name":"a__b"}]},{"status":429,"headers":{"retry-after":"1"}},{"hang":"head"}]"#,
        )
        .unwrap();
        let no_args = Scripted::call("a__b", Value::Null);
        let busy = Scripted::status(429).header("retry-after", "1");
        assert_eq!(script, [Scripted::text("hi"), no_args, busy, Scripted::hang(Hang::Head)]);
    }

    #[test]
    fn misspelt_member_is_refused() {
        assert!(serde_json::from_str::<Scripted>(r#"{"txt":"hi"}"#).is_err());
        assert!(serde_json::from_str::<Scripted>(r#"{"calls":[{"name":"a","arg":{}}]}"#).is_err());
    }
}
