//! A chat completion, put together from its chunks.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::{
    Assistant, Stop, ToolCall, TurnError, Usage,
    call_args::{self, for_replay},
    client::{Decoded, Flow},
    dialogue::Raw,
    error::{Detail, kind},
    http::error_parts,
    retry::random,
};

/// What servers send beside the content and want back with it: a reasoning model's thoughts.
const REPLAYED: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];

/// A completion so far.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    model: Option<String>,
    content: String,
    refusal: String,
    extra: Map<String, Value>,
    calls: Vec<Call>,
    finish: Option<String>,
    usage: Usage,
    ended: bool,
}

/// A tool call so far.
#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Members that this crate does not know, sent back as they came.
    extra: Map<String, Value>,
}

impl Stream {
    /// Takes the next event's data.
    pub(crate) fn event(&mut self, data: &str, key: Option<&str>) -> Result<Flow, TurnError> {
        if data.trim() == "[DONE]" {
            self.ended = true;
            return Ok(Flow::End);
        }
        let chunk: Value =
            serde_json::from_str(data).map_err(|_invalid| TurnError::Malformed("a chunk is no JSON"))?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            let (name, said) = error_parts(error);
            return Err(TurnError::Interrupted {
                kind: kind(name.as_deref()),
                detail: Detail::new(&said, key),
            });
        }
        if let Some(model) = chunk.get("model").and_then(Value::as_str).filter(|model| !model.is_empty()) {
            self.model.get_or_insert_with(|| model.to_owned());
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            self.usage = read_usage(usage);
        }
        // A chunk without choices carries usage, or nothing. Only the first choice was asked for.
        let choices = chunk.get("choices").and_then(Value::as_array);
        for choice in
            choices.into_iter().flatten().filter(|choice| choice.get("index").is_none_or(|index| index == 0))
        {
            if let Some(delta) = choice.get("delta").and_then(Value::as_object) {
                self.delta(delta)?;
            }
            if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
                self.finish = Some(reason.to_owned());
            }
        }
        Ok(Flow::More)
    }

    fn delta(&mut self, delta: &Map<String, Value>) -> Result<(), TurnError> {
        let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        self.content.push_str(text("content"));
        self.refusal.push_str(text("refusal"));
        for name in REPLAYED {
            match (self.extra.get_mut(name), delta.get(name)) {
                (_, None | Some(Value::Null)) => {}
                (Some(Value::String(whole)), Some(Value::String(piece))) => whole.push_str(piece),
                (Some(Value::Array(whole)), Some(Value::Array(piece))) => whole.extend(piece.iter().cloned()),
                (_, Some(piece)) => {
                    self.extra.insert(name.to_owned(), piece.clone());
                }
            }
        }
        for piece in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.call(piece)?;
        }
        Ok(())
    }

    /// Adds a piece to the call of its index. A server that sends no index sends whole calls, or pieces of the last one.
    fn call(&mut self, piece: &Value) -> Result<(), TurnError> {
        let index = piece.get("index").and_then(Value::as_u64);
        let id = piece.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let at = match index {
            Some(_) => self.calls.iter().position(|call| call.index == index),
            None if id.is_some() => self.calls.iter().position(|call| Some(call.id.as_str()) == id),
            None if piece.pointer("/function/name").is_some_and(|name| !name.is_null() && name != "") => None,
            None => self.calls.len().checked_sub(1),
        };
        let at = at.unwrap_or(self.calls.len());
        if at == self.calls.len() {
            self.calls.push(Call { index, ..Call::default() });
        }
        let call = self.calls.get_mut(at).ok_or(TurnError::Malformed("a piece is for no call"))?;
        for (name, value) in piece.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
            match name.as_str() {
                "index" | "type" => {}
                // Both come once; some servers repeat them with every piece.
                "id" => value.as_str().unwrap_or_default().clone_into(&mut call.id),
                "function" => {
                    let text = |name: &str| value.get(name).and_then(Value::as_str);
                    if call.name.is_empty() {
                        call.name.push_str(text("name").unwrap_or_default());
                    }
                    call.arguments.push_str(text("arguments").unwrap_or_default());
                }
                _ => {
                    call.extra.insert(name.clone(), value.clone());
                }
            }
        }
        Ok(())
    }

    /// The whole reply.
    pub(crate) fn finish(self) -> Result<Decoded, TurnError> {
        let Some(finish) = self.finish.filter(|_| self.ended) else {
            return Err(TurnError::Truncated);
        };
        let stop = match finish.as_str() {
            "stop" | "tool_calls" | "function_call" if !self.refusal.is_empty() => Stop::Refusal,
            // Some servers say "stop" after calls.
            "stop" | "tool_calls" | "function_call" if !self.calls.is_empty() => Stop::ToolUse,
            "stop" => Stop::End,
            "tool_calls" | "function_call" => {
                return Err(TurnError::Malformed("the completion stopped for a call that is not there"));
            }
            "length" => Stop::MaxTokens,
            "content_filter" => Stop::ContentFilter,
            "error" => {
                return Err(TurnError::Interrupted { kind: "error".to_owned(), detail: Detail::default() });
            }
            _ => Stop::Unknown,
        };
        let text = if stop == Stop::Refusal && self.content.is_empty() { self.refusal } else { self.content };
        let mut message = self.extra;
        message.insert("role".into(), "assistant".into());
        if !text.is_empty() {
            message.insert("content".into(), text.as_str().into());
        }
        let mut calls = Vec::new();
        // A turn that was stopped short has no calls, neither to run nor to send back.
        if stop == Stop::ToolUse {
            let mut seen = HashSet::new();
            let mut wire = Vec::new();
            for mut call in self.calls {
                if call.name.is_empty() {
                    return Err(TurnError::Malformed("a tool call has no name"));
                }
                // Results are matched by the id, so each call needs one of its own.
                while call.id.is_empty() || !seen.insert(call.id.clone()) {
                    call.id = format!("call_{:016x}", random());
                }
                let args = call_args::read(&call.arguments);
                let arguments = match &args {
                    // As the model wrote it, so that the cached prefix holds.
                    Ok(_) if call.arguments.trim_start().starts_with('{') => call.arguments,
                    Ok(_) | Err(_) => for_replay(&args, &call.arguments).to_string(),
                };
                let mut sent = call.extra;
                sent.insert("id".into(), call.id.as_str().into());
                sent.insert("type".into(), "function".into());
                sent.insert("function".into(), json!({ "name": call.name, "arguments": arguments }));
                wire.push(Value::Object(sent));
                calls.push(ToolCall { id: call.id, name: call.name, args });
            }
            message.insert("tool_calls".into(), Value::Array(wire));
        }
        let assistant = Assistant::with_raw(text, calls, Raw::OpenAi(message));
        Ok(Decoded { assistant, stop, usage: self.usage, model: self.model })
    }
}

/// The prompt's figure includes what was cached.
fn read_usage(usage: &Value) -> Usage {
    let figure = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    let cached = figure("/prompt_tokens_details/cached_tokens");
    Usage {
        input: figure("/prompt_tokens").saturating_sub(cached),
        output: figure("/completion_tokens"),
        cache_read: cached,
        cache_write: 0,
    }
}
