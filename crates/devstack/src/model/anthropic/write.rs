//! A Messages reply, whole or as the events of a stream.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::model::{
    cache::Figures,
    refusal::Refusal,
    wire::{Written, pieces},
};

/// The reply as one body.
pub(in crate::model) fn whole(written: &Written) -> Value {
    let text = Some(&written.text)
        .filter(|text| !text.is_empty())
        .map(|text| json!({ "type": "text", "text": text }));
    let calls = written
        .calls
        .iter()
        .map(|call| json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.args }));
    json!({
        "id": written.id,
        "type": "message",
        "role": "assistant",
        "model": written.model,
        "content": text.into_iter().chain(calls).collect::<Vec<_>>(),
        "stop_reason": stop(written),
        "stop_sequence": null,
        "usage": usage(&written.usage, written.usage.output),
    })
}

/// The reply as events.
pub(in crate::model) fn events(written: &Written) -> Vec<Bytes> {
    let mut events = vec![start(written), ping()];
    let mut index = 0;
    if !written.text.is_empty() {
        events.push(block_start(index, &json!({ "type": "text", "text": "" })));
        for piece in pieces(&written.text) {
            events.push(delta(index, &json!({ "type": "text_delta", "text": piece })));
        }
        events.push(block_stop(index));
        index += 1;
    }
    for call in &written.calls {
        events.push(block_start(
            index,
            &json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": {} }),
        ));
        events.push(delta(index, &json!({ "type": "input_json_delta", "partial_json": "" })));
        let input =
            if call.args.is_empty() { String::new() } else { Value::Object(call.args.clone()).to_string() };
        for piece in pieces(&input) {
            events.push(delta(index, &json!({ "type": "input_json_delta", "partial_json": piece })));
        }
        events.push(block_stop(index));
        index += 1;
    }
    let usage = json!({ "output_tokens": written.usage.output });
    let delta = json!({ "stop_reason": stop(written), "stop_sequence": null });
    events.push(event("message_delta", &json!({ "type": "message_delta", "delta": delta, "usage": usage })));
    events.push(event("message_stop", &json!({ "type": "message_stop" })));
    events
}

/// The events that begin a text without end.
pub(in crate::model) fn endless_start(written: &Written) -> Vec<Bytes> {
    vec![start(written), block_start(0, &json!({ "type": "text", "text": "" }))]
}

/// One piece of a text without end.
pub(in crate::model) fn endless_delta() -> Bytes {
    delta(0, &json!({ "type": "text_delta", "text": "and so on " }))
}

/// What keeps a quiet stream alive.
pub(in crate::model) fn ping() -> Bytes {
    event("ping", &json!({ "type": "ping" }))
}

/// An error, as a body and as the data of an event.
pub(in crate::model) fn error(refusal: &Refusal) -> Value {
    json!({
        "type": "error",
        "error": { "type": refusal.kind, "message": refusal.message },
        "request_id": "req_stub",
    })
}

/// One event.
pub(in crate::model) fn event(name: &str, data: &Value) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

fn start(written: &Written) -> Bytes {
    let message = json!({
        "id": written.id,
        "type": "message",
        "role": "assistant",
        "model": written.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": usage(&written.usage, 1),
    });
    event("message_start", &json!({ "type": "message_start", "message": message }))
}

fn block_start(index: usize, block: &Value) -> Bytes {
    event(
        "content_block_start",
        &json!({ "type": "content_block_start", "index": index, "content_block": block }),
    )
}

fn delta(index: usize, delta: &Value) -> Bytes {
    event("content_block_delta", &json!({ "type": "content_block_delta", "index": index, "delta": delta }))
}

fn block_stop(index: usize) -> Bytes {
    event("content_block_stop", &json!({ "type": "content_block_stop", "index": index }))
}

fn usage(figures: &Figures, output: usize) -> Value {
    json!({
        "input_tokens": figures.input,
        "cache_creation_input_tokens": figures.cache_write,
        "cache_read_input_tokens": figures.cache_read,
        "output_tokens": output,
    })
}

fn stop(written: &Written) -> &str {
    match &written.stop {
        Some(stop) => stop,
        None if written.calls.is_empty() => "end_turn",
        None => "tool_use",
    }
}
