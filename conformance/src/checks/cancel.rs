//! Cancel: acknowledged once the ending is in the log, and final.

use futures_util::future::join;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use crate::check::{Check, Failure, Verdict, check, ensure, ensure_none, not_exercised, wrong};
use crate::ctx::{Ctx, Ticket, cancel, expect};
use crate::log::Log;
use crate::model::Reply;
use crate::rules;

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!("cancel.stops-stream", "cancel stops the stream", "rule 5", stops_stream),
        check!("cancel.body", "a cancel is 202 and names the ticket and that it is finished", "calls", body),
        check!(
            "cancel.before-start",
            "a cancel right after the 202 leaves one terminal",
            "rule 5",
            before_start
        ),
        check!("cancel.mid-turn", "a cancel during a model turn ends in error cancelled", "rule 5", mid_turn),
        check!(
            "cancel.mid-tool",
            "a cancel during a tool call ends at once, and the call's end adds nothing",
            "rule 5",
            mid_tool
        ),
        check!(
            "cancel.ending-in-log",
            "the ending is in the log by the time the 202 goes out",
            "rule 5",
            ending_in_log
        ),
        check!(
            "cancel.ending-alone",
            "after a cancel only the ending is emitted: branch closed, error, done",
            "rule 5",
            ending_alone
        ),
        check!("cancel.nothing-after", "nothing is added to the log after a cancel", "rule 5", nothing_after),
        check!("cancel.no-model-call", "after a cancel no model call is made", "rule 5", no_model_call),
        check!("cancel.twice", "cancel is idempotent", "calls", twice),
        check!("cancel.together", "two cancels at once leave one ending", "calls", together),
        check!(
            "cancel.after-done",
            "cancel after done is not an error and changes nothing",
            "calls",
            after_done
        ),
        check!(
            "cancel.race-with-end",
            "a cancel in the instant of the end leaves exactly one terminal",
            "rule 1",
            race_with_end
        ),
        check!("cancel.frees", "a cancelled conversation takes the next ask at once", "calls", frees),
    ]
}

fn is_cancelled(log: &Log) -> Result<(), Failure> {
    ensure_none(rules::one_terminal(log))?;
    ensure_none(rules::done_last(log))?;
    ensure_none(rules::branch_pairs(log))?;
    let kind = log.terminal().map(|event| event.text("kind").to_owned()).unwrap_or_default();
    ensure(kind == "cancelled", || format!("the terminal's kind is {kind:?}: {}", log.outline()))
}

async fn stops_stream(ctx: &Ctx) -> Verdict {
    let ticket = ctx.slow_ask(6000).await?;
    let stream = ctx.open(&ticket.id, None).await?;
    let begun = Instant::now();
    ctx.cancel(&ticket.id).await?;
    let log = stream.rest(ctx.limit()).await;
    let took = begun.elapsed();
    ensure_none(rules::closes(&log))?;
    is_cancelled(&log)?;
    ensure(took < Duration::from_secs(3), || {
        format!("the stream ended {} ms after the cancel", took.as_millis())
    })?;
    Ok(format!("ended after {} ms", took.as_millis()))
}

async fn body(ctx: &Ctx) -> Verdict {
    let ticket = ctx.slow_ask(3000).await?;
    let body = ctx.cancel(&ticket.id).await?;
    ensure(body.get("ticket") == Some(&json!(ticket.id)), || format!("the 202 says {body}"))?;
    ensure(body.get("finished") == Some(&json!(true)), || format!("the 202 says {body}"))?;
    Ok(body.to_string())
}

async fn before_start(ctx: &Ctx) -> Verdict {
    for _ in 0..10 {
        let ticket = ctx.slow_ask(3000).await?;
        ctx.cancel(&ticket.id).await?;
        let log = ctx.read(&ticket.id, None).await?;
        ensure_none(rules::accepted(&log))?;
        is_cancelled(&log)?;
        ensure_none(rules::branch_life(&log))?;
    }
    Ok("ten times".to_owned())
}

/// Waits until the scripted model has received a request of this run.
async fn in_turn(ctx: &Ctx, before: u64) -> Result<(), Failure> {
    let deadline = Instant::now() + ctx.limit() / 2;
    while ctx.control()?.received().await? <= before {
        if Instant::now() > deadline {
            return wrong("the model was not called");
        }
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
    Ok(())
}

async fn mid_turn(ctx: &Ctx) -> Verdict {
    let before = ctx.control()?.received().await?;
    let ticket = ctx.slow_ask(4000).await?;
    in_turn(ctx, before).await?;
    let begun = Instant::now();
    ctx.cancel(&ticket.id).await?;
    let took = begun.elapsed();
    let log = ctx.read(&ticket.id, None).await?;
    is_cancelled(&log)?;
    ensure(took < Duration::from_secs(2), || format!("the cancel took {} ms", took.as_millis()))?;
    Ok(format!("acknowledged after {} ms", took.as_millis()))
}

/// A run that is inside a slow statement; gives the ticket and how many events there were then.
async fn in_tool(ctx: &Ctx) -> Result<Ticket, Failure> {
    ctx.script(&[ctx.query(&ctx.options.slow_sql), ctx.conclude("answer", "Many.")]).await?;
    let before = ctx.control()?.received().await?;
    let ticket = ctx.new_ask().await?;
    in_turn(ctx, before).await?;
    let mut stream = ctx.open(&ticket.id, None).await?;
    let deadline = Instant::now() + Duration::from_millis(400);
    // By then the statement runs; a run that has ended was given a statement that is too quick.
    while let Some(event) = stream.next_before(deadline).await {
        if event.kind() == "done" || (event.kind() == "step" && event.text("tool") == ctx.options.query_tool)
        {
            return not_exercised("the slow statement (--slow-sql) was over at once");
        }
    }
    Ok(ticket)
}

async fn mid_tool(ctx: &Ctx) -> Verdict {
    let ticket = in_tool(ctx).await?;
    let begun = Instant::now();
    ctx.cancel(&ticket.id).await?;
    let took = begun.elapsed();
    ensure(took < Duration::from_secs(2), || {
        format!("the cancel waited {} ms for the tool", took.as_millis())
    })?;
    let log = ctx.read(&ticket.id, None).await?;
    is_cancelled(&log)?;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let later = ctx.read(&ticket.id, None).await?;
    ensure(log.bytes_after(0) == later.bytes_after(0), || {
        format!("after the call had ended the log was {}", later.outline())
    })?;
    Ok(format!("acknowledged after {} ms", took.as_millis()))
}

async fn ending_in_log(ctx: &Ctx) -> Verdict {
    for _ in 0..5 {
        let ticket = ctx.slow_ask(3000).await?;
        ctx.cancel(&ticket.id).await?;
        let state = ctx.state(&ticket.id).await?;
        ensure(state.get("status") == Some(&json!("finished")), || format!("right after the 202: {state}"))?;
        ensure(state.pointer("/terminal/kind") == Some(&json!("cancelled")), || {
            format!("right after the 202: {state}")
        })?;
        ensure(state.get("done").is_some_and(Value::is_object), || format!("right after the 202: {state}"))?;
    }
    Ok("finished and cancelled, five times".to_owned())
}

async fn ending_alone(ctx: &Ctx) -> Verdict {
    let before = ctx.control()?.received().await?;
    let ticket = ctx.slow_ask(4000).await?;
    in_turn(ctx, before).await?;
    let edge = ctx.state(&ticket.id).await?.get("seq").and_then(Value::as_u64).unwrap_or_default();
    ctx.cancel(&ticket.id).await?;
    let log = ctx.read(&ticket.id, Some(edge.to_string().as_bytes())).await?;
    let last_three: Vec<_> =
        log.events.iter().rev().take(3).rev().map(|event| event.kind().to_owned()).collect();
    ensure(last_three == ["branch", "error", "done"], || format!("the ending is {}", log.outline()))?;
    ensure(log.events.iter().all(|event| event.kind() != "step"), || {
        format!("after the cancel came {}", log.outline())
    })?;
    Ok(log.outline())
}

async fn nothing_after(ctx: &Ctx) -> Verdict {
    ctx.script(&[
        ctx.query(&ctx.options.sql).after_ms(500),
        ctx.query(&ctx.options.sql),
        ctx.conclude("answer", "Some."),
    ])
    .await?;
    let ticket = ctx.new_ask().await?;
    ctx.cancel(&ticket.id).await?;
    let then = ctx.read(&ticket.id, None).await?;
    tokio::time::sleep(Duration::from_millis(1200)).await;
    let later = ctx.read(&ticket.id, None).await?;
    let state = ctx.state(&ticket.id).await?;
    ensure(then.bytes_after(0) == later.bytes_after(0), || {
        format!("the log was {} and became {}", then.outline(), later.outline())
    })?;
    ensure(state.get("seq") == Some(&json!(then.last_seq())), || format!("the state became {state}"))?;
    is_cancelled(&later)?;
    Ok(format!("{} events before and after", later.events.len()))
}

async fn no_model_call(ctx: &Ctx) -> Verdict {
    ctx.script(&[
        ctx.query(&ctx.options.sql).after_ms(400),
        ctx.query(&ctx.options.sql),
        ctx.conclude("answer", "Some."),
    ])
    .await?;
    let before = ctx.control()?.received().await?;
    let ticket = ctx.new_ask().await?;
    in_turn(ctx, before).await?;
    ctx.cancel(&ticket.id).await?;
    let then = ctx.control()?.received().await?;
    tokio::time::sleep(Duration::from_millis(1200)).await;
    let later = ctx.control()?.received().await?;
    ensure(then == later, || format!("{} model calls after the cancel", later - then))?;
    Ok(format!("{} before, none after", then - before))
}

async fn twice(ctx: &Ctx) -> Verdict {
    let ticket = ctx.slow_ask(3000).await?;
    let first = ctx.cancel(&ticket.id).await?;
    let then = ctx.read(&ticket.id, None).await?;
    for _ in 0..2 {
        let again = ctx.cancel(&ticket.id).await?;
        ensure(again == first, || format!("the first cancel said {first}, a later one {again}"))?;
    }
    let later = ctx.read(&ticket.id, None).await?;
    is_cancelled(&later)?;
    ensure(then.bytes_after(0) == later.bytes_after(0), || format!("the log became {}", later.outline()))?;
    Ok(first.to_string())
}

async fn together(ctx: &Ctx) -> Verdict {
    let ticket = ctx.slow_ask(3000).await?;
    let (one, two) = join(ctx.cancel(&ticket.id), ctx.cancel(&ticket.id)).await;
    one?;
    two?;
    is_cancelled(&ctx.read(&ticket.id, None).await?)?;
    Ok("both 202".to_owned())
}

async fn after_done(ctx: &Ctx) -> Verdict {
    let ticket = ctx.new_ask().await?;
    let then = ctx.read(&ticket.id, None).await?;
    let answer = ctx.post(&cancel(&ticket.id), Some(&ctx.ids.first), None).await?;
    let body = expect(&answer, 202, "a cancel after done")?;
    ensure(body.get("finished") == Some(&json!(true)), || format!("the 202 says {body}"))?;
    let later = ctx.read(&ticket.id, None).await?;
    ensure(then.bytes_after(0) == later.bytes_after(0), || format!("the log became {}", later.outline()))?;
    Ok(body.to_string())
}

async fn race_with_end(ctx: &Ctx) -> Verdict {
    let mut tickets = Vec::new();
    for wait in [0, 20, 40, 60, 80, 100, 120, 140, 160, 200] {
        if ctx.control.is_some() {
            ctx.script(&[ctx.query(&ctx.options.sql).after_ms(50), Reply::text("Well.").after_ms(50)])
                .await?;
        }
        let ticket = ctx.new_ask().await?;
        tokio::time::sleep(Duration::from_millis(wait)).await;
        ctx.cancel(&ticket.id).await?;
        tickets.push(ticket);
    }
    // What loses the race may come in late.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut endings = Vec::new();
    for ticket in tickets {
        let log = ctx.read(&ticket.id, None).await?;
        ensure_none(rules::one_terminal(&log))?;
        ensure_none(rules::done_last(&log))?;
        ensure_none(rules::branch_pairs(&log))?;
        ensure_none(rules::sequence(&log))?;
        endings.push(log.terminal().map(|event| event.kind().to_owned()).unwrap_or_default());
    }
    Ok(endings.join(" "))
}

async fn frees(ctx: &Ctx) -> Verdict {
    let ticket = ctx.slow_ask(4000).await?;
    ctx.cancel(&ticket.id).await?;
    if ctx.control.is_some() {
        ctx.script(&[ctx.conclude("cannot_answer", "Nothing.")]).await?;
    }
    let answer = ctx.try_ask(&ticket.conversation, &ctx.question()).await?;
    ensure(answer.status() == 202, || format!("the next ask was answered {}", answer.status()))?;
    Ok("202".to_owned())
}
