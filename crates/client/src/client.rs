//! The calls of the contract.

use std::fmt::Write as _;
use std::rc::Rc;

use ask_contract::{
    AskRequest, AskState, CancelReceipt, Conversation, ConversationId, Health, Ticket, TicketId,
};
use awc::http::Method;
use awc::http::header;
use bytes::Bytes;
use serde::de::DeserializeOwned;

use crate::backoff::{jitter, pause};
use crate::http::{exchange, read_all, retry_after};
use crate::{Base, Bearer, CallError, Credentials, EventStream, Http, Limits, Rejection, TransportError};

/// How often a call whose answer was lost is made, all told.
const TRIES: u32 = 3;

/// One caller at one service. Cheap to clone; clones share connections.
///
/// A call whose answer was lost on the way is made again, twice at most. An ask carries an `Idempotency-Key`, so that a
/// service that honours it starts no second run; at one that does not, the second attempt meets the running ask and ends
/// in 409. A call that found no connection is not made again: that is for a person to hear at once. A call that is answered
/// with 401 is made again once where the credentials give another token.
#[derive(Debug, Clone)]
pub struct Client {
    http: Http,
    base: Rc<Base>,
    credentials: Credentials,
    limits: Rc<Limits>,
}

impl Client {
    /// A client with connections of its own and the default limits.
    pub fn new(base: Base, credentials: impl Into<Credentials>) -> Self {
        Self::with(Http::new(), base, credentials, Limits::default())
    }

    /// A client over shared connections.
    pub fn with(http: Http, base: Base, credentials: impl Into<Credentials>, limits: Limits) -> Self {
        Self { http, base: Rc::new(base), credentials: credentials.into(), limits: Rc::new(limits) }
    }

    /// The same client for another caller.
    #[must_use]
    pub fn with_bearer(&self, bearer: Bearer) -> Self {
        Self { credentials: bearer.into(), ..self.clone() }
    }

    /// The service's root.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// Opens a conversation to ask within.
    ///
    /// # Errors
    ///
    /// Any [`CallError`].
    ///
    /// # Cancel safety
    ///
    /// Dropped in mid-call it may leave an empty conversation, which the service forgets.
    pub async fn create_conversation(&self) -> Result<Conversation, CallError> {
        self.call(Method::POST, &["v1", "conversations"], Bytes::new(), None).await
    }

    /// Asks a question; the ticket comes before anything runs.
    ///
    /// # Errors
    ///
    /// Any [`CallError`]; a rejection with `ask_running` when the conversation is busy.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: dropped in mid-call it may leave an ask running whose ticket nobody knows.
    pub async fn ask(
        &self,
        conversation: &ConversationId,
        request: &AskRequest,
    ) -> Result<Ticket, CallError> {
        let body = serde_json::to_vec(request).map_err(CallError::Malformed)?;
        let key = idempotency_key();
        let path = ["v1", "conversations", conversation.as_str(), "asks"];
        self.call(Method::POST, &path, Bytes::from(body), Some(&key)).await
    }

    /// The events of an ask from the first, across cuts until `done`. Connects when it is first polled.
    pub fn events(&self, ticket: &TicketId) -> EventStream {
        self.events_after(ticket, 0)
    }

    /// The events of an ask that come after event `seq`.
    pub fn events_after(&self, ticket: &TicketId, seq: u64) -> EventStream {
        EventStream::new(
            self.http.clone(),
            Rc::clone(&self.base),
            self.credentials.clone(),
            Rc::clone(&self.limits),
            ticket.clone(),
            seq,
        )
    }

    /// Where an ask stands.
    ///
    /// # Errors
    ///
    /// Any [`CallError`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only reads.
    pub async fn state(&self, ticket: &TicketId) -> Result<AskState, CallError> {
        self.call(Method::GET, &["v1", "asks", ticket.as_str()], Bytes::new(), None).await
    }

    /// Ends an ask. The ending is in its stream by the time this returns; one that is over already stays as it is.
    ///
    /// # Errors
    ///
    /// Any [`CallError`].
    ///
    /// # Cancel safety
    ///
    /// Dropped in mid-call the ask may or may not be cancelled; calling again is harmless.
    pub async fn cancel(&self, ticket: &TicketId) -> Result<CancelReceipt, CallError> {
        self.call(Method::POST, &["v1", "asks", ticket.as_str(), "cancel"], Bytes::new(), None).await
    }

    /// Whether the service serves, and which contract. Sends no bearer.
    ///
    /// # Errors
    ///
    /// Any [`CallError`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only reads.
    pub async fn health(&self) -> Result<Health, CallError> {
        self.call(Method::GET, &["health"], Bytes::new(), None).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        body: Bytes,
        key: Option<&str>,
    ) -> Result<T, CallError> {
        let mut bearer = if path == ["health"] {
            None
        } else {
            Some(self.credentials.current().await.map_err(CallError::NoToken)?)
        };
        let mut made = 1;
        let mut renewed = false;
        loop {
            let called = self.call_once(method.clone(), path, body.clone(), bearer.as_ref(), key).await;
            match called {
                Err(CallError::Rejected(rejection)) if rejection.status == 401 && !renewed => {
                    renewed = true;
                    let Some(refused) = &bearer else { return Err(CallError::Rejected(rejection)) };
                    match self.credentials.renew(refused).await.map_err(CallError::NoToken)? {
                        Some(next) => bearer = Some(next),
                        None => return Err(CallError::Rejected(rejection)),
                    }
                }
                Err(CallError::Lost(_)) if made < TRIES => {
                    let wait = pause(&self.limits, made - 1, std::time::Duration::ZERO, jitter());
                    tokio::time::sleep(wait).await;
                    made += 1;
                }
                called => return called,
            }
        }
    }

    async fn call_once<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        body: Bytes,
        bearer: Option<&Bearer>,
        key: Option<&str>,
    ) -> Result<T, CallError> {
        let mut request = self
            .http
            .request(method, &self.base, path, bearer)
            .insert_header((header::ACCEPT, "application/json, application/problem+json"));
        if !body.is_empty() {
            request = request.insert_header((header::CONTENT_TYPE, "application/json"));
        }
        if let Some(key) = key {
            request = request.insert_header(("idempotency-key", key));
        }
        let limit = self.limits.body_bytes;
        let whole = async {
            let answer = exchange(request, body).await?;
            let retry_after = retry_after(&answer.headers);
            Ok((answer.status, retry_after, read_all(answer.body, limit).await?))
        };
        let within = self.limits.answer_within;
        let (status, retry_after, body) =
            tokio::time::timeout(within, whole).await.unwrap_or(Err(CallError::TimedOut(within)))?;
        if !status.is_success() {
            return Err(CallError::Rejected(Box::new(Rejection::read(status.as_u16(), retry_after, &body))));
        }
        serde_json::from_slice(&body).map_err(|err| {
            // A body that was cut ends as if it were whole; only its text shows it.
            if err.is_eof() { CallError::Lost(TransportError::new(err)) } else { CallError::Malformed(err) }
        })
    }
}

/// 128 random bits as text. Without a source of randomness the key is empty, which no service takes for one.
fn idempotency_key() -> String {
    let mut bits = [0_u8; 16];
    let mut key = String::new();
    if getrandom::fill(&mut bits).is_ok() {
        for byte in bits {
            // Writing to a string can't fail.
            write!(key, "{byte:02x}").unwrap_or_default();
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_long_and_differ() {
        let (one, two) = (idempotency_key(), idempotency_key());
        assert_eq!(one.len(), 32);
        assert_ne!(one, two);
    }

    #[test]
    fn debug_output_of_a_client_shows_no_token() {
        let client = Client::new(Base::parse("http://h").unwrap(), Bearer::new("tok.en.sig").unwrap());
        assert!(!format!("{client:?}").contains("tok.en"));
        assert!(!format!("{:?}", client.events(&TicketId::new("t"))).contains("tok.en"));
    }
}
