//! The state endpoint: the log's fold for clients without Server-Sent Events.

use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use crate::check::{Check, Verdict, check, ensure, wrong};
use crate::ctx::{Ctx, state};

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(
            "state.running",
            "while it runs the state is running, terminal and done are null",
            "AskState",
            running
        ),
        check!(
            "state.fold",
            "after done the state equals the log's fold, whatever the ending",
            "AskState",
            fold
        ),
        check!("state.seq", "the state's seq is the latest emitted and never goes back", "AskState", seq),
        check!("state.members", "the state names its ticket and conversation, as JSON", "AskState", members),
    ]
}

async fn running(ctx: &Ctx) -> Verdict {
    let ticket = ctx.slow_ask(3000).await?;
    let state = ctx.state(&ticket.id).await?;
    ctx.cancel(&ticket.id).await?;
    ensure(state.get("status") == Some(&json!("running")), || format!("the state is {state}"))?;
    for member in ["terminal", "done"] {
        ensure(state.get(member).is_some_and(Value::is_null), || format!("the running state is {state}"))?;
    }
    Ok(state.to_string())
}

async fn fold(ctx: &Ctx) -> Verdict {
    let mut endings = Vec::new();
    ctx.memo.borrow_mut().clear();
    for at in 0..5 {
        let run = match (at, &ctx.control) {
            (0, _) => ctx.answered().await?,
            (_, None) => break,
            (1, _) => ctx.abstained().await?,
            (2, _) => ctx.refused().await?,
            (3, _) => ctx.failed().await?,
            _ => ctx.cancelled().await?,
        };
        let state = ctx.state(&run.ticket.id).await?;
        let terminal = run.log.terminal().map(|event| &event.data);
        let done = run.log.done().map(|event| &event.data);
        ensure(state.get("status") == Some(&json!("finished")), || format!("{}: {state}", run.name))?;
        ensure(state.get("terminal") == terminal, || {
            format!("{}: the state's terminal is not the stream's: {state}", run.name)
        })?;
        ensure(state.get("done") == done, || {
            format!("{}: the state's done is not the stream's: {state}", run.name)
        })?;
        ensure(state.get("seq") == Some(&json!(run.log.last_seq())), || {
            format!("{}: the stream ended at {}, the state says {state}", run.name, run.log.last_seq())
        })?;
        endings.push(run.name);
    }
    Ok(endings.join(", "))
}

async fn seq(ctx: &Ctx) -> Verdict {
    let ticket = ctx.slow_ask(600).await?;
    let mut stream = ctx.open(&ticket.id, None).await?;
    let deadline = Instant::now() + ctx.limit();
    let mut last = 0;
    let mut polls = 0;
    loop {
        // What the stream has shown, the state may not deny.
        let shown =
            stream.next_before(Instant::now() + Duration::from_millis(40)).await.map(|event| event.seq());
        let state = ctx.state(&ticket.id).await?;
        let seq = state.get("seq").and_then(Value::as_u64).unwrap_or_default();
        polls += 1;
        ensure(seq >= last, || format!("seq went back from {last} to {seq}"))?;
        if let Some(shown) = shown {
            ensure(seq >= shown, || format!("the stream was at {shown}, the state at {seq}"))?;
        }
        last = seq;
        if state.get("status") == Some(&json!("finished")) {
            break;
        }
        if Instant::now() > deadline {
            return wrong("the run did not end");
        }
    }
    let log = stream.rest(ctx.limit()).await;
    ensure(log.last_seq() == last, || {
        format!("the stream ended at {}, the state at {last}", log.last_seq())
    })?;
    Ok(format!("{polls} polls up to {last}"))
}

async fn members(ctx: &Ctx) -> Verdict {
    let ticket = ctx.new_ask().await?;
    let answer = ctx.get(&state(&ticket.id), Some(&ctx.ids.first)).await?;
    let body = answer.json().unwrap_or_default();
    ensure(answer.head.media_type() == "application/json", || {
        format!("the content type is {:?}", answer.head.media_type())
    })?;
    ensure(body.get("ticket") == Some(&json!(ticket.id)), || format!("the state is {body}"))?;
    ensure(body.get("conversation_id") == Some(&json!(ticket.conversation)), || {
        format!("the state is {body}")
    })?;
    Ok("application/json".to_owned())
}
