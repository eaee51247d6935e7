//! A chat completions request, read as strictly as the API reads it.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::model::{
    cache::Prompt,
    dialogue::{Asked, Call, Tool, Turn},
    refusal::Refusal,
    wire::Read,
};

/// The members that the API knows; any other is refused.
const MEMBERS: [&str; 25] = [
    "model",
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "n",
    "stop",
    "seed",
    "user",
    "safety_identifier",
    "prompt_cache_key",
    "reasoning_effort",
    "response_format",
    "metadata",
    "store",
    "service_tier",
    "frequency_penalty",
    "presence_penalty",
    "logprobs",
];

/// The line with which callers mark an error result, since the protocol has no flag for it.
const ERROR_MARKER: &str = "[TOOL ERROR]";
/// The line before a result that would otherwise begin like an error.
const RESULT_MARKER: &str = "[TOOL RESULT]";

/// Reads a request.
pub(in crate::model) fn read(body: &Value) -> Result<Read, Refusal> {
    let body = body.as_object().ok_or_else(|| Refusal::invalid("the body is not a JSON object"))?;
    if let Some(name) = body.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        return Err(Refusal::invalid(format!("Unrecognized request argument supplied: {name}")));
    }
    let model = text(body, "model", "you must provide a model parameter")?.to_owned();
    if body.contains_key("max_tokens") && body.contains_key("max_completion_tokens") {
        return Err(Refusal::invalid("max_tokens and max_completion_tokens can't both be set"));
    }
    let stream = body.get("stream").and_then(Value::as_bool).unwrap_or_default();
    if body.contains_key("stream_options") && !stream {
        return Err(Refusal::invalid(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        ));
    }
    let include_usage =
        body.get("stream_options").and_then(|it| it.get("include_usage")).is_some_and(|it| it == true);
    let mut prompt = Prompt::default();
    let tools = tools(body, &mut prompt)?;
    let (system, turns) = messages(body, &mut prompt)?;
    let effort = body.get("reasoning_effort").and_then(Value::as_str).map(str::to_owned);
    Ok(Read { asked: Asked { model, effort, system, tools, turns }, stream, include_usage, prompt })
}

fn tools(body: &Map<String, Value>, prompt: &mut Prompt) -> Result<Vec<Tool>, Refusal> {
    let mut names = HashSet::new();
    let mut tools = Vec::new();
    for (at, tool) in list(body, "tools")?.iter().enumerate() {
        if tool.get("type").is_none_or(|kind| kind != "function") {
            return Err(Refusal::invalid(format!("Missing required parameter: 'tools[{at}].type'.")));
        }
        let function = tool.get("function").and_then(Value::as_object);
        let function = function.ok_or_else(|| {
            Refusal::invalid(format!("Missing required parameter: 'tools[{at}].function'."))
        })?;
        let name = text(function, "name", "a function has no name")?;
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if name.len() > 64 || !plain {
            return Err(Refusal::invalid(format!(
                "Invalid 'tools[{at}].function.name': string does not match pattern."
            )));
        }
        if !names.insert(name) {
            return Err(Refusal::invalid(format!("tools contains the name {name} twice")));
        }
        prompt.push(&tool.to_string(), false);
        tools.push(Tool {
            name: name.to_owned(),
            description: function.get("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
            input_schema: function.get("parameters").cloned().unwrap_or_default(),
        });
    }
    Ok(tools)
}

fn messages(body: &Map<String, Value>, prompt: &mut Prompt) -> Result<(String, Vec<Turn>), Refusal> {
    let messages = list(body, "messages")?;
    if messages.is_empty() {
        return Err(Refusal::invalid("[] is too short - 'messages'"));
    }
    let mut system = Vec::new();
    let mut turns = Vec::new();
    let mut open: HashSet<String> = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        prompt.push(&message.to_string(), false);
        let message =
            message.as_object().ok_or_else(|| Refusal::invalid(format!("messages[{at}] is no object")))?;
        let role = text(message, "role", "a message has no role")?;
        if role == "tool" {
            let id = text(message, "tool_call_id", "a tool message has no tool_call_id")?;
            if !open.remove(id) {
                return Err(Refusal::invalid(format!(
                    "messages[{at}]: messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
                )));
            }
            turns.push(result(id, &parts(message, at)?.join("\n")));
            continue;
        }
        check_answered(&open)?;
        match role {
            "system" | "developer" => system.extend(parts(message, at)?),
            "user" => turns.push(Turn::User(parts(message, at)?)),
            "assistant" => {
                let calls = calls(message, at)?;
                open = calls.iter().map(|call| call.id.clone()).collect();
                if open.len() != calls.len() {
                    return Err(Refusal::invalid(format!("messages[{at}].tool_calls has the same id twice")));
                }
                let has_content = message.get("content").is_some_and(|content| !content.is_null());
                let text = if has_content { parts(message, at)?.concat() } else { String::new() };
                if !has_content && calls.is_empty() {
                    return Err(Refusal::invalid(format!(
                        "Invalid value for 'content' of messages[{at}]: expected a string, got null."
                    )));
                }
                turns.push(Turn::Assistant { text, calls });
            }
            _ => return Err(Refusal::invalid(format!("Invalid value of 'messages[{at}].role'."))),
        }
    }
    check_answered(&open)?;
    Ok((system.join("\n"), turns))
}

fn calls(message: &Map<String, Value>, at: usize) -> Result<Vec<Call>, Refusal> {
    let mut calls = Vec::new();
    for call in list(message, "tool_calls")? {
        let call = call
            .as_object()
            .ok_or_else(|| Refusal::invalid(format!("messages[{at}].tool_calls holds no object")))?;
        let function = call.get("function").and_then(Value::as_object);
        let function = function
            .ok_or_else(|| Refusal::invalid(format!("messages[{at}]: a tool call has no function")))?;
        let arguments = function.get("arguments").and_then(Value::as_str);
        let arguments = arguments
            .ok_or_else(|| Refusal::invalid(format!("messages[{at}]: arguments is not a string")))?;
        // The API takes any string here. Servers that render it into a template do not, so neither does this one.
        let args = serde_json::from_str(arguments);
        calls.push(Call {
            id: text(call, "id", "a tool call has no id")?.to_owned(),
            name: text(function, "name", "a tool call has no name")?.to_owned(),
            args: args.map_err(|err| {
                Refusal::invalid(format!("messages[{at}]: arguments is no JSON object: {err}"))
            })?,
        });
    }
    Ok(calls)
}

fn check_answered(open: &HashSet<String>) -> Result<(), Refusal> {
    if open.is_empty() {
        return Ok(());
    }
    let mut ids: Vec<&str> = open.iter().map(String::as_str).collect();
    ids.sort_unstable();
    Err(Refusal::invalid(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following \
         tool_call_ids did not have response messages: {}",
        ids.join(", ")
    )))
}

fn result(id: &str, text: &str) -> Turn {
    let first = |marker: &str| text.strip_prefix(marker).map(|rest| rest.strip_prefix('\n').unwrap_or(rest));
    let (text, is_error) = match (first(ERROR_MARKER), first(RESULT_MARKER)) {
        (Some(rest), _) => (rest, true),
        (None, Some(rest)) => (rest, false),
        (None, None) => (text, false),
    };
    Turn::Result { id: id.to_owned(), text: text.to_owned(), is_error }
}

/// The text parts of a message.
fn parts(message: &Map<String, Value>, at: usize) -> Result<Vec<String>, Refusal> {
    let parts = match message.get("content") {
        Some(Value::String(content)) => Some(vec![content.clone()]),
        Some(Value::Array(parts)) if !parts.is_empty() => {
            let text = |part: &Value| part.get("text").and_then(Value::as_str).map(str::to_owned);
            parts
                .iter()
                .map(|part| text(part).filter(|_| part.get("type").is_some_and(|kind| kind == "text")))
                .collect()
        }
        _ => None,
    };
    parts.ok_or_else(|| {
        Refusal::invalid(format!("Invalid value for 'content' of messages[{at}]: expected text."))
    })
}

fn list<'a>(object: &'a Map<String, Value>, name: &str) -> Result<&'a [Value], Refusal> {
    match object.get(name) {
        None => Ok(&[]),
        // The API refuses an empty list of tools or calls.
        Some(Value::Array(list)) if !list.is_empty() || name == "messages" => Ok(list),
        Some(_) => {
            Err(Refusal::invalid(format!("Invalid value for '{name}': expected a list that is not empty.")))
        }
    }
}

fn text<'a>(object: &'a Map<String, Value>, name: &str, otherwise: &str) -> Result<&'a str, Refusal> {
    let text = object.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.ok_or_else(|| Refusal::invalid(otherwise))
}
