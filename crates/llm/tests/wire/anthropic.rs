//! Replies of the Messages API.

use ask_llm::{InvalidArgs, Message, Protocol, Stop, ToolResult, TurnError, Usage};
use serde_json::{Value, json};

use crate::{
    server::{Reply, Server, header, stream},
    setup::{client, question, turn, turn_with},
};

/// A reply with thinking, text and two parallel calls, as the API streams it.
pub(crate) const REPLY: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",",
    "\"model\":\"the-model-1\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":12,\"cache_creation_input_tokens\":300,",
    "\"cache_read_input_tokens\":4000,\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n",
    "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"Let me \"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"see \\u00fc/\\/.\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"EqQB/+==\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"I look \"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"it up.\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"warehouse__run_query\",\"input\":{}}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"sql\\\": \\\"sel\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"ect 1\\\"}\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":2}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_2\",\"name\":\"warehouse__list_sources\",\"input\":{}}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":3}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":89}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

/// A reply with the given content block events, and reason to stop.
fn reply(blocks: &[(Value, &[Value])], reason: &str) -> String {
    let mut events = vec![
        json!({ "type": "message_start", "message": { "model": "m", "usage": { "input_tokens": 1, "output_tokens": 1 } } }),
    ];
    for (index, (block, deltas)) in blocks.iter().enumerate() {
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        events.extend(
            deltas
                .iter()
                .map(|delta| json!({ "type": "content_block_delta", "index": index, "delta": delta })),
        );
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 7 } }));
    events.push(json!({ "type": "message_stop" }));
    let lines =
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    lines.collect::<Vec<_>>().concat()
}

fn text(text: &str) -> (Value, Vec<Value>) {
    (json!({ "type": "text", "text": "" }), vec![json!({ "type": "text_delta", "text": text })])
}

fn input(pieces: &[&str]) -> Vec<Value> {
    pieces.iter().map(|piece| json!({ "type": "input_json_delta", "partial_json": piece })).collect()
}

fn call() -> Value {
    json!({ "type": "tool_use", "id": "toolu_9", "name": "t", "input": {} })
}

async fn turn_of(events: &str) -> Result<ask_llm::Turn, TurnError> {
    let server = Server::start(vec![Reply::Whole(stream(events))]).await;
    turn(&client(Protocol::Anthropic, &server.base)).await
}

#[actix_rt::test]
async fn whole_reply_is_read_and_the_connection_used_again() {
    let server = Server::start(vec![Reply::Whole(stream(REPLY))]).await;
    let client = client(Protocol::Anthropic, &server.base);
    for _ in 0..3 {
        let turn = turn(&client).await.unwrap();
        assert_eq!(turn.text, "I look it up.");
        assert_eq!(turn.stop, Stop::ToolUse);
        assert_eq!(turn.model, "the-model-1");
        assert_eq!(turn.usage, Usage { input: 12, output: 89, cache_read: 4000, cache_write: 300 });
        assert_eq!((turn.degraded.len(), turn.attempts), (0, 1));
        let calls: Vec<_> =
            turn.calls.iter().map(|it| (it.id.as_str(), it.name.as_str(), it.args.clone())).collect();
        let sql = json!({ "sql": "select 1" }).as_object().unwrap().clone();
        let none = serde_json::Map::new();
        assert_eq!(
            calls,
            [("toolu_1", "warehouse__run_query", Ok(sql)), ("toolu_2", "warehouse__list_sources", Ok(none))]
        );
    }
    assert_eq!(server.counts().connections, 1);
    let head = &server.requests()[0].head;
    assert!(head.starts_with("post /v1/messages http/1.1"));
    assert_eq!(header(head, "x-api-key"), Some(crate::setup::KEY));
    assert_eq!(header(head, "anthropic-version"), Some("2023-06-01"));
    assert_eq!(header(head, "accept-encoding"), Some("identity"));
    assert_eq!((header(head, "authorization"), header(head, "anthropic-beta")), (None, None));
}

#[actix_rt::test]
async fn reply_cut_at_any_byte_is_an_error() {
    crate::errors::cut_everywhere(Protocol::Anthropic, REPLY).await;
}

#[actix_rt::test]
async fn reply_split_at_any_byte_reads_the_same() {
    crate::errors::split_everywhere(Protocol::Anthropic, REPLY).await;
}

#[actix_rt::test]
async fn thinking_and_unknown_blocks_are_sent_back_as_they_came() {
    let odd = reply(
        &[
            (json!({ "type": "redacted_thinking", "data": "AbC=" }), &[]),
            (
                json!({ "type": "novel", "content": "a", "n": [1, { "z": 1, "a": 2 }] }),
                &[json!({ "type": "novel_delta", "content": "b" })],
            ),
            (json!({ "type": "text", "text": "" }), &[]),
            (call(), &input(&["{\"b\":1,", "\"a\":2}"])),
        ],
        "tool_use",
    );
    let server = Server::start(vec![
        Reply::Whole(stream(REPLY)),
        Reply::Whole(stream(&odd)),
        Reply::Whole(stream(&reply(&[], "end_turn"))),
    ])
    .await;
    let client = client(Protocol::Anthropic, &server.base);
    let mut messages = question();
    for _ in 0..2 {
        let turn = turn_with(&client, &messages).await.unwrap();
        let results = turn.calls.iter().map(|call| ToolResult {
            id: call.id.clone(),
            text: "1".into(),
            is_error: false,
        });
        messages.push(Message::Assistant(turn.assistant.clone()));
        messages.push(Message::Results(results.collect()));
    }
    let last = turn_with(&client, &messages).await.unwrap();
    assert_eq!((last.text.as_str(), last.stop), ("", Stop::End));
    let sent = &server.requests()[2].body["messages"];
    assert_eq!(
        sent[1]["content"],
        json!([
            { "type": "thinking", "thinking": "Let me see ü//.", "signature": "EqQB/+==" },
            { "type": "text", "text": "I look it up." },
            { "type": "tool_use", "id": "toolu_1", "name": "warehouse__run_query", "input": { "sql": "select 1" } },
            { "type": "tool_use", "id": "toolu_2", "name": "warehouse__list_sources", "input": {} },
        ])
    );
    assert_eq!(
        sent[3]["content"],
        json!([
            { "type": "redacted_thinking", "data": "AbC=" },
            { "type": "novel", "content": "ab", "n": [1, { "z": 1, "a": 2 }] },
            { "type": "tool_use", "id": "toolu_9", "name": "t", "input": { "a": 2, "b": 1 } },
        ])
    );
    // An earlier message reads the same, to the byte, each time it is sent.
    assert_eq!(server.requests()[1].body["messages"][1].to_string(), sent[1].to_string());
}

#[actix_rt::test]
async fn unusable_arguments_are_told_and_sent_back_as_an_object() {
    let events = reply(&[(call(), &input(&["{\"sql\": "]))], "tool_use");
    let server = Server::start(vec![Reply::Whole(stream(&events))]).await;
    let client = client(Protocol::Anthropic, &server.base);
    let turn = turn(&client).await.unwrap();
    assert_eq!(turn.calls[0].args, Err(InvalidArgs::NotJson));
    let mut messages = question();
    messages.push(Message::Assistant(turn.assistant));
    messages.push(Message::Results(vec![ToolResult {
        id: "toolu_9".into(),
        text: "not JSON".into(),
        is_error: true,
    }]));
    turn_with(&client, &messages).await.unwrap();
    let sent = &server.requests()[1].body["messages"];
    assert_eq!(sent[1]["content"][0]["input"], json!({ "INVALID_JSON": "{\"sql\": " }));
    assert_eq!(sent[2]["content"][0]["is_error"], json!(true));
}

#[actix_rt::test]
async fn empty_arguments_are_an_empty_object() {
    for pieces in [&[][..], &[""], &["{}"], &["", ""]] {
        let turn = turn_of(&reply(&[(call(), &input(pieces))], "tool_use")).await.unwrap();
        assert_eq!(turn.calls[0].args, Ok(serde_json::Map::new()), "{pieces:?}");
    }
}

#[actix_rt::test]
async fn each_reason_to_stop_is_told_apart() {
    let (block, deltas) = text("so far");
    for (reason, stop) in [
        ("end_turn", Stop::End),
        ("stop_sequence", Stop::End),
        ("max_tokens", Stop::MaxTokens),
        ("model_context_window_exceeded", Stop::ContextFull),
        ("refusal", Stop::Refusal),
        ("pause_turn", Stop::Pause),
        ("something_new", Stop::Unknown),
    ] {
        let turn = turn_of(&reply(&[(block.clone(), &deltas)], reason)).await.unwrap();
        assert_eq!((turn.stop, turn.text.as_str(), turn.usage.output), (stop, "so far", 7));
    }
}

#[actix_rt::test]
async fn call_of_a_turn_that_was_stopped_short_is_not_returned() {
    let (block, deltas) = text("I call");
    for reason in ["max_tokens", "refusal", "model_context_window_exceeded", "something_new"] {
        let turn =
            turn_of(&reply(&[(block.clone(), &deltas), (call(), &input(&["{\"sql\": \"drop"]))], reason))
                .await
                .unwrap();
        assert!(turn.calls.is_empty() && turn.assistant.calls().is_empty(), "{reason}");
        assert_eq!(turn.text, "I call");
    }
}

#[actix_rt::test]
async fn paused_turn_goes_on_from_its_own_message() {
    let server_call = json!({ "type": "server_tool_use", "id": "srvtoolu_1", "name": "s", "input": {} });
    let paused = reply(&[(server_call, &input(&["{\"q\":1}"]))], "pause_turn");
    let (block, deltas) = text("done");
    let server = Server::start(vec![
        Reply::Whole(stream(&paused)),
        Reply::Whole(stream(&reply(&[(block, &deltas)], "end_turn"))),
    ])
    .await;
    let client = client(Protocol::Anthropic, &server.base);
    let mut messages = question();
    let turn = turn_with(&client, &messages).await.unwrap();
    assert_eq!((turn.stop, turn.calls.len()), (Stop::Pause, 0));
    messages.push(Message::Assistant(turn.assistant));
    assert_eq!(turn_with(&client, &messages).await.unwrap().text, "done");
    let sent = &server.requests()[1].body["messages"][1];
    assert_eq!(
        sent,
        &json!({ "role": "assistant", "content": [{ "type": "server_tool_use", "id": "srvtoolu_1", "name": "s", "input": { "q": 1 } }] })
    );
}

#[actix_rt::test]
async fn totals_in_the_last_event_replace_those_of_the_first() {
    let events = reply(&[], "end_turn").replace(
        "\"usage\":{\"output_tokens\":7}",
        "\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":6,\"cache_creation_input_tokens\":null,\"output_tokens\":7}",
    );
    let turn = turn_of(&events).await.unwrap();
    assert_eq!(turn.usage, Usage { input: 5, output: 7, cache_read: 6, cache_write: 0 });
}

#[actix_rt::test]
async fn error_in_mid_reply_is_an_error() {
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded sk-canary-0123456789\"}}\n\n";
    let begun = REPLY.split_inclusive("\n\n").take(9).collect::<String>();
    let err = turn_of(&format!("{begun}{error}")).await.unwrap_err();
    assert!(err.is_worth_retrying());
    let TurnError::Interrupted { kind, detail } = &err else { panic!("{err:?}") };
    assert_eq!((kind.as_str(), detail.expose()), ("overloaded_error", "Overloaded [key]"));
    assert!(!format!("{err} {err:?}").contains("Overloaded "));
}

#[actix_rt::test]
async fn reply_that_breaks_the_protocol_is_malformed() {
    let whole = reply(&[(call(), &input(&["{}"]))], "tool_use");
    // By event, since the order of members in one depends on how the JSON library was built.
    let each =
        |change: &dyn Fn(&str) -> String| -> String { whole.split_inclusive("\n\n").map(change).collect() };
    let broken = [
        whole.replace("\"stop_reason\":\"tool_use\"", "\"stop_reason\":null"),
        each(&|event| {
            if event.starts_with("event: content_block_stop") { String::new() } else { event.to_owned() }
        }),
        whole.replace("event: content_block_start", "data: {]\n\nevent: content_block_start"),
        each(&|event| {
            let is_delta = event.starts_with("event: content_block_delta");
            if is_delta { event.replace("\"index\":0", "\"index\":3") } else { event.to_owned() }
        }),
        whole.replace("\"id\":\"toolu_9\",", ""),
        reply(&[], "tool_use"),
        "data: {\"type\":\"message_stop\"}\n\n".to_owned(),
        "data: 1\n\n".to_owned(),
    ];
    for events in broken {
        assert_ne!(events, whole);
        let result = turn_of(&events).await;
        assert!(matches!(result, Err(TurnError::Malformed(_))), "{result:?} {events}");
    }
}
