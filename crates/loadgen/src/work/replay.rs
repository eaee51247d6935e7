//! W4: replays of one finished ask.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

use super::{Line, events_of, repeat};
use crate::args::Pace;
use crate::figures::{Report, of_count};
use crate::target::Target;

pub(super) struct Plan {
    pub(super) events: usize,
    pub(super) size: u32,
    pub(super) path: Option<String>,
    pub(super) beside: bool,
}

pub(super) async fn run(target: &Target, pid: Option<u32>, pace: Pace, plan: Plan) -> Result<Report> {
    let mut line = Line::default();
    let path = if let Some(path) = plan.path {
        path
    } else {
        let question = format!("bench n={} size={}", plan.events, plan.size);
        events_of(&line.ask(target, &question).await?)
    };
    // The first reading waits for the ask to end; the second is what all others must be.
    line.read(target, &path).await?;
    let whole = line.read(target, &path).await?;
    if whole.frames < plan.events as u64 {
        bail!("a replay has only {} of {} events", whole.frames, plan.events);
    }
    let replays = repeat(pace, pid, None, async |line: &mut Line| {
        let scan = line.read(target, &path).await?;
        if scan.frames == whole.frames { Ok(()) } else { bail!("a replay has {} frames", scan.frames) }
    });
    let others = async {
        let (mut line, mut times) = (Line::default(), Vec::new());
        let until = Instant::now() + Duration::from_secs_f64(pace.warm + pace.seconds);
        while plan.beside && Instant::now() < until {
            let start = Instant::now();
            line.open(target).await?;
            times.push(start.elapsed().as_secs_f64() * 1000.0);
            sleep(Duration::from_millis(5)).await;
        }
        Ok::<_, anyhow::Error>(times)
    };
    let (gathered, others) = futures_util::future::join(replays, others).await;
    let mut report = gathered.report("replays");
    report.add("frames_each", of_count(whole.frames));
    report.add("bytes_each", of_count(whole.bytes));
    report.add_spread("other_ms", &mut others?);
    Ok(report)
}
