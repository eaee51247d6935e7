//! A turn that is dropped.

use std::time::Duration;

use ask_llm::{Client, Protocol};
use tokio::time::Instant;

use crate::{
    server::{Reply, Server, answer, open_stream},
    setup::{client, endpoint, turn},
};

async fn dropped_at(protocol: Protocol, reply: Vec<u8>) {
    let server = Server::start(vec![Reply::Stall(reply)]).await;
    let client = client(protocol, &server.base);
    tokio::select! {
        result = turn(&client) => panic!("{result:?}"),
        () = server.until(|counts| counts.replied == 1) => {}
    }
    let dropped = Instant::now();
    server.until(|counts| counts.closed == 1).await;
    assert!(dropped.elapsed() < Duration::from_millis(500), "{:?}", dropped.elapsed());
    assert_eq!(server.requests().len(), 1);
}

#[actix_rt::test]
async fn dropped_turn_closes_its_connection_before_the_head_in_an_idle_body_and_in_mid_event() {
    let begun = crate::anthropic::REPLY.split_inclusive("\n\n").take(3).collect::<String>();
    for protocol in [Protocol::Anthropic, Protocol::OpenAi] {
        dropped_at(protocol, Vec::new()).await;
        dropped_at(protocol, open_stream("")).await;
        dropped_at(protocol, open_stream(&begun)).await;
        dropped_at(protocol, open_stream(": x\n\n: half an")).await;
    }
}

#[actix_rt::test]
async fn turn_dropped_while_it_waits_sends_no_further_request() {
    let server = Server::start(vec![Reply::Whole(answer(529, "retry-after-ms: 50\r\n", "{}"))]).await;
    let mut endpoint = endpoint(Protocol::Anthropic, &server.base);
    endpoint.limits.max_attempts = 100;
    let client = Client::new(endpoint).unwrap();
    tokio::select! {
        result = turn(&client) => panic!("{result:?}"),
        () = server.until(|counts| counts.replied == 2) => {}
    }
    // Twice as long as the next attempt would have needed.
    let waited =
        tokio::time::timeout(Duration::from_millis(200), server.until(|counts| counts.replied > 2)).await;
    assert!(waited.is_err());
}
