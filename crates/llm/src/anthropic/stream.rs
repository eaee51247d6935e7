//! A Messages reply, put together from its stream.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{
    Assistant, Stop, ToolCall, TurnError, Usage,
    call_args::{self, for_replay},
    client::{Decoded, Flow},
    dialogue::Raw,
    error::{Detail, kind},
    http::error_parts,
};

/// A reply so far.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    started: bool,
    model: Option<String>,
    blocks: BTreeMap<u64, Block>,
    stop: Option<Stop>,
    usage: Usage,
    ended: bool,
}

/// A content block so far.
#[derive(Debug)]
struct Block {
    value: Map<String, Value>,
    /// The pieces of its input, where there were any.
    input: Option<String>,
    closed: bool,
}

impl Stream {
    /// Takes the next event's data.
    pub(crate) fn event(&mut self, data: &str, key: Option<&str>) -> Result<Flow, TurnError> {
        let event: Value =
            serde_json::from_str(data).map_err(|_invalid| TurnError::Malformed("an event is no JSON"))?;
        match event.get("type").and_then(Value::as_str) {
            Some("message_start") => self.start(&event)?,
            Some("content_block_start") => self.open(&event)?,
            Some("content_block_delta") => self.delta(&event)?,
            Some("content_block_stop") => self.close(&event)?,
            Some("message_delta") => self.message_delta(&event),
            Some("message_stop") => {
                self.ended = true;
                return Ok(Flow::End);
            }
            Some("error") => {
                let (name, said) = error_parts(event.get("error").unwrap_or(&Value::Null));
                return Err(TurnError::Interrupted {
                    kind: kind(name.as_deref()),
                    detail: Detail::new(&said, key),
                });
            }
            // Pings, and kinds of event yet to come.
            Some(_) => {}
            None => return Err(TurnError::Malformed("an event has no type")),
        }
        Ok(Flow::More)
    }

    fn start(&mut self, event: &Value) -> Result<(), TurnError> {
        if self.started {
            return Err(TurnError::Malformed("the message starts twice"));
        }
        self.started = true;
        let message =
            event.get("message").ok_or(TurnError::Malformed("the message's start has no message"))?;
        self.model = message.get("model").and_then(Value::as_str).map(str::to_owned);
        self.count(message.get("usage"));
        Ok(())
    }

    /// Usage figures are totals so far; the latest of each counts.
    fn count(&mut self, usage: Option<&Value>) {
        let latest = |name: &str, figure: &mut u64| {
            if let Some(value) = usage.and_then(|usage| usage.get(name)).and_then(Value::as_u64) {
                *figure = value;
            }
        };
        latest("input_tokens", &mut self.usage.input);
        latest("output_tokens", &mut self.usage.output);
        latest("cache_read_input_tokens", &mut self.usage.cache_read);
        latest("cache_creation_input_tokens", &mut self.usage.cache_write);
    }

    fn open(&mut self, event: &Value) -> Result<(), TurnError> {
        let value = event.get("content_block").and_then(Value::as_object);
        let value = value.ok_or(TurnError::Malformed("a block starts without content"))?.clone();
        if self.blocks.insert(index(event)?, Block { value, input: None, closed: false }).is_some() {
            return Err(TurnError::Malformed("a block starts twice"));
        }
        Ok(())
    }

    fn block(&mut self, event: &Value) -> Result<&mut Block, TurnError> {
        let block = self.blocks.get_mut(&index(event)?).filter(|block| !block.closed);
        block.ok_or(TurnError::Malformed("a delta is for no open block"))
    }

    fn delta(&mut self, event: &Value) -> Result<(), TurnError> {
        let block = self.block(event)?;
        let delta =
            event.get("delta").and_then(Value::as_object).ok_or(TurnError::Malformed("a delta is empty"))?;
        match delta.get("type").and_then(Value::as_str) {
            Some("input_json_delta") => {
                let piece = delta.get("partial_json").and_then(Value::as_str);
                block.input.get_or_insert_default().push_str(piece.unwrap_or_default());
            }
            Some("citations_delta") => {
                if let Some(citation) = delta.get("citation") {
                    let citations = block.value.entry("citations").or_insert(Value::Null);
                    match citations {
                        Value::Array(list) => list.push(citation.clone()),
                        Value::Null
                        | Value::Bool(_)
                        | Value::Number(_)
                        | Value::String(_)
                        | Value::Object(_) => {
                            *citations = Value::Array(vec![citation.clone()]);
                        }
                    }
                }
            }
            // Text, thinking, signatures and what is yet to come all add to the member of the same name.
            Some(_) | None => {
                for (name, piece) in delta.iter().filter(|(name, _)| *name != "type") {
                    append(block.value.entry(name.clone()).or_insert(Value::Null), piece);
                }
            }
        }
        Ok(())
    }

    fn close(&mut self, event: &Value) -> Result<(), TurnError> {
        self.block(event)?.closed = true;
        Ok(())
    }

    fn message_delta(&mut self, event: &Value) {
        self.count(event.get("usage"));
        if let Some(reason) = event.pointer("/delta/stop_reason").and_then(Value::as_str) {
            self.stop = Some(match reason {
                "end_turn" | "stop_sequence" => Stop::End,
                "tool_use" => Stop::ToolUse,
                "max_tokens" => Stop::MaxTokens,
                "model_context_window_exceeded" => Stop::ContextFull,
                "refusal" => Stop::Refusal,
                "pause_turn" => Stop::Pause,
                _ => Stop::Unknown,
            });
        }
    }

    /// The whole reply.
    pub(crate) fn finish(self) -> Result<Decoded, TurnError> {
        if !self.ended {
            return Err(TurnError::Truncated);
        }
        if !self.started {
            return Err(TurnError::Malformed("the message never started"));
        }
        let stop = self.stop.ok_or(TurnError::Malformed("the message ended without a reason"))?;
        let mut text = String::new();
        let mut calls = Vec::new();
        let mut raw = Vec::new();
        for mut block in self.blocks.into_values() {
            if !block.closed {
                return Err(TurnError::Malformed("the message ended inside a block"));
            }
            let input = block.input.as_deref().filter(|input| !input.trim().is_empty());
            let args = input.map(|input| (call_args::read(input), input));
            if let Some((args, input)) = &args {
                block.value.insert("input".into(), for_replay(args, input));
            }
            match block.value.get("type").and_then(Value::as_str) {
                Some("text") => {
                    let said = block.value.get("text").and_then(Value::as_str).unwrap_or_default();
                    // The API refuses what it may itself have sent: a block of empty text.
                    if said.is_empty() {
                        continue;
                    }
                    text.push_str(said);
                }
                Some("tool_use") => {
                    // A turn that was stopped short has no calls, neither to run nor to send back.
                    if stop != Stop::ToolUse {
                        continue;
                    }
                    let whole =
                        || block.value.get("input").and_then(Value::as_object).cloned().unwrap_or_default();
                    let args = args.map_or_else(|| Ok(whole()), |(args, _)| args);
                    if !matches!(block.value.get("input"), Some(Value::Object(_))) {
                        block.value.insert("input".into(), Value::Object(Map::new()));
                    }
                    calls.push(ToolCall {
                        id: member(&block.value, "id")?,
                        name: member(&block.value, "name")?,
                        args,
                    });
                }
                Some(_) => {}
                None => return Err(TurnError::Malformed("a block has no type")),
            }
            raw.push(Value::Object(block.value));
        }
        if stop == Stop::ToolUse && calls.is_empty() {
            return Err(TurnError::Malformed("the message stopped for a call that is not there"));
        }
        let assistant = Assistant::with_raw(text, calls, Raw::Anthropic(raw));
        Ok(Decoded { assistant, stop, usage: self.usage, model: self.model })
    }
}

fn index(event: &Value) -> Result<u64, TurnError> {
    event.get("index").and_then(Value::as_u64).ok_or(TurnError::Malformed("a block has no index"))
}

fn member(block: &Map<String, Value>, name: &str) -> Result<String, TurnError> {
    let text = block.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or(TurnError::Malformed("a tool call has no id or name"))
}

/// Adds a piece to a member: text to text, items to a list; anything else takes its place.
fn append(whole: &mut Value, piece: &Value) {
    match (whole, piece) {
        (Value::String(whole), Value::String(piece)) => whole.push_str(piece),
        (Value::Array(whole), Value::Array(piece)) => whole.extend(piece.iter().cloned()),
        (whole, piece) => *whole = piece.clone(),
    }
}
