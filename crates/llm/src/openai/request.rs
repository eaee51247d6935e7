//! The body of a chat completions request.

use serde_json::{Map, Value, json};

use crate::{
    Assistant, Endpoint, MaxTokensField, Message, Request, Tool, ToolResult, call_args, dialogue::Raw,
    pseudonym::pseudonym,
};

/// The first line of an error result: the protocol has no flag for it.
pub const ERROR_MARKER: &str = "[TOOL ERROR]";

/// The first line of a result that would otherwise begin like an error.
pub const RESULT_MARKER: &str = "[TOOL RESULT]";

/// The body for `request`, with the keys of all objects sorted.
pub(crate) fn body(endpoint: &Endpoint, request: &Request<'_>) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), request.model.into());
    let max_tokens = match endpoint.max_tokens_field {
        MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
        MaxTokensField::MaxTokens => "max_tokens",
    };
    body.insert(max_tokens.into(), endpoint.max_tokens.into());
    body.insert("stream".into(), true.into());
    body.insert("stream_options".into(), json!({ "include_usage": true }));
    if let (Some(key), Some(caller)) = (&endpoint.caller_key, request.caller) {
        // The present name, and the former one for the servers that know no other.
        let pseudonym = pseudonym(key, caller);
        body.insert("safety_identifier".into(), pseudonym.as_str().into());
        body.insert("user".into(), pseudonym.into());
    }
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
    }
    body.insert("messages".into(), messages(request));
    let mut body = Value::Object(body);
    body.sort_all_objects();
    body
}

fn tool(tool: &Tool) -> Value {
    let function =
        json!({ "name": tool.name, "description": tool.description, "parameters": tool.input_schema });
    json!({ "type": "function", "function": function })
}

fn messages(request: &Request<'_>) -> Value {
    let mut wire = Vec::new();
    if !request.system.is_empty() {
        wire.push(json!({ "role": "system", "content": request.system }));
    }
    for message in request.messages {
        match message {
            Message::User { parts } => wire.extend(user(parts)),
            Message::Assistant(assistant) => wire.extend(said(assistant)),
            Message::Results(results) => wire.extend(results.iter().map(result)),
        }
    }
    Value::Array(wire)
}

/// A user's message; one part goes as plain text, which every server takes.
fn user(parts: &[String]) -> Option<Value> {
    let parts: Vec<&String> = parts.iter().filter(|part| !part.is_empty()).collect();
    let content = match parts.as_slice() {
        [] => return None,
        [text] => json!(text),
        parts => parts.iter().map(|text| json!({ "type": "text", "text": text })).collect(),
    };
    Some(json!({ "role": "user", "content": content }))
}

fn result(result: &ToolResult) -> Value {
    let text = &result.text;
    let content = if result.is_error {
        format!("{ERROR_MARKER}\n{text}")
    } else if text.trim_start().starts_with(ERROR_MARKER) {
        // Data must not be able to pass for an error.
        format!("{RESULT_MARKER}\n{text}")
    } else {
        text.clone()
    };
    json!({ "role": "tool", "tool_call_id": result.id, "content": content })
}

fn said(assistant: &Assistant) -> Option<Value> {
    match assistant.raw() {
        Raw::OpenAi(message) => Some(Value::Object(message.clone())).filter(|_| message.len() > 1),
        // From the other protocol, or from none.
        Raw::Anthropic(_) | Raw::None => {
            let mut message = Map::from_iter([("role".to_owned(), "assistant".into())]);
            if !assistant.text().is_empty() {
                message.insert("content".into(), assistant.text().into());
            }
            if !assistant.calls().is_empty() {
                let calls = assistant.calls().iter().map(|call| {
                    let arguments = call_args::for_replay(&call.args, "").to_string();
                    json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments } })
                });
                message.insert("tool_calls".into(), calls.collect());
            }
            Some(message).filter(|message| message.len() > 1).map(Value::Object)
        }
    }
}
