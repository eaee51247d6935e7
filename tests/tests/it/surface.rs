//! The calls as a client meets them, and what the logs say of it.

use std::path::Path;

use serde_json::{Value, json};

use crate::stack::{Stack, call, read_chunk, read_head};

#[test]
fn every_documented_call_is_served_and_the_files_are_those_of_the_repository() {
    let stack = Stack::up("surface", &[]);
    let committed = |name: &str| -> Value {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    let served = |path: &str| call("GET", &format!("{}{path}", stack.base_url()), "", "").json();
    let openapi = served("/openapi.json");
    assert_eq!(openapi, committed("ask.openapi.json"));
    assert_eq!(served("/events.schema.json"), committed("events.schema.json"));
    assert_eq!(served("/health"), json!({"status": "ok", "contract": "1"}));
    for (path, operations) in openapi["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            let url = format!("{}{}", stack.base_url(), path.replace(['{', '}'], "x"));
            let reply = call(&method.to_uppercase(), &url, "", "");
            let expected = if path.starts_with("/v1/") { 401 } else { 200 };
            assert_eq!(reply.status, expected, "{method} {path}");
            let other = call("PUT", &url, "", "");
            assert_eq!(other.status, 405, "PUT {path}");
            assert!(other.head.to_lowercase().contains("allow: "), "{}", other.head);
        }
    }
    let nowhere = call("GET", &format!("{}/v1/nothing", stack.base_url()), "", "");
    assert_eq!((nowhere.status, nowhere.json()["code"].as_str()), (404, Some("not_found")));
}

#[test]
fn bad_requests_are_told_what_is_wrong_and_nothing_else() {
    let stack = Stack::up("bad", &[]);
    let token = stack.token("carol");
    let conversation = stack.call("POST", "/v1/conversations", &token, "").json();
    let path = format!("/v1/conversations/{}/asks", conversation["conversation_id"].as_str().unwrap());
    for (body, status, names) in [
        ("", 422, "JSON"),
        ("{", 422, "JSON"),
        ("[]", 422, ""),
        ("{}", 422, "question"),
        (r#"{"question":""}"#, 422, "question"),
        (r#"{"question":" \n\t "}"#, 422, "question"),
        (r#"{"question":7}"#, 422, "question"),
        (r#"{"question":null}"#, 422, "question"),
        (r#"{"question":"canary question text here","colour":1}"#, 422, "colour"),
        (r#"{"question":"canary question text here","context":"canary question"}"#, 422, "context"),
        (r#"{"question":"canary question text here","effort":"extreme"}"#, 422, "effort"),
        (r#"{"question":"canary question text here","model":""}"#, 422, "model"),
        (r#"{"question":"canary question text here"} x"#, 422, "after"),
        (r#"{"question":"a","question":"b"}"#, 422, "question"),
    ] {
        let reply = stack.call("POST", &path, &token, body);
        assert_eq!(reply.status, status, "{body}: {}", reply.body);
        let problem = reply.json();
        assert_eq!(problem["code"], "invalid_request");
        assert!(problem["detail"].as_str().unwrap().contains(names), "{body}: {problem}");
        assert!(!reply.body.contains("canary"), "{}", reply.body);
        assert!(
            reply.head.to_lowercase().contains("content-type: application/problem+json"),
            "{}",
            reply.head
        );
    }
    let large = json!({"question": "x".repeat(70_000)}).to_string();
    assert_eq!(stack.call("POST", &path, &token, &large).status, 413);
    let url = format!("{}{path}", stack.base_url());
    let plain = format!("Authorization: Bearer {token}\r\nContent-Type: text/plain\r\n");
    assert_eq!(call("POST", &url, &plain, r#"{"question":"how many?"}"#).status, 415);
    // Nothing of all that was taken: the conversation's first ask is its first turn.
    let asked = stack.call("POST", &path, &token, r#"{"question":"How many support tickets are there?"}"#);
    assert_eq!((asked.status, asked.json()["turn"].as_u64()), (202, Some(1)));
}

#[test]
fn a_strangers_ticket_and_one_that_never_was_answer_alike() {
    let stack = Stack::up("stranger", &[]);
    let (carol, alice) = (stack.token("carol"), stack.token("alice"));
    let ticket = stack.begin(&carol, "How many support tickets are there?");
    for (method, suffix) in [("GET", ""), ("GET", "/events"), ("POST", "/cancel")] {
        let hers = stack.call(method, &format!("/v1/asks/{ticket}{suffix}"), &alice, "");
        let nobodys = stack.call(method, &format!("/v1/asks/t_nothing{suffix}"), &alice, "");
        assert_eq!((hers.status, &hers.body), (404, &nobodys.body), "{method} {suffix}");
        assert_eq!(nobodys.status, 404);
    }
}

#[test]
fn an_expired_ticket_is_gone_for_its_owner_and_was_never_there_for_others() {
    let stack = Stack::up("expired", &[("DAS_ASK_TTL_S", "1")]);
    let (carol, alice) = (stack.token("carol"), stack.token("alice"));
    let ticket = stack.begin(&carol, "How many support tickets are there?");
    let path = format!("/v1/asks/{ticket}");
    crate::stack::wait(std::time::Duration::from_secs(20), "the ticket expires", || {
        stack.call("GET", &path, &carol, "").status == 410
    });
    assert_eq!(stack.call("GET", &path, &carol, "").json()["code"], "ticket_expired");
    assert_eq!(stack.call("GET", &path, &alice, "").status, 404);
    let forged = format!("/v1/asks/{}", ticket.replace('t', "u"));
    assert_eq!(stack.call("GET", &forged, &carol, "").status, 404);
}

#[test]
fn a_cancel_is_in_the_log_before_its_answer_and_frees_the_conversation() {
    let stack = Stack::up("cancel", &[("ASK_DEVSTACK_TURN_DELAY_MS", "30000")]);
    let token = stack.token("carol");
    let conversation = stack.call("POST", "/v1/conversations", &token, "").json();
    let asks = format!("/v1/conversations/{}/asks", conversation["conversation_id"].as_str().unwrap());
    let question = r#"{"question":"How many support tickets are there?"}"#;
    let ticket = stack.call("POST", &asks, &token, question).json()["ticket"].as_str().unwrap().to_owned();
    assert_eq!(stack.call("POST", &asks, &token, question).status, 409);
    for _ in 0..2 {
        let cancelled = stack.call("POST", &format!("/v1/asks/{ticket}/cancel"), &token, "");
        assert_eq!((cancelled.status, cancelled.json()), (202, json!({"ticket": ticket, "finished": true})));
    }
    let state = stack.call("GET", &format!("/v1/asks/{ticket}"), &token, "").json();
    assert_eq!(state["status"], "finished");
    assert_eq!(
        (&state["terminal"]["kind"], &state["done"]["outcome"]),
        (&json!("cancelled"), &json!("error"))
    );
    let again = stack.call("POST", &asks, &token, question).json();
    assert_eq!(again["turn"], 2);
    let mut stream = stack.open_stream(&token, &ticket);
    read_head(&mut stream);
    let mut text = Vec::new();
    while let Some(chunk) = read_chunk(&mut stream) {
        text.extend(chunk);
    }
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.ends_with("\n\n") && text.contains("event: error") && text.contains("\"kind\":\"cancelled\"")
    );
}

#[test]
fn audit_lines_agree_and_no_log_holds_a_question_a_token_or_a_row() {
    let stack = Stack::up("audit", &[("DAS_ASK_LOG", "trace"), ("RUST_LOG", "trace")]);
    let question = "Which support team resolves tickets fastest?";
    let asked = stack.ask(&["--json", question]);
    let token = stack.token("carol");
    stack.ask(&["What is our customer satisfaction score for support?"]);
    crate::stack::wait(std::time::Duration::from_secs(10), "both asks have their lines", || {
        stack
            .service_log()
            .lines()
            .filter(|line| line.starts_with("audit ") || line.starts_with("gap "))
            .count()
            == 3
    });
    let (service, executor) = (stack.service_log(), stack.executor_log());
    let line = |log: &str, prefix: &str| -> Vec<Value> {
        log.lines()
            .filter_map(|line| line.strip_prefix(prefix))
            .map(|json| serde_json::from_str(json).unwrap())
            .collect()
    };
    let asks = line(&service, "audit ");
    let done = asked.event("done");
    assert_eq!(asks[0]["op"], "ask");
    assert_eq!(asks[0]["steps"], done["steps"]);
    assert_eq!(asks[0]["verdict"], done["outcome"]);
    assert_eq!(line(&service, "gap ").len(), 1);
    // Each step's time is the executor's own, in the same order for a tool that is called once.
    let calls = line(&executor, "audit ");
    let step = asked.events().into_iter().find(|event| event["tool"] == "warehouse__run_query").unwrap();
    let call = calls.iter().find(|call| call["op"] == "run_query").unwrap();
    assert_eq!(step["ms"], call["ms"]);
    for log in [&service, &executor] {
        assert!(!log.contains(question) && !log.contains("resolves tickets fastest?"), "the question");
        let secret = token.rsplit('.').next().unwrap();
        assert!(!log.contains(secret) && !log.contains("Bearer ey"), "a token");
        assert!(!log.contains("Frontline"), "a row's value");
    }
}

#[test]
fn a_post_that_is_sent_again_gives_the_same_answer() {
    let stack = Stack::up("again", &[]);
    let (carol, alice) = (stack.token("carol"), stack.token("alice"));
    let post = |token: &str, path: &str, key: &str, body: &str| {
        let headers = format!(
            "Authorization: Bearer {token}\r\nContent-Type: application/json\r\nIdempotency-Key: {key}\r\n"
        );
        call("POST", &format!("{}{path}", stack.base_url()), &headers, body)
    };
    let first = post(&carol, "/v1/conversations", "k1", "");
    let again = post(&carol, "/v1/conversations", "k1", "");
    assert_eq!((first.status, again.status, &first.body), (201, 201, &again.body));
    assert!(again.head.to_lowercase().contains("idempotency-replayed: true"), "{}", again.head);
    assert_ne!(
        post(&alice, "/v1/conversations", "k1", "").body,
        first.body,
        "another caller's key is another"
    );
    let asks = format!("/v1/conversations/{}/asks", first.json()["conversation_id"].as_str().unwrap());
    let question = r#"{"question":"How many support tickets are there?"}"#;
    let asked = post(&carol, &asks, "k2", question);
    let asked_again = post(&carol, &asks, "k2", question);
    assert_eq!(
        (asked.status, asked_again.status, &asked.body),
        (202, 202, &asked_again.body),
        "no 409 and no second run"
    );
    assert!(asked.head.to_lowercase().contains("ratelimit-policy: \"asks\";q=600;w=60"), "{}", asked.head);
    let other = post(&carol, &asks, "k2", r#"{"question":"How many agents are there?"}"#);
    assert_eq!((other.status, other.json()["code"].as_str()), (409, Some("idempotency_key_reused")));
    assert_eq!(post(&carol, &asks, &"k".repeat(300), question).status, 422);
}

#[test]
fn who_asks_too_often_is_told_when_to_come_back_and_may_still_read_and_cancel() {
    let stack = Stack::up("often", &[("DAS_ASK_RATE_ASKS", "2"), ("ASK_DEVSTACK_TURN_DELAY_MS", "30000")]);
    let token = stack.token("carol");
    let ticket = stack.begin(&token, "How many support tickets are there?");
    stack.begin(&token, "How many support tickets are there?");
    let conversation = stack.call("POST", "/v1/conversations", &token, "").json();
    let asks = format!("/v1/conversations/{}/asks", conversation["conversation_id"].as_str().unwrap());
    let refused = stack.call("POST", &asks, &token, r#"{"question":"How many support tickets are there?"}"#);
    assert_eq!((refused.status, refused.json()["code"].as_str()), (429, Some("too_many_requests")));
    assert!(refused.head.to_lowercase().contains("retry-after: "), "{}", refused.head);
    for _ in 0..20 {
        assert_eq!(stack.call("GET", &format!("/v1/asks/{ticket}"), &token, "").status, 200);
    }
    assert_eq!(stack.call("POST", &format!("/v1/asks/{ticket}/cancel"), &token, "").status, 202);
}

#[test]
fn a_deadline_of_the_ask_breaks_its_run_off() {
    let stack = Stack::up("deadline", &[("ASK_DEVSTACK_TURN_DELAY_MS", "30000")]);
    let token = stack.token("carol");
    let conversation = stack.call("POST", "/v1/conversations", &token, "").json();
    let asks = format!("/v1/conversations/{}/asks", conversation["conversation_id"].as_str().unwrap());
    let asked = stack.call("POST", &asks, &token, r#"{"question":"How many tickets?","deadline_s":1}"#);
    let path = format!("/v1/asks/{}", asked.json()["ticket"].as_str().unwrap());
    let mut state = json!(null);
    crate::stack::wait(std::time::Duration::from_secs(20), "the run is broken off", || {
        state = stack.call("GET", &path, &token, "").json();
        state["status"] == "finished"
    });
    assert_eq!(state["terminal"]["kind"], "max_steps", "{state}");
}

#[test]
fn a_stream_that_has_lived_long_enough_ends_between_frames_and_goes_on_where_it_was() {
    let settings = [("DAS_ASK_MAX_STREAM_AGE_S", "1"), ("ASK_DEVSTACK_TURN_DELAY_MS", "3000")];
    let stack = Stack::up("aged", &settings);
    let token = stack.token("carol");
    let ticket = stack.begin(&token, "How many support tickets are there?");
    let mut stream = stack.open_stream(&token, &ticket);
    read_head(&mut stream);
    let mut text = Vec::new();
    while let Some(chunk) = read_chunk(&mut stream) {
        text.extend(chunk);
    }
    let text = String::from_utf8(text).unwrap();
    assert!(!text.contains("event: done") && text.ends_with("\n\n"), "{text}");
    let last = text.trim_end().rsplit("\n\n").next().unwrap();
    assert!(last.lines().any(|line| line.starts_with("retry: ")), "{last}");
    // The command line comes back for the rest, and has everything once.
    let watched = stack.ask(&["watch", "--json", &ticket]);
    let seqs: Vec<u64> = watched.events().iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    assert_eq!(watched.event("done")["outcome"], "answer");
}

#[test]
fn a_ticket_from_before_a_restart_is_told_apart_for_its_owner_alone() {
    let stack = Stack::up("lost", &[("DAS_ASK_ID_KEY", "a key that outlives the process")]);
    let (carol, alice) = (stack.token("carol"), stack.token("alice"));
    let ticket = stack.begin(&carol, "How many support tickets are there?");
    let second = SecondService::beside(&stack);
    let path = format!("{}/v1/asks/{ticket}", second.base);
    let get = |token: &str| call("GET", &path, &format!("Authorization: Bearer {token}\r\n"), "");
    let lost = get(&carol);
    assert_eq!((lost.status, lost.json()["code"].as_str()), (410, Some("ticket_lost")));
    assert_eq!(get(&alice).status, 404);
}

/// Another process of the service with the settings of the first, as after a restart.
struct SecondService {
    process: std::process::Child,
    base: String,
}

impl SecondService {
    #[expect(clippy::unwrap_used, reason = "a test says by failing")]
    fn beside(stack: &Stack) -> Self {
        let environment = std::fs::read(format!("/proc/{}/environ", stack.service_pid())).unwrap();
        let environment = String::from_utf8(environment).unwrap();
        let settings = environment.split('\0').filter_map(|pair| pair.split_once('='));
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        // Processes are told apart by the second of their start.
        std::thread::sleep(std::time::Duration::from_millis(1_100));
        let process = std::process::Command::new(crate::stack::programs().join("ask-service"))
            .env_clear()
            .envs(settings)
            .env("DAS_ASK_PORT", port.to_string())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        crate::stack::wait(std::time::Duration::from_secs(20), "the second service listens", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Self { process, base: format!("http://127.0.0.1:{port}") }
    }
}

impl Drop for SecondService {
    fn drop(&mut self) {
        crate::stack::signal("TERM", self.process.id());
        self.process.wait().ok();
    }
}
