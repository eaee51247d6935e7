//! Where a caller's bearer goes, and where it never goes.

use std::cell::RefCell;

use ask_mcp::{CallError, ConnectError, Secret, ServerConfig, Version};
use serde_json::{Value, json};

use crate::peer::{Peer, Seen, client, json_reply, new, no_args, old, response, result, sse, text_result};

fn with_bearer(peer: &Peer) -> ServerConfig {
    let mut config = peer.config();
    config.forward_bearer = true;
    config.headers.push(("Ocp-Apim-Subscription-Key".to_owned(), Secret::new("key-1")));
    config
}

async fn whole_life(config: &ServerConfig) {
    let session = client().connect(config, Some("token-1"), None).await.unwrap();
    session.list_tools().await.unwrap();
    session.call("t", &no_args()).await.ok();
    session.close().await;
}

fn answer(request: &Seen) -> crate::peer::Reply {
    match request.method() {
        "tools/list" => json_reply(&result(request, &json!({"tools": []}))),
        "tools/call" => sse("id: e1\ndata:\n\n"),
        "GET" => response(405, "", ""),
        _ => response(200, "", ""),
    }
}

#[actix_rt::test]
async fn bearer_and_headers_go_along_with_every_request() {
    let peer = Peer::start(old(Version::V2025_11_25, Some("s"), answer)).await;
    whole_life(&with_bearer(&peer)).await;
    assert_eq!(
        peer.methods(),
        [
            "server/discover",
            "initialize",
            "notifications/initialized",
            "tools/list",
            "tools/call",
            "GET",
            "DELETE"
        ]
    );
    for request in peer.seen() {
        assert_eq!(request.header("authorization"), Some("Bearer token-1"));
        assert_eq!(request.header("ocp-apim-subscription-key"), Some("key-1"));
    }
}

#[actix_rt::test]
async fn a_server_that_may_not_have_the_bearer_never_sees_it() {
    let peer = Peer::start(old(Version::V2025_11_25, Some("s"), answer)).await;
    let mut config = with_bearer(&peer);
    config.forward_bearer = false;
    whole_life(&config).await;
    assert_eq!(peer.seen().len(), 7);
    for request in peer.seen() {
        assert_eq!(request.header("authorization"), None);
        assert!(!request.body.to_string().contains("token-1"));
    }
}

#[actix_rt::test]
async fn redirects_are_refused_at_every_step_and_nobody_else_is_asked() {
    for status in [301, 302, 303, 307, 308] {
        for step in [
            "server/discover",
            "initialize",
            "notifications/initialized",
            "tools/list",
            "tools/call",
            "GET",
            "DELETE",
        ] {
            let elsewhere = Peer::start(|_| response(200, "", "")).await;
            let location = format!("location: {}\r\n", elsewhere.url);
            let normal = old(Version::V2025_11_25, Some("s"), answer);
            let peer = Peer::start(move |request| {
                if request.method() == step { response(status, &location, "") } else { normal(request) }
            })
            .await;
            let connected = client().connect(&with_bearer(&peer), Some("token-1"), None).await;
            match connected {
                Err(ConnectError::Failed(CallError::RedirectRefused { status: seen })) => {
                    assert_eq!(seen, status);
                }
                Err(other) => panic!("{step}: {other:?}"),
                Ok(session) => {
                    let listed = session.list_tools().await.map(drop);
                    let called = session.call("t", &no_args()).await.map(drop);
                    let failed = match step {
                        "tools/list" => listed,
                        "tools/call" | "GET" => called,
                        _ => Err(CallError::RedirectRefused { status }),
                    };
                    assert!(matches!(failed, Err(CallError::RedirectRefused { .. })), "{step}: {failed:?}");
                    session.close().await;
                }
            }
            assert!(elsewhere.seen().is_empty(), "{step} was followed");
        }
    }
}

#[actix_rt::test]
async fn a_bearer_that_cannot_be_a_header_is_refused_before_anything_is_sent() {
    let peer = Peer::start(|_| response(200, "", "")).await;
    let refused = client().connect(&with_bearer(&peer), Some("a\r\nx-evil: 1"), None).await;
    assert!(matches!(refused, Err(ConnectError::Config(_))));
    assert!(peer.seen().is_empty());
}

#[actix_rt::test]
async fn nothing_that_is_printed_holds_a_secret_or_a_servers_text() {
    let peer = Peer::start(new(|r| match r.method() {
        "tools/call" => {
            let error = json!({"code": -1, "message": "canary-row"});
            json_reply(&json!({"jsonrpc": "2.0", "id": r.id(), "error": error}))
        }
        _ => json_reply(&result(r, &text_result("x"))),
    }))
    .await;
    let config = with_bearer(&peer);
    let session = client().connect(&config, Some("token-1"), None).await.unwrap();
    let failed = session.call("t", &no_args()).await.unwrap_err();
    assert!(!failed.to_string().contains("canary"));
    let printed = format!("{config:?} {session:?} {:?}", client());
    for secret in ["token-1", "key-1"] {
        assert!(!printed.contains(secret));
    }
}

#[actix_rt::test]
async fn a_remote_reference_in_a_schema_is_never_fetched() {
    let elsewhere = Peer::start(|_| response(200, "", "{}")).await;
    let url = elsewhere.url.clone();
    let peer = Peer::start(new(move |r| {
        let tool = json!({"name": "t", "inputSchema": {"type": "object",
            "properties": {"a": {"$ref": url}}}});
        json_reply(&result(r, &json!({"tools": [tool]})))
    }))
    .await;
    let list = peer.session().await.list_tools().await.unwrap();
    assert!(list.tools.is_empty());
    assert_eq!(list.notes[0].kind, ask_mcp::NoteKind::RemoteReference);
    assert!(elsewhere.seen().is_empty());
    assert_eq!(elsewhere.connections(), 0);
    assert!(list.tools.iter().all(|t| t.input_schema != Value::Null));
}

thread_local! {
    /// What is logged on this thread, once a test asks for it.
    static LOGGED: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

struct ThreadLog;

impl std::io::Write for ThreadLog {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOGGED.with_borrow_mut(|logged| {
            if let Some(logged) = logged {
                logged.extend_from_slice(bytes);
            }
        });
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Collects everything that is logged on this thread from here on, down to the finest level.
fn listen() {
    // For the whole process: a subscriber of one thread is not asked about a log line that another
    // thread meets first, and then never hears of it.
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(|| ThreadLog).finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    tracing::callsite::rebuild_interest_cache();
    LOGGED.set(Some(Vec::new()));
}

#[actix_rt::test]
async fn no_log_holds_a_secret_an_argument_or_a_result() {
    listen();
    let peer = Peer::start(old(Version::V2025_11_25, Some("canary-session"), |r| match r.method() {
        "tools/list" => json_reply(&result(r, &json!({"tools": [{"name": "canary bad"}]}))),
        "tools/call" => {
            let ping = json!({"jsonrpc": "2.0", "id": "canary", "method": "canary"});
            let reply = result(r, &text_result("canary-row"));
            sse(&format!("data: {ping}\n\ndata: {reply}\n\n"))
        }
        _ => response(500, "", "canary-body"),
    }))
    .await;
    let session = client().connect(&with_bearer(&peer), Some("canary-token"), None).await.unwrap();
    session.list_tools().await.unwrap();
    let args = json!({"sql": "select canary"}).as_object().unwrap().clone();
    session.call("run_query", &args).await.unwrap();
    session.close().await;
    let logged = String::from_utf8(LOGGED.take().unwrap()).unwrap();
    assert!(logged.contains("called a tool"), "{logged}");
    for secret in ["canary", "key-1"] {
        assert!(!logged.contains(secret), "{logged}");
    }
}
