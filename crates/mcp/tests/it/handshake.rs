//! How a session begins, with servers of every version and with servers that cannot decide.

use std::time::{Duration, Instant};

use ask_mcp::{CallError, ConnectError, Content, Version};
use serde_json::{Value, json};

use crate::peer::{
    Peer, Reply, Seen, Step, client, json_reply, new, no_args, old, response, result, rpc_error, sse,
    text_result,
};

fn echo(request: &Seen) -> Reply {
    json_reply(&result(request, &text_result("x")))
}

#[actix_rt::test]
async fn the_newest_version_needs_no_session_and_describes_itself_in_each_request() {
    let peer = Peer::start(new(echo)).await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let session = client().connect(&peer.config(), None, Some(trace)).await.unwrap();
    assert_eq!(session.protocol_version(), "2026-07-28");
    session.call("run_query", &no_args()).await.unwrap();
    session.close().await;

    assert_eq!(peer.methods(), ["server/discover", "tools/call"]);
    for request in peer.seen() {
        assert_eq!(request.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(request.header("mcp-method"), Some(request.method()));
        assert_eq!(request.header("mcp-session-id"), None);
        assert_eq!(request.header("traceparent"), Some(trace));
        assert_eq!(request.header("accept"), Some("application/json, text/event-stream"));
        let meta = &request.body["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert!(meta["io.modelcontextprotocol/clientInfo"]["name"].is_string());
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
        assert_eq!(meta["traceparent"], trace);
    }
    let call = &peer.seen()[1];
    assert_eq!(call.header("mcp-name"), Some("run_query"));
}

#[actix_rt::test]
async fn a_call_within_another_span_carries_that_one() {
    let peer = Peer::start(new(echo)).await;
    let whole = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let own = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    let session = client().connect(&peer.config(), None, Some(whole)).await.unwrap();
    session.call_within("run_query", &no_args(), Some(own)).await.unwrap();
    session.call_within("run_query", &no_args(), None).await.unwrap();
    let sent: Vec<_> =
        peer.seen().iter().map(|request| request.header("traceparent").unwrap().to_owned()).collect();
    assert_eq!(sent, [whole, own, whole]);
    let meta: Vec<_> =
        peer.seen().iter().map(|it| it.body["params"]["_meta"]["traceparent"].clone()).collect();
    assert_eq!(meta, [whole, own, whole]);
}

#[actix_rt::test]
async fn older_versions_initialize_and_echo_session_and_version() {
    for version in [Version::V2025_11_25, Version::V2025_06_18, Version::V2025_03_26] {
        let peer = Peer::start(old(version, Some("s-1"), echo)).await;
        let session = peer.session().await;
        assert_eq!(session.version(), version);
        session.call("t", &no_args()).await.unwrap();
        session.close().await;

        let seen = peer.seen();
        assert_eq!(
            peer.methods(),
            ["server/discover", "initialize", "notifications/initialized", "tools/call", "DELETE"]
        );
        let initialize = &seen[1];
        assert_eq!(initialize.body["params"]["protocolVersion"], "2025-11-25");
        assert_eq!(initialize.header("mcp-session-id"), None);
        for request in &seen[2..] {
            assert_eq!(request.header("mcp-session-id"), Some("s-1"));
            assert_eq!(request.header("mcp-protocol-version"), Some(version.as_str()));
            assert_eq!(request.header("mcp-method"), None);
            assert_eq!(request.body["params"]["_meta"], Value::Null);
        }
    }
}

#[actix_rt::test]
async fn a_server_without_sessions_is_sent_no_session_and_no_delete() {
    let peer = Peer::start(old(Version::V2025_06_18, None, echo)).await;
    let session = peer.session().await;
    session.call("t", &no_args()).await.unwrap();
    session.close().await;
    assert_eq!(peer.count("DELETE"), 0);
    assert!(peer.seen().iter().all(|r| r.header("mcp-session-id").is_none()));
}

#[actix_rt::test]
async fn every_way_of_not_knowing_discovery_leads_to_initialize() {
    let refusals: [fn(&Seen) -> Reply; 9] = [
        |_| response(400, "", ""),
        |_| response(404, "content-type: text/html\r\n", "<h1>?</h1>"),
        |_| response(405, "", ""),
        |_| response(422, "", "Unexpected message"),
        |r| json_reply(&rpc_error(r, -32601, &Value::Null)),
        |r| sse(&crate::peer::event(&rpc_error(r, -32600, &Value::Null))),
        |_| {
            let body = r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":""}}"#;
            response(400, "content-type: application/json\r\n", body)
        },
        |r| json_reply(&result(r, &json!({}))),
        |_| response(202, "", ""),
    ];
    for refuse in refusals {
        let after = old(Version::V2025_11_25, Some("s"), echo);
        let peer = Peer::start(move |request| match request.method() {
            "server/discover" => refuse(request),
            _ => after(request),
        })
        .await;
        assert_eq!(peer.session().await.version(), Version::V2025_11_25);
    }
}

#[actix_rt::test]
async fn a_server_that_is_silent_on_discovery_is_initialized_soon() {
    let after = old(Version::V2025_03_26, None, echo);
    let peer = Peer::start(move |request| match request.method() {
        "server/discover" => vec![Step::AwaitClose],
        _ => after(request),
    })
    .await;
    let started = Instant::now();
    assert_eq!(peer.session().await.version(), Version::V2025_03_26);
    assert!(started.elapsed() < Duration::from_secs(2));
}

/// A server of 2026-07-28 alone that answers the probe too late, and knows no `initialize`.
async fn busy_server() -> Peer {
    let after = new(|request| match request.method() {
        "initialize" => json_reply(&rpc_error(request, -32601, &json!(null))),
        _ => json_reply(&result(request, &text_result("done"))),
    });
    Peer::start(move |request| match request.method() {
        "server/discover" => {
            let mut late = vec![Step::Pause(Duration::from_millis(300))];
            late.extend(after(request));
            late
        }
        _ => after(request),
    })
    .await
}

#[actix_rt::test]
async fn a_busy_server_is_not_taken_for_an_old_one() {
    let peer = busy_server().await;
    let session = peer.session().await;
    assert_eq!(session.version(), Version::V2026_07_28);
    assert_eq!(peer.methods(), ["server/discover", "initialize"]);
    let done = session.call("t", &no_args()).await.unwrap();
    assert_eq!(done.content, [Content::Text("done".to_owned())]);
}

#[actix_rt::test]
async fn a_busy_server_is_asked_the_newest_first_again() {
    let peer = busy_server().await;
    let client = client();
    for _ in 0..2 {
        client.connect(&peer.config(), None, None).await.unwrap();
    }
    assert_eq!(peer.count("server/discover"), 2);
}

#[actix_rt::test]
async fn a_caller_who_is_turned_away_by_a_silent_server_hears_of_it_at_once() {
    let peer = Peer::start(|request| match request.method() {
        "server/discover" => vec![Step::AwaitClose],
        _ => response(401, "", ""),
    })
    .await;
    let started = Instant::now();
    let refused = client().connect(&peer.config(), None, None).await;
    assert!(
        matches!(refused, Err(ConnectError::Failed(CallError::Status { status: 401, .. }))),
        "{refused:?}"
    );
    assert!(started.elapsed() < Duration::from_millis(350), "{:?}", started.elapsed());
}

#[actix_rt::test]
async fn statuses_about_the_caller_or_the_servers_health_end_the_handshake() {
    for status in [401, 403, 429, 500, 502, 503] {
        let peer = Peer::start(move |_| response(status, "retry-after: 7\r\n", "")).await;
        let refused = client().connect(&peer.config(), None, None).await;
        let Err(ConnectError::Failed(CallError::Status { status: seen, retry_after })) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(seen, status);
        assert_eq!(retry_after, Some(Duration::from_secs(7)));
        assert_eq!(peer.methods(), ["server/discover"]);
    }
}

#[actix_rt::test]
async fn a_server_that_names_its_versions_is_offered_the_newest_common_one() {
    let after = old(Version::V2025_06_18, None, echo);
    let peer = Peer::start(move |request| match request.method() {
        "server/discover" => {
            let supported = json!({"supported": ["2024-11-05", "2025-06-18", "2025-03-26"]});
            let body = rpc_error(request, -32022, &supported).to_string();
            response(400, "content-type: application/json\r\n", &body)
        }
        _ => after(request),
    })
    .await;
    assert_eq!(peer.session().await.version(), Version::V2025_06_18);
    let offered = &peer.seen()[1].body["params"]["protocolVersion"];
    assert_eq!(offered, "2025-06-18");
}

#[actix_rt::test]
async fn an_initialize_that_is_refused_for_its_version_is_put_once_more() {
    let after = old(Version::V2025_03_26, None, echo);
    let peer = Peer::start(move |request| {
        let offered = request.body["params"]["protocolVersion"].as_str();
        if request.method() == "initialize" && offered != Some("2025-03-26") {
            let supported = json!({"supported": ["2025-03-26"], "requested": offered});
            return json_reply(&rpc_error(request, -32602, &supported));
        }
        after(request)
    })
    .await;
    assert_eq!(peer.session().await.version(), Version::V2025_03_26);
}

#[actix_rt::test]
async fn versions_that_are_not_spoken_here_are_refused() {
    let answers: [fn(&Seen) -> Reply; 3] = [
        |r| match r.method() {
            "server/discover" => response(400, "", ""),
            _ => json_reply(&result(r, &json!({"protocolVersion": "2024-11-05"}))),
        },
        |r| json_reply(&result(r, &json!({"supportedVersions": ["2031-01-01"]}))),
        |r| json_reply(&rpc_error(r, -32022, &json!({"supported": ["1999-01-01"]}))),
    ];
    for answer in answers {
        let peer = Peer::start(answer).await;
        let refused = client().connect(&peer.config(), None, None).await;
        assert!(matches!(refused, Err(ConnectError::UnsupportedVersion { .. })), "{refused:?}");
    }
}

#[actix_rt::test]
async fn a_fixed_version_is_the_only_one_that_is_spoken() {
    let peer = Peer::start(old(Version::V2025_06_18, None, echo)).await;
    let mut config = peer.config();
    config.version = Some(Version::V2025_06_18);
    peer.session_with(&config).await;
    assert_eq!(peer.methods(), ["initialize", "notifications/initialized"]);
    for other in [Version::V2025_11_25, Version::V2026_07_28] {
        config.version = Some(other);
        let refused = client().connect(&config, None, None).await;
        assert!(matches!(refused, Err(ConnectError::UnsupportedVersion { .. })));
    }
}

#[actix_rt::test]
async fn the_probe_is_not_repeated_for_a_server_that_is_known_to_be_old() {
    let peer = Peer::start(old(Version::V2025_11_25, None, echo)).await;
    let client = client();
    for _ in 0..3 {
        client.connect(&peer.config(), None, None).await.unwrap();
    }
    assert_eq!(peer.count("server/discover"), 1);
    assert_eq!(peer.count("initialize"), 3);
}

#[actix_rt::test]
async fn a_session_id_that_is_not_printable_is_refused() {
    for bad in ["a b", "\u{7f}", &"x".repeat(2000)] {
        let bad = bad.to_owned();
        let peer = Peer::start(move |request| {
            if request.method() == "server/discover" {
                response(400, "", "")
            } else {
                let body = result(request, &json!({"protocolVersion": "2025-11-25"}));
                let headers = format!("content-type: application/json\r\nmcp-session-id: {bad}\r\n");
                response(200, &headers, &body.to_string())
            }
        })
        .await;
        assert!(client().connect(&peer.config(), None, None).await.is_err());
    }
}

#[actix_rt::test]
async fn a_handshake_that_never_ends_ends_at_its_limit() {
    let peer = Peer::start(|request| match request.method() {
        "server/discover" => response(400, "", ""),
        _ => vec![Step::AwaitClose],
    })
    .await;
    let mut config = peer.config();
    config.limits.handshake = Duration::from_millis(150);
    let refused = client().connect(&config, None, None).await;
    assert!(matches!(refused, Err(ConnectError::Failed(CallError::TimedOut { .. }))));
    peer.until("the connection is closed", |p| p.closed_by_client() == 1).await;
}

#[actix_rt::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let config = ask_mcp::ServerConfig::new("gone", url);
    let refused = client().connect(&config, None, None).await;
    assert!(matches!(refused, Err(ConnectError::Failed(CallError::Unreachable(_)))));
}
