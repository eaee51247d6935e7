//! Requests that break the rules are refused as the real APIs refuse them, and whole replies are what they should be.

use ask_devstack::model::{Handle, Options, Scripted};
use ask_llm::{Assistant, Message, Protocol, ToolCall, ToolResult, TurnError};
use serde_json::{Map, Value, json};

use crate::setup::{BOTH, client, start, turn, user};

async fn post(handle: &Handle, path: &str, body: &Value) -> (u16, Value) {
    let client = awc::Client::default();
    let url = format!("{}{path}", handle.base_url("strict"));
    let request = client.post(url).insert_header(("anthropic-version", "2023-06-01"));
    let mut response = request.send_json(body).await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

/// A request that is in order.
fn anthropic() -> Value {
    json!({
        "model": "m",
        "max_tokens": 10,
        "tools": [{ "name": "t", "description": "", "input_schema": { "type": "object" } }],
        "messages": [
            { "role": "user", "content": "q" },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "", "signature": "s" },
                { "type": "tool_use", "id": "a", "name": "t", "input": {} },
                { "type": "tool_use", "id": "b", "name": "t", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "b", "content": "1" },
                { "type": "tool_result", "tool_use_id": "a", "content": [{ "type": "text", "text": "2" }], "is_error": true },
                { "type": "text", "text": "next" },
            ] },
        ],
    })
}

/// A request that is in order.
fn openai() -> Value {
    let call =
        |id: &str| json!({ "id": id, "type": "function", "function": { "name": "t", "arguments": "{}" } });
    json!({
        "model": "m",
        "tools": [{ "type": "function", "function": { "name": "t", "parameters": { "type": "object" } } }],
        "messages": [
            { "role": "system", "content": "s" },
            { "role": "user", "content": [{ "type": "text", "text": "q" }] },
            { "role": "assistant", "content": null, "tool_calls": [call("a"), call("b")] },
            { "role": "tool", "tool_call_id": "b", "content": "1" },
            { "role": "tool", "tool_call_id": "a", "content": "2" },
        ],
    })
}

/// The request with one place changed; `null` takes the place away.
fn with(mut request: Value, pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match request.pointer_mut(parent).unwrap() {
        Value::Object(map) if value.is_null() => drop(map.remove(name)),
        Value::Object(map) => drop(map.insert(name.to_owned(), value)),
        Value::Array(list) if value.is_null() => drop(list.remove(name.parse().unwrap())),
        Value::Array(list) => list[name.parse::<usize>().unwrap()] = value,
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            panic!("{other} has no members")
        }
    }
    request
}

#[actix_rt::test]
async fn messages_requests_that_break_the_rules_are_refused() {
    let handle = start(None, Options::default());
    let (status, body) = post(&handle, "/v1/messages", &anthropic()).await;
    assert_eq!(
        (status, &body["content"][0]["type"], &body["stop_reason"]),
        (200, &json!("text"), &json!("end_turn")),
        "{body}"
    );
    let cache = json!({ "type": "ephemeral" });
    let five = json!([0, 1, 2, 3, 4].map(|_| json!({ "type": "text", "text": "x", "cache_control": cache })));
    for (pointer, value, told) in [
        ("/model", Value::Null, "model"),
        ("/max_tokens", Value::Null, "max_tokens"),
        ("/max_tokens", json!(0), "max_tokens"),
        ("/messages", json!([]), "at least one message"),
        ("/typo", json!(1), "typo: Extra inputs"),
        ("/fallbacks", json!("default"), "fallbacks"),
        ("/output_config", json!({ "effort": "huge" }), "effort"),
        ("/metadata", json!({ "user_id": "x", "name": "alice" }), "metadata"),
        ("/tools/0/name", json!("a.b"), "pattern"),
        ("/tools/0/input_schema", json!({}), "input_schema"),
        ("/system", five.clone(), "Found 5"),
        ("/messages/0/role", json!("system"), "role"),
        ("/messages/0/content", json!(""), "non-empty"),
        ("/messages/0", Value::Null, "first message"),
        ("/messages/1/content/0/signature", Value::Null, "signature"),
        ("/messages/1/content/0/cache_control", cache, "cache_control"),
        ("/messages/1/content/1/input", json!("{}"), "object"),
        ("/messages/1/content/2/id", json!("a"), "unique"),
        ("/messages/1/content/0/type", json!("novel"), "tag"),
        ("/messages/2", Value::Null, "without `tool_result` blocks immediately after: a, b"),
        ("/messages/2/content/1", Value::Null, "without `tool_result` blocks immediately after: a."),
        ("/messages/2/content/0/tool_use_id", json!("zzz"), "unexpected `tool_use_id`"),
        ("/messages/2/content/0", json!({ "type": "text", "text": "first" }), "must come first"),
        ("/messages/2/content/2/text", json!(""), "text"),
    ] {
        let (status, body) = post(&handle, "/v1/messages", &with(anthropic(), pointer, value)).await;
        let message = body["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(
            (status, &body["error"]["type"]),
            (400, &json!("invalid_request_error")),
            "{pointer}: {body}"
        );
        assert!(message.contains(told) && body["type"] == "error", "{pointer}: {body}");
    }
    assert_eq!(handle.state("strict").refused, 24);
}

#[actix_rt::test]
async fn completions_requests_that_break_the_rules_are_refused() {
    let handle = start(None, Options::default());
    for path in ["/chat/completions", "/v1/chat/completions"] {
        let (status, body) = post(&handle, path, &openai()).await;
        assert_eq!((status, &body["choices"][0]["finish_reason"]), (200, &json!("stop")), "{body}");
    }
    for (pointer, value, told) in [
        ("/model", Value::Null, "model"),
        ("/typo", json!(1), "typo"),
        ("/messages", json!([]), "too short"),
        ("/tools", json!([]), "tools"),
        ("/stream_options", json!({ "include_usage": true }), "only allowed when 'stream'"),
        ("/tools/0/function/name", json!("a.b"), "pattern"),
        ("/messages/1/role", json!("human"), "role"),
        ("/messages/1/content", Value::Null, "content"),
        ("/messages/2/tool_calls", Value::Null, "got null"),
        ("/messages/2/tool_calls/0/id", json!("b"), "twice"),
        ("/messages/2/tool_calls/0/function/arguments", json!({}), "not a string"),
        ("/messages/2/tool_calls/0/function/arguments", json!("{"), "no JSON object"),
        ("/messages/3", Value::Null, "did not have response messages: b"),
        ("/messages/4/tool_call_id", json!("zzz"), "must be a response"),
        ("/messages/2", Value::Null, "must be a response"),
        ("/messages/4", json!({ "role": "user", "content": "x" }), "did not have response messages: a"),
    ] {
        let (status, body) = post(&handle, "/chat/completions", &with(openai(), pointer, value)).await;
        let message = body["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(
            (status, &body["error"]["type"]),
            (400, &json!("invalid_request_error")),
            "{pointer}: {body}"
        );
        assert!(message.contains(told), "{pointer}: {body}");
    }
}

#[actix_rt::test]
async fn whole_replies_carry_calls_and_usage() {
    let handle = start(None, Options::default());
    let scripted = || vec![Scripted::call("t", json!({ "n": 1 }))];
    handle.script("strict", scripted());
    let (_, body) = post(&handle, "/v1/messages", &anthropic()).await;
    assert_eq!(body["content"][0]["input"], json!({ "n": 1 }));
    assert!(body["stop_reason"] == "tool_use" && body["usage"]["input_tokens"].as_u64().unwrap() > 0);
    handle.script("strict", scripted());
    let (_, body) = post(&handle, "/chat/completions", &openai()).await;
    let message = &body["choices"][0]["message"];
    assert_eq!(message["tool_calls"][0]["function"], json!({ "name": "t", "arguments": "{\"n\":1}" }));
    assert!(body["usage"]["prompt_tokens"].as_u64().unwrap() > 0);
}

#[actix_rt::test]
async fn unanswered_call_sent_by_the_client_is_found_out() {
    let handle = start(None, Options::default());
    for protocol in BOTH {
        let call = ToolCall { id: "a".into(), name: "t".into(), args: Ok(Map::new()) };
        let said = Message::Assistant(Assistant::new("", vec![call]));
        let wrong = Message::Results(vec![ToolResult { id: "b".into(), text: "1".into(), is_error: false }]);
        for messages in [vec![user(&["q"]), said.clone(), user(&["next"])], vec![user(&["q"]), said, wrong]] {
            let err = turn(&client(protocol, &handle, "x"), &messages).await.unwrap_err();
            assert!(matches!(&err, TurnError::Rejected(rejection) if rejection.status == 400), "{err:?}");
        }
    }
}

#[actix_rt::test]
async fn wrong_key_is_refused() {
    let handle = start(None, Options { api_key: Some("sk-right".to_owned()), ..Options::default() });
    for protocol in BOTH {
        let err = turn(&client(protocol, &handle, "x"), &[user(&["q"])]).await.unwrap_err();
        let kind = "authentication_error";
        assert!(matches!(&err, TurnError::Rejected(it) if it.status == 401 && it.kind == kind), "{err:?}");
    }
    let mut endpoint = crate::setup::endpoint(Protocol::OpenAi, &handle, "x");
    endpoint.api_key = Some(ask_llm::Secret::new("sk-right"));
    turn(&ask_llm::Client::new(endpoint).unwrap(), &[user(&["q"])]).await.unwrap();
}
