//! W2: idle streams, and what each costs.

use std::cell::Cell;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use ask_contract::TicketId;
use futures_util::StreamExt as _;
use futures_util::stream::{FuturesUnordered, iter};
use tokio::time::{sleep, timeout};

use super::{Line, events_of};
use crate::body::Body;
use crate::conn::Conn;
use crate::figures::{Report, of_count};
use crate::meter;
use crate::target::Target;

pub(super) struct Plan {
    pub(super) streams: Vec<usize>,
    pub(super) seconds: f64,
    pub(super) settle: f64,
    pub(super) question: String,
    pub(super) own: bool,
}

/// Streams that are being opened at once.
const OPENING: usize = 32;

struct Held {
    conn: Conn,
    body: Body,
}

/// Opens a stream and reads its first bytes.
async fn open(target: &Target, ticket: Option<&str>, question: &str) -> Result<Held> {
    let own = match ticket {
        Some(ticket) => ticket.to_owned(),
        None => Line::default().ask(target, question).await?,
    };
    let mut conn = Conn::open(target).await?;
    let head = conn.send(&target.bare("GET", &events_of(&own))).await?;
    if head.status != 200 {
        bail!("a stream was answered with {}", head.status);
    }
    let mut body = head.body;
    if !conn.more(&mut body, |_| {}).await? {
        bail!("a stream ended at once");
    }
    Ok(Held { conn, body })
}

pub(super) async fn run(target: &Target, pid: Option<u32>, plan: Plan) -> Result<Report> {
    let mut report = Report::default();
    let shared = Line::default().ask(target, &plan.question).await?;
    let ticket = (!plan.own).then_some(shared.as_str());
    // One before memory is read, so that what the first one needs once is not counted.
    let mut held = vec![open(target, ticket, &plan.question).await?];
    sleep(Duration::from_secs_f64(plan.settle)).await;
    let before = pid.and_then(meter::memory);
    for count in plan.streams {
        let missing = (held.len()..=count).map(|_| open(target, ticket, &plan.question));
        let mut opening = iter(missing).buffer_unordered(OPENING);
        while let Some(opened) = opening.next().await {
            held.push(opened.with_context(|| format!("stream {}", held.len() + 1))?);
        }
        drop(opening);
        sleep(Duration::from_secs_f64(plan.settle)).await;
        let now = pid.and_then(meter::memory);
        let each = before
            .zip(now)
            .map(|(before, now)| of_count(now.saturating_sub(before)) / 1024.0 / of_count(count as u64));
        report.add_some(&format!("kb_each_at_{count}"), each);
    }
    let streams = of_count(held.len() as u64);
    let (dropped, bytes) = (Cell::new(0_u64), Cell::new(0_u64));
    let cpu = pid.and_then(meter::cpu);
    let mut watched: FuturesUnordered<_> = held
        .into_iter()
        .map(async |Held { mut conn, mut body }| {
            loop {
                let more = conn.more(&mut body, |read| bytes.set(bytes.get() + read.len() as u64)).await;
                if !more.unwrap_or(false) {
                    return dropped.set(dropped.get() + 1);
                }
            }
        })
        .collect();
    let all = async { while watched.next().await.is_some() {} };
    // All ending before the time is over means that all were dropped, which is counted.
    timeout(Duration::from_secs_f64(plan.seconds), all).await.ok();
    let used = cpu.zip(pid.and_then(meter::cpu)).map(|(before, now)| now - before);
    report.add("streams", streams);
    report.add_some("cpu_us_each_per_s", used.map(|used| used * 1e6 / streams / plan.seconds));
    report.add("keep_alive_bytes_each", of_count(bytes.get()) / streams);
    report.add("dropped", of_count(dropped.get()));
    // What was shared runs no longer than this; tickets of their own end with the time limit of a run.
    target.client()?.cancel(&TicketId::new(shared)).await.ok();
    Ok(report)
}
