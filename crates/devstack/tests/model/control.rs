//! The control routes, as a test in another process uses them.

use ask_devstack::model::{Handle, Options, Recorded, Scripted, State};
use ask_llm::Protocol;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::setup::{BOTH, client, start, turn, user};

async fn get<T: DeserializeOwned>(handle: &Handle, session: &str, what: &str) -> T {
    let url = format!("{}/control/{what}", handle.base_url(session));
    awc::Client::default().get(url).send().await.unwrap().json().await.unwrap()
}

async fn put(handle: &Handle, session: &str, what: &str, body: &Value) -> u16 {
    let url = format!("{}/control/{what}", handle.base_url(session));
    awc::Client::default().post(url).send_json(body).await.unwrap().status().as_u16()
}

#[actix_rt::test]
async fn sessions_do_not_disturb_each_other() {
    let handle = start(None, Options::default());
    for session in ["one", "two"] {
        assert_eq!(
            put(&handle, session, "script", &json!([{ "text": session }, { "text": "left" }])).await,
            200
        );
    }
    for protocol in BOTH {
        if protocol == Protocol::OpenAi {
            assert_eq!(put(&handle, "one", "script", &json!([{ "text": "one" }])).await, 200);
        }
        let turn = turn(&client(protocol, &handle, "one"), &[user(&["What is it?"])]).await.unwrap();
        assert_eq!(turn.text, "one");
    }
    let state: State = get(&handle, "one", "state").await;
    let counted = State { received: 2, peak_in_flight: 1, ..State::default() };
    assert_eq!(state, counted);
    let state: State = get(&handle, "two", "state").await;
    assert_eq!((state.received, state.script_left), (0, 2));
}

#[actix_rt::test]
async fn requests_are_remembered_as_they_came() {
    let handle = start(None, Options { recorded: 3, ..Options::default() });
    for _ in 0..2 {
        for protocol in BOTH {
            turn(&client(protocol, &handle, "r"), &[user(&["What is it?"])]).await.unwrap();
        }
    }
    let requests: Vec<Recorded> = get(&handle, "r", "requests").await;
    assert_eq!(requests, handle.requests("r"));
    assert_eq!(requests.iter().map(|request| request.number).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!((requests[0].path.as_str(), requests[1].path.as_str()), ("/chat/completions", "/v1/messages"));
    assert_eq!(requests[0].headers["authorization"], "Bearer sk-test");
    assert_eq!(requests[1].headers["x-api-key"], "sk-test");
    assert_eq!(requests[1].body["messages"][0]["content"][0]["text"], "What is it?");
}

#[actix_rt::test]
async fn bad_control_requests_are_refused() {
    let handle = start(None, Options::default());
    assert_eq!(put(&handle, "c", "script", &json!([{ "txt": "typo" }])).await, 400);
    assert_eq!(put(&handle, "c", "script", &json!({ "text": "no list" })).await, 400);
    assert_eq!(put(&handle, "c", "defaults", &json!({ "turn_delay_ms": 5 })).await, 200);
    assert_eq!(put(&handle, "c", "defaults", &json!({ "delay": 5 })).await, 400);
    assert_eq!(put(&handle, "no.name", "script", &json!([])).await, 404);
    assert_eq!(put(&handle, &"x".repeat(65), "script", &json!([])).await, 404);
}

#[actix_rt::test]
async fn requests_without_a_session_share_one_of_their_own() {
    let handle = start(None, Options::default());
    handle.script("default", vec![Scripted::text("for all")]);
    let mut endpoint = crate::setup::endpoint(Protocol::Anthropic, &handle, "x");
    endpoint.base_url = format!("http://{}", handle.address()).parse().unwrap();
    let turn = turn(&ask_llm::Client::new(endpoint).unwrap(), &[user(&["q"])]).await.unwrap();
    assert_eq!(turn.text, "for all");
    assert_eq!(handle.requests("default")[0].path, "/v1/messages");
}
