//! W3: one ask that tells its steps at a pace, and many readers of it.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use anyhow::{Result, bail};
use futures_util::StreamExt as _;
use futures_util::stream::{FuturesUnordered, iter};
use tokio::time::{Instant, timeout};

use super::{Line, events_of};
use crate::conn::Conn;
use crate::figures::{Report, of_count};
use crate::meter;
use crate::scan::Ages;
use crate::target::Target;

pub(super) struct Plan {
    pub(super) readers: usize,
    pub(super) events: usize,
    pub(super) hz: u32,
    pub(super) size: u32,
    pub(super) lead_ms: u32,
}

/// Readers that connect at once.
const OPENING: usize = 32;

/// How long stragglers have after the last event is due.
const GRACE: Duration = Duration::from_secs(10);

pub(super) async fn run(target: &Target, pid: Option<u32>, plan: Plan) -> Result<Report> {
    let Plan { readers, events, hz, size, lead_ms } = plan;
    let question = format!("bench n={events} size={size} hz={hz} lead={lead_ms}");
    let asked = Instant::now();
    let ticket = Line::default().ask(target, &question).await?;
    let request = target.bare("GET", &events_of(&ticket));
    let open = async || {
        let mut conn = Conn::open(target).await?;
        let head = conn.send(&request).await?;
        if head.status == 200 {
            Ok((conn, head.body))
        } else {
            bail!("a stream was answered with {}", head.status)
        }
    };
    let mut opening = iter((0..readers).map(|_| open())).buffer_unordered(OPENING);
    let (ages, failed) = (RefCell::new(Vec::with_capacity(readers * events)), Cell::new(0_u64));
    let mut reading: FuturesUnordered<_> = FuturesUnordered::new();
    while let Some(opened) = opening.next().await {
        let (mut conn, mut body) = opened?;
        let (ages, failed) = (&ages, &failed);
        reading.push(async move {
            let mut reader = Ages::default();
            loop {
                match conn
                    .more(&mut body, |bytes| reader.feed(bytes, |age| ages.borrow_mut().push(age)))
                    .await
                {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(_) => return failed.set(failed.get() + 1),
                }
            }
        });
    }
    drop(opening);
    let late = asked.elapsed() > Duration::from_millis(lead_ms.into());
    if late {
        bail!("the readers took longer to connect than --lead-ms {lead_ms}");
    }
    let cpu = pid.and_then(meter::cpu);
    let count = u32::try_from(events).unwrap_or(u32::MAX);
    let span =
        Duration::from_millis(lead_ms.into()) + Duration::from_secs(1).saturating_mul(count) / hz.max(1);
    // What has not come by then is counted as lost.
    timeout(span + GRACE, async { while reading.next().await.is_some() {} }).await.ok();
    drop(reading);
    let used = cpu.zip(pid.and_then(meter::cpu)).map(|(before, now)| now - before);
    let mut ages = ages.take();
    let expected = of_count((readers * events) as u64);
    let got = of_count(ages.len() as u64);
    let mut report = Report::default();
    report.add("readers", of_count(readers as u64));
    report.add_spread("ms", &mut ages);
    report.add("lost", expected - got);
    report.add("failed", of_count(failed.get()));
    report.add_some("cpu_us_per_delivery", used.map(|used| used * 1e6 / got.max(1.0)));
    Ok(report)
}
