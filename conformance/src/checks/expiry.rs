//! Expiry: a finished ticket and an idle conversation end after their time.

use std::rc::Rc;

use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::Duration;

use crate::check::{Check, Failure, Verdict, check, ensure, not_exercised};
use crate::ctx::{Ctx, Run, asks, cancel, events, state};

/// What has to start early, so that the wait is over when the late checks come.
pub(super) fn early() -> Vec<Check> {
    vec![check!(
        "expiry.retained",
        "a finished ticket is retained: state and events are served on",
        "The stream",
        retained
    )]
}

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!("expiry.gone", "an expired ticket is 410 to its owner on all routes", "calls", gone),
        check!("expiry.other", "an expired ticket is 404 to anyone else", "calls", other),
        check!("expiry.conversation", "an idle conversation is gone after its time", "memory", conversation),
        check!("expiry.moved-on", "every ask moves its conversation's expiry on", "Conversation", moved_on),
    ]
}

const NAME: &str = "expiring";

async fn expiring(ctx: &Ctx) -> Result<Rc<Run>, Failure> {
    if let Some(run) = ctx.memo.borrow().get(NAME) {
        return Ok(Rc::clone(run));
    }
    let script = [ctx.conclude("cannot_answer", "Nothing.")];
    let script: &[_] = if ctx.control.is_some() { &script } else { &[] };
    let run = Rc::new(ctx.run(NAME, &ctx.question(), script).await?);
    ctx.memo.borrow_mut().insert(NAME, Rc::clone(&run));
    Ok(run)
}

/// How long a finished ticket is retained, as the ticket itself said it.
fn ttl(run: &Run) -> Result<Duration, Failure> {
    let moment = |text: &str| OffsetDateTime::parse(text, &Rfc3339).ok();
    let said = run.ticket.body.get("expires_at").and_then(Value::as_str).and_then(moment);
    // The service's own clock, by its first event.
    let begun = run.log.first("accepted").map(|event| event.text("ts").to_owned());
    let begun = begun.as_deref().and_then(moment);
    match (said, begun) {
        (Some(said), Some(begun)) if said > begun => Ok((said - begun).unsigned_abs()),
        _ => crate::check::wrong(format!("expires_at of {} tells no time to live", run.ticket.body)),
    }
}

fn in_reach(ctx: &Ctx, wait: Duration) -> Result<(), Failure> {
    if wait > ctx.limit() {
        return not_exercised(format!(
            "would take {} s: start the service with a small DAS_ASK_TTL_S, or raise --check-timeout",
            wait.as_secs()
        ));
    }
    Ok(())
}

/// Waits until the early ticket's time is over.
async fn expired(ctx: &Ctx) -> Result<Rc<Run>, Failure> {
    let run = expiring(ctx).await?;
    let due = run.log.ended_at + ttl(&run)? + Duration::from_millis(1500);
    in_reach(ctx, due.saturating_duration_since(tokio::time::Instant::now()))?;
    tokio::time::sleep_until(due).await;
    Ok(run)
}

async fn retained(ctx: &Ctx) -> Verdict {
    let run = expiring(ctx).await?;
    ctx.state(&run.ticket.id).await?;
    let log = ctx.read(&run.ticket.id, None).await?;
    ensure(log.bytes_after(0) == run.log.bytes_after(0), || format!("the replay was {}", log.outline()))?;
    Ok(format!("for {} s by its expires_at", ttl(&run)?.as_secs()))
}

async fn gone(ctx: &Ctx) -> Verdict {
    let run = expired(ctx).await?;
    let owner = Some(&ctx.ids.first);
    let answers = [
        ctx.get(&state(&run.ticket.id), owner).await?,
        ctx.get(&events(&run.ticket.id), owner).await?,
        ctx.post(&cancel(&run.ticket.id), owner, None).await?,
    ];
    let statuses = answers.map(|answer| answer.status());
    ensure(statuses == [410, 410, 410], || format!("state, events and cancel answered {statuses:?}"))?;
    Ok("state, events, cancel".to_owned())
}

async fn other(ctx: &Ctx) -> Verdict {
    let other = Some(ctx.other()?);
    let run = expired(ctx).await?;
    let answers = [
        ctx.get(&state(&run.ticket.id), other).await?,
        ctx.get(&events(&run.ticket.id), other).await?,
        ctx.post(&cancel(&run.ticket.id), other, None).await?,
    ];
    let statuses = answers.map(|answer| answer.status());
    ensure(statuses == [404, 404, 404], || format!("state, events and cancel answered {statuses:?}"))?;
    Ok("state, events, cancel".to_owned())
}

async fn conversation(ctx: &Ctx) -> Verdict {
    let run = expired(ctx).await?;
    let answer = ctx.try_ask(&run.ticket.conversation, &ctx.question()).await?;
    ensure(answer.status() == 404, || format!("an ask in it was answered {}", answer.status()))?;
    let path = asks(&crate::ctx::unknown_like(&run.ticket.conversation));
    let never = ctx.post(&path, Some(&ctx.ids.first), Some(&ctx.question())).await?;
    ensure(never.status() == answer.status(), || format!("one that never was is {}", never.status()))?;
    Ok("404".to_owned())
}

async fn moved_on(ctx: &Ctx) -> Verdict {
    let ttl = ttl(&*expiring(ctx).await?)?;
    in_reach(ctx, ttl.mul_f64(1.4) + Duration::from_secs(1))?;
    let conversation = ctx.conversation().await?;
    for ask in 1..=3 {
        if ask > 1 {
            tokio::time::sleep(ttl.mul_f64(0.7)).await;
        }
        if ctx.control.is_some() {
            ctx.script(&[ctx.conclude("cannot_answer", "Nothing.")]).await?;
        }
        let answer = ctx.try_ask(&conversation, &ctx.question()).await?;
        ensure(answer.status() == 202, || {
            format!(
                "ask {ask}, {:.1} s after the one before, was answered {}",
                ttl.as_secs_f64() * 0.7,
                answer.status()
            )
        })?;
    }
    Ok(format!("three asks over {:.1} s", ttl.as_secs_f64() * 1.4))
}
