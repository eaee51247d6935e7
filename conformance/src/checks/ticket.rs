//! The ticket: what a 202 holds, and that it comes before any work.

use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::{Duration, Instant};

use crate::check::{Check, Verdict, check, ensure, not_exercised, wrong};
use crate::ctx::{Ctx, asks, ticket_in};

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!("ticket.before-run", "a ticket is returned before any tool call runs", "calls", before_run),
        check!("ticket.members", "a ticket names its conversation, turn 1 and seq 0", "Ticket", members),
        check!("ticket.seq", "a ticket's seq is always 0", "Ticket", seq),
        check!(
            "ticket.turns",
            "turns count up within a conversation, in the ticket and in accepted",
            "Ticket",
            turns
        ),
        check!(
            "ticket.turn-per-conversation",
            "a new conversation starts at turn 1",
            "Ticket",
            per_conversation
        ),
        check!("ticket.expires-at", "a ticket's expires_at lies ahead", "Ticket", expires_at),
        check!(
            "ticket.usable-at-once",
            "state and stream know the ticket as soon as it is out",
            "calls",
            usable
        ),
    ]
}

async fn before_run(ctx: &Ctx) -> Verdict {
    const SLOW: u64 = 2500;
    let conversation = ctx.conversation().await?;
    if ctx.control.is_none() {
        return not_exercised("needs a scripted model (--model-control)");
    }
    let before = ctx.control()?.received().await?;
    ctx.script(&[ctx.query(&ctx.options.sql).after_ms(SLOW), ctx.conclude("answer", "Some.")]).await?;
    let begun = Instant::now();
    let answer = ctx.try_ask(&conversation, &ctx.question()).await?;
    let took = begun.elapsed();
    let ticket = ticket_in(&answer)?;
    let state = ctx.state(&ticket.id).await?;
    ctx.cancel(&ticket.id).await?;
    ensure(took < Duration::from_millis(SLOW * 3 / 5), || {
        format!("the 202 took {} ms, the run's first turn takes {SLOW}", took.as_millis())
    })?;
    ensure(state.get("status") == Some(&json!("running")), || format!("the state after the 202 is {state}"))?;
    let asked = ctx.control()?.received().await? - before;
    ensure(asked <= 1, || format!("{asked} model calls before the ticket"))?;
    Ok(format!("202 after {} ms, then running", took.as_millis()))
}

async fn members(ctx: &Ctx) -> Verdict {
    let conversation = ctx.conversation().await?;
    let answer = ctx.post(&asks(&conversation), Some(&ctx.ids.first), Some(&ctx.question())).await?;
    let ticket = ticket_in(&answer)?;
    ensure(ticket.conversation == conversation, || format!("the ticket names {:?}", ticket.conversation))?;
    ensure(ticket.body.get("turn") == Some(&json!(1)), || {
        format!("the first ask's ticket is {}", ticket.body)
    })?;
    ensure(answer.head.media_type() == "application/json", || {
        format!("the content type is {:?}", answer.head.media_type())
    })?;
    Ok(ticket.body.to_string())
}

async fn seq(ctx: &Ctx) -> Verdict {
    let conversation = ctx.conversation().await?;
    for _ in 0..2 {
        let ticket = ctx.ask(&conversation, &ctx.question()).await?;
        ensure(ticket.body.get("seq") == Some(&json!(0)), || format!("the ticket is {}", ticket.body))?;
        ctx.read(&ticket.id, None).await?;
    }
    Ok("0 in two tickets".to_owned())
}

async fn turns(ctx: &Ctx) -> Verdict {
    let conversation = ctx.conversation().await?;
    for turn in 1..=3 {
        let ticket = ctx.ask(&conversation, &ctx.question()).await?;
        let log = ctx.read(&ticket.id, None).await?;
        let accepted = log.first("accepted").and_then(|event| event.data.get("turn").cloned());
        ensure(ticket.body.get("turn") == Some(&json!(turn)), || {
            format!("ticket {turn} is {}", ticket.body)
        })?;
        ensure(accepted == Some(json!(turn)), || format!("accepted of turn {turn} says {accepted:?}"))?;
    }
    Ok("1, 2, 3".to_owned())
}

async fn per_conversation(ctx: &Ctx) -> Verdict {
    for _ in 0..2 {
        let ticket = ctx.new_ask().await?;
        ensure(ticket.body.get("turn") == Some(&json!(1)), || format!("the ticket is {}", ticket.body))?;
        ctx.read(&ticket.id, None).await?;
    }
    Ok("1 in each".to_owned())
}

async fn expires_at(ctx: &Ctx) -> Verdict {
    let ticket = ctx.new_ask().await?;
    let said = crate::ctx::text(&ticket.body, "expires_at")?;
    match OffsetDateTime::parse(&said, &Rfc3339) {
        Ok(moment) if moment > OffsetDateTime::now_utc() => Ok(said),
        Ok(_) => wrong(format!("expires_at {said:?} is past")),
        Err(_) => wrong(format!("expires_at {said:?} is no date-time")),
    }
}

async fn usable(ctx: &Ctx) -> Verdict {
    for _ in 0..5 {
        let ticket = ctx.new_ask().await?;
        let state = ctx.state(&ticket.id).await?;
        ensure(state.get("ticket") == Some(&json!(ticket.id)), || format!("the state is {state}"))?;
        ctx.read(&ticket.id, None).await?;
    }
    Ok("five times".to_owned())
}
