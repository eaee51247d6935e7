//! What was added to the contract: one's own conversations, waiting, feedback. A service may lack any of it.

use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use crate::check::{Check, Failure, Verdict, ensure, wrong};
use crate::ctx::{Ctx, asks, cancel, events, expect, state, text, unknown_like};
use crate::http::Answer;
use crate::log::End;
use crate::offered::Addition;
use crate::token::Bearer;

const LIST: Addition = Addition { method: "GET", path: "/v1/conversations", parameter: None };
const SHOW: Addition = Addition { method: "GET", path: "/v1/conversations/{id}", parameter: None };
const FORGET: Addition = Addition { method: "DELETE", path: "/v1/conversations/{id}", parameter: None };
const AFTER: Addition = Addition { method: "GET", path: "/v1/asks/{id}/events", parameter: Some("after") };
const WAIT: Addition = Addition { method: "GET", path: "/v1/asks/{id}", parameter: Some("wait") };
const RATE: Addition = Addition { method: "POST", path: "/v1/asks/{id}/feedback", parameter: None };

macro_rules! addition {
    ($addition:ident, $id:literal, $title:literal, $run:path) => {
        Check {
            id: $id,
            title: $title,
            rule: "one's own",
            behaviour: false,
            addition: Some($addition),
            run: |ctx| Box::pin($run(ctx)),
        }
    };
}

pub(super) fn checks() -> Vec<Check> {
    vec![
        addition!(LIST, "own.list", "pages hold the caller's own, each once, the newest first", list),
        addition!(LIST, "own.list-bounds", "a limit or an after that is none is 422", list_bounds),
        addition!(SHOW, "own.show", "a conversation shows its turns and the ticket that runs", show),
        addition!(SHOW, "own.no-text", "a conversation shows no question", no_text),
        addition!(SHOW, "own.show-others", "another's conversation is shown to nobody else", show_others),
        addition!(FORGET, "own.forget", "what is forgotten is 404 everywhere, at once", forget),
        addition!(
            FORGET,
            "own.forget-run",
            "forgetting cancels, and an open stream ends properly",
            forget_run
        ),
        addition!(FORGET, "own.forget-others", "nobody else can forget a conversation", forget_others),
        addition!(AFTER, "own.after", "after resumes as Last-Event-ID does, which counts before it", after),
        addition!(WAIT, "own.wait", "a wait is over with the ask, or with its time", waits),
        addition!(WAIT, "own.wait-bounds", "a wait that is no whole number of seconds is 422", wait_bounds),
        addition!(RATE, "own.feedback", "feedback is taken after done, and the latest counts", feedback),
        addition!(
            RATE,
            "own.feedback-closed",
            "feedback holds codes of a closed set and no text",
            feedback_closed
        ),
        addition!(RATE, "own.feedback-others", "nobody else can rate an ask", feedback_others),
    ]
}

fn conversation(id: &str) -> String {
    format!("/v1/conversations/{id}")
}

fn rating(ticket: &str) -> String {
    format!("/v1/asks/{ticket}/feedback")
}

impl Ctx {
    /// `GET` with a query, as somebody.
    async fn get_with(&self, path: &str, query: &str, bearer: &Bearer) -> Result<Answer, Failure> {
        let mut request = self.request("GET", path, Some(bearer));
        request.url.set_query(Some(query));
        self.send(&request).await
    }

    async fn delete(&self, id: &str, bearer: &Bearer) -> Result<Answer, Failure> {
        self.send(&self.request("DELETE", &conversation(id), Some(bearer))).await
    }

    /// Every conversation in the pages of somebody, and how many pages there were.
    async fn listed(&self, bearer: &Bearer, limit: usize) -> Result<(Vec<Value>, usize), Failure> {
        let mut all = Vec::new();
        let mut query = format!("limit={limit}");
        for pages in 1..1000 {
            let answer = self.get_with("/v1/conversations", &query, bearer).await?;
            let page = expect(&answer, 200, "GET /v1/conversations")?;
            let Some(conversations) = page.get("conversations").and_then(Value::as_array) else {
                return wrong(format!("no list of conversations in {page}"));
            };
            ensure(conversations.len() <= limit, || {
                format!("{} in a page of at most {limit}", conversations.len())
            })?;
            all.extend(conversations.iter().cloned());
            let Some(next) = page.get("next").and_then(Value::as_str) else { return Ok((all, pages)) };
            let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
            query = format!("limit={limit}&after={next}");
        }
        wrong("the pages do not come to an end")
    }
}

async fn list(ctx: &Ctx) -> Verdict {
    let mut hers = Vec::new();
    for _ in 0..5 {
        hers.push(ctx.conversation().await?);
    }
    let theirs = ctx.conversation_of(ctx.other()?).await?;
    // An odd limit, so that pages end in the middle of what was made at one moment.
    let (listed, pages) = ctx.listed(&ctx.ids.first, 3).await?;
    let ids: Vec<String> =
        listed.iter().map(|one| text(one, "conversation_id")).collect::<Result<_, Failure>>()?;
    for id in &hers {
        let times = ids.iter().filter(|one| *one == id).count();
        ensure(times == 1, || format!("a conversation of the caller's was listed {times} times"))?;
    }
    ensure(!ids.contains(&theirs), || "another's conversation was listed".to_owned())?;
    let created: Vec<String> =
        listed.iter().map(|one| text(one, "created_at")).collect::<Result<_, Failure>>()?;
    ensure(created.is_sorted_by(|one, next| one >= next), || format!("created in the order {created:?}"))?;
    let (others, _) = ctx.listed(ctx.other()?, 100).await?;
    let has = |id: &str| others.iter().any(|one| one.get("conversation_id") == Some(&json!(id)));
    ensure(has(&theirs) && !hers.iter().any(|id| has(id)), || {
        "the second user's list is not the second user's".to_owned()
    })?;
    Ok(format!("{} on {pages} pages", ids.len()))
}

async fn list_bounds(ctx: &Ctx) -> Verdict {
    for query in ["limit=0", "limit=101", "limit=x", "limit=-1", "after=no%20place"] {
        let answer = ctx.get_with("/v1/conversations", query, &ctx.ids.first).await?;
        ensure(answer.status() == 422, || format!("?{query} was answered {}", answer.status()))?;
    }
    Ok("422".to_owned())
}

async fn show(ctx: &Ctx) -> Verdict {
    let id = ctx.conversation().await?;
    let shown = async |turns: u64, running: Value| {
        let answer = ctx.get(&conversation(&id), Some(&ctx.ids.first)).await?;
        let body = expect(&answer, 200, "GET /v1/conversations/{conversation_id}")?;
        for member in ["conversation_id", "created_at", "expires_at"] {
            text(&body, member)?;
        }
        let right = body.get("turns") == Some(&json!(turns)) && body.get("running") == Some(&running);
        ensure(right, || format!("turns {turns}, running {running}, but it shows {body}"))
    };
    shown(0, Value::Null).await?;
    let ticket = ctx.slow_ask_in(&id, 3000).await?;
    shown(1, json!(ticket.id)).await?;
    ctx.cancel(&ticket.id).await?;
    shown(1, Value::Null).await?;
    Ok("before, during and after an ask".to_owned())
}

async fn no_text(ctx: &Ctx) -> Verdict {
    let ticket = ctx.new_ask().await?;
    ctx.read(&ticket.id, None).await?;
    let shown = ctx.get(&conversation(&ticket.conversation), Some(&ctx.ids.first)).await?;
    expect(&shown, 200, "GET /v1/conversations/{conversation_id}")?;
    ensure(!shown.text().contains(&ctx.options.question), || "it shows the question".to_owned())?;
    if ctx.offered.has(LIST) {
        let listed = ctx.get("/v1/conversations", Some(&ctx.ids.first)).await?;
        ensure(!listed.text().contains(&ctx.options.question), || "the list shows the question".to_owned())?;
    }
    Ok("none".to_owned())
}

async fn show_others(ctx: &Ctx) -> Verdict {
    let id = ctx.conversation().await?;
    let hers = ctx.get(&conversation(&id), Some(ctx.other()?)).await?;
    let nobodys = ctx.get(&conversation(&unknown_like(&id)), Some(ctx.other()?)).await?;
    for (whose, answer) in [("another's", hers), ("an unknown one", nobodys)] {
        ensure(answer.status() == 404, || format!("{whose} was answered {}", answer.status()))?;
    }
    Ok("404, as what never was".to_owned())
}

async fn forget(ctx: &Ctx) -> Verdict {
    let ticket = ctx.new_ask().await?;
    ctx.read(&ticket.id, None).await?;
    let id = &ticket.conversation;
    let answer = ctx.delete(id, &ctx.ids.first).await?;
    ensure(answer.status() == 204, || format!("DELETE was answered {}", answer.status()))?;
    let mut gone =
        vec![("GET", state(&ticket.id)), ("GET", events(&ticket.id)), ("POST", cancel(&ticket.id))];
    gone.push(("POST", asks(id)));
    if ctx.offered.has(SHOW) {
        gone.push(("GET", conversation(id)));
    }
    for (method, path) in &gone {
        let answer = match *method {
            "GET" => ctx.get(path, Some(&ctx.ids.first)).await?,
            _ => ctx.post(path, Some(&ctx.ids.first), Some(&ctx.question())).await?,
        };
        ensure(answer.status() == 404, || format!("{method} {path} was answered {}", answer.status()))?;
    }
    let again = ctx.delete(id, &ctx.ids.first).await?;
    ensure(again.status() == 404, || format!("a second DELETE was answered {}", again.status()))?;
    if ctx.offered.has(LIST) {
        let (listed, _) = ctx.listed(&ctx.ids.first, 100).await?;
        let still = listed.iter().any(|one| one.get("conversation_id") == Some(&json!(id)));
        ensure(!still, || "it is still listed".to_owned())?;
    }
    Ok(format!("404 on {} calls", gone.len() + 1))
}

async fn forget_run(ctx: &Ctx) -> Verdict {
    let ticket = ctx.slow_ask(3000).await?;
    let stream = ctx.open(&ticket.id, None).await?;
    let answer = ctx.delete(&ticket.conversation, &ctx.ids.first).await?;
    ensure(answer.status() == 204, || format!("DELETE was answered {}", answer.status()))?;
    let log = stream.rest(ctx.limit()).await;
    let kind = log.terminal().map(|event| event.text("kind").to_owned());
    let proper =
        matches!(log.end, End::Clean) && log.done().is_some() && kind.as_deref() == Some("cancelled");
    ensure(proper, || format!("the stream ended {:?} with {}", log.end, log.outline()))?;
    Ok(log.outline())
}

async fn forget_others(ctx: &Ctx) -> Verdict {
    let ticket = ctx.new_ask().await?;
    let answer = ctx.delete(&ticket.conversation, ctx.other()?).await?;
    ensure(answer.status() == 404, || format!("another's DELETE was answered {}", answer.status()))?;
    ctx.state(&ticket.id).await?;
    Ok("404, and all is there".to_owned())
}

async fn after(ctx: &Ctx) -> Verdict {
    let ticket = ctx.new_ask().await?;
    let whole = ctx.read(&ticket.id, None).await?;
    let last = whole.last_seq();
    let read = async |query: String, header: Option<u64>| -> Result<(u16, Option<u64>), Failure> {
        let header = header.map(|seq| seq.to_string());
        let mut request = ctx.events_request(&ticket.id, header.as_ref().map(String::as_bytes));
        request.url.set_query(Some(&query));
        let answer = ctx.send(&request).await?;
        let first = answer.text().lines().find_map(|line| line.strip_prefix("id:")?.trim().parse().ok());
        Ok((answer.status(), first))
    };
    for (query, header, expected) in [
        ("after=1".to_owned(), None, (200, Some(2))),
        (format!("after={}", last - 1), None, (200, Some(last))),
        (format!("after={}", last - 1), Some(1), (200, Some(2))),
        ("after=1".to_owned(), Some(last - 1), (200, Some(last))),
        ("after=x".to_owned(), None, (200, Some(1))),
        (format!("after={last}"), None, (204, None)),
    ] {
        let shown = format!("?{query} with Last-Event-ID {header:?}");
        let seen = read(query, header).await?;
        ensure(seen == expected, || format!("{shown} gave {seen:?}, not {expected:?}"))?;
    }
    Ok("alone, and with the header".to_owned())
}

async fn waits(ctx: &Ctx) -> Verdict {
    let ticket = ctx.slow_ask(2500).await?;
    let status = async |seconds: u64| -> Result<(Value, Duration), Failure> {
        let begun = Instant::now();
        let answer = ctx.get_with(&state(&ticket.id), &format!("wait={seconds}"), &ctx.ids.first).await?;
        let body = expect(&answer, 200, "GET /v1/asks/{ticket}?wait=")?;
        Ok((body.get("status").cloned().unwrap_or_default(), begun.elapsed()))
    };
    let (running, waited) = status(1).await?;
    let in_time = waited >= Duration::from_millis(900);
    ensure(running == json!("running") && in_time, || format!("wait=1 gave {running} after {waited:?}"))?;
    let (ended, waited) = status(6).await?;
    let in_time = waited < Duration::from_secs(5);
    ensure(ended == json!("finished") && in_time, || format!("wait=6 gave {ended} after {waited:?}"))?;
    let (ended, waited) = status(6).await?;
    ensure(ended == json!("finished") && waited < Duration::from_secs(3), || {
        format!("after done wait=6 took {waited:?}")
    })?;
    Ok("both".to_owned())
}

async fn wait_bounds(ctx: &Ctx) -> Verdict {
    let ticket = ctx.new_ask().await?;
    ctx.read(&ticket.id, None).await?;
    for wait in ["x", "-1", "1.5", "100000"] {
        let answer = ctx.get_with(&state(&ticket.id), &format!("wait={wait}"), &ctx.ids.first).await?;
        ensure(answer.status() == 422, || format!("?wait={wait} was answered {}", answer.status()))?;
    }
    Ok("422".to_owned())
}

async fn rate(ctx: &Ctx, ticket: &str, bearer: &Bearer, body: &Value) -> Result<Answer, Failure> {
    ctx.post(&rating(ticket), Some(bearer), Some(body)).await
}

async fn feedback(ctx: &Ctx) -> Verdict {
    let ticket = ctx.slow_ask(3000).await?;
    let first = &ctx.ids.first;
    let early = rate(ctx, &ticket.id, first, &json!({"rating": "up"})).await?;
    ensure(early.status() == 409, || format!("before done it was answered {}", early.status()))?;
    ctx.cancel(&ticket.id).await?;
    for (rating, reason) in [("down", json!("speed")), ("down", json!("speed")), ("up", Value::Null)] {
        let mut body = json!({"rating": rating});
        if let (Some(members), false) = (body.as_object_mut(), reason.is_null()) {
            members.insert("reason".to_owned(), reason.clone());
        }
        let answer = rate(ctx, &ticket.id, first, &body).await?;
        let receipt = expect(&answer, 200, "POST /v1/asks/{ticket}/feedback")?;
        let counts = receipt.get("rating") == Some(&json!(rating)) && receipt.get("reason") == Some(&reason);
        ensure(counts, || format!("{body} was said, {receipt} counts"))?;
    }
    Ok("409 before done; said, said again, changed".to_owned())
}

async fn feedback_closed(ctx: &Ctx) -> Verdict {
    let ticket = ctx.new_ask().await?;
    ctx.read(&ticket.id, None).await?;
    for body in [
        json!({}),
        json!({"rating": "sideways"}),
        json!({"rating": "up", "reason": "a sentence of text"}),
        json!({"rating": "up", "comment": "a sentence of text"}),
    ] {
        let answer = rate(ctx, &ticket.id, &ctx.ids.first, &body).await?;
        ensure(answer.status() == 422, || format!("{body} was answered {}", answer.status()))?;
    }
    Ok("422".to_owned())
}

async fn feedback_others(ctx: &Ctx) -> Verdict {
    let ticket = ctx.new_ask().await?;
    ctx.read(&ticket.id, None).await?;
    let answer = rate(ctx, &ticket.id, ctx.other()?, &json!({"rating": "up"})).await?;
    ensure(answer.status() == 404, || format!("another's was answered {}", answer.status()))?;
    Ok("404".to_owned())
}
