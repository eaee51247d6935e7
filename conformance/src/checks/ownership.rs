//! What belongs to one user is not there for another.

use serde_json::json;

use crate::check::{Check, Failure, Verdict, check, ensure, not_exercised};
use crate::ctx::{Ctx, asks, cancel, events, state, unknown_like};
use crate::http::Answer;
use crate::token::{self, Bearer};

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!("ownership.state", "a second identity gets 404 on another's ticket", "calls", other_state),
        check!("ownership.events", "a second identity gets 404 on another's events", "calls", other_events),
        check!(
            "ownership.cancel",
            "a second identity gets 404 on another's cancel, and the run goes on",
            "calls",
            other_cancel
        ),
        check!(
            "ownership.conversation",
            "a second identity gets 404 on another's conversation",
            "calls",
            other_conversation
        ),
        check!("ownership.busy", "another's busy conversation is 404, not 409", "calls", other_busy),
        check!(
            "ownership.invalid",
            "an invalid ask in another's conversation tells nothing of it",
            "calls",
            other_invalid
        ),
        check!("ownership.unknown", "a ticket that never was is 404 on all routes", "calls", unknown),
        check!(
            "ownership.equal",
            "the 404 of another's and of what never was are equal to the byte",
            "calls",
            equal
        ),
        check!(
            "ownership.both-ways",
            "the second user's own tickets work, and are 404 for the first",
            "calls",
            both_ways
        ),
        check!(
            "ownership.same-person",
            "a fresh bearer of the same person still owns the ticket",
            "owner",
            same_person
        ),
    ]
}

async fn as_other(ctx: &Ctx, other: &Bearer, method: &'static str, path: &str) -> Result<Answer, Failure> {
    match method {
        "GET" => ctx.get(path, Some(other)).await,
        _ if path.ends_with("/asks") => ctx.post(path, Some(other), Some(&ctx.question())).await,
        _ => ctx.post(path, Some(other), None).await,
    }
}

async fn is_404(ctx: &Ctx, other: &Bearer, method: &'static str, path: &str) -> Result<(), Failure> {
    let answer = as_other(ctx, other, method, path).await?;
    ensure(answer.status() == 404, || format!("{method} {path} answered {} to another user", answer.status()))
}

async fn other_state(ctx: &Ctx) -> Verdict {
    let other = ctx.other()?;
    let ticket = ctx.new_ask().await?;
    is_404(ctx, other, "GET", &state(&ticket.id)).await?;
    ctx.read(&ticket.id, None).await?;
    is_404(ctx, other, "GET", &state(&ticket.id)).await?;
    Ok("at the start and after done".to_owned())
}

async fn other_events(ctx: &Ctx) -> Verdict {
    let other = ctx.other()?;
    let ticket = ctx.new_ask().await?;
    is_404(ctx, other, "GET", &events(&ticket.id)).await?;
    let log = ctx.read(&ticket.id, None).await?;
    for last in [0, 1, log.last_seq(), log.last_seq() + 5] {
        let request =
            ctx.request("GET", &events(&ticket.id), Some(other)).header("Last-Event-ID", last.to_string());
        let answer = ctx.send(&request).await?;
        ensure(answer.status() == 404, || {
            format!("Last-Event-ID {last} of another user was answered {}", answer.status())
        })?;
    }
    Ok("whatever the Last-Event-ID".to_owned())
}

async fn other_cancel(ctx: &Ctx) -> Verdict {
    let other = ctx.other()?;
    let ticket = ctx.slow_ask(900).await?;
    is_404(ctx, other, "POST", &cancel(&ticket.id)).await?;
    let log = ctx.read(&ticket.id, None).await?;
    let cancelled = log.of("error").any(|event| event.text("kind") == "cancelled");
    ensure(!cancelled, || "another user's cancel ended the run".to_owned())?;
    Ok(log.outline())
}

async fn other_conversation(ctx: &Ctx) -> Verdict {
    let other = ctx.other()?;
    let conversation = ctx.conversation().await?;
    is_404(ctx, other, "POST", &asks(&conversation)).await?;
    let ticket = ctx.ask(&conversation, &ctx.question()).await?;
    ensure(ticket.body.get("turn") == Some(&json!(1)), || {
        format!("after another's attempt the first ticket is {}", ticket.body)
    })?;
    Ok("404, and no turn was taken".to_owned())
}

async fn other_busy(ctx: &Ctx) -> Verdict {
    let other = ctx.other()?;
    let ticket = ctx.slow_ask(3000).await?;
    is_404(ctx, other, "POST", &asks(&ticket.conversation)).await?;
    ctx.cancel(&ticket.id).await?;
    Ok("404".to_owned())
}

/// Compares two answers apart from the identifier that the caller sent and what differs per answer anyway.
fn differs(one: (&Answer, &str), two: (&Answer, &str)) -> Option<String> {
    if one.0.status() != two.0.status() {
        return Some(format!("{} against {}", one.0.status(), two.0.status()));
    }
    let body = |(answer, id): (&Answer, &str)| answer.text().replace(id, "{id}");
    if body(one) != body(two) {
        return Some(format!("{:?} against {:?}", body(one), body(two)));
    }
    let names = |(answer, _): (&Answer, &str)| {
        let mut names: Vec<_> =
            answer.head.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
        names.sort();
        names
    };
    if names(one) != names(two) {
        return Some(format!("headers {:?} against {:?}", names(one), names(two)));
    }
    let kind = |(answer, _): (&Answer, &str)| answer.head.header("content-type").map(str::to_owned);
    (kind(one) != kind(two)).then(|| format!("{:?} against {:?}", kind(one), kind(two)))
}

async fn other_invalid(ctx: &Ctx) -> Verdict {
    let other = ctx.other()?;
    let conversation = ctx.conversation().await?;
    let unknown = unknown_like(&conversation);
    for body in [json!({}), json!({"question": "why", "no": 1})] {
        let theirs = ctx.post(&asks(&conversation), Some(other), Some(&body)).await?;
        let nobodys = ctx.post(&asks(&unknown), Some(other), Some(&body)).await?;
        if let Some(difference) = differs((&theirs, &conversation), (&nobodys, &unknown)) {
            return crate::check::wrong(format!("{body}: {difference}"));
        }
        ensure(matches!(theirs.status(), 404 | 422), || format!("{body} was answered {}", theirs.status()))?;
    }
    Ok("as in a conversation that never was".to_owned())
}

async fn unknown(ctx: &Ctx) -> Verdict {
    let ticket = ctx.new_ask().await?;
    let unknown = unknown_like(&ticket.id);
    let first = &ctx.ids.first;
    for (method, path) in
        [("GET", state(&unknown)), ("GET", events(&unknown)), ("POST", cancel(&unknown)), ("GET", state("x"))]
    {
        let answer = as_other(ctx, first, method, &path).await?;
        ensure(answer.status() == 404, || format!("{method} {path} answered {}", answer.status()))?;
    }
    Ok("state, events, cancel".to_owned())
}

async fn equal(ctx: &Ctx) -> Verdict {
    let other = ctx.other()?;
    let ticket = ctx.new_ask().await?;
    ctx.read(&ticket.id, None).await?;
    let no_ticket = unknown_like(&ticket.id);
    let no_conversation = unknown_like(&ticket.conversation);
    let pairs = [
        ("GET", state(&ticket.id), state(&no_ticket)),
        ("GET", events(&ticket.id), events(&no_ticket)),
        ("POST", cancel(&ticket.id), cancel(&no_ticket)),
        ("POST", asks(&ticket.conversation), asks(&no_conversation)),
    ];
    for (method, theirs, nobodys) in &pairs {
        let one = as_other(ctx, other, method, theirs).await?;
        let two = as_other(ctx, other, method, nobodys).await?;
        let (one_id, two_id) = if theirs.ends_with("/asks") {
            (ticket.conversation.as_str(), no_conversation.as_str())
        } else {
            (ticket.id.as_str(), no_ticket.as_str())
        };
        if let Some(difference) = differs((&one, one_id), (&two, two_id)) {
            return crate::check::wrong(format!("{method} {theirs}: {difference}"));
        }
        ensure(one.status() == 404, || format!("{method} {theirs} answered {}", one.status()))?;
    }
    Ok("on four routes".to_owned())
}

async fn both_ways(ctx: &Ctx) -> Verdict {
    let other = ctx.other()?;
    if ctx.control.is_some() {
        ctx.script(&[ctx.conclude("cannot_answer", "Nothing.")]).await?;
    }
    let conversation = ctx.conversation_of(other).await?;
    let ticket = ctx.ask_as(other, &conversation, &ctx.question()).await?;
    let own = ctx.get(&state(&ticket.id), Some(other)).await?;
    ensure(own.status() == 200, || format!("the second user's own ticket answered {}", own.status()))?;
    is_404(ctx, &ctx.ids.first, "GET", &state(&ticket.id)).await?;
    is_404(ctx, &ctx.ids.first, "POST", &asks(&conversation)).await?;
    Ok("200 and 404".to_owned())
}

async fn same_person(ctx: &Ctx) -> Verdict {
    let ticket = ctx.new_ask().await?;
    let fresh = match (&ctx.options.sign_in.mint_url, ctx.ids.first.claims()) {
        (Some(mint_url), Some(claims)) => {
            let mut claims = claims;
            if let Some(members) = claims.as_object_mut() {
                let now = time::OffsetDateTime::now_utc().unix_timestamp();
                members.insert("exp".to_owned(), json!(now + 600));
                members.insert("name".to_owned(), json!("Another Name"));
                members.insert("preferred_username".to_owned(), json!("another@example.invalid"));
            }
            token::mint(&ctx.http, mint_url, &claims).await
        }
        _ => token::again(&ctx.options.sign_in, &ctx.http).await,
    };
    let fresh = match fresh {
        Ok(fresh) => fresh,
        Err(reason) => return not_exercised(format!("no fresh token for the first user: {reason}")),
    };
    let answer = ctx.get(&state(&ticket.id), Some(&fresh)).await?;
    ensure(answer.status() == 200, || format!("the fresh bearer was answered {}", answer.status()))?;
    Ok("200".to_owned())
}
