//! The two MCP servers, without sessions, in every version.

use serde_json::{Map, Value, json};

use super::desk::arguments_of;
use super::{MiniExecutor, json_response, problem};
use crate::mini::http::{Request, Response};
use crate::mini::issuer::Caller;

const VERSIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];

pub(super) async fn answer(
    mini: &MiniExecutor,
    caller: &Caller,
    request: &Request,
    catalog: bool,
) -> Response {
    let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let well_formed = message["jsonrpc"] == "2.0"
        || (mini.is("json-rpc-version-ignored") && message["jsonrpc"].is_string());
    let Some(method) = message["method"].as_str().filter(|_| well_formed) else {
        return problem(400, "the body is no message", &json!({}));
    };
    if message.get("id").is_none() {
        return if mini.is("notification-is-200") {
            json_response(200, &json!({}))
        } else {
            Response { status: 202, headers: Vec::new(), body: Vec::new() }
        };
    }
    let version = request.header("mcp-protocol-version").unwrap_or_default();
    let outcome = match method {
        "initialize" => {
            Ok(initialize(mini, message["params"]["protocolVersion"].as_str().unwrap_or_default()))
        }
        "server/discover" => Ok(json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})),
        "tools/list" => Ok(json!({"tools": tools(mini, catalog, &version)})),
        "tools/call" => call(mini, caller, &message["params"], catalog, &version).await,
        _ if mini.is("unknown-method-is-empty") => Ok(json!({})),
        _ => Err((-32601, format!("unknown method {method}"))),
    };
    let id = if mini.is("ids-become-texts") {
        json!(message["id"].as_str().map_or_else(|| message["id"].to_string(), str::to_owned))
    } else {
        message["id"].clone()
    };
    let body = match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, said)) => json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": said}}),
    };
    // One in two answers comes as a stream, as a server is free to do.
    if version == "2025-06-18" {
        let headers = vec![("Content-Type", "text/event-stream".to_owned())];
        return Response {
            status: 200,
            headers,
            body: format!("event: message\ndata: {body}\n\n").into_bytes(),
        };
    }
    json_response(200, &body)
}

fn initialize(mini: &MiniExecutor, asked: &str) -> Value {
    let known = VERSIONS.contains(&asked) || mini.is("unknown-version-echoed");
    let version = if known && !mini.is("newest-version-always") { asked } else { "2025-11-25" };
    json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "mini", "version": "1"}})
}

fn names(mini: &MiniExecutor, catalog: bool) -> &'static [&'static str] {
    match catalog {
        true if mini.is("tools-of-both-servers-everywhere") => &[
            "list_sources",
            "list_tables",
            "describe_table",
            "run_query",
            "search_metadata",
            "get_entity_details",
        ],
        true => &["search_metadata", "get_entity_details"],
        false => &["list_sources", "list_tables", "describe_table", "run_query"],
    }
}

fn tools(mini: &MiniExecutor, catalog: bool, version: &str) -> Vec<Value> {
    let listed: &[&str] =
        if catalog { &["search_metadata", "get_entity_details"] } else { names(mini, catalog) };
    listed
        .iter()
        .filter(|name| {
            !(mini.is("old-version-lacks-a-tool") && version == "2025-03-26" && **name == "describe_table")
        })
        .map(|name| {
            let (arguments, needed) = arguments_of(name);
            let needed = if mini.is("schemas-need-nothing") { 0 } else { needed };
            let kind = |name: &str| if ["maxRows", "limit"].contains(&name) { "integer" } else { "string" };
            let properties: Map<String, Value> =
                arguments.iter().map(|name| ((*name).to_owned(), json!({"type": kind(name)}))).collect();
            json!({
                "name": name,
                "description": format!("Does what {name} says."),
                "inputSchema": {"type": "object", "properties": properties, "required": arguments[..needed]},
            })
        })
        .collect()
}

async fn call(
    mini: &MiniExecutor,
    caller: &Caller,
    params: &Value,
    catalog: bool,
    version: &str,
) -> Result<Value, (i64, String)> {
    let name = params["name"].as_str().unwrap_or_default();
    if !names(mini, catalog).contains(&name) {
        if mini.is("unknown-tool-is-a-result") {
            let body =
                json!({"error": {"code": "invalid", "message": format!("unknown tool {name}")}, "ms": 0});
            return Ok(
                json!({"content": [{"type": "text", "text": body.to_string()}], "structuredContent": body, "isError": true}),
            );
        }
        return Err((-32602, format!("unknown tool {name}")));
    }
    let empty = Map::new();
    let reply = mini.call(caller, "mcp", name, params["arguments"].as_object().unwrap_or(&empty)).await;
    if reply.code == Some("guard") && mini.is("refusal-is-protocol-error") {
        return Err((-32000, "refused".to_owned()));
    }
    if reply.code == Some("rate_limit") && mini.is("rate-limit-breaks-mcp") {
        return Err((-32000, "too many calls".to_owned()));
    }
    let mut body = reply.body;
    if mini.is("old-version-lacks-tables") && version == "2025-03-26" && name == "run_query" {
        body.as_object_mut().unwrap().remove("tables");
    }
    let text = if mini.is("text-block-is-prose") {
        "See the structured content.".to_owned()
    } else {
        body.to_string()
    };
    let is_error = reply.code.is_some() && !mini.is("refusal-without-is-error");
    Ok(json!({"content": [{"type": "text", "text": text}], "structuredContent": body, "isError": is_error}))
}
