//! Limits on time and size.

use std::time::Duration;

use ask_llm::{Client, Endpoint, Limit, Protocol, TurnError};

use crate::{
    anthropic, openai,
    server::{Reply, Server, answer, open_stream, stream},
    setup::{endpoint, turn},
};

const SHORT: Duration = Duration::from_millis(80);
const PING: &str = "event: ping\ndata: {\"type\":\"ping\"}\n\n";

async fn fails(reply: Reply, set: impl FnOnce(&mut Endpoint)) -> (TurnError, Server) {
    let server = Server::start(vec![reply]).await;
    let mut endpoint = endpoint(Protocol::Anthropic, &server.base);
    endpoint.limits.max_attempts = 3;
    set(&mut endpoint);
    let err = turn(&Client::new(endpoint).unwrap()).await.unwrap_err();
    (err, server)
}

#[actix_rt::test]
async fn first_byte_that_does_not_come_ends_the_turn_and_the_connection() {
    for reply in [Vec::new(), open_stream("")] {
        let (err, server) = fails(Reply::Stall(reply), |endpoint| endpoint.limits.first_byte = SHORT).await;
        assert_eq!(err, TurnError::TimedOut(Limit::FirstByte));
        assert!(err.is_worth_retrying());
        server.until(|counts| counts.closed == 1).await;
        assert_eq!(server.requests().len(), 1);
    }
}

#[actix_rt::test]
async fn silence_in_mid_reply_ends_the_turn_and_the_connection() {
    let (err, server) = fails(Reply::Stall(open_stream(PING)), |endpoint| endpoint.limits.idle = SHORT).await;
    assert_eq!(err, TurnError::TimedOut(Limit::Idle));
    server.until(|counts| counts.closed == 1).await;
}

#[actix_rt::test]
async fn total_limit_holds_whatever_the_server_does() {
    let pings = vec![open_stream(PING)]
        .into_iter()
        .chain(std::iter::repeat_n(format!("{:x}\r\n{PING}\r\n", PING.len()).into_bytes(), 20_000));
    for reply in [Reply::Stall(Vec::new()), Reply::Pieces(pings.collect())] {
        let (err, _server) = fails(reply, |endpoint| {
            endpoint.limits.total = SHORT * 3;
            endpoint.limits.max_response_bytes = usize::MAX;
        })
        .await;
        assert_eq!(err, TurnError::TimedOut(Limit::Total));
        assert!(!err.is_worth_retrying());
    }
}

#[actix_rt::test]
async fn total_limit_ends_the_waits_between_attempts() {
    let busy = answer(529, "retry-after-ms: 100\r\n", "{}");
    let (err, server) = fails(Reply::Whole(busy), |endpoint| {
        endpoint.limits.total = Duration::from_millis(350);
        endpoint.limits.max_attempts = 100;
    })
    .await;
    assert!(matches!(err, TurnError::Overloaded { .. } | TurnError::TimedOut(Limit::Total)), "{err:?}");
    assert!((2..=4).contains(&server.requests().len()));
}

#[actix_rt::test]
async fn reply_that_is_too_large_is_refused() {
    let many = PING.repeat(1000);
    let one = format!("data: {}\n\n", "x".repeat(40_000));
    for events in [many, one] {
        let (err, _server) =
            fails(Reply::Whole(open_stream(&events)), |endpoint| endpoint.limits.max_response_bytes = 30_000)
                .await;
        assert_eq!(err, TurnError::TooLarge);
    }
}

#[actix_rt::test]
async fn error_body_without_end_is_not_read_for_ever() {
    let head = b"HTTP/1.1 400 Bad\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(4096)).into_bytes();
    let pieces = [head].into_iter().chain(std::iter::repeat_n(chunk, 10_000)).collect();
    let (err, _server) = fails(Reply::Pieces(pieces), |_| {}).await;
    let TurnError::Rejected(rejection) = &err else { panic!("{err:?}") };
    assert_eq!((rejection.status, rejection.detail.expose().len()), (400, 512));
}

#[actix_rt::test]
async fn more_turns_run_at_once_than_the_pool_of_the_http_client_has_by_default() {
    for (protocol, events) in [(Protocol::Anthropic, anthropic::REPLY), (Protocol::OpenAi, openai::REPLY)] {
        let server = Server::start(vec![Reply::Whole(stream(events))]).await;
        let stalled = Server::start(vec![Reply::Stall(open_stream(PING))]).await;
        let mut endpoint = endpoint(protocol, &stalled.base);
        endpoint.limits.connections = 120;
        let client = Client::new(endpoint.clone()).unwrap();
        let turns = futures_util::future::join_all((0..120).map(|_| turn(&client)));
        tokio::select! {
            _ = turns => panic!("a stalled reply ended"),
            () = stalled.until(|counts| counts.replied == 120) => {}
        }
        stalled.until(|counts| counts.closed == 120).await;
        endpoint.base_url = server.base.parse().unwrap();
        turn(&Client::new(endpoint).unwrap()).await.unwrap();
    }
}
