//! The body of a Messages request, with its cache breakpoints.

use serde_json::{Map, Value, json};

use crate::{Assistant, Endpoint, Message, Request, Tool, call_args, dialogue::Raw, pseudonym::pseudonym};

/// The body for `request`, with the keys of all objects sorted.
///
/// At most four cache breakpoints are set, the most that the API takes:
///
/// 1. on the system prompt, else the last tool: the prefix that all asks share,
/// 2. on the last message before the current turn: the prefix that all hops of this turn share,
/// 3. on the newest message of the user's side, results or question, which the next hop reads,
/// 4. on the one before it in this turn. The API looks back only some twenty blocks from a breakpoint for what is cached,
///    and one hop with many parallel calls is longer than that.
pub(crate) fn body(endpoint: &Endpoint, request: &Request<'_>) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), request.model.into());
    body.insert("max_tokens".into(), endpoint.max_tokens.into());
    body.insert("stream".into(), true.into());
    body.insert("output_config".into(), json!({ "effort": request.effort.name() }));
    if endpoint.fallback {
        body.insert("fallbacks".into(), "default".into());
    }
    if let (Some(key), Some(caller)) = (&endpoint.caller_key, request.caller) {
        body.insert("metadata".into(), json!({ "user_id": pseudonym(key, caller) }));
    }
    let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
    if request.system.is_empty() {
        tools.last_mut().map(mark);
    } else {
        let mut system = json!({ "type": "text", "text": request.system });
        mark(&mut system);
        body.insert("system".into(), Value::Array(vec![system]));
    }
    if !tools.is_empty() {
        body.insert("tools".into(), Value::Array(tools));
    }
    body.insert("messages".into(), messages(request.messages));
    let mut body = Value::Object(body);
    body.sort_all_objects();
    body
}

fn tool(tool: &Tool) -> Value {
    json!({ "name": tool.name, "description": tool.description, "input_schema": tool.input_schema })
}

/// One message on the wire, while it is put together.
struct Wire {
    role: &'static str,
    content: Vec<Value>,
}

fn messages(messages: &[Message]) -> Value {
    let current = messages.iter().rposition(|message| matches!(message, Message::User { .. }));
    let mut wire: Vec<Wire> = Vec::new();
    // How many blocks of which wire message belong to earlier turns.
    let mut earlier = None;
    for (at, message) in messages.iter().enumerate() {
        if current == Some(at) {
            earlier = wire.len().checked_sub(1).zip(wire.last().map(|last| last.content.len()));
        }
        let (role, content) = match message {
            Message::User { parts } => {
                ("user", parts.iter().filter(|part| !part.is_empty()).map(|part| text(part)).collect())
            }
            Message::Assistant(assistant) => ("assistant", blocks(assistant)),
            Message::Results(results) => ("user", results.iter().map(result).collect::<Vec<_>>()),
        };
        // The API wants a message to have content. Two messages of one side are one message to it.
        if content.is_empty() {
            continue;
        }
        match wire.last_mut() {
            Some(last) if last.role == role => last.content.extend(content),
            Some(_) | None => wire.push(Wire { role, content }),
        }
    }
    if let Some((message, blocks)) = earlier
        && let Some(marked) = wire.get_mut(message)
        && let Some(head) = marked.content.get_mut(..blocks)
    {
        mark_last(head);
    }
    let first_current = earlier.map_or(0, |(message, _)| message);
    let rolling = wire.iter_mut().skip(first_current).filter(|message| message.role == "user").rev().take(2);
    for message in rolling {
        mark_last(&mut message.content);
    }
    wire.into_iter().map(|Wire { role, content }| json!({ "role": role, "content": content })).collect()
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn result(result: &crate::ToolResult) -> Value {
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.id, "content": result.text });
    if result.is_error
        && let Some(block) = block.as_object_mut()
    {
        block.insert("is_error".into(), true.into());
    }
    block
}

fn blocks(assistant: &Assistant) -> Vec<Value> {
    match assistant.raw() {
        Raw::Anthropic(blocks) => blocks.clone(),
        // From the other protocol, or from none.
        Raw::OpenAi(_) | Raw::None => {
            let said = Some(assistant.text()).filter(|said| !said.is_empty()).map(text);
            let calls = assistant.calls().iter().map(|call| {
                let input = call_args::for_replay(&call.args, "");
                json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
            });
            said.into_iter().chain(calls).collect()
        }
    }
}

/// Sets a breakpoint on the last of `blocks` that can carry one.
fn mark_last(blocks: &mut [Value]) {
    let can_carry = |block: &&mut Value| {
        let filled =
            |member: &str| block.get(member).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        match block.get("type").and_then(Value::as_str) {
            Some("text") => filled("text"),
            Some("tool_result") => filled("content"),
            Some("tool_use") => true,
            // Thinking can't, and nothing is known of the rest.
            Some(_) | None => false,
        }
    };
    blocks.iter_mut().rev().find(can_carry).map(mark);
}

fn mark(block: &mut Value) {
    if let Some(block) = block.as_object_mut() {
        block.insert("cache_control".into(), json!({ "type": "ephemeral" }));
    }
}
