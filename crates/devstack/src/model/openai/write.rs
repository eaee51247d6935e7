//! A chat completion, whole or as the chunks of a stream.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::model::{
    cache::Figures,
    refusal::Refusal,
    wire::{Written, pieces},
};

/// The reply as one body.
pub(in crate::model) fn whole(written: &Written) -> Value {
    let content = Some(&written.text).filter(|text| !text.is_empty() || written.calls.is_empty());
    let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
    if !written.calls.is_empty()
        && let Some(message) = message.as_object_mut()
    {
        let calls = written.calls.iter().map(|call| {
            let arguments = Value::Object(call.args.clone()).to_string();
            json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments } })
        });
        message.insert("tool_calls".to_owned(), calls.collect());
    }
    json!({
        "id": written.id,
        "object": "chat.completion",
        "created": 0,
        "model": written.model,
        "choices": [{ "index": 0, "message": message, "finish_reason": finish(written), "logprobs": null }],
        "usage": usage(&written.usage),
    })
}

/// The reply as events.
pub(in crate::model) fn events(written: &Written) -> Vec<Bytes> {
    let mut events = vec![role(written)];
    for piece in pieces(&written.text) {
        events.push(chunk(written, &json!({ "content": piece }), None));
    }
    for (index, call) in written.calls.iter().enumerate() {
        let head = json!({
            "index": index, "id": call.id, "type": "function", "function": { "name": call.name, "arguments": "" },
        });
        events.push(chunk(written, &json!({ "tool_calls": [head] }), None));
        for piece in pieces(&Value::Object(call.args.clone()).to_string()) {
            let piece = json!({ "index": index, "function": { "arguments": piece } });
            events.push(chunk(written, &json!({ "tool_calls": [piece] }), None));
        }
    }
    events.push(chunk(written, &json!({}), Some(finish(written))));
    if written.include_usage {
        let mut last = frame(written, &json!([]));
        if let Some(last) = last.as_object_mut() {
            last.insert("usage".to_owned(), usage(&written.usage));
        }
        events.push(event(&last));
    }
    events.push(Bytes::from_static(b"data: [DONE]\n\n"));
    events
}

/// The events that begin a text without end.
pub(in crate::model) fn endless_start(written: &Written) -> Vec<Bytes> {
    vec![role(written)]
}

/// One piece of a text without end.
pub(in crate::model) fn endless_delta(written: &Written) -> Bytes {
    chunk(written, &json!({ "content": "and so on " }), None)
}

/// An error, as a body and as the data of an event.
pub(in crate::model) fn error(refusal: &Refusal) -> Value {
    json!({ "error": { "message": refusal.message, "type": refusal.kind, "param": null, "code": null } })
}

/// One event.
pub(in crate::model) fn event(data: &Value) -> Bytes {
    Bytes::from(format!("data: {data}\n\n"))
}

fn role(written: &Written) -> Bytes {
    chunk(written, &json!({ "role": "assistant", "content": "", "refusal": null }), None)
}

fn chunk(written: &Written, delta: &Value, finish: Option<&str>) -> Bytes {
    event(&frame(
        written,
        &json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }]),
    ))
}

fn frame(written: &Written, choices: &Value) -> Value {
    let mut frame = json!({
        "id": written.id, "object": "chat.completion.chunk", "created": 0, "model": written.model, "choices": choices,
    });
    if written.include_usage
        && let Some(frame) = frame.as_object_mut()
    {
        frame.insert("usage".to_owned(), Value::Null);
    }
    frame
}

/// The prompt's figure includes what came from the cache.
fn usage(figures: &Figures) -> Value {
    let prompt = figures.input + figures.cache_read + figures.cache_write;
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": figures.output,
        "total_tokens": prompt + figures.output,
        "prompt_tokens_details": { "cached_tokens": figures.cache_read },
    })
}

fn finish(written: &Written) -> &str {
    match written.stop.as_deref() {
        Some("end_turn") => "stop",
        Some("tool_use") => "tool_calls",
        Some("max_tokens") => "length",
        Some("refusal") => "content_filter",
        Some(other) => other,
        None if written.calls.is_empty() => "stop",
        None => "tool_calls",
    }
}
