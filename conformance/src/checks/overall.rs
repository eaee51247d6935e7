//! What is true of everything that the run has seen; these checks come last.

use serde_json::{Value, json};

use crate::check::{Check, Failure, Verdict, check, ensure, ensure_none, not_exercised};
use crate::ctx::{Ctx, asks, cancel, state};
use crate::schema::Schemas;

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(
            "schema.events",
            "every event on every stream is valid by the published schema",
            "schema",
            events
        ),
        check!(
            "schema.discerning",
            "the published schema knows the nine events and turns away what is none",
            "schema",
            discerning
        ),
        check!(
            "schema.answers",
            "the calls' answers are valid by the published OpenAPI document",
            "schema",
            answers
        ),
        check!(
            "schema.problems",
            "error answers are valid by the published OpenAPI document",
            "schema",
            problem_shape
        ),
        check!(
            "errors.problem",
            "every error answer is problem+json with its own status",
            "RFC 9457",
            problems
        ),
        check!("errors.neutral", "no error answer shows a bearer, a path or a cause", "calls", neutral),
    ]
}

const EVENTS: [&str; 9] =
    ["accepted", "branch", "step", "milestone", "answer", "abstention", "refusal", "error", "done"];

fn schemas(ctx: &Ctx) -> Result<&Schemas, Failure> {
    ctx.seen.schemas().or_else(not_exercised)
}

async fn events(ctx: &Ctx) -> Verdict {
    let schemas = schemas(ctx)?;
    if ctx.seen.counts().1 == 0 {
        ctx.samples().await?;
    }
    ensure_none(ctx.seen.invalid())?;
    let (streams, events) = ctx.seen.counts();
    let kinds = ctx.seen.kinds().join(" ");
    Ok(format!("{events} events on {streams} streams ({kinds}), schema of {}", schemas.origin))
}

async fn discerning(ctx: &Ctx) -> Verdict {
    let schemas = schemas(ctx)?;
    let known = schemas.kinds();
    let unknown: Vec<_> = EVENTS.iter().filter(|kind| !known.contains(kind)).collect();
    ensure(unknown.is_empty(), || format!("the schema defines no {unknown:?}"))?;
    let run = ctx.answered().await?;
    for event in &run.log.events {
        ensure(schemas.event(&event.data).is_none(), || format!("{} is not valid", event.kind()))?;
        for member in ["seq", "ticket", "conversation_id", "ts", "type"] {
            let mut less = event.data.clone();
            less.as_object_mut().map(|members| members.remove(member));
            ensure(schemas.event(&less).is_some(), || format!("{} without {member} is valid", event.kind()))?;
        }
    }
    let mut done = run.log.done().map(|done| done.data.clone()).unwrap_or_default();
    for (member, value) in [("outcome", json!("fine")), ("hops", json!("two")), ("type", json!("finished"))] {
        let kept = done.get(member).cloned().unwrap_or_default();
        if let Some(members) = done.as_object_mut() {
            members.insert(member.to_owned(), value.clone());
        }
        ensure(schemas.event(&done).is_some(), || format!("done with {member} {value} is valid"))?;
        if let Some(members) = done.as_object_mut() {
            members.insert(member.to_owned(), kept);
        }
    }
    Ok("nine events, each envelope member required".to_owned())
}

async fn answers(ctx: &Ctx) -> Verdict {
    let schemas = schemas(ctx)?;
    let first = Some(&ctx.ids.first);
    let created = ctx.post("/v1/conversations", first, None).await?;
    let body = created.json().unwrap_or_default();
    let conversation = crate::ctx::text(&body, "conversation_id")?;
    let asked = ctx.post(&asks(&conversation), first, Some(&ctx.question())).await?;
    let ticket = crate::ctx::ticket_in(&asked)?;
    let running = ctx.get(&state(&ticket.id), first).await?;
    let cancelled = ctx.post(&cancel(&ticket.id), first, None).await?;
    let finished = ctx.get(&state(&ticket.id), first).await?;
    let health = ctx.get("/health", None).await?;
    let found = [
        ("POST", "/v1/conversations", 201, created),
        ("POST", "/v1/conversations/{}/asks", 202, asked),
        ("GET", "/v1/asks/{}", 200, running),
        ("POST", "/v1/asks/{}/cancel", 202, cancelled),
        ("GET", "/v1/asks/{}", 200, finished),
        ("GET", "/health", 200, health),
    ];
    let mut wrongs = Vec::new();
    for (method, path, status, answer) in &found {
        let body = answer.json().unwrap_or_default();
        if answer.status() != *status {
            wrongs.push(format!("{method} {path} answered {}", answer.status()));
        } else if let Some(reason) = schemas.answer(method, path, *status, &body) {
            wrongs.push(format!("{method} {path}: {reason}"));
        }
    }
    ensure_none(wrongs)?;
    Ok(format!("{} answers", found.len()))
}

async fn problem_shape(ctx: &Ctx) -> Verdict {
    let schemas = schemas(ctx)?;
    let conversation = ctx.conversation().await?;
    let unknown = crate::ctx::unknown_like(&conversation);
    let first = Some(&ctx.ids.first);
    let found = [
        ("POST", "/v1/conversations", 401, ctx.post("/v1/conversations", None, None).await?),
        ("POST", "/v1/conversations/{}/asks", 422, ctx.try_ask(&conversation, &json!({})).await?),
        ("POST", "/v1/conversations/{}/asks", 404, ctx.try_ask(&unknown, &ctx.question()).await?),
        ("GET", "/v1/asks/{}", 404, ctx.get(&state(&unknown), first).await?),
        ("POST", "/v1/asks/{}/cancel", 404, ctx.post(&cancel(&unknown), first, None).await?),
    ];
    let mut wrongs = Vec::new();
    for (method, path, status, answer) in &found {
        let body = answer.json().unwrap_or_default();
        if answer.status() != *status {
            wrongs.push(format!("{method} {path} answered {}", answer.status()));
        } else if let Some(reason) = schemas.answer(method, path, *status, &body) {
            wrongs.push(format!("{status} of {method} {path}: {reason}"));
        }
    }
    ensure_none(wrongs)?;
    Ok(format!("{} error answers", found.len()))
}

/// Makes sure that some error answers were seen, also when this check runs alone.
async fn provoke(ctx: &Ctx) -> Result<(), Failure> {
    let conversation = ctx.conversation().await?;
    ctx.get(&state(&conversation), None).await?;
    ctx.get(&state(&conversation), Some(&ctx.ids.first)).await?;
    ctx.get(&crate::ctx::events(&conversation), Some(&ctx.ids.first)).await?;
    ctx.post(&cancel(&conversation), Some(&ctx.ids.first), None).await?;
    ctx.try_ask(&conversation, &json!({"question": 1})).await?;
    ctx.try_ask(&conversation, &json!({"question": "why", "no\u{1}such": "member"})).await?;
    let text = ctx
        .request("POST", &asks(&conversation), Some(&ctx.ids.first))
        .body("text/plain", ctx.question().to_string());
    ctx.send(&text).await?;
    Ok(())
}

async fn problems(ctx: &Ctx) -> Verdict {
    provoke(ctx).await?;
    let seen = ctx.seen.all_refused();
    let mut found = std::collections::BTreeSet::new();
    for refused in &seen {
        let status = refused.answer.status();
        let kind = refused.answer.head.media_type();
        let call: String = refused.call.chars().take(60).collect();
        if kind != "application/problem+json" {
            found.insert(format!("{status} of {call} is {kind:?}"));
            continue;
        }
        let body = refused.answer.json().unwrap_or_default();
        if body.get("status").and_then(Value::as_u64) != Some(u64::from(status)) {
            found.insert(format!("{status} of {call} says status {:?}", body.get("status")));
        }
        if body.get("title").and_then(Value::as_str).is_none_or(str::is_empty) {
            found.insert(format!("{status} of {call} has no title"));
        }
    }
    ensure_none(found.into_iter().collect())?;
    let statuses: std::collections::BTreeSet<_> =
        seen.iter().map(|refused| refused.answer.status()).collect();
    Ok(format!("{} error answers: {statuses:?}", seen.len()))
}

async fn neutral(ctx: &Ctx) -> Verdict {
    provoke(ctx).await?;
    let token = ctx.ids.first.expose();
    let signature = token.rsplit_once('.').map_or(token, |(_, last)| last);
    let tells = [
        "panicked",
        ".rs:",
        "/src/",
        "/home/",
        "/usr/",
        "RUST_BACKTRACE",
        "Traceback",
        "stack trace",
        "caused by",
    ];
    let seen = ctx.seen.all_refused();
    let mut found = Vec::new();
    for refused in &seen {
        let text = refused.answer.text();
        if text.contains(signature) {
            found.push(format!("{} of {} shows a bearer", refused.answer.status(), refused.call));
        }
        if let Some(tell) = tells.iter().find(|tell| text.to_lowercase().contains(&tell.to_lowercase())) {
            found.push(format!("{} of {} shows {tell:?}", refused.answer.status(), refused.call));
        }
    }
    ensure_none(found)?;
    Ok(format!("{} error answers", seen.len()))
}
