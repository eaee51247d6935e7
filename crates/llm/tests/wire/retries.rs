//! Attempts: what is tried again, how often and when.

use std::time::Duration;

use ask_llm::{Client, Endpoint, Protocol, TurnError};
use tokio::time::Instant;

use crate::{
    anthropic, openai,
    server::{Reply, Server, answer, open_stream, stream},
    setup::{endpoint, turn},
};

fn patient(protocol: Protocol, base: &str) -> Endpoint {
    let mut endpoint = endpoint(protocol, base);
    endpoint.limits.max_attempts = 4;
    endpoint
}

fn busy(status: u16, headers: &str) -> Reply {
    Reply::Whole(answer(
        status,
        headers,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#,
    ))
}

#[actix_rt::test]
async fn busy_and_failing_servers_are_asked_again() {
    for (protocol, events) in [(Protocol::Anthropic, anthropic::REPLY), (Protocol::OpenAi, openai::REPLY)] {
        let script = vec![busy(429, ""), busy(529, ""), busy(500, ""), Reply::Whole(stream(events))];
        let server = Server::start(script).await;
        let turn = turn(&Client::new(patient(protocol, &server.base)).unwrap()).await.unwrap();
        assert_eq!((turn.attempts, server.requests().len()), (4, 4));
        // Each attempt says the same.
        assert!(server.requests().iter().all(|request| request.body == server.requests()[0].body));
    }
}

#[actix_rt::test]
async fn last_answer_is_reported_when_all_attempts_fail() {
    for (status, overloaded) in
        [(429, true), (503, true), (529, true), (500, false), (502, false), (408, false)]
    {
        let server = Server::start(vec![busy(status, "")]).await;
        let err = turn(&Client::new(patient(Protocol::Anthropic, &server.base)).unwrap()).await.unwrap_err();
        assert!(err.is_worth_retrying());
        let (TurnError::Overloaded { rejection, attempts } | TurnError::Failed { rejection, attempts }) =
            &err
        else {
            panic!("{err:?}")
        };
        assert_eq!(matches!(err, TurnError::Overloaded { .. }), overloaded);
        assert_eq!((rejection.status, rejection.kind.as_str(), *attempts), (status, "overloaded_error", 4));
        assert_eq!(server.requests().len(), 4);
    }
}

#[actix_rt::test]
async fn client_errors_are_not_tried_again() {
    for status in [400, 401, 403, 404, 413, 422] {
        let server = Server::start(vec![busy(status, "")]).await;
        let err = turn(&Client::new(patient(Protocol::Anthropic, &server.base)).unwrap()).await.unwrap_err();
        assert!(matches!(err, TurnError::Rejected(_)), "{err:?}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[actix_rt::test]
async fn empty_account_and_a_server_that_says_no_are_not_tried_again() {
    let quota = answer(
        429,
        "",
        r#"{"error":{"message":"m","type":"insufficient_quota","code":"insufficient_quota"}}"#,
    );
    for reply in [Reply::Whole(quota), busy(529, "x-should-retry: false\r\n")] {
        let server = Server::start(vec![reply]).await;
        let err = turn(&Client::new(patient(Protocol::OpenAi, &server.base)).unwrap()).await.unwrap_err();
        assert!(matches!(err, TurnError::Rejected(_)), "{err:?}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[actix_rt::test]
async fn retry_after_is_waited_for() {
    let server =
        Server::start(vec![busy(429, "retry-after: 1\r\n"), Reply::Whole(stream(anthropic::REPLY))]).await;
    let begun = Instant::now();
    let turn = turn(&Client::new(patient(Protocol::Anthropic, &server.base)).unwrap()).await.unwrap();
    assert_eq!(turn.attempts, 2);
    assert!(begun.elapsed() >= Duration::from_secs(1));
}

#[actix_rt::test]
async fn longer_wait_than_allowed_ends_the_turn_at_once() {
    let server = Server::start(vec![busy(429, "retry-after: 3600\r\n")]).await;
    let err = turn(&Client::new(patient(Protocol::Anthropic, &server.base)).unwrap()).await.unwrap_err();
    assert!(matches!(err, TurnError::Overloaded { attempts: 1, .. }), "{err:?}");
    assert_eq!(server.requests().len(), 1);
}

#[actix_rt::test]
async fn wait_past_the_end_of_the_turn_is_not_begun() {
    let server = Server::start(vec![busy(429, "retry-after: 10\r\n")]).await;
    let mut endpoint = patient(Protocol::Anthropic, &server.base);
    endpoint.limits.total = Duration::from_secs(5);
    let begun = Instant::now();
    let err = turn(&Client::new(endpoint).unwrap()).await.unwrap_err();
    assert!(matches!(err, TurnError::Overloaded { attempts: 1, .. }), "{err:?}");
    assert!(begun.elapsed() < Duration::from_secs(4));
}

#[actix_rt::test]
async fn connection_that_breaks_before_an_answer_is_tried_again() {
    let script =
        vec![Reply::Close(Vec::new()), Reply::Reset(Vec::new()), Reply::Whole(stream(anthropic::REPLY))];
    let server = Server::start(script).await;
    let turn = turn(&Client::new(patient(Protocol::Anthropic, &server.base)).unwrap()).await.unwrap();
    assert_eq!(turn.attempts, 3);
}

#[actix_rt::test]
async fn pooled_connection_that_the_server_closed_does_not_fail_a_turn() {
    let script = vec![Reply::Close(stream(anthropic::REPLY)), Reply::Whole(stream(anthropic::REPLY))];
    let server = Server::start(script).await;
    let client = Client::new(patient(Protocol::Anthropic, &server.base)).unwrap();
    for _ in 0..2 {
        turn(&client).await.unwrap();
    }
}

#[actix_rt::test]
async fn server_that_is_not_there_is_unreachable_after_all_attempts() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let err = turn(&Client::new(patient(Protocol::OpenAi, &format!("http://127.0.0.1:{port}"))).unwrap())
        .await
        .unwrap_err();
    assert_eq!(err, TurnError::Unreachable { reason: "no connection", attempts: 4 });
}

#[actix_rt::test]
async fn reply_that_has_begun_is_never_asked_for_again() {
    for reply in [
        Reply::Close(open_stream("data: {\"type\":\"ping\"}\n\n")),
        Reply::Reset(open_stream("data: {\"type\":\"ping\"}\n\n")),
    ] {
        let server = Server::start(vec![reply]).await;
        let err = turn(&Client::new(patient(Protocol::Anthropic, &server.base)).unwrap()).await.unwrap_err();
        assert_eq!(err, TurnError::Truncated);
        assert!(err.is_worth_retrying());
        assert_eq!(server.requests().len(), 1);
    }
}
