//! The bounded buffer: past it steps go, oldest first, and nothing else ever does.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::check::{Check, Failure, Verdict, check, ensure, ensure_none, not_exercised};
use crate::ctx::{Ctx, Run};
use crate::log::{Event, Log};
use crate::rules;

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!("limits.bounded", "past the limit events are dropped, and not before", "rule 3", bounded),
        check!(
            "limits.steps-only",
            "only steps are dropped: everything else is replayed",
            "rule 3",
            steps_only
        ),
        check!("limits.oldest-first", "steps are dropped oldest first", "rule 3", oldest_first),
        check!(
            "limits.done-steps",
            "done.steps equals the step events emitted, before any drop",
            "rule 3",
            done_steps
        ),
        check!(
            "limits.order",
            "a replay with a gap still starts with accepted and ends with done",
            "rule 1",
            order
        ),
        check!(
            "limits.into-gap",
            "a Last-Event-ID inside the gap resumes at the next event there is",
            "The stream",
            into_gap
        ),
    ]
}

/// A run with more events than are retained; its log is the replay.
async fn overflow(ctx: &Ctx) -> Result<Rc<Run>, Failure> {
    const NAME: &str = "overflow";
    if let Some(run) = ctx.memo.borrow().get(NAME) {
        return Ok(Rc::clone(run));
    }
    let limit = ctx.options.max_events;
    let turns = ctx.options.max_steps.saturating_sub(2).clamp(1, 10);
    let calls = (limit + 12).div_ceil(turns);
    let quick = ctx.options.quick_tool.as_str();
    let turn = (1..calls).fold(ctx.query(&ctx.options.sql), |turn, _| turn.and(quick, json!({})));
    let mut script = vec![turn; usize::try_from(turns).unwrap_or(1)];
    script.push(ctx.conclude("cannot_answer", "Nothing."));
    let mut run = ctx.run(NAME, &ctx.question(), &script).await?;
    run.log = ctx.read(&run.ticket.id, None).await?;
    if run.log.last_seq() <= limit {
        return not_exercised(format!(
            "the run emitted {} events ({}), the limit is {limit}: start the service with a small \
             DAS_ASK_MAX_EVENTS and say it with --max-events",
            run.log.last_seq(),
            run.log.done().map(|done| done.text("outcome").to_owned()).unwrap_or_default(),
        ));
    }
    let run = Rc::new(run);
    ctx.memo.borrow_mut().insert(NAME, Rc::clone(&run));
    Ok(run)
}

/// The positions that a replay lacks.
fn missing(log: &Log) -> Vec<u64> {
    let there: BTreeSet<u64> = log.events.iter().map(Event::seq).collect();
    (1..=log.last_seq()).filter(|seq| !there.contains(seq)).collect()
}

async fn bounded(ctx: &Ctx) -> Verdict {
    let run = overflow(ctx).await?;
    let limit = ctx.options.max_events;
    let retained = run.log.events.len() as u64;
    let others = run.log.events.iter().filter(|event| event.kind() != "step").count() as u64;
    // The ending is written whatever is full: it may take the place of steps or come on top.
    ensure(retained <= limit.max(others) + 3, || {
        format!("{retained} events retained, the limit is {limit}")
    })?;
    ensure(retained + 3 >= limit, || format!("{retained} events retained of {limit} that fit"))?;
    Ok(format!("{retained} retained of {}", run.log.last_seq()))
}

async fn steps_only(ctx: &Ctx) -> Verdict {
    let run = overflow(ctx).await?;
    let gone = missing(&run.log).len() as u64;
    let kept = run.log.of("step").count() as u64;
    let said =
        run.log.done().and_then(|done| done.data.get("steps")).and_then(Value::as_u64).unwrap_or_default();
    ensure(kept + gone <= said, || {
        format!("{gone} events are missing and {kept} steps are there, but there were {said} steps only")
    })?;
    ensure_none(rules::branch_pairs(&run.log))?;
    ensure_none(rules::one_terminal(&run.log))?;
    Ok(format!("{gone} of {said} steps dropped"))
}

async fn oldest_first(ctx: &Ctx) -> Verdict {
    let run = overflow(ctx).await?;
    let newest_gone = missing(&run.log).last().copied().unwrap_or_default();
    let oldest_kept = run.log.of("step").map(Event::seq).next();
    ensure(oldest_kept.is_none_or(|kept| kept > newest_gone), || {
        format!("seq {newest_gone} is missing while the older step {oldest_kept:?} is there")
    })?;
    Ok(format!("dropped up to {newest_gone}, steps kept from {oldest_kept:?}"))
}

async fn done_steps(ctx: &Ctx) -> Verdict {
    let run = overflow(ctx).await?;
    let gone = missing(&run.log).len() as u64;
    let kept = run.log.of("step").count() as u64;
    let said = run.log.done().and_then(|done| done.data.get("steps")).and_then(Value::as_u64);
    ensure(said == Some(kept + gone), || {
        format!("done.steps is {said:?}; {kept} steps are there and {gone} events are missing")
    })?;
    Ok(format!("{} steps", kept + gone))
}

async fn order(ctx: &Ctx) -> Verdict {
    let run = overflow(ctx).await?;
    ensure_none(rules::accepted(&run.log))?;
    ensure_none(rules::done_last(&run.log))?;
    let rising = run.log.events.windows(2).all(|pair| match pair {
        [one, two] => one.seq() < two.seq(),
        _ => true,
    });
    ensure(rising, || "seq does not rise".to_owned())?;
    Ok(format!("{} events", run.log.events.len()))
}

async fn into_gap(ctx: &Ctx) -> Verdict {
    ctx.memo.borrow_mut().remove("overflow");
    let run = overflow(ctx).await?;
    let gaps = missing(&run.log);
    let (Some(first), Some(last)) = (gaps.first(), gaps.last()) else {
        return crate::check::wrong("nothing was dropped");
    };
    for seq in [*first, *last] {
        let log = ctx.read(&run.ticket.id, Some(seq.to_string().as_bytes())).await?;
        ensure(log.bytes_after(0) == run.log.bytes_after(seq), || {
            format!("Last-Event-ID {seq}, which is gone, gave {} events", log.events.len())
        })?;
    }
    Ok(format!("from {first} and {last}"))
}
