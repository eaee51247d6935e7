//! Tokens that change while a client works: refused, renewed, and at their end.

#![expect(clippy::unwrap_used, reason = "a test says by failing")]

#[cfg(test)]
mod support;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ask_client::{Base, Bearer, CallError, Client, Credentials, Http, NoToken, StreamError, TokenSource};
use ask_contract::{AskRequest, ConversationId, TicketId};
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use support::{Act, Peer, Request, answer, log, quick, rest, seqs, stream_head};

const JSON: &str = "application/json";
const HEALTH: &str = r#"{"status":"ok","contract":"1"}"#;
const STATE: &str =
    r#"{"ticket":"t1","conversation_id":"c1","status":"running","seq":3,"terminal":null,"done":null}"#;
const TICKET: &str =
    r#"{"ticket":"t1","conversation_id":"c1","turn":1,"seq":0,"expires_at":"2026-01-31T09:30:00.000Z"}"#;

/// Tokens `first`, `second`, ... in turn, each renewal one further, as many as there are.
struct Row {
    tokens: Vec<&'static str>,
    at: Cell<usize>,
    refused: RefCell<Vec<Bearer>>,
}

impl Row {
    fn of(tokens: &[&'static str]) -> Rc<Self> {
        Rc::new(Self { tokens: tokens.to_vec(), at: Cell::new(0), refused: RefCell::default() })
    }

    fn client(self: &Rc<Self>, peer: &Peer) -> Client {
        let source: Rc<dyn TokenSource> = Rc::<Self>::clone(self);
        Client::with(Http::new(), Base::parse(&peer.base()).unwrap(), Credentials::new(source), quick())
    }

    fn now(&self) -> Result<Bearer, NoToken> {
        let token = self.tokens.get(self.at.get()).ok_or_else(|| NoToken::new("signed out"))?;
        Ok(Bearer::new(token).unwrap())
    }
}

impl TokenSource for Row {
    fn current(&self) -> LocalBoxFuture<'_, Result<Bearer, NoToken>> {
        async { self.now() }.boxed_local()
    }

    fn renew<'a>(&'a self, refused: &'a Bearer) -> LocalBoxFuture<'a, Result<Option<Bearer>, NoToken>> {
        async {
            self.refused.borrow_mut().push(refused.clone());
            self.at.set(self.at.get() + 1);
            self.now().map(Some)
        }
        .boxed_local()
    }
}

/// Takes one token alone, and then answers so.
fn wants(token: &'static str, body: &'static str) -> Peer {
    Peer::start(move |_, request| {
        let given = request.header("authorization").unwrap_or_default();
        vec![Act::Send(if given == format!("Bearer {token}") {
            answer("200 OK", JSON, body)
        } else {
            answer("401 Unauthorized", JSON, "{}")
        })]
    })
}

fn bearers(requests: &[Request]) -> Vec<String> {
    requests.iter().map(|request| request.header("authorization").unwrap_or_default().to_owned()).collect()
}

#[actix_rt::test]
async fn a_refused_call_is_made_again_once_with_the_next_token() {
    let row = Row::of(&["old", "new"]);
    let peer = wants("new", STATE);
    assert_eq!(row.client(&peer).state(&TicketId::new("t1")).await.unwrap().seq, 3);
    assert_eq!(bearers(&peer.requests()), ["Bearer old", "Bearer new"]);
    assert_eq!(*row.refused.borrow(), [Bearer::new("old").unwrap()]);
}

#[actix_rt::test]
async fn an_ask_that_is_made_again_keeps_its_key() {
    let peer = wants("new", TICKET);
    let request = AskRequest {
        question: "How many?".to_owned(),
        context: true,
        model: None,
        effort: None,
        deadline_s: None,
    };
    Row::of(&["old", "new"]).client(&peer).ask(&ConversationId::new("c1"), &request).await.unwrap();
    let requests = peer.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].header("idempotency-key"), requests[1].header("idempotency-key"));
    assert_eq!(requests[0].body, requests[1].body);
}

#[actix_rt::test]
async fn a_token_that_is_refused_again_is_the_end_of_it() {
    let peer = wants("never", STATE);
    let err = Row::of(&["a", "b", "c"]).client(&peer).state(&TicketId::new("t1")).await.unwrap_err();
    assert!(matches!(&err, CallError::Rejected(rejection) if rejection.status == 401), "{err:?}");
    assert_eq!(peer.requests().len(), 2);
    let err = Row::of(&["a"]).client(&peer).state(&TicketId::new("t1")).await.unwrap_err();
    assert!(matches!(&err, CallError::NoToken(_)), "{err:?}");
    assert_eq!(std::error::Error::source(&err).unwrap().to_string(), "no token to call with");
    let err = peer.client().state(&TicketId::new("t1")).await.unwrap_err();
    assert!(matches!(err, CallError::Rejected(_)), "one token for good has no next: {err:?}");
}

#[actix_rt::test]
async fn without_a_token_nothing_is_sent_but_health() {
    let peer = wants("any", HEALTH);
    let nobody = Row::of(&[]).client(&peer);
    assert!(matches!(nobody.create_conversation().await, Err(CallError::NoToken(_))));
    let mut events = nobody.events(&TicketId::new("t1"));
    assert!(matches!(events.next().await, Err(StreamError::NoToken(_))));
    assert!(peer.requests().is_empty());
    assert!(nobody.health().await.is_err());
    assert_eq!(peer.requests()[0].header("authorization"), None);
}

#[actix_rt::test]
async fn a_stream_goes_on_with_the_next_token_after_a_cut() {
    let peer = Peer::start(|number, request| {
        let given = request.header("authorization").unwrap_or_default();
        match (number, given) {
            (0, _) => vec![Act::Send(stream_head()), Act::Send(support::chunk(&log()[..4].concat()))],
            (_, "Bearer new") => vec![Act::Send(support::stream(&rest(request)))],
            (_, _) => vec![Act::Send(answer("401 Unauthorized", JSON, "{}"))],
        }
    });
    let (received, ended) = support::read(&Row::of(&["old", "new"]).client(&peer)).await;
    assert!(ended.is_ok(), "{ended:?}");
    assert_eq!(seqs(&received), (1..=8).collect::<Vec<_>>());
    assert_eq!(bearers(&peer.requests()), ["Bearer old", "Bearer old", "Bearer new"]);
    assert_eq!(peer.requests()[2].last_event_id(), 4);
}

#[actix_rt::test]
async fn a_stream_whose_tokens_are_all_refused_ends() {
    let peer = wants("never", "");
    let (_, ended) = support::read(&Row::of(&["a", "b", "c", "d"]).client(&peer)).await;
    assert!(matches!(&ended, Err(StreamError::Rejected(rejection)) if rejection.status == 401), "{ended:?}");
    assert_eq!(peer.requests().len(), 2);
}
