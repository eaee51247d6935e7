//! A Messages request, read as strictly as the API reads it.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::model::{
    cache::Prompt,
    dialogue::{Asked, Call, Tool, Turn},
    refusal::Refusal,
    wire::Read,
};

/// The members that the API knows; any other is refused.
const MEMBERS: [&str; 18] = [
    "model",
    "messages",
    "max_tokens",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "metadata",
    "thinking",
    "output_config",
    "service_tier",
    "context_management",
    "container",
    "fallbacks",
];

/// The most cache breakpoints of a request.
const MOST_BREAKPOINTS: usize = 4;

/// Reads a request.
pub(in crate::model) fn read(header: &dyn Fn(&str) -> Option<String>, body: &Value) -> Result<Read, Refusal> {
    if header("anthropic-version").is_none() {
        return Err(Refusal::invalid("anthropic-version: header is required"));
    }
    let body = body.as_object().ok_or_else(|| Refusal::invalid("the body is not a JSON object"))?;
    if let Some(name) = body.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        return Err(Refusal::invalid(format!("{name}: Extra inputs are not permitted")));
    }
    let model = text(body, "model", "model")?.to_owned();
    if body.get("max_tokens").and_then(Value::as_u64).is_none_or(|most| most == 0) {
        return Err(Refusal::invalid("max_tokens: Field required, at least 1"));
    }
    if body.get("fallbacks").is_some()
        && !header("anthropic-beta").is_some_and(|beta| beta.contains("server-side-fallback"))
    {
        return Err(Refusal::invalid("fallbacks: Extra inputs are not permitted"));
    }
    let effort = effort(body)?;
    check_metadata(body)?;
    let mut prompt = Prompt::default();
    let tools = tools(body, &mut prompt)?;
    let system = system(body, &mut prompt)?;
    let turns = messages(body, &mut prompt)?;
    let marks = prompt.marks();
    if marks > MOST_BREAKPOINTS {
        return Err(Refusal::invalid(format!(
            "A maximum of {MOST_BREAKPOINTS} blocks with cache_control may be provided. Found {marks}."
        )));
    }
    let stream = body.get("stream").and_then(Value::as_bool).unwrap_or_default();
    Ok(Read { asked: Asked { model, effort, system, tools, turns }, stream, include_usage: true, prompt })
}

fn effort(body: &Map<String, Value>) -> Result<Option<String>, Refusal> {
    let Some(effort) = body.get("output_config").and_then(|config| config.get("effort")) else {
        return Ok(None);
    };
    let effort = effort.as_str().unwrap_or_default();
    if !["low", "medium", "high", "xhigh", "max"].contains(&effort) {
        return Err(Refusal::invalid(
            "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
        ));
    }
    Ok(Some(effort.to_owned()))
}

fn check_metadata(body: &Map<String, Value>) -> Result<(), Refusal> {
    let Some(metadata) = body.get("metadata") else { return Ok(()) };
    let only_user =
        metadata.as_object().is_some_and(|metadata| metadata.keys().all(|name| name == "user_id"));
    let user = metadata.get("user_id").and_then(Value::as_str);
    if only_user && user.is_some_and(|user| (1..=256).contains(&user.len())) {
        return Ok(());
    }
    Err(Refusal::invalid(
        "metadata.user_id: Input should be a string of at most 256 characters, and nothing else",
    ))
}

fn tools(body: &Map<String, Value>, prompt: &mut Prompt) -> Result<Vec<Tool>, Refusal> {
    let mut names = HashSet::new();
    let mut tools = Vec::new();
    for (at, tool) in list(body, "tools")?.iter().enumerate() {
        let path = format!("tools.{at}");
        let tool =
            tool.as_object().ok_or_else(|| Refusal::invalid(format!("{path}: Input should be an object")))?;
        let name = text(tool, "name", &path)?;
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if name.len() > 128 || !plain {
            return Err(Refusal::invalid(format!(
                "{path}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            )));
        }
        if !names.insert(name) {
            return Err(Refusal::invalid("tools: Tool names must be unique."));
        }
        let schema =
            tool.get("input_schema").filter(|schema| schema.get("type").is_some_and(|it| it == "object"));
        let schema = schema
            .ok_or_else(|| Refusal::invalid(format!("{path}.input_schema.type: Input should be 'object'")))?;
        let description = tool.get("description").and_then(Value::as_str).unwrap_or_default();
        push(prompt, tool, &path)?;
        tools.push(Tool {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: schema.clone(),
        });
    }
    Ok(tools)
}

fn system(body: &Map<String, Value>, prompt: &mut Prompt) -> Result<String, Refusal> {
    match body.get("system") {
        None => Ok(String::new()),
        Some(Value::String(system)) => {
            prompt.push(system, false);
            Ok(system.clone())
        }
        Some(system) => {
            let mut texts = Vec::new();
            for (at, block) in blocks(system, "system")?.into_iter().enumerate() {
                let path = format!("system.{at}");
                texts.push(text(block, "text", &path)?);
                push(prompt, block, &path)?;
            }
            Ok(texts.join("\n"))
        }
    }
}

/// A message with its neighbours of the same side, which are one message to the API.
struct Side<'a> {
    assistant: bool,
    blocks: Vec<(String, Block<'a>)>,
}

enum Block<'a> {
    Text(&'a str),
    Use(Call),
    Result(Turn),
    Other,
}

fn messages(body: &Map<String, Value>, prompt: &mut Prompt) -> Result<Vec<Turn>, Refusal> {
    let messages = list(body, "messages")?;
    if messages.is_empty() {
        return Err(Refusal::invalid("messages: at least one message is required"));
    }
    let mut sides: Vec<Side<'_>> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let path = format!("messages.{at}");
        let assistant = match message.get("role").and_then(Value::as_str) {
            Some("user") => false,
            Some("assistant") => true,
            Some(_) | None => {
                return Err(Refusal::invalid(format!("{path}.role: Input should be 'user' or 'assistant'")));
            }
        };
        let read = match message.get("content") {
            Some(Value::String(content)) if !content.is_empty() => {
                prompt.push(content, false);
                vec![(path.clone(), Block::Text(content))]
            }
            Some(content @ Value::Array(_)) => {
                let mut read = Vec::new();
                for (at, block) in blocks(content, &path)?.into_iter().enumerate() {
                    let path = format!("{path}.content.{at}");
                    push(prompt, block, &path)?;
                    read.push((path.clone(), self::block(block, assistant, &path)?));
                }
                read
            }
            _ => Vec::new(),
        };
        let last = assistant && at + 1 == messages.len();
        if read.is_empty() && !last {
            return Err(Refusal::invalid(format!(
                "{path}: all messages must have non-empty content except for the optional final assistant message"
            )));
        }
        match sides.last_mut() {
            Some(side) if side.assistant == assistant => side.blocks.extend(read),
            Some(_) | None => sides.push(Side { assistant, blocks: read }),
        }
    }
    if sides.first().is_some_and(|side| side.assistant) {
        return Err(Refusal::invalid("messages: first message must use the \"user\" role"));
    }
    pair(sides)
}

fn block<'a>(block: &'a Map<String, Value>, assistant: bool, path: &str) -> Result<Block<'a>, Refusal> {
    match block.get("type").and_then(Value::as_str) {
        Some("text") => Ok(Block::Text(text(block, "text", path)?)),
        Some("tool_use") if assistant => {
            let input = block.get("input").and_then(Value::as_object);
            let args = input.ok_or_else(|| {
                Refusal::invalid(format!("{path}.tool_use.input: Input should be an object"))
            })?;
            let (id, name) = (text(block, "id", path)?, text(block, "name", path)?);
            Ok(Block::Use(Call { id: id.to_owned(), name: name.to_owned(), args: args.clone() }))
        }
        Some("tool_result") if !assistant => {
            let id = text(block, "tool_use_id", path)?.to_owned();
            let is_error = block.get("is_error").and_then(Value::as_bool).unwrap_or_default();
            let text = match block.get("content") {
                None => String::new(),
                Some(Value::String(content)) => content.clone(),
                Some(content) => {
                    let mut texts = Vec::new();
                    for block in blocks(content, path)? {
                        texts.push(text(block, "text", path)?);
                    }
                    texts.join("\n")
                }
            };
            Ok(Block::Result(Turn::Result { id, text, is_error }))
        }
        Some("thinking") if assistant => {
            // The API checks a signature, so a block that lost its own was damaged on the way.
            text(block, "signature", path)?;
            match block.get("thinking") {
                Some(Value::String(_)) => Ok(Block::Other),
                _ => Err(Refusal::invalid(format!("{path}.thinking.thinking: Field required"))),
            }
        }
        Some("redacted_thinking") if assistant => text(block, "data", path).map(|_| Block::Other),
        Some("fallback") if assistant => Ok(Block::Other),
        Some(_) | None => {
            Err(Refusal::invalid(format!("{path}.type: Input tag is not one that is expected here")))
        }
    }
}

/// Checks that each call has its result in the very next message, and that each result has its call.
fn pair(sides: Vec<Side<'_>>) -> Result<Vec<Turn>, Refusal> {
    let mut turns = Vec::new();
    let mut open: HashSet<String> = HashSet::new();
    let mut seen = HashSet::new();
    let count = sides.len();
    for (at, side) in sides.into_iter().enumerate() {
        let mut texts = Vec::new();
        let mut calls = Vec::new();
        for (path, block) in side.blocks {
            match block {
                Block::Text(text) => texts.push(text.to_owned()),
                Block::Use(call) => {
                    if !seen.insert(call.id.clone()) {
                        return Err(Refusal::invalid(format!("{path}: `tool_use` ids must be unique")));
                    }
                    calls.push(call);
                }
                Block::Result(result) => {
                    let known = matches!(&result, Turn::Result { id, .. } if open.remove(id));
                    if !known {
                        return Err(Refusal::invalid(format!(
                            "{path}: unexpected `tool_use_id` found in `tool_result` blocks. Each `tool_result` block must have a \
                             corresponding `tool_use` block in the previous message."
                        )));
                    }
                    if !texts.is_empty() {
                        return Err(Refusal::invalid(format!(
                            "{path}: `tool_result` blocks must come first in a message"
                        )));
                    }
                    turns.push(result);
                }
                Block::Other => {}
            }
        }
        if !open.is_empty() {
            return Err(unanswered(at, &open));
        }
        if side.assistant {
            open = calls.iter().map(|call| call.id.clone()).collect();
            if at + 1 == count && !open.is_empty() {
                return Err(unanswered(at + 1, &open));
            }
            turns.push(Turn::Assistant { text: texts.concat(), calls });
        } else if !texts.is_empty() {
            turns.push(Turn::User(texts));
        }
    }
    Ok(turns)
}

fn unanswered(at: usize, open: &HashSet<String>) -> Refusal {
    let mut ids: Vec<&str> = open.iter().map(String::as_str).collect();
    ids.sort_unstable();
    Refusal::invalid(format!(
        "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have \
         a corresponding `tool_result` block in the next message.",
        ids.join(", ")
    ))
}

/// Adds a block to the prompt, without its breakpoint, which is not part of what is cached.
fn push(prompt: &mut Prompt, block: &Map<String, Value>, path: &str) -> Result<(), Refusal> {
    let mut bare = block.clone();
    let mark = bare.remove("cache_control");
    if let Some(mark) = &mark {
        if mark.get("type").is_none_or(|kind| kind != "ephemeral") {
            return Err(Refusal::invalid(format!("{path}.cache_control.type: Input should be 'ephemeral'")));
        }
        if matches!(block.get("type").and_then(Value::as_str), Some("thinking" | "redacted_thinking")) {
            return Err(Refusal::invalid(format!("{path}.cache_control: Extra inputs are not permitted")));
        }
        if block.get("text").is_some_and(|text| text == "") {
            return Err(Refusal::invalid(format!(
                "{path}: cache_control cannot be set for empty text blocks"
            )));
        }
    }
    prompt.push(&Value::Object(bare).to_string(), mark.is_some());
    Ok(())
}

fn list<'a>(body: &'a Map<String, Value>, name: &str) -> Result<&'a [Value], Refusal> {
    match body.get(name) {
        None => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(Refusal::invalid(format!("{name}: Input should be a valid list"))),
    }
}

fn blocks<'a>(content: &'a Value, path: &str) -> Result<Vec<&'a Map<String, Value>>, Refusal> {
    let blocks = content.as_array().and_then(|list| list.iter().map(Value::as_object).collect());
    blocks.ok_or_else(|| Refusal::invalid(format!("{path}: Input should be a string or a list of blocks")))
}

fn text<'a>(object: &'a Map<String, Value>, name: &str, path: &str) -> Result<&'a str, Refusal> {
    let text = object.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.ok_or_else(|| Refusal::invalid(format!("{path}.{name}: Field required, a string that is not empty")))
}
