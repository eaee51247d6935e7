//! The service's own client, end to end.

use std::{sync::Arc, time::Duration};

use ask_devstack::model::{Figures, Hang, Options, Scripted};
use ask_llm::{Client, Limit, Message, Protocol, Stop, ToolResult, TurnError, Usage};
use serde_json::{Map, json};
use tokio::time::Instant;

use crate::setup::{BOTH, Parrot, client, endpoint, start, turn, user};

#[actix_rt::test]
async fn dialogue_with_parallel_calls_comes_through_in_both_protocols() {
    let handle = start(Some(Arc::new(Parrot)), Options::default());
    for protocol in BOTH {
        let client = client(protocol, &handle, protocol.name());
        let mut messages = vec![user(&["<grounding>", "What is it?"])];
        let first = turn(&client, &messages).await.unwrap();
        assert_eq!((first.text.as_str(), first.stop), ("I look it up, ü \u{1f426}.", Stop::ToolUse));
        assert_eq!(first.model, "parrot (no language model)");
        let sql = json!({ "sql": "select \"ü\"\n-- \u{1f426}", "maxRows": 5 }).as_object().unwrap().clone();
        assert_eq!(first.calls[0].args, Ok(Map::new()));
        assert_eq!((first.calls[1].name.as_str(), &first.calls[1].args), ("warehouse__run_query", &Ok(sql)));

        messages.push(Message::Assistant(first.assistant.clone()));
        let result = |at: usize, text: &str, is_error| ToolResult {
            id: first.calls[at].id.clone(),
            text: text.into(),
            is_error,
        };
        messages.push(Message::Results(vec![
            result(0, "{\"sources\":[]}", false),
            result(1, "no such column", true),
        ]));
        let second = turn(&client, &messages).await.unwrap();
        assert_eq!(second.stop, Stop::End);
        for told in [
            "model: \"some-model\"",
            "system: \"You answer questions about data, and nothing else.\"",
            "User([\"<grounding>\", \"What is it?\"])",
            "name: \"conclude\"",
            "text: \"{\\\"sources\\\":[]}\", is_error: false",
            "text: \"no such column\", is_error: true",
        ] {
            assert!(second.text.contains(told), "{told} is not in {}", second.text);
        }
        assert_eq!(second.text.contains("effort: Some(\"medium\")"), protocol == Protocol::Anthropic);
    }
}

#[actix_rt::test]
async fn usage_shows_what_the_cache_would_do() {
    let handle = start(Some(Arc::new(Parrot)), Options::default());
    for protocol in BOTH {
        let client = client(protocol, &handle, protocol.name());
        let mut messages = vec![user(&["What is it?"])];
        let first = turn(&client, &messages).await.unwrap();
        let whole = |usage: Usage| usage.input + usage.cache_read + usage.cache_write;
        assert!(first.usage.cache_read == 0 && first.usage.output > 10);
        messages.push(Message::Assistant(first.assistant.clone()));
        let results = first.calls.iter().map(|call| ToolResult {
            id: call.id.clone(),
            text: "1".into(),
            is_error: false,
        });
        messages.push(Message::Results(results.collect()));
        let second = turn(&client, &messages).await.unwrap();
        // All of the first prompt is read again, and only what is new is paid for.
        assert!(
            second.usage.cache_read.abs_diff(whole(first.usage)) <= 1,
            "{:?} {:?}",
            first.usage,
            second.usage
        );
        assert_eq!(first.usage.cache_write > 0, protocol == Protocol::Anthropic);
    }
}

#[actix_rt::test]
async fn scripted_replies_are_given_in_order_and_then_the_fixed_one() {
    let handle = start(None, Options { text: "fixed".to_owned(), ..Options::default() });
    for protocol in BOTH {
        let session = protocol.name();
        let call = Scripted::call("conclude", json!({ "kind": "answer" }))
            .and_call("warehouse__list_sources", json!({}));
        let usage = Figures { input: 1, output: 2, cache_read: 3, cache_write: 0 };
        let second = Scripted { model: Some("m2".to_owned()), usage: Some(usage), ..Scripted::text("two") };
        handle.script(session, vec![call, second]);
        let client = client(protocol, &handle, session);
        let first = turn(&client, &[user(&["q"])]).await.unwrap();
        assert_eq!((first.calls.len(), first.calls[0].name.as_str()), (2, "conclude"));
        let second = turn(&client, &[user(&["q"])]).await.unwrap();
        assert_eq!((second.text.as_str(), second.model.as_str()), ("two", "m2"));
        assert_eq!(second.usage, Usage { input: 1, output: 2, cache_read: 3, cache_write: 0 });
        let third = turn(&client, &[user(&["q"])]).await.unwrap();
        assert_eq!((third.text.as_str(), third.model.as_str()), ("fixed", "stub:some-model"));
    }
}

#[actix_rt::test]
async fn each_scripted_fault_is_what_the_client_takes_it_for() {
    let handle = start(None, Options::default());
    for protocol in BOTH {
        let fails = async |scripted: Scripted| {
            handle.script(protocol.name(), vec![scripted]);
            let mut endpoint = endpoint(protocol, &handle, protocol.name());
            endpoint.limits.max_attempts = 1;
            endpoint.limits.first_byte = Duration::from_millis(150);
            endpoint.limits.idle = Duration::from_millis(150);
            endpoint.limits.max_response_bytes = 20_000;
            turn(&Client::new(endpoint).unwrap(), &[user(&["q"])]).await.unwrap_err()
        };
        let long = || Scripted::text("word ".repeat(50));
        assert!(
            matches!(fails(Scripted::status(429)).await, TurnError::Overloaded { rejection, .. } if rejection.kind == "rate_limit_error")
        );
        assert!(
            matches!(fails(Scripted::status(529)).await, TurnError::Overloaded { rejection, .. } if rejection.kind == "overloaded_error")
        );
        assert!(
            matches!(fails(Scripted::status(500)).await, TurnError::Failed { rejection, .. } if rejection.kind == "api_error")
        );
        assert!(
            matches!(fails(Scripted::status(403)).await, TurnError::Rejected(rejection) if rejection.status == 403)
        );
        assert_eq!(fails(Scripted::hang(Hang::Head)).await, TurnError::TimedOut(Limit::FirstByte));
        assert_eq!(fails(Scripted::hang(Hang::Body)).await, TurnError::TimedOut(Limit::FirstByte));
        assert_eq!(
            fails(Scripted { hang: Some(Hang::Reply), ..long() }).await,
            TurnError::TimedOut(Limit::Idle)
        );
        assert_eq!(
            fails(Scripted { delay_first_byte_ms: 5000, ..long() }).await,
            TurnError::TimedOut(Limit::FirstByte)
        );
        assert_eq!(
            fails(Scripted { delay_chunk_ms: 5000, ..long() }).await,
            TurnError::TimedOut(Limit::Idle)
        );
        assert_eq!(fails(Scripted { cut_after_bytes: Some(700), ..long() }).await, TurnError::Truncated);
        assert_eq!(
            fails(Scripted { raw: Some("data: {\"type\":\"ping\"}\n\n".to_owned()), ..Scripted::default() })
                .await,
            TurnError::Truncated
        );
        assert_eq!(
            fails(Scripted { endless: true, delay_chunk_ms: 1, ..Scripted::default() }).await,
            TurnError::TooLarge
        );
        let kind = "overloaded_error".to_owned();
        let broken = fails(Scripted { error: Some(kind.clone()), error_after: Some(4), ..long() }).await;
        assert!(matches!(broken, TurnError::Interrupted { kind: told, .. } if told == kind));
    }
}

#[actix_rt::test]
async fn reasons_to_stop_are_put_into_either_protocol() {
    let handle = start(None, Options::default());
    for (protocol, refused) in [(Protocol::Anthropic, Stop::Refusal), (Protocol::OpenAi, Stop::ContentFilter)]
    {
        for (word, stop) in [("end_turn", Stop::End), ("max_tokens", Stop::MaxTokens), ("refusal", refused)] {
            handle.script(
                protocol.name(),
                vec![Scripted { stop: Some(word.to_owned()), ..Scripted::text("x") }],
            );
            let turn = turn(&client(protocol, &handle, protocol.name()), &[user(&["q"])]).await.unwrap();
            assert_eq!(turn.stop, stop);
        }
    }
}

#[actix_rt::test]
async fn client_comes_back_after_a_busy_answer() {
    let handle = start(None, Options::default());
    for protocol in BOTH {
        let busy = Scripted::status(429).header("retry-after-ms", "5");
        handle.script(protocol.name(), vec![busy, Scripted::status(529), Scripted::text("at last")]);
        let turn = turn(&client(protocol, &handle, protocol.name()), &[user(&["q"])]).await.unwrap();
        assert_eq!((turn.text.as_str(), turn.attempts), ("at last", 3));
        assert_eq!(handle.state(protocol.name()).received, 3);
    }
}

#[actix_rt::test]
async fn dropped_turn_is_seen_at_once_wherever_it_is() {
    let handle = start(None, Options::default());
    for protocol in BOTH {
        for (at, scripted) in [
            Scripted::hang(Hang::Head),
            Scripted::hang(Hang::Body),
            Scripted { hang: Some(Hang::Reply), ..Scripted::text("word ".repeat(50)) },
            Scripted { endless: true, ..Scripted::default() },
            Scripted { delay_first_byte_ms: 60_000, ..Scripted::default() },
        ]
        .into_iter()
        .enumerate()
        {
            let session = format!("{}{at}", protocol.name());
            handle.script(&session, vec![scripted]);
            let client = client(protocol, &handle, &session);
            let messages = [user(&["q"])];
            tokio::select! {
                result = turn(&client, &messages) => panic!("{result:?}"),
                _ = handle.until(&session, |state| state.in_flight == 1 && state.script_left == 0) => {}
            }
            let dropped = Instant::now();
            handle.until(&session, |state| state.in_flight == 0 && state.closed_early == 1).await;
            assert!(dropped.elapsed() < Duration::from_millis(500), "{:?}", dropped.elapsed());
        }
    }
}

#[actix_rt::test]
async fn each_reply_of_a_stand_in_takes_as_long_as_was_set() {
    let delay = Duration::from_millis(120);
    let handle = start(Some(Arc::new(Parrot)), Options { turn_delay: delay, ..Options::default() });
    for protocol in BOTH {
        let begun = Instant::now();
        turn(&client(protocol, &handle, "slow"), &[user(&["q"])]).await.unwrap();
        assert!(begun.elapsed() >= delay);
    }
    handle.set_turn_delay("quick", Duration::ZERO);
    let begun = Instant::now();
    turn(&client(Protocol::Anthropic, &handle, "quick"), &[user(&["q"])]).await.unwrap();
    assert!(begun.elapsed() < delay);
}

#[actix_rt::test]
async fn load_form_emits_what_it_says() {
    let handle = start(None, Options { turn_delay: Duration::from_secs(60), ..Options::default() });
    for protocol in BOTH {
        let client = client(protocol, &handle, "load");
        let all = turn(&client, &[user(&["<grounding>", "bench n=40 size=500"])]).await.unwrap();
        assert_eq!(all.calls.len(), 40);
        let size = serde_json::to_string(all.calls[0].args.as_ref().unwrap()).unwrap().len();
        assert_eq!((all.calls[0].name.as_str(), size), ("warehouse__list_sources", 500));

        let mut messages = vec![user(&["bench n=3 size=100 hz=20 lead=60"])];
        let begun = Instant::now();
        let mut stamps = Vec::new();
        loop {
            let next = turn(&client, &messages).await.unwrap();
            let Some(call) = next.calls.first() else { break };
            stamps.push(call.args.as_ref().unwrap()["bt"].as_i64().unwrap());
            messages.push(Message::Assistant(next.assistant.clone()));
            messages.push(Message::Results(vec![ToolResult {
                id: call.id.clone(),
                text: "{}".into(),
                is_error: false,
            }]));
        }
        assert_eq!(stamps.len(), 3);
        assert!(stamps.windows(2).all(|pair| pair[1] - pair[0] >= 30_000_000), "{stamps:?}");
        assert!(begun.elapsed() >= Duration::from_millis(160));

        let begun = Instant::now();
        let held = turn(&client, &[user(&["bench hold=0.2"])]).await.unwrap();
        assert!(held.calls.is_empty() && begun.elapsed() >= Duration::from_millis(200));
    }
}
