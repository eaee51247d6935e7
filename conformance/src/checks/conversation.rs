//! Conversations: making one, and one ask at a time within it.

use std::collections::BTreeSet;

use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::check::{Check, Verdict, check, ensure, wrong};
use crate::ctx::{Ctx, asks, expect, text};

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(
            "conversation.created",
            "POST /v1/conversations gives 201 and a conversation",
            "Conversation",
            created
        ),
        check!(
            "conversation.unguessable",
            "identifiers are long and unlike one another",
            "owner",
            unguessable
        ),
        check!("conversation.expires-at", "expires_at lies ahead", "Conversation", expires_at),
        check!("conversation.busy", "a second ask while one runs is 409", "calls", busy),
        check!(
            "conversation.race",
            "of asks raced into one conversation exactly one is taken",
            "calls",
            race
        ),
        check!(
            "conversation.busy-harmless",
            "a 409 leaves the running ask and the turn count alone",
            "calls",
            harmless
        ),
        check!(
            "conversation.free-again",
            "after done the conversation takes the next ask",
            "calls",
            free_again
        ),
        check!("conversation.parallel", "two conversations of one user run side by side", "calls", parallel),
    ]
}

async fn created(ctx: &Ctx) -> Verdict {
    let answer = ctx.post("/v1/conversations", Some(&ctx.ids.first), None).await?;
    let body = expect(&answer, 201, "POST /v1/conversations")?;
    text(&body, "conversation_id")?;
    ensure(answer.head.media_type() == "application/json", || {
        format!("the content type is {:?}", answer.head.media_type())
    })?;
    Ok(body.to_string())
}

async fn unguessable(ctx: &Ctx) -> Verdict {
    let mut ids = Vec::new();
    for _ in 0..4 {
        let ticket = ctx.new_ask().await?;
        ids.push(ticket.conversation);
        ids.push(ticket.id);
    }
    let distinct: BTreeSet<_> = ids.iter().collect();
    ensure(distinct.len() == ids.len(), || format!("identifiers repeat: {ids:?}"))?;
    for id in &ids {
        ensure(id.len() >= 20, || format!("{id:?} is too short to be unguessable"))?;
    }
    for pair in [[0, 2], [1, 3], [4, 6], [5, 7]] {
        let [Some(a), Some(b)] = pair.map(|at| ids.get(at)) else { continue };
        let differing = a.bytes().zip(b.bytes()).filter(|(x, y)| x != y).count();
        ensure(differing * 3 >= a.len(), || format!("{a:?} and {b:?} differ in {differing} places only"))?;
    }
    Ok(format!("{} identifiers", ids.len()))
}

async fn expires_at(ctx: &Ctx) -> Verdict {
    let answer = ctx.post("/v1/conversations", Some(&ctx.ids.first), None).await?;
    let body = expect(&answer, 201, "POST /v1/conversations")?;
    let said = text(&body, "expires_at")?;
    let Ok(moment) = OffsetDateTime::parse(&said, &Rfc3339) else {
        return wrong(format!("expires_at {said:?} is no date-time"));
    };
    ensure(moment > OffsetDateTime::now_utc(), || format!("expires_at {said:?} is past"))?;
    Ok(said)
}

async fn busy(ctx: &Ctx) -> Verdict {
    let ticket = ctx.slow_ask(3000).await?;
    let answer = ctx.try_ask(&ticket.conversation, &ctx.question()).await?;
    ensure(answer.status() == 409, || format!("the second ask was answered {}", answer.status()))?;
    ctx.cancel(&ticket.id).await?;
    Ok("409".to_owned())
}

async fn race(ctx: &Ctx) -> Verdict {
    for _ in 0..3 {
        let conversation = ctx.conversation().await?;
        if ctx.control.is_some() {
            ctx.script(&[ctx.conclude("cannot_answer", "Nothing.").after_ms(3000)]).await?;
        }
        let question = ctx.question();
        let answers = join_all((0..6).map(|_| ctx.try_ask(&conversation, &question))).await;
        let mut taken = None;
        let mut statuses = Vec::new();
        for answer in answers {
            let answer = answer?;
            statuses.push(answer.status());
            if answer.status() == 202 {
                taken = answer.json().as_ref().and_then(|body| text(body, "ticket").ok());
            }
        }
        let won = statuses.iter().filter(|status| **status == 202).count();
        let lost = statuses.iter().filter(|status| **status == 409).count();
        ensure(won == 1 && lost == 5, || format!("six raced asks were answered {statuses:?}"))?;
        if let Some(ticket) = taken {
            ctx.cancel(&ticket).await?;
        }
    }
    Ok("three races of six".to_owned())
}

async fn harmless(ctx: &Ctx) -> Verdict {
    let first = ctx.slow_ask(700).await?;
    let answer = ctx.try_ask(&first.conversation, &ctx.question()).await?;
    ensure(answer.status() == 409, || format!("the second ask was answered {}", answer.status()))?;
    let log = ctx.read(&first.id, None).await?;
    let outcome = log.done().map(|done| done.text("outcome").to_owned()).unwrap_or_default();
    ensure(outcome != "error", || format!("the running ask ended as {}", log.outline()))?;
    if ctx.control.is_some() {
        ctx.script(&[ctx.conclude("cannot_answer", "Nothing.")]).await?;
    }
    let next = ctx.ask(&first.conversation, &ctx.question()).await?;
    ensure(next.body.get("turn") == Some(&json!(2)), || format!("the next ask is {}", next.body))?;
    Ok("the run went on, the next turn is 2".to_owned())
}

async fn free_again(ctx: &Ctx) -> Verdict {
    let first = ctx.new_ask().await?;
    ctx.read(&first.id, None).await?;
    let answer = ctx.try_ask(&first.conversation, &ctx.question()).await?;
    ensure(answer.status() == 202, || format!("the next ask was answered {}", answer.status()))?;
    Ok("202".to_owned())
}

async fn parallel(ctx: &Ctx) -> Verdict {
    let (one, two) = join(ctx.conversation(), ctx.conversation()).await;
    let (one, two) = (one?, two?);
    if ctx.control.is_some() {
        let slow = ctx.conclude("cannot_answer", "Nothing.").after_ms(3000);
        ctx.script(&[slow.clone(), slow]).await?;
    }
    let question = ctx.question();
    let (first, second) = join(ctx.try_ask(&one, &question), ctx.try_ask(&two, &question)).await;
    for answer in [first?, second?] {
        let body: Value = expect(&answer, 202, &asks("{conversation_id}"))?;
        let ticket = text(&body, "ticket")?;
        ctx.cancel(&ticket).await?;
    }
    Ok("both were taken".to_owned())
}
