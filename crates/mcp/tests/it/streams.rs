//! Replies that come as events: interleaved, broken, resumed, endless.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use ask_mcp::{CallError, CallResult, Version};
use serde_json::json;

use crate::peer::{
    Peer, Reply, SSE_END, SSE_HEAD, Seen, Step, chunk, client, event, new, no_args, old, response, result,
    sse, text_result, write,
};

const OLD: Version = Version::V2025_11_25;

async fn call(peer: &Peer) -> Result<CallResult, CallError> {
    peer.session().await.call("t", &no_args()).await
}

/// An event stream that is left without its response.
fn broken(text: &str, last: Step) -> Reply {
    vec![write(SSE_HEAD), Step::Write(chunk(text)), Step::Pause(Duration::from_millis(20)), last]
}

#[actix_rt::test]
async fn the_response_is_found_among_notifications_and_comments() {
    for version in Version::ALL {
        let reply = |r: &Seen| {
            let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": r.id(), "progress": 1}});
            let response = event(&result(r, &text_result("x")));
            sse(&format!(": hello\n\nevent: ping\ndata: not json\n\n{}data:\n\n{response}", event(&progress)))
        };
        let peer = if version == Version::V2026_07_28 {
            Peer::start(new(reply)).await
        } else {
            Peer::start(old(version, Some("s"), reply)).await
        };
        let done = call(&peer).await;
        assert!(done.is_ok(), "{version}: {done:?}");
    }
}

#[actix_rt::test]
async fn pings_are_answered_and_other_requests_of_the_server_refused() {
    let peer = Peer::start(old(OLD, Some("s-1"), |r| match r.method() {
        "tools/call" => {
            let ping = event(&json!({"jsonrpc": "2.0", "id": "p\"1", "method": "ping"}));
            let ask = json!({"jsonrpc": "2.0", "id": 2, "method": "sampling/createMessage",
                "params": {}});
            let response = event(&result(r, &text_result("x")));
            sse(&format!("{ping}{}{response}", event(&ask)))
        }
        _ => response(202, "", ""),
    }))
    .await;
    call(&peer).await.unwrap();
    let answers = peer.seen().split_off(4);
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0].body, json!({"jsonrpc": "2.0", "id": "p\"1", "result": {}}));
    assert_eq!(answers[1].body["id"], 2);
    assert_eq!(answers[1].body["error"]["code"], -32601);
    for answer in answers {
        assert_eq!(answer.header("mcp-session-id"), Some("s-1"));
    }
}

#[actix_rt::test]
async fn requests_of_the_server_are_ignored_where_there_are_none() {
    let peer = Peer::start(new(|r| {
        let ping = event(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
        sse(&format!("{ping}{}", event(&result(r, &text_result("x")))))
    }))
    .await;
    call(&peer).await.unwrap();
    assert_eq!(peer.methods(), ["server/discover", "tools/call"]);
}

#[actix_rt::test]
async fn a_flood_of_pings_is_answered_a_few_times_only() {
    let peer = Peer::start(old(OLD, None, |r| match r.method() {
        "tools/call" => {
            let ping = event(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
            let response = event(&result(r, &text_result("x")));
            sse(&format!("{}{response}", ping.repeat(500)))
        }
        _ => response(202, "", ""),
    }))
    .await;
    call(&peer).await.unwrap();
    assert_eq!(peer.seen().len(), 4 + 16);
}

#[actix_rt::test]
async fn a_broken_stream_is_taken_up_where_it_broke() {
    for version in [OLD, Version::V2025_06_18, Version::V2025_03_26] {
        for last in [|| Step::Close, || Step::Reset, || write(SSE_END)] {
            let asked = Cell::new(None);
            let peer = Peer::start(old(version, Some("s-1"), move |r| {
                if r.method() == "tools/call" {
                    asked.set(Some(r.clone()));
                    broken("id: e1\nretry: 5\ndata:\n\n", last())
                } else {
                    let asked = asked.take().unwrap();
                    sse(&event(&result(&asked, &text_result("resumed"))))
                }
            }))
            .await;
            let done = call(&peer).await;
            assert!(done.is_ok(), "{version}: {done:?}");
            let resume = peer.seen().pop().unwrap();
            assert_eq!(resume.verb, "GET");
            assert_eq!(resume.header("last-event-id"), Some("e1"));
            assert_eq!(resume.header("mcp-session-id"), Some("s-1"));
            assert_eq!(resume.header("mcp-protocol-version"), Some(version.as_str()));
            assert_eq!(peer.count("tools/call"), 1);
        }
    }
}

#[actix_rt::test]
async fn the_newest_version_never_resumes() {
    let peer = Peer::start(new(|_| broken("id: e1\nretry: 0\ndata:\n\n", Step::Close))).await;
    assert!(matches!(call(&peer).await, Err(CallError::Incomplete)));
    assert_eq!(peer.count("GET"), 0);
    assert_eq!(peer.count("tools/call"), 1);
}

#[actix_rt::test]
async fn a_server_that_closes_at_once_for_ever_draws_few_reconnects() {
    let peer = Peer::start(old(OLD, Some("s"), |_| sse("id: e1\nretry: 0\ndata:\n\n"))).await;
    let mut config = peer.config();
    config.limits.min_retry = Duration::from_millis(60);
    let session = peer.session_with(&config).await;
    let started = Instant::now();
    let failed = session.call("t", &no_args()).await;
    assert!(matches!(failed, Err(CallError::Incomplete)), "{failed:?}");
    assert_eq!(peer.count("GET"), 3);
    assert!(started.elapsed() >= Duration::from_millis(180));
    assert!(started.elapsed() < Duration::from_secs(3));
}

#[actix_rt::test]
async fn a_long_retry_ends_at_the_limit_of_the_call() {
    let peer = Peer::start(old(OLD, None, |_| sse("id: e\nretry: 99999999999\ndata:\n\n"))).await;
    let mut config = peer.config();
    config.limits.call = Duration::from_millis(150);
    let session = peer.session_with(&config).await;
    let failed = session.call("t", &no_args()).await;
    assert!(matches!(failed, Err(CallError::TimedOut { .. })));
}

#[actix_rt::test]
async fn a_stream_without_an_id_cannot_be_resumed() {
    let peer = Peer::start(old(OLD, Some("s"), |_| sse(": nothing\n\n"))).await;
    assert!(matches!(call(&peer).await, Err(CallError::Incomplete)));
    assert_eq!(peer.count("GET"), 0);
}

#[actix_rt::test]
async fn a_refused_resumption_ends_the_call_and_never_repeats_it() {
    for (status, is_lost) in [(404, true), (405, false), (400, false)] {
        let peer = Peer::start(old(OLD, Some("s"), move |r| match r.method() {
            "GET" => response(status, "", ""),
            _ => sse("id: e1\ndata:\n\n"),
        }))
        .await;
        match call(&peer).await {
            Err(CallError::SessionLost) => assert!(is_lost),
            Err(CallError::Incomplete) => assert!(!is_lost),
            other => panic!("{other:?}"),
        }
        assert_eq!(peer.count("tools/call"), 1);
        assert_eq!(peer.count("initialize"), 1);
    }
}

#[actix_rt::test]
async fn a_resumption_that_fails_for_now_is_tried_again() {
    let asked = Cell::new(None);
    let tries = Cell::new(0);
    let peer = Peer::start(old(OLD, Some("s"), move |r| {
        if r.method() == "GET" {
            tries.set(tries.get() + 1);
            match tries.get() {
                1 => response(503, "", ""),
                2 => vec![Step::Reset],
                _ => sse(&event(&result(&asked.take().unwrap(), &text_result("x")))),
            }
        } else {
            asked.set(Some(r.clone()));
            sse("id: e1\ndata:\n\n")
        }
    }))
    .await;
    assert!(call(&peer).await.is_ok());
    assert_eq!(peer.count("GET"), 3);
}

#[actix_rt::test]
async fn half_an_event_is_no_event() {
    let peer = Peer::start(new(|r| {
        let whole = event(&result(r, &text_result("x")));
        broken(whole.trim_end(), Step::Close)
    }))
    .await;
    assert!(matches!(call(&peer).await, Err(CallError::Incomplete)));
}

#[actix_rt::test]
async fn a_message_that_is_no_json_ends_the_call() {
    let peer = Peer::start(new(|_| sse("data: {\"jsonrpc\":\n\n"))).await;
    assert!(matches!(call(&peer).await, Err(CallError::Malformed { .. })));
}

#[actix_rt::test]
async fn an_endless_stream_ends_at_the_limit_of_bytes() {
    for piece in [": x\n\n", "data: x", "event: y\ndata: z\n\n"] {
        let peer =
            Peer::start(new(move |_| vec![write(SSE_HEAD), Step::Flood(chunk(&piece.repeat(1000)))])).await;
        let failed = call(&peer).await;
        assert!(matches!(failed, Err(CallError::TooLarge { .. })), "{failed:?}");
        peer.until("the connection is closed", |p| p.closed_by_client() == 1).await;
    }
}

#[actix_rt::test]
async fn the_limit_of_bytes_counts_over_all_reconnects() {
    let peer = Peer::start(old(OLD, None, |_| {
        sse(&format!("id: e1\nretry: 0\ndata:\n\n: {}\n\n", "x".repeat(400_000)))
    }))
    .await;
    assert!(matches!(call(&peer).await, Err(CallError::TooLarge { .. })));
}

#[actix_rt::test]
async fn silence_ends_at_the_limit_of_time() {
    let silent: [fn(&Seen) -> Reply; 3] = [
        |_| vec![Step::AwaitClose],
        |_| vec![write(SSE_HEAD), Step::AwaitClose],
        |_| {
            let drip = || [Step::Write(chunk(": x\n\n")), Step::Pause(Duration::from_millis(20))];
            let mut steps = vec![write(SSE_HEAD)];
            steps.extend((0..200).flat_map(|_| drip()));
            steps
        },
    ];
    for reply in silent {
        let peer = Peer::start(new(reply)).await;
        let mut config = peer.config();
        config.limits.call = Duration::from_millis(150);
        let session = peer.session_with(&config).await;
        let started = Instant::now();
        let failed = session.call("t", &no_args()).await;
        assert!(matches!(failed, Err(CallError::TimedOut { .. })), "{failed:?}");
        assert!(started.elapsed() < Duration::from_secs(1));
        peer.until("the connection is closed", |p| p.closed_by_client() == 1).await;
    }
}

#[actix_rt::test]
async fn dropping_a_call_closes_its_connection_and_leaves_the_session_usable() {
    for version in [OLD, Version::V2026_07_28] {
        let calls = Cell::new(0);
        let reply = move |r: &Seen| {
            calls.set(calls.get() + 1);
            match calls.get() {
                1 => vec![write(SSE_HEAD), Step::AwaitClose],
                2 => vec![Step::AwaitClose],
                _ => sse(&event(&result(r, &text_result("x")))),
            }
        };
        let peer = match version {
            Version::V2026_07_28 => Peer::start(new(reply)).await,
            Version::V2025_11_25 | Version::V2025_06_18 | Version::V2025_03_26 => {
                Peer::start(old(version, Some("s"), reply)).await
            }
        };
        let session = peer.session().await;
        for n in 1..=2 {
            let started = {
                let args = no_args();
                tokio::select! {
                    done = session.call("t", &args) => panic!("{done:?}"),
                    () = peer.until("the call arrived", |p| p.count("tools/call") == n) => {}
                }
                Instant::now()
            };
            peer.until("the call's connection is closed", |p| p.closed_by_client() == n).await;
            assert!(started.elapsed() < Duration::from_millis(500));
        }
        session.call("t", &no_args()).await.unwrap();
        // No half state: nothing but the calls themselves was sent.
        assert_eq!(peer.count("tools/call"), 3);
        assert_eq!(peer.count("notifications/cancelled"), 0);
    }
}

#[actix_rt::test]
async fn connections_are_used_again_after_both_kinds_of_reply() {
    let peer = Peer::start(new(|r| {
        let reply = result(r, &text_result("x"));
        if r.id().as_u64().unwrap() % 2 == 0 {
            crate::peer::json_reply(&reply)
        } else {
            // The end of the stream comes later than the response.
            vec![
                write(SSE_HEAD),
                Step::Write(chunk(&event(&reply))),
                Step::Pause(Duration::from_millis(2)),
                write(SSE_END),
            ]
        }
    }))
    .await;
    let session = client().connect(&peer.config(), None, None).await.unwrap();
    for _ in 0..40 {
        session.call("t", &no_args()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(4)).await;
    }
    assert!(peer.connections() <= 3, "{} connections", peer.connections());
}
