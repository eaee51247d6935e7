//! Drives the client by lines of JSON, as tests against servers of others need it.
//!
//! The first line on standard input says where to connect: `{"url", "bearer", "version", "call_ms", "max_reply_bytes"}`, all but
//! the first optional. Each further line is a list of tools, `{"op": "list"}`, calls that run together,
//! `{"op": "call", "calls": [{"name", "arguments"}]}`, or the end of the session, `{"op": "close"}`. Each line is answered by one
//! line on standard output, with a member `error` when it failed. The client is used as the service uses it: default limits
//! unless told otherwise, the bearer forwarded, and a result put into text for a model.

use std::{
    error::Error,
    io::{self, BufRead as _, Write as _},
    time::Duration,
};

use ask_mcp::{
    CallError, CallResult, Client, ClientLimits, ConnectError, Content, ServerConfig, Session, ToolList,
    Version,
};
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The most bytes of a result's text, as the service has it.
const RESULT_BYTES: usize = 64 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    url: String,
    bearer: Option<String>,
    version: Option<String>,
    call_ms: Option<u64>,
    max_reply_bytes: Option<usize>,
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
enum Order {
    List,
    Call { calls: Vec<Call> },
    Close,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

#[actix_rt::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut lines = io::stdin().lock().lines();
    let first = lines.next().ok_or("no line that says where to connect")??;
    let target: Target = serde_json::from_str(&first)?;
    let mut config = ServerConfig::new("peer", target.url);
    config.forward_bearer = target.bearer.is_some();
    if let Some(text) = target.version {
        config.version = Some(Version::parse(&text).ok_or("no version of that name")?);
    }
    if let Some(ms) = target.call_ms {
        config.limits.call = Duration::from_millis(ms);
    }
    if let Some(bytes) = target.max_reply_bytes {
        config.limits.max_reply_bytes = bytes;
    }
    let client = Client::new(ClientLimits::default());
    let session = match client.connect(&config, target.bearer.as_deref(), None).await {
        Ok(session) => session,
        Err(err) => return say(&json!({"error": connect_failure(&err)})),
    };
    say(&json!({"version": session.protocol_version()}))?;
    for line in lines {
        match serde_json::from_str(&line?)? {
            Order::List => say(&listed(session.list_tools().await))?,
            Order::Call { calls } => say(&called(&session, &calls).await)?,
            Order::Close => {
                session.close().await;
                return say(&json!({"closed": true}));
            }
        }
    }
    Ok(())
}

fn say(answer: &Value) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    writeln!(out, "{answer}")?;
    Ok(out.flush()?)
}

fn listed(list: Result<ToolList, CallError>) -> Value {
    let list = match list {
        Ok(list) => list,
        Err(err) => return json!({"error": call_failure(&err)}),
    };
    let tools: Vec<Value> = list
        .tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name,
                "title": tool.title,
                "description": tool.description,
                "inputSchema": tool.input_schema,
                "readOnly": tool.read_only_hint,
            })
        })
        .collect();
    let notes: Vec<Value> =
        list.notes.iter().map(|note| json!([note.tool, format!("{:?}", note.kind)])).collect();
    json!({"tools": tools, "notes": notes})
}

async fn called(session: &Session, calls: &[Call]) -> Value {
    let results = join_all(calls.iter().map(|call| session.call(&call.name, &call.arguments))).await;
    let results: Vec<Value> = results.iter().map(|result| one_result(result.as_ref())).collect();
    json!({"results": results})
}

fn one_result(result: Result<&CallResult, &CallError>) -> Value {
    match result {
        Ok(result) => json!({
            "isError": result.is_error,
            "structured": result.structured,
            "content": result.content.iter().map(kind).collect::<Vec<_>>(),
            "text": result.render(RESULT_BYTES).text,
            "ms": u64::try_from(result.elapsed.as_millis()).unwrap_or(u64::MAX),
        }),
        Err(err) => json!({"error": call_failure(err)}),
    }
}

fn kind(block: &Content) -> &'static str {
    match block {
        Content::Text(_) => "text",
        Content::Image { .. } => "image",
        Content::Audio { .. } => "audio",
        Content::ResourceLink { .. } => "link",
        Content::TextResource { .. } => "text resource",
        Content::BlobResource { .. } => "blob resource",
        Content::Unreadable { .. } => "unreadable",
    }
}

fn connect_failure(err: &ConnectError) -> Value {
    match err {
        ConnectError::Failed(err) => call_failure(err),
        ConnectError::Config(_) => json!({"kind": "config"}),
        ConnectError::UnsupportedVersion { offered } => json!({"kind": "version", "offered": offered}),
    }
}

fn call_failure(err: &CallError) -> Value {
    match err {
        CallError::Status { status, .. } => json!({"kind": "status", "status": status}),
        CallError::Rpc { code, message } => json!({"kind": "rpc", "code": code, "message": message}),
        CallError::Unsupported { result_type } => json!({"kind": "unsupported", "resultType": result_type}),
        CallError::Unreachable(_) => json!({"kind": "unreachable"}),
        CallError::TimedOut { .. } => json!({"kind": "timeout"}),
        CallError::TooLarge { .. } => json!({"kind": "too large"}),
        CallError::Incomplete => json!({"kind": "incomplete"}),
        CallError::Malformed { what } => json!({"kind": "malformed", "what": what}),
        CallError::ForeignReply => json!({"kind": "foreign reply"}),
        CallError::SessionLost => json!({"kind": "session lost"}),
        CallError::RedirectRefused { .. } => json!({"kind": "redirect"}),
        CallError::BadToolName => json!({"kind": "tool name"}),
        CallError::Closed => json!({"kind": "closed"}),
    }
}
