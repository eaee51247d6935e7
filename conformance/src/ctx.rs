//! What a check works with: the service under judgement, the identities and the scripted model.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Value, json};
use tokio::time::{Duration, Instant};
use url::Url;

use crate::check::{Failure, not_exercised, wrong};
use crate::http::{Answer, Client, Request};
use crate::log::{End, Log};
use crate::model::{Control, Reply};
use crate::offered::Offered;
use crate::options::Options;
use crate::seen::Seen;
use crate::stream::EventStream;
use crate::token::{Bearer, Identities, Maybe};

/// The service at one address, with everything a check may use.
#[derive(Debug)]
pub(crate) struct Ctx {
    pub(crate) options: Options,
    pub(crate) base: Url,
    pub(crate) http: Client,
    pub(crate) ids: Rc<Identities>,
    pub(crate) control: Option<Rc<Control>>,
    pub(crate) seen: Rc<Seen>,
    pub(crate) memo: RefCell<BTreeMap<&'static str, Rc<Run>>>,
    /// Asks of the check that runs.
    pub(crate) started: RefCell<Vec<(Bearer, String)>>,
    /// What the service says that it has.
    pub(crate) offered: Offered,
}

/// A ticket as the 202 gave it.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    pub(crate) id: String,
    pub(crate) conversation: String,
    pub(crate) body: Value,
}

/// One ask that was followed to its end.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) name: &'static str,
    pub(crate) question: String,
    pub(crate) ticket: Ticket,
    pub(crate) log: Log,
    /// From the request to the end of the stream.
    pub(crate) took: Duration,
    /// The numbers of the model requests that came meanwhile: after the first, up to the second.
    pub(crate) model_calls: (u64, u64),
}

impl Run {
    /// How many model requests came meanwhile.
    pub(crate) fn model_calls(&self) -> u64 {
        self.model_calls.1 - self.model_calls.0
    }
}

impl Ctx {
    /// An URL below the service's root.
    pub(crate) fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url
    }

    /// Most time for one thing to happen.
    pub(crate) fn limit(&self) -> Duration {
        Duration::from_secs(self.options.running.check_timeout)
    }

    /// The second user's bearer.
    pub(crate) fn other(&self) -> Result<&Bearer, Failure> {
        had("a second user", &self.ids.other)
    }

    /// A request with a bearer.
    pub(crate) fn request(&self, method: &'static str, path: &str, bearer: Option<&Bearer>) -> Request {
        let request = Request::new(method, self.url(path));
        match bearer {
            Some(bearer) => request.header("Authorization", format!("Bearer {}", bearer.expose())),
            None => request,
        }
    }

    /// Sends, waiting out a short 429 of a gateway, and keeps error answers for the last checks.
    pub(crate) async fn send(&self, request: &Request) -> Result<Answer, Failure> {
        let mut tries = 0;
        loop {
            let answer = self.http.send(request).await?;
            let wait = answer.head.header("retry-after").and_then(|value| value.trim().parse::<u64>().ok());
            if let (429, Some(wait @ 0..=5), 0..=9) = (answer.status(), wait, tries) {
                tries += 1;
                tokio::time::sleep(Duration::from_secs(wait.max(1))).await;
                continue;
            }
            if answer.status() >= 400 {
                self.seen.refused(format!("{} {}", request.method, request.url.path()), &answer);
            }
            return Ok(answer);
        }
    }

    /// `GET` as somebody.
    pub(crate) async fn get(&self, path: &str, bearer: Option<&Bearer>) -> Result<Answer, Failure> {
        self.send(&self.request("GET", path, bearer)).await
    }

    /// `POST` of a JSON body as somebody.
    pub(crate) async fn post(
        &self,
        path: &str,
        bearer: Option<&Bearer>,
        body: Option<&Value>,
    ) -> Result<Answer, Failure> {
        let request = self.request("POST", path, bearer);
        let request = match body {
            Some(body) => request.body("application/json", body.to_string()),
            None => request,
        };
        let answer = self.send(&request).await?;
        if let (202, Some(bearer), true) = (answer.status(), bearer, path.ends_with("/asks")) {
            let ticket = answer.json().as_ref().and_then(|body| text(body, "ticket").ok());
            self.started.borrow_mut().extend(ticket.map(|ticket| (bearer.clone(), ticket)));
        }
        Ok(answer)
    }

    /// A new conversation of the first user.
    pub(crate) async fn conversation(&self) -> Result<String, Failure> {
        self.conversation_of(&self.ids.first).await
    }

    /// A new conversation of that user.
    pub(crate) async fn conversation_of(&self, bearer: &Bearer) -> Result<String, Failure> {
        let answer = self.post("/v1/conversations", Some(bearer), None).await?;
        let body = expect(&answer, 201, "POST /v1/conversations")?;
        text(&body, "conversation_id")
    }

    /// Posts an ask as the first user, whatever comes of it.
    pub(crate) async fn try_ask(&self, conversation: &str, body: &Value) -> Result<Answer, Failure> {
        self.post(&asks(conversation), Some(&self.ids.first), Some(body)).await
    }

    /// Asks as the first user and expects a ticket.
    pub(crate) async fn ask(&self, conversation: &str, body: &Value) -> Result<Ticket, Failure> {
        self.ask_as(&self.ids.first, conversation, body).await
    }

    /// Asks as that user and expects a ticket.
    pub(crate) async fn ask_as(
        &self,
        bearer: &Bearer,
        conversation: &str,
        body: &Value,
    ) -> Result<Ticket, Failure> {
        let answer = self.post(&asks(conversation), Some(bearer), Some(body)).await?;
        ticket_in(&answer)
    }

    /// A new conversation, and the default question asked in it.
    pub(crate) async fn new_ask(&self) -> Result<Ticket, Failure> {
        let conversation = self.conversation().await?;
        self.ask(&conversation, &self.question()).await
    }

    /// The default question as a request.
    pub(crate) fn question(&self) -> Value {
        json!({"question": self.options.question})
    }

    /// The state endpoint's answer to the owner.
    pub(crate) async fn state(&self, ticket: &str) -> Result<Value, Failure> {
        let answer = self.get(&state(ticket), Some(&self.ids.first)).await?;
        expect(&answer, 200, "GET /v1/asks/{ticket}")
    }

    /// Cancels as the owner and expects 202.
    pub(crate) async fn cancel(&self, ticket: &str) -> Result<Value, Failure> {
        let answer = self.post(&cancel(ticket), Some(&self.ids.first), None).await?;
        expect(&answer, 202, "POST /v1/asks/{ticket}/cancel")
    }

    /// The request that opens a stream, with a raw `Last-Event-ID`.
    pub(crate) fn events_request(&self, ticket: &str, last: Option<&[u8]>) -> Request {
        let request = self
            .request("GET", &events(ticket), Some(&self.ids.first))
            .header("Accept", "text/event-stream")
            .header("Accept-Encoding", "gzip, br, zstd");
        match last {
            Some(last) => request.header("Last-Event-ID", last),
            None => request,
        }
    }

    /// Opens a stream as the owner; anything but 200 is wrong.
    pub(crate) async fn open(&self, ticket: &str, last: Option<&[u8]>) -> Result<EventStream, Failure> {
        let streaming = self.http.open(&self.events_request(ticket, last)).await?;
        let status = streaming.head.status;
        if status != 200 {
            return wrong(format!("GET /v1/asks/{{ticket}}/events answered {status}, not 200"));
        }
        self.seen.stream();
        Ok(EventStream::new(streaming.head, streaming.body, Rc::clone(&self.seen)))
    }

    /// Reads a stream as the owner from a position to its end.
    pub(crate) async fn read(&self, ticket: &str, last: Option<&[u8]>) -> Result<Log, Failure> {
        let log = self.open(ticket, last).await?.rest(self.limit()).await;
        match log.end {
            End::Clean => Ok(log),
            End::Broken(_) | End::Open => {
                wrong(format!("the stream did not come to a proper end ({:?}): {}", log.end, log.outline()))
            }
        }
    }

    /// Scripts the model's next replies.
    pub(crate) async fn script(&self, replies: &[Reply]) -> Result<(), Failure> {
        Ok(self.control()?.script(replies).await?)
    }

    /// The scripted model's control API.
    pub(crate) fn control(&self) -> Result<&Control, Failure> {
        match &self.control {
            Some(control) => Ok(control),
            None => not_exercised("needs a scripted model (--model-control)"),
        }
    }

    /// What the scripted model was sent during a run.
    pub(crate) async fn model_requests(&self, run: &Run) -> Result<Vec<Value>, Failure> {
        let (after, upto) = run.model_calls;
        Ok(self.control()?.requests(after, upto).await?)
    }

    /// Ends what a check has started and left, so that it does not take the next check's replies.
    pub(crate) async fn clean_up(&self) {
        for (bearer, ticket) in self.started.take() {
            // Whether it can be cancelled is a check's business; here it only must not go on.
            let _answer = self.http.send(&self.request("POST", &cancel(&ticket), Some(&bearer))).await;
        }
    }

    /// Starts an ask in a new conversation that stays with the model for at least `ms`.
    pub(crate) async fn slow_ask(&self, ms: u64) -> Result<Ticket, Failure> {
        let conversation = self.conversation().await?;
        self.slow_ask_in(&conversation, ms).await
    }

    /// Starts an ask that stays with the model for at least `ms`; without a scripted model, hopes for a slow one.
    pub(crate) async fn slow_ask_in(&self, conversation: &str, ms: u64) -> Result<Ticket, Failure> {
        if self.control.is_some() {
            self.script(&[self.conclude("cannot_answer", "Nothing was found.").after_ms(ms)]).await?;
        }
        let ticket = self.ask(conversation, &self.question()).await?;
        if self.control.is_none() && self.state(&ticket.id).await?.get("status") != Some(&json!("running")) {
            return not_exercised("the run was over at once; needs a scripted model (--model-control)");
        }
        Ok(ticket)
    }

    /// Asks a question in a new conversation with the model scripted, and follows it live to its end.
    pub(crate) async fn run(
        &self,
        name: &'static str,
        body: &Value,
        replies: &[Reply],
    ) -> Result<Run, Failure> {
        let conversation = self.conversation().await?;
        self.run_in(name, &conversation, body, replies).await
    }

    /// The same in a conversation there is.
    pub(crate) async fn run_in(
        &self,
        name: &'static str,
        conversation: &str,
        body: &Value,
        replies: &[Reply],
    ) -> Result<Run, Failure> {
        let mut before = 0;
        if self.control.is_some() {
            self.script(replies).await?;
            before = self.control()?.received().await?;
        } else if !replies.is_empty() {
            return not_exercised("needs a scripted model (--model-control)");
        }
        let begun = Instant::now();
        let ticket = self.ask(conversation, body).await?;
        let log = self.read(&ticket.id, None).await?;
        let took = begun.elapsed();
        let model_calls = match &self.control {
            Some(control) => (before, control.received().await?),
            None => (0, 0),
        };
        let question = body.get("question").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Run { name, question, ticket, log, took, model_calls })
    }

    /// The call by which a scripted model concludes without entities.
    pub(crate) fn conclude(&self, kind: &str, text: &str) -> Reply {
        self.conclude_with(kind, text, &[], &[])
    }

    /// The call by which a scripted model concludes.
    pub(crate) fn conclude_with(&self, kind: &str, text: &str, entities: &[&str], terms: &[&str]) -> Reply {
        Reply::call(
            &self.options.conclude_tool,
            json!({"kind": kind, "text": text, "entities": entities, "searched_terms": terms, "headline": null}),
        )
    }

    /// A scripted statement.
    pub(crate) fn query(&self, sql: &str) -> Reply {
        Reply::call(&self.options.query_tool, json!({"sql": sql}))
    }

    /// A scripted catalog search.
    pub(crate) fn search(&self, query: &str) -> Reply {
        Reply::call(&self.options.search_tool, json!({"query": query}))
    }
}

/// The bearer, or that the check can't be exercised without it.
pub(crate) fn had<'a>(who: &str, bearer: &'a Maybe) -> Result<&'a Bearer, Failure> {
    bearer.as_ref().or_else(|reason| not_exercised(format!("no token for {who}: {reason}")))
}

/// Path of a conversation's asks.
pub(crate) fn asks(conversation: &str) -> String {
    format!("/v1/conversations/{conversation}/asks")
}

/// Path of a ticket's events.
pub(crate) fn events(ticket: &str) -> String {
    format!("/v1/asks/{ticket}/events")
}

/// Path of a ticket's state.
pub(crate) fn state(ticket: &str) -> String {
    format!("/v1/asks/{ticket}")
}

/// Path of a ticket's cancel.
pub(crate) fn cancel(ticket: &str) -> String {
    format!("/v1/asks/{ticket}/cancel")
}

/// The JSON body of an answer with that status.
pub(crate) fn expect(answer: &Answer, status: u16, call: &str) -> Result<Value, Failure> {
    if answer.status() != status {
        let body: String = answer.text().chars().take(200).collect();
        return wrong(format!("{call} answered {}, not {status}: {body}", answer.status()));
    }
    match answer.json() {
        Some(body) => Ok(body),
        None => wrong(format!("{call} answered {status} without JSON")),
    }
}

/// A string member of an object.
pub(crate) fn text(body: &Value, member: &str) -> Result<String, Failure> {
    match body.get(member).and_then(Value::as_str) {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => wrong(format!("{member} is not a string in {body}")),
    }
}

/// The ticket in a 202.
pub(crate) fn ticket_in(answer: &Answer) -> Result<Ticket, Failure> {
    let body = expect(answer, 202, "POST /v1/conversations/{conversation_id}/asks")?;
    Ok(Ticket { id: text(&body, "ticket")?, conversation: text(&body, "conversation_id")?, body })
}

/// An identifier of the same form that was never given out.
pub(crate) fn unknown_like(id: &str) -> String {
    // Each character gives way to another one of this identifier, so that the form stays whatever its alphabet is.
    let mut alphabet: Vec<char> =
        id.split_once('_').map_or(id, |(_, own)| own).chars().filter(char::is_ascii_alphanumeric).collect();
    alphabet.sort_unstable();
    alphabet.dedup();
    let swapped = |c: char| match alphabet.iter().position(|known| *known == c) {
        Some(at) => alphabet.get(at + 1).or(alphabet.first()).copied().unwrap_or(c),
        None => c,
    };
    let mut count = 0;
    let mut reversed: Vec<char> = id
        .chars()
        .rev()
        .map(|c| {
            // The last eight that are not a prefix are enough to miss every identifier there is.
            count += 1;
            if count <= 8 { swapped(c) } else { c }
        })
        .collect();
    reversed.reverse();
    reversed.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::unknown_like;

    #[test]
    fn an_identifier_that_never_was_keeps_its_form_and_is_another() {
        for id in [
            "c_2qkqcck76vtkpcld3fpvfavfzjvq5ua52brp2c6qtozzomnz",
            "t_zyxwvutszyxwvuts",
            "b3f1c2d4-1111-4abc-8def-ffffffffffff",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        ] {
            let other = unknown_like(id);
            assert!(other != id && other.len() == id.len(), "{id} {other}");
            let own = id.split_once('_').map_or(id, |(_, own)| own);
            assert!(other.starts_with("c_") == id.starts_with("c_"), "{other}");
            let rest = other.split_once('_').map_or(other.as_str(), |(_, own)| own);
            assert!(rest.chars().all(|c| own.contains(c)), "{id} {other}");
        }
    }
}
