//! Streams that are read while the run goes on.

use futures_util::future::join_all;
use tokio::time::{Duration, Instant};

use crate::check::{Check, Failure, Verdict, check, ensure, ensure_none, not_exercised, wrong};
use crate::ctx::{Ctx, Ticket};
use crate::log::{End, Log};
use crate::rules;

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(
            "live.at-once",
            "events arrive while the run goes on, not when it is over",
            "The stream",
            at_once
        ),
        check!(
            "live.step-at-once",
            "a step is seen before the next model turn ends",
            "The stream",
            step_at_once
        ),
        check!(
            "live.equals-replay",
            "live and replayed frames are equal to the byte",
            "The stream",
            equals_replay
        ),
        check!("live.late", "a subscriber who comes mid-run gets everything", "The stream", late),
        check!(
            "live.after-done",
            "a subscriber who comes after done gets everything",
            "The stream",
            after_done
        ),
        check!("live.parallel", "parallel subscribers get the same bytes", "The stream", parallel),
        check!("live.resume", "a cut stream resumes with no gap and no repeat", "The stream", resume),
        check!(
            "live.future",
            "a Last-Event-ID that is not reached yet does not repeat events",
            "The stream",
            resume_at_edge
        ),
        check!("live.disconnect", "a disconnect is not a cancel", "rule 5", disconnect),
        check!(
            "live.keep-alive",
            "while a run is quiet a comment goes out in time",
            "The stream",
            keep_alive
        ),
        check!("live.slow-reader", "a reader that does not read holds nobody up", "The stream", slow_reader),
    ]
}

/// A run with a statement at once and a slow turn after it.
async fn two_turns(ctx: &Ctx, ms: u64) -> Result<Ticket, Failure> {
    ctx.script(&[ctx.query(&ctx.options.sql), ctx.conclude("answer", "Some.").after_ms(ms)]).await?;
    ctx.new_ask().await
}

fn whole(log: &Log) -> Result<(), Failure> {
    ensure(log.end == End::Clean, || format!("the stream was {:?} after {}", log.end, log.outline()))?;
    ensure_none(rules::sequence(log))?;
    ensure_none(rules::done_last(log))
}

async fn at_once(ctx: &Ctx) -> Verdict {
    const SLOW: u64 = 2500;
    let begun = Instant::now();
    let ticket = ctx.slow_ask(SLOW).await?;
    let mut stream = ctx.open(&ticket.id, None).await?;
    let Some(first) = stream.until(ctx.limit(), |_| true).await else {
        return wrong("the stream gave no event");
    };
    let log = stream.rest(ctx.limit()).await;
    whole(&log)?;
    let early = first.frame.at - begun;
    let all = log.events.last().map_or(first.frame.at, |event| event.frame.at) - begun;
    if ctx.control.is_none() && all < Duration::from_millis(500) {
        return not_exercised("the run was over at once; needs a scripted model (--model-control)");
    }
    ensure(early * 2 < all, || {
        format!("the first event came after {} ms, the last after {}", early.as_millis(), all.as_millis())
    })?;
    Ok(format!("first after {} ms, last after {}", early.as_millis(), all.as_millis()))
}

async fn step_at_once(ctx: &Ctx) -> Verdict {
    const SLOW: u64 = 2000;
    let ticket = two_turns(ctx, SLOW).await?;
    let mut stream = ctx.open(&ticket.id, None).await?;
    let sql = &ctx.options.query_tool;
    let Some(step) =
        stream.until(ctx.limit(), |event| event.kind() == "step" && event.text("tool") == sql).await
    else {
        return wrong("the stream shows no step of the statement");
    };
    let log = stream.rest(ctx.limit()).await;
    whole(&log)?;
    let before_end = log.ended_at - step.frame.at;
    ensure(before_end > Duration::from_millis(SLOW / 2), || {
        format!("the step came {} ms before the end, a turn of {SLOW} ms was between", before_end.as_millis())
    })?;
    Ok(format!("{} ms before the end", before_end.as_millis()))
}

async fn equals_replay(ctx: &Ctx) -> Verdict {
    let mut compared = 0;
    let scripts: &[bool] = if ctx.control.is_some() { &[true, false] } else { &[false] };
    for slow in scripts {
        let ticket = if *slow { two_turns(ctx, 600).await? } else { ctx.new_ask().await? };
        let live = ctx.read(&ticket.id, None).await?;
        let replayed = ctx.read(&ticket.id, None).await?;
        ensure(live.bytes_after(0) == replayed.bytes_after(0), || {
            let differing =
                live.events.iter().zip(&replayed.events).find(|(a, b)| a.frame.raw != b.frame.raw);
            match differing {
                Some((event, _)) => format!("frame {} differs between live and replay", event.seq()),
                None => format!("live {} events, replay {}", live.events.len(), replayed.events.len()),
            }
        })?;
        compared += live.events.len();
    }
    Ok(format!("{compared} frames"))
}

async fn late(ctx: &Ctx) -> Verdict {
    let ticket = two_turns(ctx, 1500).await?;
    let mut early = ctx.open(&ticket.id, None).await?;
    if early.until(ctx.limit(), |event| event.kind() == "step").await.is_none() {
        return wrong("no step was seen while the run went on");
    }
    let late = ctx.open(&ticket.id, None).await?.rest(ctx.limit()).await;
    let early = early.rest(ctx.limit()).await;
    whole(&late)?;
    ensure(early.bytes_after(0) == late.bytes_after(0), || {
        format!("the first reader saw {}, the late one {}", early.outline(), late.outline())
    })?;
    Ok(format!("{} events to each", late.events.len()))
}

async fn after_done(ctx: &Ctx) -> Verdict {
    let ticket = ctx.new_ask().await?;
    // Nobody reads while it runs.
    let deadline = Instant::now() + ctx.limit();
    while ctx.state(&ticket.id).await?.get("status") != Some(&serde_json::json!("finished")) {
        if Instant::now() > deadline {
            return wrong("the run did not finish while nobody read");
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    let log = ctx.read(&ticket.id, None).await?;
    whole(&log)?;
    Ok(format!("{} events", log.events.len()))
}

async fn parallel(ctx: &Ctx) -> Verdict {
    const READERS: usize = 8;
    let ticket = if ctx.control.is_some() { two_turns(ctx, 800).await? } else { ctx.new_ask().await? };
    let logs = join_all((0..READERS).map(|_| ctx.read(&ticket.id, None))).await;
    let mut first: Option<Vec<u8>> = None;
    for log in logs {
        let log = log?;
        whole(&log)?;
        let bytes = log.bytes_after(0);
        let reference = first.get_or_insert_with(|| bytes.clone());
        ensure(*reference == bytes, || "two readers got different bytes".to_owned())?;
    }
    Ok(format!("{READERS} readers"))
}

async fn resume(ctx: &Ctx) -> Verdict {
    let ticket = two_turns(ctx, 1200).await?;
    let mut stream = ctx.open(&ticket.id, None).await?;
    let Some(last) = stream.until(ctx.limit(), |event| event.kind() == "step").await else {
        return wrong("no step was seen while the run went on");
    };
    let before = stream.leave();
    let position = before.events.iter().position(|event| event.seq() == last.seq()).unwrap_or_default();
    let kept: Vec<u8> =
        before.events.iter().take(position + 1).flat_map(|event| event.frame.raw.clone()).collect();
    let after = ctx.read(&ticket.id, Some(last.seq().to_string().as_bytes())).await?;
    let replayed = ctx.read(&ticket.id, None).await?;
    let joined = [kept, after.bytes_after(0)].concat();
    ensure(joined == replayed.bytes_after(0), || {
        format!(
            "cut after {}, resumed with {}, the whole is {}",
            last.seq(),
            after.outline(),
            replayed.outline()
        )
    })?;
    Ok(format!("cut after seq {}", last.seq()))
}

async fn resume_at_edge(ctx: &Ctx) -> Verdict {
    let ticket = two_turns(ctx, 1200).await?;
    let mut stream = ctx.open(&ticket.id, None).await?;
    if stream
        .until(ctx.limit(), |event| event.kind() == "step" && event.text("tool") == ctx.options.query_tool)
        .await
        .is_none()
    {
        return wrong("no step was seen while the run went on");
    }
    let edge =
        ctx.state(&ticket.id).await?.get("seq").and_then(serde_json::Value::as_u64).unwrap_or_default();
    let log = ctx.read(&ticket.id, Some(edge.to_string().as_bytes())).await?;
    let first = log.events.first().map_or(0, crate::log::Event::seq);
    ensure(first == edge + 1, || format!("Last-Event-ID {edge}, the newest, was followed by {first}"))?;
    ensure_none(rules::done_last(&log))?;
    Ok(format!("after {edge} comes {first}"))
}

async fn disconnect(ctx: &Ctx) -> Verdict {
    let ticket = two_turns(ctx, 900).await?;
    let mut stream = ctx.open(&ticket.id, None).await?;
    stream.until(ctx.limit(), |event| event.kind() == "branch").await;
    drop(stream);
    let log = ctx.read(&ticket.id, None).await?;
    let kind = log.first("error").map(|event| event.text("kind").to_owned());
    ensure(kind.is_none(), || format!("after a disconnect the run ended in error {kind:?}"))?;
    Ok(log.outline())
}

async fn keep_alive(ctx: &Ctx) -> Verdict {
    let interval = Duration::from_secs_f64(ctx.options.keep_alive);
    let slack = Duration::from_secs(2).min(interval.mul_f64(0.5));
    let quiet_ms = u64::try_from((interval * 2 + slack * 2).as_millis()).unwrap_or(u64::MAX);
    if interval * 3 > ctx.limit() * 2 {
        return not_exercised("--check-timeout is too short for two keep-alives");
    }
    let ticket = ctx.slow_ask(quiet_ms).await?;
    let mut stream = ctx.open(&ticket.id, None).await?;
    let deadline = Instant::now() + interval * 2 + slack * 2;
    while stream.quiet().iter().filter(|quiet| quiet.comment).count() < 2 {
        if !stream.read_before(deadline).await {
            break;
        }
    }
    let over = stream.is_over();
    ctx.cancel(&ticket.id).await?;
    let log = stream.rest(ctx.limit()).await;
    if over && ctx.control.is_none() {
        return not_exercised(
            "the run was over before it was quiet; needs a scripted model (--model-control)",
        );
    }
    // The silence before each comment, from whatever came before it.
    let mut moments: Vec<Instant> = log.events.iter().map(|event| event.frame.at).collect();
    let comments: Vec<Instant> =
        log.quiet.iter().filter(|quiet| quiet.comment).map(|quiet| quiet.at).collect();
    moments.extend(log.quiet.iter().map(|quiet| quiet.at));
    moments.sort_unstable();
    ensure(comments.len() >= 2, || {
        format!(
            "{} comments in {:.1} s of a quiet run",
            comments.len(),
            (interval * 2 + slack * 2).as_secs_f64()
        )
    })?;
    let longest =
        moments.windows(2).filter_map(|pair| Some(*pair.last()? - *pair.first()?)).max().unwrap_or_default();
    ensure(longest <= interval + slack, || {
        format!("the stream was silent for {:.1} s", longest.as_secs_f64())
    })?;
    ensure_none(rules::sequence(&log))?;
    Ok(format!("{} comments, {:.1} s of silence at most", comments.len(), longest.as_secs_f64()))
}

async fn slow_reader(ctx: &Ctx) -> Verdict {
    const SLOW: u64 = 1200;
    let ticket = if ctx.control.is_some() { two_turns(ctx, SLOW).await? } else { ctx.new_ask().await? };
    let begun = Instant::now();
    let mut stalled = Vec::new();
    for _ in 0..4 {
        stalled.push(ctx.open(&ticket.id, None).await?);
    }
    let mut stream = ctx.open(&ticket.id, None).await?;
    let first = stream.until(ctx.limit(), |_| true).await;
    let waited = first.map_or(Duration::MAX, |event| event.frame.at - begun);
    ensure(waited < Duration::from_millis(SLOW * 3 / 4) || ctx.control.is_none(), || {
        format!("beside readers that do not read, the first event took {} ms", waited.as_millis())
    })?;
    let log = stream.rest(ctx.limit()).await;
    whole(&log)?;
    for stream in stalled {
        let late = stream.rest(ctx.limit()).await;
        whole(&late)?;
    }
    Ok("beside four readers that read nothing until the end".to_owned())
}
