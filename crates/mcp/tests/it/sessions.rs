//! Sessions: lost and renewed, used in parallel, kept apart, ended.

use std::{
    cell::{Cell, RefCell},
    collections::HashSet,
    rc::Rc,
    time::Duration,
};

use ask_mcp::{CallError, Client, ClientLimits, Content, Version};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::peer::{
    Peer, Reply, Seen, Step, client, event, json_reply, new, no_args, old, response, result, sse,
    text_result, write,
};

/// A server that gives each session an id of its own and forgets those it is told to.
fn forgetful(forgotten: Rc<RefCell<HashSet<String>>>) -> impl Fn(&Seen) -> Reply + 'static {
    let opened = Cell::new(0);
    move |request| match request.method() {
        "server/discover" => response(400, "", ""),
        "initialize" => {
            opened.set(opened.get() + 1);
            let headers = format!("content-type: application/json\r\nmcp-session-id: s{}\r\n", opened.get());
            let body = result(request, &json!({"protocolVersion": "2025-11-25"}));
            response(200, &headers, &body.to_string())
        }
        "notifications/initialized" => response(202, "", ""),
        _ => {
            let id = request.header("mcp-session-id").unwrap();
            if forgotten.borrow().contains(id) {
                response(404, "", "Session not found")
            } else {
                json_reply(&result(request, &text_result(id)))
            }
        }
    }
}

#[actix_rt::test]
async fn a_lost_session_is_renewed_once_by_all_calls_that_lost_it_together() {
    let forgotten = Rc::new(RefCell::new(HashSet::new()));
    let peer = Peer::start(forgetful(Rc::clone(&forgotten))).await;
    let session = peer.session().await;
    session.call("t", &no_args()).await.unwrap();
    forgotten.borrow_mut().insert("s1".to_owned());

    let args = no_args();
    let done = join_all((0..8).map(|_| session.call("t", &args))).await;
    for result in done {
        assert_eq!(result.unwrap().content, [Content::Text("s2".to_owned())]);
    }
    assert_eq!(peer.count("initialize"), 2);
    assert_eq!(peer.count("server/discover"), 1);
}

#[actix_rt::test]
async fn a_session_that_is_lost_again_at_once_is_lost() {
    let forgotten = Rc::new(RefCell::new(HashSet::new()));
    let peer = Peer::start(forgetful(Rc::clone(&forgotten))).await;
    let session = peer.session().await;
    forgotten.borrow_mut().extend(["s1".to_owned(), "s2".to_owned()]);
    let failed = session.call("t", &no_args()).await;
    assert!(matches!(failed, Err(CallError::SessionLost)));
    assert_eq!(peer.count("initialize"), 2);
    assert_eq!(peer.count("tools/call"), 2);
    // The next call finds out in its own time, and may succeed.
    session.call("t", &no_args()).await.unwrap();
}

#[actix_rt::test]
async fn a_404_without_a_session_is_a_status() {
    let peer = Peer::start(old(Version::V2025_11_25, None, |_| response(404, "", ""))).await;
    let failed = peer.session().await.call("t", &no_args()).await;
    assert!(matches!(failed, Err(CallError::Status { status: 404, .. })));
    assert_eq!(peer.count("initialize"), 1);
}

#[actix_rt::test]
async fn parallel_calls_get_their_own_replies_whatever_the_order() {
    let peer = Peer::start(new(|r| {
        let n = r.body["params"]["arguments"]["n"].as_u64().unwrap();
        let wait = Step::Pause(Duration::from_millis((20 - n) * 5));
        let reply = result(r, &text_result(&n.to_string()));
        let mut steps = vec![wait];
        steps.extend(if n % 2 == 0 { json_reply(&reply) } else { sse(&event(&reply)) });
        steps
    }))
    .await;
    let session = peer.session().await;
    let calls = (0..20_u64).map(|n| {
        let session = &session;
        async move {
            let args = json!({"n": n}).as_object().unwrap().clone();
            (n, session.call("t", &args).await.unwrap())
        }
    });
    for (n, done) in join_all(calls).await {
        assert_eq!(done.content, [Content::Text(n.to_string())]);
    }
    let ids: HashSet<String> = peer.seen().iter().map(|r| r.id().to_string()).collect();
    assert_eq!(ids.len(), 21);
}

#[actix_rt::test]
async fn replies_that_belong_to_another_request_are_refused() {
    let foreign = |id: Value| {
        move |r: &Seen| {
            let mut reply = result(r, &text_result("another caller's rows"));
            reply["id"] = if id.is_null() { json!(r.id().as_u64().unwrap() - 1) } else { id.clone() };
            if r.body["params"]["name"] == "sse" { sse(&event(&reply)) } else { json_reply(&reply) }
        }
    };
    for id in [Value::Null, json!(0), json!("x"), json!(1)] {
        let peer = Peer::start(new(foreign(id))).await;
        let session = peer.session().await;
        for tool in ["sse", "json"] {
            let failed = session.call(tool, &no_args()).await;
            assert!(matches!(failed, Err(CallError::ForeignReply)), "{failed:?}");
        }
    }
}

#[actix_rt::test]
async fn two_sessions_never_use_the_same_id() {
    let peer = Peer::start(new(|r| json_reply(&result(r, &text_result("x"))))).await;
    let client = client();
    let mut config = peer.config();
    config.forward_bearer = true;
    let alice = client.connect(&config, Some("a"), None).await.unwrap();
    let bob = client.connect(&config, Some("b"), None).await.unwrap();
    for _ in 0..5 {
        alice.call("t", &no_args()).await.unwrap();
        bob.call("t", &no_args()).await.unwrap();
    }
    let ids: HashSet<String> = peer.seen().iter().map(|r| r.id().to_string()).collect();
    assert_eq!(ids.len(), peer.seen().len());
}

#[actix_rt::test]
async fn a_closed_session_is_ended_at_the_server_and_refuses_calls() {
    let peer = Peer::start(old(Version::V2025_11_25, Some("s"), |r| match r.method() {
        "DELETE" => response(405, "", ""),
        _ => json_reply(&result(r, &text_result("x"))),
    }))
    .await;
    let session = peer.session().await;
    let clone = session.clone();
    session.close().await;
    assert_eq!(peer.count("DELETE"), 1);
    let refused = clone.call("t", &no_args()).await;
    assert!(matches!(refused, Err(CallError::Closed)));
    clone.close().await;
    assert_eq!(peer.count("DELETE"), 1);
}

#[actix_rt::test]
async fn a_goodbye_that_nobody_answers_ends_at_its_limit() {
    let peer = Peer::start(old(Version::V2025_11_25, Some("s"), |_| vec![Step::AwaitClose])).await;
    let mut config = peer.config();
    config.limits.close = Duration::from_millis(100);
    peer.session_with(&config).await.close().await;
    peer.until("the connection is closed", |p| p.closed_by_client() == 1).await;
}

#[actix_rt::test]
async fn a_bad_tool_name_is_never_sent() {
    let peer = Peer::start(new(|_| vec![write("")])).await;
    let session = peer.session().await;
    for name in ["", "a b", "a\r\nx-evil: 1", "größe", &"x".repeat(200)] {
        let refused = session.call(name, &no_args()).await;
        assert!(matches!(refused, Err(CallError::BadToolName)));
    }
    assert_eq!(peer.count("tools/call"), 0);
}

#[actix_rt::test]
async fn many_calls_at_once_are_all_answered() {
    let peer = Peer::start(new(|r| {
        let mut steps = vec![Step::Pause(Duration::from_millis(50))];
        steps.extend(json_reply(&result(r, &text_result("x"))));
        steps
    }))
    .await;
    let session = peer.session().await;
    let args = no_args();
    let done = join_all((0..150).map(|_| session.call("t", &args))).await;
    assert!(done.iter().all(Result::is_ok));
    assert!(peer.connections() > 100);
}

#[actix_rt::test]
async fn calls_past_the_limit_of_connections_wait_within_their_own_time() {
    let peer = Peer::start(new(|r| {
        if r.body["params"]["name"] == "slow" {
            return vec![Step::AwaitClose];
        }
        json_reply(&result(r, &text_result("x")))
    }))
    .await;
    let client = Client::new(ClientLimits { connections: 1, ..ClientLimits::default() });
    let mut config = peer.config();
    config.limits.call = Duration::from_millis(200);
    let session = client.connect(&config, None, None).await.unwrap();
    let args = no_args();
    let calls = join_all((0..4).map(|_| session.call("quick", &args))).await;
    assert!(calls.iter().all(Result::is_ok));
    assert_eq!(peer.connections(), 1);
    let slow = join_all((0..2).map(|_| session.call("slow", &args))).await;
    let after = config.limits.call;
    assert_eq!(slow[0], Err(CallError::TimedOut { after }));
    assert_eq!(slow[1], Err(CallError::TimedOut { after }));
    session.call("quick", &args).await.unwrap();
}

#[actix_rt::test]
async fn a_connection_that_the_server_closed_is_not_used_again() {
    let peer = Peer::start(new(|r| {
        let mut steps = json_reply(&result(r, &text_result("x")));
        steps.push(Step::Close);
        steps
    }))
    .await;
    let session = peer.session().await;
    for _ in 0..5 {
        let before = peer.closed_by_server();
        session.call("t", &no_args()).await.unwrap();
        peer.until("the server closed", |p| p.closed_by_server() > before).await;
    }
    assert_eq!(peer.connections(), 5);
}
