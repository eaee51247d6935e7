//! What is sent: the whole body, and where the cache breakpoints are.

use ask_llm::{
    Assistant, Client, Effort, Endpoint, MaxTokensField, Message, Protocol, Request, Secret, Tool, ToolCall,
    ToolResult,
};
use serde_json::{Value, json};

use crate::{
    anthropic, openai,
    server::{Recorded, Reply, Server, header, stream},
    setup::endpoint,
};

fn tool(name: &str) -> Tool {
    let input_schema =
        json!({ "type": "object", "properties": { "z": { "type": "string" }, "a": { "type": "integer" } } });
    Tool { name: name.to_owned(), description: format!("About {name}."), input_schema }
}

fn user(parts: &[&str]) -> Message {
    Message::User { parts: parts.iter().map(|&part| part.to_owned()).collect() }
}

fn call(id: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: "a".to_owned(),
        args: Ok(serde_json::Map::from_iter([("n".to_owned(), json!(1))])),
    }
}

fn result(id: &str, is_error: bool) -> ToolResult {
    ToolResult { id: id.to_owned(), text: format!("result of {id}"), is_error }
}

async fn sent_with(protocol: Protocol, set: impl FnOnce(&mut Endpoint), request: Request<'_>) -> Recorded {
    let events = match protocol {
        Protocol::Anthropic => anthropic::REPLY,
        Protocol::OpenAi => openai::REPLY,
    };
    let server = Server::start(vec![Reply::Whole(stream(events))]).await;
    let mut endpoint = endpoint(protocol, &server.base);
    set(&mut endpoint);
    Client::new(endpoint).unwrap().turn(request).await.unwrap();
    server.requests().remove(0)
}

async fn sent(protocol: Protocol, messages: &[Message]) -> Value {
    let tools = [tool("b"), tool("a")];
    let request = Request {
        model: "m",
        effort: Effort::Xhigh,
        system: "S",
        tools: &tools,
        messages,
        caller: None,
        traceparent: None,
        request_id: None,
    };
    sent_with(protocol, |_| {}, request).await.body
}

/// A conversation in its second turn, after two hops of it.
fn long() -> Vec<Message> {
    vec![
        user(&["grounding 1", "question 1"]),
        Message::Assistant(Assistant::new("", vec![call("t1")])),
        Message::Results(vec![result("t1", false)]),
        Message::Assistant(Assistant::new("", vec![call("t2")])),
        Message::Results(vec![result("t2", false)]),
        user(&["grounding 2", "", "question 2"]),
        Message::Assistant(Assistant::new("", vec![call("t3")])),
        Message::Results(vec![result("t3", false)]),
        Message::Assistant(Assistant::new("Two more.", vec![call("t4"), call("t5")])),
        Message::Results(vec![result("t4", false), result("t5", true)]),
    ]
}

/// The paths of all cache breakpoints.
fn breakpoints(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if map.contains_key("cache_control") {
                assert_eq!(map["cache_control"], json!({ "type": "ephemeral" }));
                found.push(path.to_owned());
            }
            map.iter().for_each(|(name, value)| breakpoints(value, &format!("{path}/{name}"), found));
        }
        Value::Array(list) => {
            list.iter()
                .enumerate()
                .for_each(|(at, value)| breakpoints(value, &format!("{path}/{at}"), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn breakpoints_of(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    breakpoints(body, "", &mut found);
    found.sort();
    found
}

#[actix_rt::test]
async fn messages_request_is_exactly_this() {
    let body = sent(Protocol::Anthropic, &long()).await;
    let cache = json!({ "type": "ephemeral" });
    let schema = tool("b").input_schema;
    let used = |id: &str| json!({ "type": "tool_use", "id": id, "name": "a", "input": { "n": 1 } });
    let gave =
        |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": format!("result of {id}") });
    let mut t2 = gave("t2");
    t2["cache_control"] = cache.clone();
    let mut t3 = gave("t3");
    t3["cache_control"] = cache.clone();
    let mut t5 = gave("t5");
    t5["is_error"] = json!(true);
    t5["cache_control"] = cache.clone();
    assert_eq!(
        body,
        json!({
            "model": "m",
            "max_tokens": 16000,
            "stream": true,
            "output_config": { "effort": "xhigh" },
            "system": [{ "type": "text", "text": "S", "cache_control": cache }],
            "tools": [
                { "name": "b", "description": "About b.", "input_schema": schema },
                { "name": "a", "description": "About a.", "input_schema": schema },
            ],
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "grounding 1" }, { "type": "text", "text": "question 1" }] },
                { "role": "assistant", "content": [used("t1")] },
                { "role": "user", "content": [gave("t1")] },
                { "role": "assistant", "content": [used("t2")] },
                { "role": "user", "content": [t2, { "type": "text", "text": "grounding 2" }, { "type": "text", "text": "question 2" }] },
                { "role": "assistant", "content": [used("t3")] },
                { "role": "user", "content": [t3] },
                { "role": "assistant", "content": [{ "type": "text", "text": "Two more." }, used("t4"), used("t5")] },
                { "role": "user", "content": [gave("t4"), t5] },
            ],
        })
    );
}

#[actix_rt::test]
async fn breakpoints_roll_with_the_newest_message_and_are_never_more_than_four() {
    let long = long();
    let wanted: [(usize, &[&str]); 4] = [
        (1, &["/messages/0/content/1", "/system/0"]),
        (3, &["/messages/0/content/1", "/messages/2/content/0", "/system/0"]),
        (6, &["/messages/4/content/0", "/messages/4/content/2", "/system/0"]),
        (8, &["/messages/4/content/0", "/messages/4/content/2", "/messages/6/content/0", "/system/0"]),
    ];
    for (messages, wanted) in wanted {
        let body = sent(Protocol::Anthropic, &long[..messages]).await;
        assert_eq!(breakpoints_of(&body), wanted, "after {messages} messages");
    }
}

#[actix_rt::test]
async fn breakpoint_of_earlier_turns_may_fall_on_what_the_model_said() {
    let messages = [user(&["q1"]), Message::Assistant(Assistant::new("a1", vec![])), user(&["q2"])];
    let body = sent(Protocol::Anthropic, &messages).await;
    assert_eq!(breakpoints_of(&body), ["/messages/1/content/0", "/messages/2/content/0", "/system/0"]);
}

#[actix_rt::test]
async fn breakpoint_is_on_the_last_tool_when_there_is_no_system_prompt() {
    let tools = [tool("b"), tool("a")];
    let messages = [user(&["q"])];
    let request = Request {
        model: "m",
        effort: Effort::Low,
        system: "",
        tools: &tools,
        messages: &messages,
        caller: None,
        traceparent: None,
        request_id: None,
    };
    let body = sent_with(Protocol::Anthropic, |_| {}, request).await.body;
    assert_eq!(breakpoints_of(&body), ["/messages/0/content/0", "/tools/1"]);
    assert!(body.get("system").is_none());
}

#[actix_rt::test]
async fn what_a_prefix_holds_does_not_change_from_hop_to_hop() {
    let strip = |mut body: Value| {
        for message in body["messages"].as_array_mut().unwrap() {
            for block in message["content"].as_array_mut().unwrap() {
                block.as_object_mut().unwrap().remove("cache_control");
            }
        }
        body["messages"].as_array().unwrap().clone()
    };
    let long = long();
    let earlier = strip(sent(Protocol::Anthropic, &long[..8]).await);
    let later = strip(sent(Protocol::Anthropic, &long).await);
    assert_eq!(later[..earlier.len()], earlier);
}

#[actix_rt::test]
async fn message_without_content_is_left_out() {
    let messages = [user(&["q1"]), Message::Assistant(Assistant::new("", vec![])), user(&["", "q2"])];
    let body = sent(Protocol::Anthropic, &messages).await;
    let content = &body["messages"][0]["content"];
    assert_eq!((body["messages"].as_array().unwrap().len(), content.as_array().unwrap().len()), (1, 2));
    let body = sent(Protocol::OpenAi, &messages).await;
    assert_eq!(body["messages"].as_array().unwrap().len(), 3);
}

#[actix_rt::test]
async fn completions_request_is_exactly_this() {
    let body = sent(Protocol::OpenAi, &long()).await;
    let schema = tool("b").input_schema;
    let used = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "a", "arguments": "{\"n\":1}" } });
    let gave = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": format!("result of {id}") });
    assert_eq!(
        body,
        json!({
            "model": "m",
            "max_completion_tokens": 16000,
            "stream": true,
            "stream_options": { "include_usage": true },
            "tools": [
                { "type": "function", "function": { "name": "b", "description": "About b.", "parameters": schema } },
                { "type": "function", "function": { "name": "a", "description": "About a.", "parameters": schema } },
            ],
            "messages": [
                { "role": "system", "content": "S" },
                { "role": "user", "content": [{ "type": "text", "text": "grounding 1" }, { "type": "text", "text": "question 1" }] },
                { "role": "assistant", "tool_calls": [used("t1")] },
                gave("t1"),
                { "role": "assistant", "tool_calls": [used("t2")] },
                gave("t2"),
                { "role": "user", "content": [{ "type": "text", "text": "grounding 2" }, { "type": "text", "text": "question 2" }] },
                { "role": "assistant", "tool_calls": [used("t3")] },
                gave("t3"),
                { "role": "assistant", "content": "Two more.", "tool_calls": [used("t4"), used("t5")] },
                gave("t4"),
                { "role": "tool", "tool_call_id": "t5", "content": "[TOOL ERROR]\nresult of t5" },
            ],
        })
    );
}

#[actix_rt::test]
async fn caller_goes_out_only_as_a_pseudonym_and_only_with_a_key() {
    let messages = [user(&["q"])];
    let request = Request {
        model: "m",
        effort: Effort::High,
        system: "",
        tools: &[],
        messages: &messages,
        caller: Some("alice-oid"),
        traceparent: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        request_id: Some("req-1"),
    };
    let keyed = |endpoint: &mut Endpoint| endpoint.caller_key = Some(Secret::new("k"));
    let anthropic = sent_with(Protocol::Anthropic, keyed, request).await;
    let openai = sent_with(Protocol::OpenAi, keyed, request).await;
    let pseudonym = anthropic.body["metadata"]["user_id"].as_str().unwrap();
    assert_eq!(
        (&openai.body["user"], &openai.body["safety_identifier"]),
        (&json!(pseudonym), &json!(pseudonym))
    );
    assert_eq!(header(&openai.head, "traceparent"), request.traceparent);
    assert_eq!(header(&openai.head, "x-request-id"), request.request_id);
    for recorded in [&anthropic, &openai] {
        assert!(!format!("{}{}", recorded.head, recorded.body).contains("alice"));
        assert!(recorded.body.get("tools").is_none());
    }
    for protocol in [Protocol::Anthropic, Protocol::OpenAi] {
        let body = sent_with(protocol, |_| {}, request).await.body;
        assert!(["metadata", "user", "safety_identifier"].iter().all(|name| body.get(name).is_none()));
    }
}

#[actix_rt::test]
async fn settings_shape_the_request() {
    let messages = [user(&["q"])];
    let request = Request {
        model: "m",
        effort: Effort::Max,
        system: "S",
        tools: &[],
        messages: &messages,
        caller: None,
        traceparent: None,
        request_id: None,
    };
    let set = |endpoint: &mut Endpoint| {
        endpoint.max_tokens = 99;
        endpoint.max_tokens_field = MaxTokensField::MaxTokens;
        endpoint.fallback = true;
        endpoint.api_key = None;
        endpoint.base_url = format!("{}/v1", endpoint.base_url.as_str()).parse().unwrap();
    };
    let anthropic = sent_with(Protocol::Anthropic, set, request).await;
    assert!(anthropic.head.starts_with("post /v1/messages "));
    assert_eq!(
        (&anthropic.body["max_tokens"], &anthropic.body["fallbacks"]),
        (&json!(99), &json!("default"))
    );
    assert_eq!(anthropic.body["output_config"], json!({ "effort": "max" }));
    assert_eq!(
        (header(&anthropic.head, "anthropic-beta"), header(&anthropic.head, "x-api-key")),
        (Some("server-side-fallback-2026-07-01"), None)
    );
    let openai = sent_with(Protocol::OpenAi, set, request).await;
    assert!(openai.head.starts_with("post /v1/chat/completions "));
    assert_eq!(openai.body["max_tokens"], json!(99));
    assert_eq!((openai.body.get("fallbacks"), header(&openai.head, "authorization")), (None, None));
}
