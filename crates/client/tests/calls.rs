//! Calls against a peer that answers, refuses, breaks off and stalls.

#[cfg(test)]
mod support;

use std::time::Duration;

use ask_client::{CallError, Limits};
use ask_contract::{
    AskRequest, AskStatus, ConversationId, Effort, Feedback, FeedbackReason, ProblemCode, Rating, TicketId,
};
use support::{Act, Peer, answer, answer_with, quick};

const JSON: &str = "application/json";
const TICKET: &str = r#"{"ticket":"t1","conversation_id":"c1","turn":1,"seq":0,"expires_at":"2026-01-31T09:30:00.000Z","more":1}"#;

fn request() -> AskRequest {
    AskRequest {
        question: "How many?".to_owned(),
        context: false,
        model: None,
        effort: Some(Effort::Low),
        deadline_s: None,
    }
}

#[actix_rt::test]
async fn each_call_has_its_path_below_the_prefix() {
    let peer = Peer::start(|_, request| {
        let body = match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/gw/ask/v1/conversations") => {
                r#"{"conversation_id":"c1","expires_at":"2026-01-31T09:30:00Z"}"#
            }
            ("POST", "/gw/ask/v1/conversations/c1/asks") => TICKET,
            ("GET", "/gw/ask/v1/asks/t1") => {
                r#"{"ticket":"t1","conversation_id":"c1","status":"running","seq":3,"terminal":null,"done":null}"#
            }
            ("POST", "/gw/ask/v1/asks/t1/cancel") => r#"{"ticket":"t1","finished":true}"#,
            ("GET", "/gw/ask/health") => r#"{"status":"ok","contract":"1"}"#,
            _ => return vec![Act::Send(answer("404 No", "text/plain", ""))],
        };
        vec![Act::Send(answer("200 OK", JSON, body))]
    });
    let client = support::client(&format!("{}/gw/ask/", peer.base()), quick());
    let conversation = client.create_conversation().await.unwrap().conversation_id;
    let ticket = client.ask(&conversation, &request()).await.unwrap().ticket;
    assert_eq!(client.state(&ticket).await.unwrap().seq, 3);
    assert!(client.cancel(&ticket).await.unwrap().finished);
    assert_eq!(client.health().await.unwrap().contract, "1");
    let requests = peer.requests();
    assert_eq!(requests[1].body, r#"{"question":"How many?","context":false,"effort":"low"}"#);
    assert_eq!(requests[1].header("content-type"), Some(JSON));
    assert!(requests[..4].iter().all(|request| request.header("authorization") == Some("Bearer to.ke.n")));
    assert_eq!(requests[4].header("authorization"), None, "health needs no token and gets none");
}

#[actix_rt::test]
async fn ones_own_conversations_are_listed_shown_and_forgotten_and_an_ending_is_waited_for_and_rated() {
    const STATE: &str = r#"{"conversation_id":"c1","created_at":"2026-01-31T09:30:00.000Z","expires_at":"2026-01-31T09:45:00.000Z","turns":2,"running":"t1"}"#;
    let peer = Peer::start(|number, request| {
        let page = format!(r#"{{"conversations":[{STATE}],"next":"1.c1"}}"#);
        let (status, body) = match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/v1/conversations?limit=10") => ("200 OK", page.as_str()),
            ("GET", "/v1/conversations?limit=10&after=1.c1") => {
                ("200 OK", r#"{"conversations":[],"next":null}"#)
            }
            ("GET", "/v1/conversations/c1") => ("200 OK", STATE),
            ("GET", "/v1/asks/t1?wait=25") => (
                "200 OK",
                r#"{"ticket":"t1","conversation_id":"c1","status":"finished","seq":9,"terminal":null,"done":null}"#,
            ),
            ("POST", "/v1/asks/t1/feedback") => {
                ("200 OK", r#"{"ticket":"t1","rating":"down","reason":"speed"}"#)
            }
            // The first answer to the DELETE is lost; by then it was done.
            ("DELETE", "/v1/conversations/c1") if number == 5 => return Vec::new(),
            ("DELETE", "/v1/conversations/c1") => {
                ("404 No", r#"{"type":"x","title":"x","status":404,"code":"not_found"}"#)
            }
            ("DELETE", "/v1/conversations/c2") => {
                return vec![Act::Send(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec())];
            }
            _ => ("400 Bad", "{}"),
        };
        vec![Act::Send(answer(status, JSON, body))]
    });
    let client = peer.client();
    let page = client.conversations(10, None).await.unwrap();
    assert_eq!((page.conversations[0].turns, page.next.as_deref()), (2, Some("1.c1")));
    assert_eq!(client.conversations(10, page.next.as_deref()).await.unwrap().next, None);
    let one = ConversationId::new("c1");
    assert_eq!(client.conversation(&one).await.unwrap().running, Some(TicketId::new("t1")));
    let ticket = TicketId::new("t1");
    let state = client.state_at_end(&ticket, Duration::from_secs(25)).await.unwrap();
    assert_eq!(state.status, AskStatus::Finished);
    let bad = Feedback { rating: Rating::Down, reason: Some(FeedbackReason::Speed) };
    assert_eq!(client.rate(&ticket, bad).await.unwrap().rating, Rating::Down);
    assert_eq!(peer.requests()[4].body, r#"{"rating":"down","reason":"speed"}"#);
    client.forget(&one).await.unwrap();
    client.forget(&ConversationId::new("c2")).await.unwrap();
    assert_eq!(peer.requests().len(), 8, "the lost DELETE was sent twice");
}

#[actix_rt::test]
async fn a_lost_answer_is_asked_for_again_with_the_same_key() {
    let whole = answer("202 Accepted", JSON, TICKET);
    let half = whole[..whole.len() - 30].to_vec();
    let peer = Peer::start(move |number, _| match number {
        0 => Vec::new(),
        1 => vec![Act::Send(half.clone())],
        _ => vec![Act::Send(whole.clone())],
    });
    let ticket = peer.client().ask(&ConversationId::new("c1"), &request()).await.unwrap();
    assert_eq!(ticket.ticket, TicketId::new("t1"));
    let requests = peer.requests();
    let keys: Vec<_> = requests.iter().map(|request| request.header("idempotency-key").unwrap()).collect();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| key.len() == 32 && *key == keys[0]));
}

#[actix_rt::test]
async fn an_answer_that_is_always_lost_is_an_error_in_the_end() {
    let peer = Peer::start(|_, _| Vec::new());
    let err = peer.client().create_conversation().await.unwrap_err();
    assert!(matches!(err, CallError::Lost(_)), "{err:?}");
    assert_eq!(peer.requests().len(), 3);
}

#[actix_rt::test]
async fn nobody_there_is_told_at_once() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let err = support::client(&format!("http://{free}"), quick()).create_conversation().await.unwrap_err();
    assert!(matches!(err, CallError::Unreachable(_)), "{err:?}");
}

#[actix_rt::test]
async fn a_problem_comes_with_its_code_and_wait() {
    let peer = Peer::start(|_, _| {
        let body = serde_json::to_string(&ask_contract::Problem::new(ProblemCode::TooManyRequests)).unwrap();
        let headers = "content-type: application/problem+json\r\nretry-after: 7\r\n";
        vec![Act::Send(answer_with("429 Too Many Requests", headers, &body))]
    });
    let err = peer.client().create_conversation().await.unwrap_err();
    let CallError::Rejected(rejection) = err else { panic!("{err:?}") };
    assert_eq!(rejection.code, Some(ProblemCode::TooManyRequests));
    assert_eq!(rejection.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(peer.requests().len(), 1);
}

#[actix_rt::test]
async fn an_answer_of_another_kind_is_malformed() {
    for body in ["<html>sign in</html>", "{}", r#"{"conversation_id":7}"#] {
        let peer = Peer::start(move |_, _| vec![Act::Send(answer("200 OK", "text/html", body))]);
        let err = peer.client().create_conversation().await.unwrap_err();
        assert!(matches!(err, CallError::Malformed(_)), "{err:?}");
    }
}

#[actix_rt::test]
async fn answers_have_limits_of_size_and_time() {
    let peer = Peer::start(|_, _| vec![Act::Send(answer("200 OK", JSON, &" ".repeat(5000)))]);
    let err = peer.client_with(Limits { body_bytes: 4000, ..quick() }).health().await.unwrap_err();
    assert!(matches!(err, CallError::TooLarge { limit: 4000 }), "{err:?}");

    let peer = Peer::start(|_, _| {
        vec![Act::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n{".to_vec()), Act::Hold]
    });
    let limits = Limits { answer_within: Duration::from_millis(80), ..quick() };
    let err = peer.client_with(limits).health().await.unwrap_err();
    assert!(matches!(err, CallError::TimedOut(_)), "{err:?}");
    assert_eq!(peer.requests().len(), 1);
}

#[actix_rt::test]
async fn an_ipv6_base_is_reached() {
    let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else { return };
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 1024];
        assert!(stream.read(&mut head).unwrap() > 0);
        stream.write_all(&answer("200 OK", JSON, r#"{"status":"ok","contract":"1"}"#)).unwrap();
    });
    let health = support::client(&format!("http://{address}"), quick()).health().await.unwrap();
    assert_eq!(health.status, "ok");
}
