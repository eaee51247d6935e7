//! One's own conversations: listed, shown, forgotten; endings waited for and rated.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test says by failing")]
#![expect(clippy::disallowed_methods, reason = "it waits for real processes, in real time")]

use std::io::Read as _;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::stack::{Reply, Stack, call, read_chunk, read_head, wait};

const QUESTION: &str = r#"{"question":"How many support tickets are there?"}"#;

fn slow(name: &str) -> Stack {
    Stack::up(name, &[("ASK_DEVSTACK_TURN_DELAY_MS", "30000")])
}

fn conversation(stack: &Stack, token: &str) -> String {
    stack.call("POST", "/v1/conversations", token, "").json()["conversation_id"].as_str().unwrap().to_owned()
}

fn ask(stack: &Stack, token: &str, conversation: &str) -> String {
    let asked = stack.call("POST", &format!("/v1/conversations/{conversation}/asks"), token, QUESTION);
    assert_eq!(asked.status, 202, "{}", asked.body);
    asked.json()["ticket"].as_str().unwrap().to_owned()
}

#[test]
fn ones_own_conversations_are_listed_in_pages_without_a_word_of_them() {
    let stack = slow("own-list");
    let (carol, alice) = (stack.token("carol"), stack.token("alice"));
    let list = |token: &str, query: &str| stack.call("GET", &format!("/v1/conversations{query}"), token, "");
    assert_eq!(list(&carol, "").json(), json!({"conversations": [], "next": null}));
    let ids: Vec<String> = (0..3).map(|_| conversation(&stack, &carol)).collect();
    let ticket = ask(&stack, &carol, &ids[1]);
    conversation(&stack, &alice);

    let first = list(&carol, "?limit=2");
    assert_eq!(first.status, 200);
    assert!(first.head.to_lowercase().contains("cache-control: no-store"), "{}", first.head);
    let next = first.json()["next"].as_str().unwrap().to_owned();
    let second = list(&carol, &format!("?limit=2&after={next}"));
    assert!(second.json()["next"].is_null());
    let mut all = first.json()["conversations"].as_array().unwrap().clone();
    all.extend(second.json()["conversations"].as_array().unwrap().clone());
    let mut listed: Vec<&str> = all.iter().map(|one| one["conversation_id"].as_str().unwrap()).collect();
    let mut expected: Vec<&str> = ids.iter().map(String::as_str).collect();
    listed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(listed, expected, "hers, each once");

    let one = stack.call("GET", &format!("/v1/conversations/{}", ids[1]), &carol, "");
    assert_eq!(
        (one.json()["turns"].as_u64(), one.json()["running"].as_str()),
        (Some(1), Some(ticket.as_str()))
    );
    assert!(all.contains(&one.json()), "the list shows the same");
    assert!(!one.body.contains("support tickets") && !first.body.contains("support tickets"));
    let hers = stack.call("GET", &format!("/v1/conversations/{}", ids[1]), &alice, "");
    let nobodys = stack.call("GET", "/v1/conversations/c_nothing", &alice, "");
    assert_eq!((hers.status, without_request(&hers)), (404, without_request(&nobodys)));

    for (query, named) in [
        ("?limit=0", "limit"),
        ("?limit=101", "limit"),
        ("?limit=x", "limit"),
        ("?limit=1&limit=2", "limit"),
        ("?after=x", "after"),
        ("?after=", "after"),
    ] {
        let refused = list(&carol, query);
        assert_eq!(
            (refused.status, refused.json()["code"].as_str()),
            (422, Some("invalid_request")),
            "{query}"
        );
        assert!(refused.json()["detail"].as_str().unwrap().starts_with(named), "{query}: {}", refused.body);
    }
}

/// A problem's body but for the id of its request.
fn without_request(reply: &Reply) -> serde_json::Value {
    let mut body = reply.json();
    body.as_object_mut().unwrap().remove("request_id");
    body
}

#[test]
fn a_forgotten_conversation_was_never_there_and_its_stream_ends_properly() {
    let stack = slow("own-forget");
    let (carol, alice) = (stack.token("carol"), stack.token("alice"));
    let id = conversation(&stack, &carol);
    let path = format!("/v1/conversations/{id}");
    let ticket = ask(&stack, &carol, &id);
    let mut stream = stack.open_stream(&carol, &ticket);
    read_head(&mut stream);
    assert_eq!(stack.call("DELETE", &path, &alice, "").status, 404);
    assert_eq!(stack.call("GET", &path, &carol, "").status, 200, "another's word changes nothing");

    let forgotten = stack.call("DELETE", &path, &carol, "");
    assert_eq!((forgotten.status, forgotten.body.as_str()), (204, ""));
    let never = stack.call("GET", "/v1/asks/t_nothing", &carol, "");
    for (method, path, body) in [
        ("GET", path.clone(), ""),
        ("DELETE", path.clone(), ""),
        ("POST", format!("{path}/asks"), QUESTION),
        ("GET", format!("/v1/asks/{ticket}"), ""),
        ("GET", format!("/v1/asks/{ticket}?wait=5"), ""),
        ("GET", format!("/v1/asks/{ticket}/events"), ""),
        ("POST", format!("/v1/asks/{ticket}/cancel"), ""),
        ("POST", format!("/v1/asks/{ticket}/feedback"), r#"{"rating":"up"}"#),
    ] {
        let reply = stack.call(method, &path, &carol, body);
        assert_eq!(
            (reply.status, without_request(&reply)),
            (404, without_request(&never)),
            "{method} {path}"
        );
    }
    assert_eq!(stack.call("GET", "/v1/conversations", &carol, "").json()["conversations"], json!([]));
    let mut text = Vec::new();
    while let Some(chunk) = read_chunk(&mut stream) {
        text.extend(chunk);
    }
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("\"kind\":\"cancelled\"") && text.contains("event: done"), "{text}");
    wait(Duration::from_secs(10), "the ask has its audit line", || {
        stack.service_log().lines().any(|line| line.starts_with("audit ") && line.contains(&ticket))
    });
}

#[test]
fn a_position_in_the_url_counts_where_the_header_names_none() {
    let stack = Stack::up("own-after", &[]);
    let token = stack.token("carol");
    let ticket = stack.begin(&token, "How many support tickets are there?");
    let path = format!("/v1/asks/{ticket}");
    let state = stack.call("GET", &format!("{path}?wait=30"), &token, "").json();
    assert_eq!(state["status"], "finished");
    let last = state["seq"].as_u64().unwrap();
    let first_seen = |query: &str, header: &str| {
        let headers = format!("Authorization: Bearer {token}\r\n{header}");
        let reply = call("GET", &format!("{}{path}/events{query}", stack.base_url()), &headers, "");
        let first = reply.body.lines().find_map(|line| line.strip_prefix("id: ")?.parse::<u64>().ok());
        (reply.status, first)
    };
    let (from, done) = (last - 1, last);
    for (query, header, expected) in [
        (format!("?after={from}"), String::new(), (200, Some(last))),
        ("?after=1".to_owned(), format!("Last-Event-ID: {from}\r\n"), (200, Some(last))),
        (format!("?after={from}"), "Last-Event-ID: 1\r\n".to_owned(), (200, Some(2))),
        (format!("?after={from}"), "Last-Event-ID: 0\r\n".to_owned(), (200, Some(last))),
        (format!("?after={from}"), "Last-Event-ID: x\r\n".to_owned(), (200, Some(last))),
        (format!("?after={done}"), String::new(), (204, None)),
        ("?after=x".to_owned(), String::new(), (200, Some(1))),
        // Two of them name no event, as a text that is no number.
        (format!("?after={from}&after={from}"), String::new(), (200, Some(1))),
        (format!("?after=1&after={from}"), "Last-Event-ID: 1\r\n".to_owned(), (200, Some(2))),
        ("?after=0".to_owned(), String::new(), (200, Some(1))),
        ("?after=999999".to_owned(), String::new(), (204, None)),
    ] {
        assert_eq!(first_seen(&query, &header), expected, "{query} {header}");
    }
}

#[test]
fn a_long_poll_ends_with_the_ask_with_its_time_or_with_the_service() {
    let stack = slow("own-wait");
    let token = stack.token("carol");
    let ticket = stack.begin(&token, "How many support tickets are there?");
    let path = format!("/v1/asks/{ticket}");
    for wrong in ["61", "-1", "x", "", "1.5"] {
        let refused = stack.call("GET", &format!("{path}?wait={wrong}"), &token, "");
        assert_eq!(refused.status, 422, "{wrong}");
        assert!(refused.json()["detail"].as_str().unwrap().starts_with("wait: "), "{}", refused.body);
    }
    let begun = Instant::now();
    assert_eq!(stack.call("GET", &format!("{path}?wait=1"), &token, "").json()["status"], "running");
    assert!(begun.elapsed() >= Duration::from_secs(1));

    let waiting = |ends: &dyn Fn()| {
        std::thread::scope(|scope| {
            let poll = scope.spawn(|| stack.call("GET", &format!("{path}?wait=25"), &token, "").json());
            ends();
            poll.join().unwrap()
        })
    };
    let begun = Instant::now();
    let state = waiting(&|| {
        assert_eq!(stack.call("POST", &format!("{path}/cancel"), &token, "").status, 202);
    });
    assert_eq!((&state["status"], &state["terminal"]["kind"]), (&json!("finished"), &json!("cancelled")));
    assert!(begun.elapsed() < Duration::from_secs(10), "it ended with the ask");

    let ticket = stack.begin(&token, "How many support tickets are there?");
    let path = format!("/v1/asks/{ticket}");
    let mut poll = stack.send(&token, &format!("{path}?wait=25"));
    // The poll was sent before this call, which is answered on a connection that came later.
    assert_eq!(stack.call("GET", &path, &token, "").status, 200);
    crate::stack::signal("TERM", stack.service_pid());
    let head = read_head(&mut poll);
    let mut body = String::new();
    poll.read_to_string(&mut body).unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let state: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&state["status"], &state["terminal"]["kind"]), (&json!("finished"), &json!("internal")));
}

#[test]
fn feedback_is_one_audit_line_a_change_and_the_owners_alone() {
    let stack = slow("own-feedback");
    let (carol, alice) = (stack.token("carol"), stack.token("alice"));
    let ticket = stack.begin(&carol, "How many support tickets are there?");
    let path = format!("/v1/asks/{ticket}/feedback");
    let down = r#"{"rating":"down","reason":"freshness"}"#;
    let early = stack.call("POST", &path, &carol, down);
    assert_eq!((early.status, early.json()["code"].as_str()), (409, Some("ask_running")));
    stack.call("POST", &format!("/v1/asks/{ticket}/cancel"), &carol, "");
    assert_eq!(stack.call("POST", &path, &alice, down).status, 404);
    for wrong in [
        "{}",
        r#"{"rating":"sideways"}"#,
        r#"{"rating":"up","reason":"it was canary text"}"#,
        r#"{"rating":"up","comment":"canary text"}"#,
    ] {
        let refused = stack.call("POST", &path, &carol, wrong);
        assert_eq!(refused.status, 422, "{wrong}");
        assert!(!refused.body.contains("canary text"), "{}", refused.body);
    }
    for (body, reason) in
        [(down, json!("freshness")), (down, json!("freshness")), (r#"{"rating":"up"}"#, json!(null))]
    {
        let taken = stack.call("POST", &path, &carol, body);
        let rating = if reason.is_null() { "up" } else { "down" };
        assert_eq!(
            (taken.status, taken.json()),
            (200, json!({"ticket": ticket, "rating": rating, "reason": reason}))
        );
    }
    let lines = || -> Vec<serde_json::Value> {
        let log = stack.service_log();
        let audit = log.lines().filter_map(|line| line.strip_prefix("audit "));
        audit
            .map(|json| serde_json::from_str(json).unwrap())
            .filter(|line: &serde_json::Value| line["op"] == "feedback")
            .collect()
    };
    wait(Duration::from_secs(10), "both changes have their lines", || lines().len() >= 2);
    let lines = lines();
    assert_eq!(lines.len(), 2, "the same again writes none: {lines:?}");
    assert_eq!((&lines[0]["rating"], &lines[0]["reason"]), (&json!("down"), &json!("freshness")));
    assert_eq!((&lines[1]["rating"], &lines[1]["reason"]), (&json!("up"), &json!(null)));
    assert_eq!(
        (&lines[1]["ticket"], &lines[1]["verdict"], &lines[1]["turn"]),
        (&json!(ticket), &json!("error"), &json!(1))
    );
}
