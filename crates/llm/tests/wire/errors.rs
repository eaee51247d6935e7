//! Replies that are broken on the way, whichever protocol.

use ask_llm::{Client, Protocol, TurnError};

use crate::{
    server::{Reply, Server, answer, open_stream, stream},
    setup::{client, endpoint, turn},
};

/// A reply that ends early, by a clean close or a reset, is never a turn.
pub(crate) async fn cut_everywhere(protocol: Protocol, events: &str) {
    let whole = stream(events);
    // With the last byte of the last event the reply is whole, though the HTTP body is not.
    let complete = open_stream(events).len() - 2;
    let cuts = |at: usize| {
        if at.is_multiple_of(5) {
            Reply::Reset(whole[..at].to_vec())
        } else {
            Reply::Close(whole[..at].to_vec())
        }
    };
    let server =
        Server::start((0..complete).map(cuts).chain([Reply::Close(whole[..complete].to_vec())]).collect())
            .await;
    let client = client(protocol, &server.base);
    for at in 0..complete {
        let result = turn(&client).await;
        assert!(
            matches!(result, Err(TurnError::Truncated | TurnError::Unreachable { .. })),
            "cut at {at} of {complete}: {result:?}"
        );
    }
    turn(&client).await.unwrap();
    assert_eq!(server.requests().len(), complete + 1);
}

/// How the bytes are cut into pieces changes nothing, nor do other line ends and comments.
pub(crate) async fn split_everywhere(protocol: Protocol, events: &str) {
    let crlf = format!("\u{feff}: hello\r\n{}", events.replace('\n', "\r\n"));
    let cr = events.replace('\n', "\r");
    let whole = stream(events);
    let mut replies: Vec<Reply> = (1..whole.len())
        .step_by(7)
        .map(|at| Reply::Pieces(vec![whole[..at].to_vec(), whole[at..].to_vec()]))
        .collect();
    for bytes in [&whole, &stream(&crlf), &stream(&cr)] {
        replies.push(Reply::Pieces(bytes.chunks(1).map(<[u8]>::to_vec).collect()));
    }
    let server = Server::start(replies.iter().cloned().chain([Reply::Whole(whole)]).collect()).await;
    let client = client(protocol, &server.base);
    let mut turns = Vec::new();
    for _ in 0..=replies.len() {
        turns.push(turn(&client).await.unwrap());
    }
    assert!(turns.iter().all(|turn| *turn == turns[0]));
    assert_eq!(turns[0].calls.len(), 2);
}

async fn answered(protocol: Protocol, reply: Vec<u8>) -> TurnError {
    let server = Server::start(vec![Reply::Close(reply)]).await;
    turn(&client(protocol, &server.base)).await.unwrap_err()
}

#[actix_rt::test]
async fn rejection_keeps_status_and_kind_and_shows_nothing_else() {
    let anthropic = r#"{"type":"error","error":{"type":"invalid_request_error","message":"secret row, key sk-canary-0123456789"}}"#;
    let openai = r#"{"error":{"message":"secret row, key sk-canary-0123456789","type":"invalid_request_error","code":"context_length_exceeded"}}"#;
    for (protocol, body, kind) in [
        (Protocol::Anthropic, anthropic, "invalid_request_error"),
        (Protocol::OpenAi, openai, "context_length_exceeded"),
    ] {
        let err = answered(protocol, answer(400, "", body)).await;
        let TurnError::Rejected(rejection) = &err else { panic!("{err:?}") };
        assert_eq!((rejection.status, rejection.kind.as_str()), (400, kind));
        assert_eq!(rejection.detail.expose(), "secret row, key [key]");
        let shown = format!("{err} {err:?}");
        assert!(!shown.contains("secret row") && !shown.contains("canary"), "{shown}");
        assert!(!err.is_worth_retrying());
    }
}

#[actix_rt::test]
async fn redirect_is_a_rejection_and_is_not_followed() {
    let other = Server::start(vec![Reply::Close(Vec::new())]).await;
    let redirect = answer(307, &format!("location: {}/v1/messages\r\n", other.base), "{}");
    let err = answered(Protocol::Anthropic, redirect).await;
    assert!(matches!(&err, TurnError::Rejected(rejection) if rejection.status == 307), "{err:?}");
    assert_eq!(other.counts().connections, 0);
}

#[actix_rt::test]
async fn answer_without_a_stream_is_malformed() {
    let err = answered(Protocol::OpenAi, answer(200, "", r#"{"choices":[]}"#)).await;
    assert!(matches!(err, TurnError::Malformed(_)), "{err:?}");
}

#[actix_rt::test]
async fn close_delimited_body_is_never_taken_for_whole() {
    // The HTTP client hands out such a body as empty.
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let err = answered(Protocol::OpenAi, format!("{head}{}", crate::openai::REPLY).into_bytes()).await;
    assert_eq!(err, TurnError::Truncated);
}

#[actix_rt::test]
async fn broken_utf8_is_malformed() {
    let reply = stream("data: {\"x\":\"?\"}\n\n")
        .iter()
        .map(|byte| if *byte == b'?' { 0xff } else { *byte })
        .collect();
    let err = answered(Protocol::OpenAi, reply).await;
    assert!(matches!(err, TurnError::Malformed(_)), "{err:?}");
}

#[test]
fn nothing_secret_is_in_the_debug_text_of_a_client() {
    let client = Client::new(endpoint(Protocol::OpenAi, "http://127.0.0.1:1")).unwrap();
    assert!(!format!("{client:?}").contains("canary"));
}

#[test]
fn degraded_protocol_is_refused_unless_accepted() {
    let mut endpoint = endpoint(Protocol::OpenAi, "http://127.0.0.1:1");
    endpoint.accept_degraded = false;
    let err = Client::new(endpoint.clone()).unwrap_err();
    assert_eq!(
        err.to_string(),
        "the openai protocol lacks something that is not accepted to be given up: cache_breakpoints, effort, fallback"
    );
    endpoint.protocol = Protocol::Anthropic;
    Client::new(endpoint).unwrap();
}

#[test]
fn key_that_no_header_carries_is_refused() {
    let mut endpoint = endpoint(Protocol::Anthropic, "http://127.0.0.1:1");
    endpoint.api_key = Some(ask_llm::Secret::new("a\nb"));
    let err = Client::new(endpoint).unwrap_err();
    assert_eq!(err, ask_llm::BuildError::ApiKey);
}
