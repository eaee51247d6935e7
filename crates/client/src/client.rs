//! The calls of the contract.

use std::fmt::Write as _;
use std::rc::Rc;
use std::time::Duration;

use ask_contract::{
    AskRequest, AskState, CancelReceipt, Conversation, ConversationId, ConversationPage, ConversationState,
    Feedback, FeedbackReceipt, Health, ProblemCode, Ticket, TicketId,
};
use awc::http::header;
use awc::http::{Method, StatusCode};
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

/// One call, however often it is made.
struct Call<'a> {
    method: Method,
    path: &'a [&'a str],
    query: Vec<(&'static str, String)>,
    body: Bytes,
    key: Option<&'a str>,
    /// How long the service was told that it may take, beyond what any answer may.
    waits: Duration,
}

impl<'a> Call<'a> {
    const fn new(method: Method, path: &'a [&'a str]) -> Self {
        Self { method, path, query: Vec::new(), body: Bytes::new(), key: None, waits: Duration::ZERO }
    }
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
        self.call(Call::new(Method::POST, &["v1", "conversations"])).await
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
        self.call(Call { body: Bytes::from(body), key: Some(&key), ..Call::new(Method::POST, &path) }).await
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
        self.call(Call::new(Method::GET, &["v1", "asks", ticket.as_str()])).await
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
        self.call(Call::new(Method::POST, &["v1", "asks", ticket.as_str(), "cancel"])).await
    }

    /// Where an ask stands once it has ended, or when `wait` is over; the service takes whole seconds, 60 at most.
    ///
    /// # Errors
    ///
    /// Any [`CallError`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only reads.
    pub async fn state_at_end(&self, ticket: &TicketId, wait: Duration) -> Result<AskState, CallError> {
        let path = ["v1", "asks", ticket.as_str()];
        let query = vec![("wait", wait.as_secs().to_string())];
        self.call(Call { query, waits: wait, ..Call::new(Method::GET, &path) }).await
    }

    /// Says what the asker thinks of how an ask ended; the latest word counts.
    ///
    /// # Errors
    ///
    /// Any [`CallError`]; a rejection with `ask_running` before the ask has ended.
    ///
    /// # Cancel safety
    ///
    /// Dropped in mid-call it may or may not count; calling again is harmless.
    pub async fn rate(&self, ticket: &TicketId, feedback: Feedback) -> Result<FeedbackReceipt, CallError> {
        let body = serde_json::to_vec(&feedback).map_err(CallError::Malformed)?;
        let path = ["v1", "asks", ticket.as_str(), "feedback"];
        self.call(Call { body: Bytes::from(body), ..Call::new(Method::POST, &path) }).await
    }

    /// The caller's conversations, the newest first: at most `limit`, behind the `next` of the page before.
    ///
    /// # Errors
    ///
    /// Any [`CallError`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only reads.
    pub async fn conversations(
        &self,
        limit: u32,
        after: Option<&str>,
    ) -> Result<ConversationPage, CallError> {
        let mut query = vec![("limit", limit.to_string())];
        query.extend(after.map(|after| ("after", after.to_owned())));
        self.call(Call { query, ..Call::new(Method::GET, &["v1", "conversations"]) }).await
    }

    /// Where a conversation stands.
    ///
    /// # Errors
    ///
    /// Any [`CallError`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only reads.
    pub async fn conversation(&self, conversation: &ConversationId) -> Result<ConversationState, CallError> {
        self.call(Call::new(Method::GET, &["v1", "conversations", conversation.as_str()])).await
    }

    /// Has the service forget a conversation with all its asks, and cancel what runs. One that is not there is as good as
    /// forgotten.
    ///
    /// # Errors
    ///
    /// Any [`CallError`] but a rejection with `not_found`.
    ///
    /// # Cancel safety
    ///
    /// Dropped in mid-call it may or may not be forgotten; calling again is harmless.
    pub async fn forget(&self, conversation: &ConversationId) -> Result<(), CallError> {
        let path = ["v1", "conversations", conversation.as_str()];
        match self.call(Call::new(Method::DELETE, &path)).await {
            // The first answer may have been lost.
            Err(CallError::Rejected(rejection)) if rejection.code == Some(ProblemCode::NotFound) => Ok(()),
            other => other,
        }
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
        self.call(Call::new(Method::GET, &["health"])).await
    }

    async fn call<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, CallError> {
        let mut bearer = if call.path == ["health"] {
            None
        } else {
            Some(self.credentials.current().await.map_err(CallError::NoToken)?)
        };
        let mut made = 1;
        let mut renewed = false;
        loop {
            let called = self.call_once(&call, bearer.as_ref()).await;
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
        call: &Call<'_>,
        bearer: Option<&Bearer>,
    ) -> Result<T, CallError> {
        let body = call.body.clone();
        let mut request = self
            .http
            .request(call.method.clone(), &self.base, call.path, bearer)
            .insert_header((header::ACCEPT, "application/json, application/problem+json"));
        if !call.query.is_empty() {
            request = request.query(&call.query).map_err(|err| CallError::Lost(TransportError::new(err)))?;
        }
        if !body.is_empty() {
            request = request.insert_header((header::CONTENT_TYPE, "application/json"));
        }
        if let Some(key) = call.key {
            request = request.insert_header(("idempotency-key", key));
        }
        let limit = self.limits.body_bytes;
        let whole = async {
            let answer = exchange(request, body).await?;
            let retry_after = retry_after(&answer.headers);
            Ok((answer.status, retry_after, read_all(answer.body, limit).await?))
        };
        let within = self.limits.answer_within + call.waits;
        let (status, retry_after, body) =
            tokio::time::timeout(within, whole).await.unwrap_or(Err(CallError::TimedOut(within)))?;
        if !status.is_success() {
            return Err(CallError::Rejected(Box::new(Rejection::read(status.as_u16(), retry_after, &body))));
        }
        // An answer without content stands for nothing, which is `()`.
        let body = if status == StatusCode::NO_CONTENT { Bytes::from_static(b"null") } else { body };
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
