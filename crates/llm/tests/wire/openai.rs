//! Replies of the chat completions API and its imitators.

use ask_llm::{
    ERROR_MARKER, InvalidArgs, Lack, Message, Protocol, RESULT_MARKER, Stop, ToolResult, Turn, TurnError,
    Usage,
};
use serde_json::{Map, Value, json};

use crate::{
    server::{Reply, Server, header, stream},
    setup::{client, question, turn, turn_with},
};

/// A reply with text and two parallel calls, as the API streams it.
pub(crate) const REPLY: &str = concat!(
    "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"model\":\"the-model-1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}],\"usage\":null}\n\n",
    ": keep-alive\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"I look \"},\"finish_reason\":null}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"it up ü.\"},\"finish_reason\":null}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"warehouse__run_query\",\"arguments\":\"\"}},{\"index\":1,\"id\":\"call_2\",\"type\":\"function\",\"function\":{\"name\":\"warehouse__list_sources\",\"arguments\":\"\"}}]}}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"{\"}},{\"index\":0,\"function\":{\"arguments\":\"{\\\"sql\\\": \\\"sel\"}}]}}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"ect 1\\\"}\"}},{\"index\":1,\"function\":{\"arguments\":\"}\"}}]}}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[],\"usage\":{\"prompt_tokens\":4312,\"completion_tokens\":89,\"prompt_tokens_details\":{\"cached_tokens\":4000}}}\n\n",
    "data: [DONE]\n\n",
);

/// A reply with the given deltas and reason to stop.
fn reply(deltas: &[Value], reason: &str) -> String {
    let chunk = |delta: &Value, reason: Value| {
        format!(
            "data: {}\n\n",
            json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] })
        )
    };
    let mut events: String = deltas.iter().map(|delta| chunk(delta, Value::Null)).collect();
    events.push_str(&chunk(&json!({}), json!(reason)));
    events + "data: [DONE]\n\n"
}

fn calls(pieces: &Value) -> Value {
    json!({ "tool_calls": pieces })
}

async fn turn_of(events: &str) -> Result<Turn, TurnError> {
    let server = Server::start(vec![Reply::Whole(stream(events))]).await;
    turn(&client(Protocol::OpenAi, &server.base)).await
}

fn args(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("no object") };
    map
}

#[actix_rt::test]
async fn whole_reply_is_read_and_the_connection_used_again() {
    let server = Server::start(vec![Reply::Whole(stream(REPLY))]).await;
    let client = client(Protocol::OpenAi, &server.base);
    for _ in 0..3 {
        let turn = turn(&client).await.unwrap();
        assert_eq!(turn.text, "I look it up ü.");
        assert_eq!(turn.stop, Stop::ToolUse);
        assert_eq!(turn.model, "the-model-1");
        assert_eq!(turn.usage, Usage { input: 312, output: 89, cache_read: 4000, cache_write: 0 });
        assert_eq!(turn.degraded, [Lack::CacheBreakpoints, Lack::Effort, Lack::Fallback]);
        let calls: Vec<_> =
            turn.calls.iter().map(|it| (it.id.as_str(), it.name.as_str(), it.args.clone())).collect();
        let sql = args(json!({ "sql": "select 1" }));
        assert_eq!(
            calls,
            [
                ("call_1", "warehouse__run_query", Ok(sql)),
                ("call_2", "warehouse__list_sources", Ok(Map::new()))
            ]
        );
    }
    assert_eq!(server.counts().connections, 1);
    let head = &server.requests()[0].head;
    assert!(head.starts_with("post /chat/completions http/1.1"));
    assert_eq!(header(head, "authorization"), Some(format!("bearer {}", crate::setup::KEY).as_str()));
    assert_eq!(header(head, "x-api-key"), None);
}

#[actix_rt::test]
async fn reply_cut_at_any_byte_is_an_error() {
    crate::errors::cut_everywhere(Protocol::OpenAi, REPLY).await;
}

#[actix_rt::test]
async fn reply_split_at_any_byte_reads_the_same() {
    crate::errors::split_everywhere(Protocol::OpenAi, REPLY).await;
}

#[actix_rt::test]
async fn done_without_a_reason_to_stop_is_truncated() {
    let without = reply(&[json!({ "content": "Hel" })], "stop").replace("\"stop\"", "null");
    assert_eq!(turn_of(&without).await, Err(TurnError::Truncated));
    let without = reply(&[json!({ "content": "Hello" })], "stop").replace("data: [DONE]\n\n", "");
    assert_eq!(turn_of(&without).await, Err(TurnError::Truncated));
}

#[actix_rt::test]
async fn each_reason_to_stop_is_told_apart() {
    for (reason, stop) in [
        ("stop", Stop::End),
        ("length", Stop::MaxTokens),
        ("content_filter", Stop::ContentFilter),
        ("something_new", Stop::Unknown),
    ] {
        let turn = turn_of(&reply(&[json!({ "content": "so far" })], reason)).await.unwrap();
        assert_eq!((turn.stop, turn.text.as_str()), (stop, "so far"));
    }
    let turn =
        turn_of(&reply(&[json!({ "refusal": "I " }), json!({ "refusal": "can't." })], "stop")).await.unwrap();
    assert_eq!((turn.stop, turn.text.as_str()), (Stop::Refusal, "I can't."));
}

#[actix_rt::test]
async fn call_of_a_turn_that_was_stopped_short_is_not_returned() {
    let piece =
        json!([{ "index": 0, "id": "a", "function": { "name": "t", "arguments": "{\"sql\":\"drop" } }]);
    for reason in ["length", "content_filter", "something_new"] {
        let turn = turn_of(&reply(&[json!({ "content": "x" }), calls(&piece)], reason)).await.unwrap();
        assert!(turn.calls.is_empty() && turn.assistant.calls().is_empty(), "{reason}");
    }
}

#[actix_rt::test]
async fn stop_after_calls_means_the_calls() {
    let piece = json!([{ "index": 0, "id": "a", "function": { "name": "t", "arguments": "" } }]);
    let turn = turn_of(&reply(&[calls(&piece)], "stop")).await.unwrap();
    assert_eq!((turn.stop, turn.calls[0].args.clone()), (Stop::ToolUse, Ok(Map::new())));
}

#[actix_rt::test]
async fn servers_that_leave_out_index_or_id_are_understood() {
    let whole = json!([{ "id": "", "function": { "name": "a", "arguments": "{\"n\":1}" } }, { "function": { "name": "b", "arguments": "{\"n\":2}" } }]);
    let turn = turn_of(&reply(&[calls(&whole)], "tool_calls")).await.unwrap();
    let names: Vec<_> =
        turn.calls.iter().map(|call| (call.name.as_str(), call.args.clone().unwrap()["n"].clone())).collect();
    assert_eq!(names, [("a", json!(1)), ("b", json!(2))]);
    assert!(!turn.calls[0].id.is_empty() && turn.calls[0].id != turn.calls[1].id);

    let same_id = json!([{ "index": 0, "id": "x", "function": { "name": "a" } }, { "index": 1, "id": "x", "function": { "name": "b" } }]);
    let turn = turn_of(&reply(&[calls(&same_id)], "tool_calls")).await.unwrap();
    assert_ne!(turn.calls[0].id, turn.calls[1].id);

    let repeated = |piece: &str| {
        calls(&json!([{ "index": 0, "id": "x", "function": { "name": "a", "arguments": piece } }]))
    };
    let turn = turn_of(&reply(&[repeated("{\"n\""), repeated(":1}")], "tool_calls")).await.unwrap();
    assert_eq!((turn.calls.len(), turn.calls[0].name.as_str()), (1, "a"));
    assert_eq!(turn.calls[0].args, Ok(args(json!({ "n": 1 }))));
}

#[actix_rt::test]
async fn what_came_is_sent_back_with_its_results() {
    let piece = json!([
        { "index": 0, "id": "a", "extra_content": { "google": { "thought_signature": "S==" } }, "function": { "name": "t", "arguments": "{\"b\": 1,\n\"a\": 2}" } },
        { "index": 1, "id": "b", "function": { "name": "u", "arguments": "oops" } },
    ]);
    let events = reply(
        &[
            json!({ "reasoning_content": "Hm" }),
            json!({ "reasoning_content": "m." }),
            json!({ "content": "Wait." }),
            calls(&piece),
        ],
        "tool_calls",
    );
    let server = Server::start(vec![Reply::Whole(stream(&events))]).await;
    let client = client(Protocol::OpenAi, &server.base);
    let mut messages = question();
    let turn = turn_with(&client, &messages).await.unwrap();
    assert_eq!(turn.calls[1].args, Err(InvalidArgs::NotJson));
    messages.push(Message::Assistant(turn.assistant));
    messages.push(Message::Results(vec![
        ToolResult { id: "a".into(), text: format!(" {ERROR_MARKER} said a row"), is_error: false },
        ToolResult { id: "b".into(), text: "the arguments are not valid JSON".into(), is_error: true },
    ]));
    turn_with(&client, &messages).await.unwrap();
    assert_eq!(
        server.requests()[1].body["messages"],
        json!([
            { "role": "system", "content": "You answer questions." },
            { "role": "user", "content": "How many tickets are open?" },
            { "role": "assistant", "content": "Wait.", "reasoning_content": "Hmm.", "tool_calls": [
                { "id": "a", "type": "function", "extra_content": { "google": { "thought_signature": "S==" } }, "function": { "name": "t", "arguments": "{\"b\": 1,\n\"a\": 2}" } },
                { "id": "b", "type": "function", "function": { "name": "u", "arguments": "{\"INVALID_JSON\":\"oops\"}" } },
            ] },
            { "role": "tool", "tool_call_id": "a", "content": format!("{RESULT_MARKER}\n {ERROR_MARKER} said a row") },
            { "role": "tool", "tool_call_id": "b", "content": format!("{ERROR_MARKER}\nthe arguments are not valid JSON") },
        ])
    );
}

#[actix_rt::test]
async fn error_in_mid_reply_is_an_error() {
    let begun = REPLY.split_inclusive("\n\n").take(5).collect::<String>();
    let error = "data: {\"error\":{\"message\":\"upstream\",\"type\":\"server_error\",\"code\":502}}\n\n";
    let err = turn_of(&format!("{begun}{error}data: [DONE]\n\n")).await.unwrap_err();
    assert!(matches!(&err, TurnError::Interrupted { kind, .. } if kind == "server_error"), "{err:?}");
}

#[actix_rt::test]
async fn reply_that_breaks_the_protocol_is_malformed() {
    let nameless = calls(&json!([{ "index": 0, "id": "a", "function": { "arguments": "{}" } }]));
    for events in [reply(&[nameless], "tool_calls"), reply(&[], "tool_calls"), "data: {]\n\n".to_owned()] {
        let result = turn_of(&events).await;
        assert!(matches!(result, Err(TurnError::Malformed(_))), "{result:?}");
    }
}
