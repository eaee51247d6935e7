//! Replays: from every position, and from positions that are none.

use crate::check::{Check, Failure, Verdict, check, ensure, ensure_none, wrong};
use crate::ctx::{Ctx, Ticket};
use crate::log::Log;
use crate::rules;

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(
            "replay.every-position",
            "events replay from Last-Event-ID with no gap in seq, from every position",
            "The stream",
            every_position
        ),
        check!(
            "replay.absent",
            "no Last-Event-ID, 0 or an empty one replays from the start",
            "The stream",
            from_start
        ),
        check!(
            "replay.not-a-number",
            "a Last-Event-ID that is not a number replays from the start",
            "The stream",
            not_a_number
        ),
        check!("replay.at-done", "a Last-Event-ID at done gets 204", "The stream", at_done),
        check!(
            "replay.past-done",
            "a Last-Event-ID past done gets a definite answer",
            "The stream",
            past_done
        ),
        check!("replay.hostile", "hostile Last-Event-IDs get a definite answer", "The stream", hostile),
        check!(
            "replay.repeated",
            "a reconnect after done replays and closes again, each time the same",
            "The stream",
            repeated
        ),
        check!("replay.no-body-204", "204 comes without a body", "RFC 9110", empty_204),
    ]
}

/// A finished ticket and everything on its stream.
async fn finished(ctx: &Ctx) -> Result<(Ticket, Log), Failure> {
    if ctx.control.is_some() {
        ctx.script(&[ctx.query(&ctx.options.sql), ctx.conclude("answer", "Some.")]).await?;
    }
    let ticket = ctx.new_ask().await?;
    let log = ctx.read(&ticket.id, None).await?;
    ensure(log.events.len() >= 3, || format!("the stream holds {}", log.outline()))?;
    Ok((ticket, log))
}

async fn every_position(ctx: &Ctx) -> Verdict {
    let (ticket, whole) = finished(ctx).await?;
    ensure_none(rules::sequence(&whole))?;
    for position in 0..whole.last_seq() {
        let log = ctx.read(&ticket.id, Some(position.to_string().as_bytes())).await?;
        let first = log.events.first().map_or(0, crate::log::Event::seq);
        ensure(first == position + 1, || format!("Last-Event-ID {position} was followed by seq {first}"))?;
        ensure(log.bytes_after(0) == whole.bytes_after(position), || {
            format!("from {position}: {} instead of the rest of {}", log.outline(), whole.outline())
        })?;
    }
    Ok(format!("{} positions", whole.last_seq()))
}

async fn starts_over(ctx: &Ctx, values: &[Option<&[u8]>]) -> Verdict {
    let (ticket, whole) = finished(ctx).await?;
    for value in values {
        let log = ctx.read(&ticket.id, *value).await?;
        ensure(log.bytes_after(0) == whole.bytes_after(0), || {
            let shown = value.map(|value| String::from_utf8_lossy(value).into_owned());
            format!("Last-Event-ID {shown:?} gave {} instead of everything", log.outline())
        })?;
    }
    Ok(format!("{} forms", values.len()))
}

async fn from_start(ctx: &Ctx) -> Verdict {
    starts_over(ctx, &[None, Some(b"0"), Some(b"")]).await
}

async fn not_a_number(ctx: &Ctx) -> Verdict {
    starts_over(ctx, &[Some(b"abc"), Some(b"3abc"), Some(b"null"), Some(b"1;2"), Some(b"one"), Some(b"--")])
        .await
}

async fn status_at(ctx: &Ctx, ticket: &str, value: &[u8]) -> Result<crate::http::Answer, Failure> {
    let answer =
        tokio::time::timeout(ctx.limit(), ctx.http.send(&ctx.events_request(ticket, Some(value)))).await;
    match answer {
        Ok(answer) => Ok(answer?),
        Err(_) => wrong("no answer in time"),
    }
}

async fn at_done(ctx: &Ctx) -> Verdict {
    let (ticket, whole) = finished(ctx).await?;
    let last = whole.last_seq();
    let answer = status_at(ctx, &ticket.id, last.to_string().as_bytes()).await?;
    ensure(answer.status() == 204, || {
        format!("Last-Event-ID {last}, the last, was answered {}", answer.status())
    })?;
    Ok(format!("204 at {last}"))
}

async fn empty_204(ctx: &Ctx) -> Verdict {
    let (ticket, whole) = finished(ctx).await?;
    let answer = status_at(ctx, &ticket.id, whole.last_seq().to_string().as_bytes()).await?;
    ensure(answer.status() == 204, || format!("answered {}", answer.status()))?;
    let length = answer.head.header("content-length").unwrap_or("0");
    ensure(length == "0" && answer.head.header("transfer-encoding").is_none(), || {
        format!("204 announces a body of {length}")
    })?;
    Ok("no length, no body".to_owned())
}

/// Anything that ends: nothing more, a refusal, or a run of frames up to done.
async fn definite(ctx: &Ctx, ticket: &Ticket, whole: &Log, value: &[u8]) -> Result<(), Failure> {
    let shown: String = String::from_utf8_lossy(value).chars().take(24).collect();
    let streaming = ctx.http.open(&ctx.events_request(&ticket.id, Some(value))).await?;
    match streaming.head.status {
        204 | 400 | 422 | 431 => Ok(()),
        200 => {
            ctx.seen.stream();
            let stream = crate::stream::EventStream::new(
                streaming.head,
                streaming.body,
                std::rc::Rc::clone(&ctx.seen),
            );
            let log = stream.rest(std::time::Duration::from_secs(5)).await;
            ensure_none(rules::closes(&log)).map_err(|_open| {
                Failure::Wrong(format!("Last-Event-ID {shown:?} got a stream that is {:?}", log.end))
            })?;
            let before = log.events.first().map_or(0, |event| event.seq().saturating_sub(1));
            ensure(!log.events.is_empty() && log.bytes_after(0) == whole.bytes_after(before), || {
                format!("Last-Event-ID {shown:?} gave {}", log.outline())
            })
        }
        other => wrong(format!("Last-Event-ID {shown:?} was answered {other}")),
    }
}

async fn past_done(ctx: &Ctx) -> Verdict {
    let (ticket, whole) = finished(ctx).await?;
    for past in [whole.last_seq() + 1, whole.last_seq() + 1000, u64::from(u32::MAX), u64::MAX] {
        definite(ctx, &ticket, &whole, past.to_string().as_bytes()).await?;
    }
    Ok("four positions past the end".to_owned())
}

async fn hostile(ctx: &Ctx) -> Verdict {
    let (ticket, whole) = finished(ctx).await?;
    let long = "9".repeat(10_000);
    let values: &[&[u8]] = &[
        b"-1",
        b"+2",
        b"1e3",
        b"2.0",
        b"0x2",
        b"002",
        b"18446744073709551616",
        b"340282366920938463463374607431768211456",
        b"\xd9\xa3",
        b"\xff\xfe",
        b"2 3",
        b"2,3",
        b"NaN",
        b"' OR 1=1 --",
        ticket.id.as_bytes(),
        long.as_bytes(),
    ];
    for value in values {
        definite(ctx, &ticket, &whole, value).await?;
    }
    Ok(format!("{} forms", values.len()))
}

async fn repeated(ctx: &Ctx) -> Verdict {
    let (ticket, whole) = finished(ctx).await?;
    for _ in 0..5 {
        let log = ctx.read(&ticket.id, None).await?;
        ensure(log.bytes_after(0) == whole.bytes_after(0), || format!("a replay gave {}", log.outline()))?;
    }
    Ok("five replays".to_owned())
}
