//! Cancels: from the call to its 202.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

use super::{Line, repeat};
use crate::args::Pace;
use crate::figures::Report;
use crate::target::Target;

pub(super) async fn run(target: &Target, pace: Pace, question: &str, after_ms: u32) -> Result<Report> {
    let gathered = repeat(pace, None, None, async |line: &mut Line| {
        let ticket = line.ask(target, question).await?;
        sleep(Duration::from_millis(after_ms.into())).await;
        let start = Instant::now();
        let request = target.bare("POST", &format!("/v1/asks/{ticket}/cancel"));
        let (status, answer) = line.get(target).await?.call(&request).await?;
        let took = start.elapsed().as_secs_f64() * 1000.0;
        if status == 202 {
            Ok(took)
        } else {
            bail!("a cancel was answered with {status}: {}", String::from_utf8_lossy(&answer))
        }
    })
    .await;
    let mut report = gathered.report("cancels");
    let mut times: Vec<f64> = gathered.samples.iter().map(|(_, took)| *took).collect();
    report.add_spread("cancel_ms", &mut times);
    Ok(report)
}
