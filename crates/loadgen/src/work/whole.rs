//! W5: whole asks, and what a hop costs beside the model's own time.

use anyhow::Result;

use super::{Line, events_of, repeat};
use crate::args::Pace;
use crate::figures::{Report, of_count};
use crate::meter;
use crate::target::Target;

pub(super) struct Plan {
    pub(super) question: String,
    pub(super) turn_ms: f64,
    pub(super) count: Option<u64>,
}

pub(super) async fn run(target: &Target, pid: Option<u32>, pace: Pace, plan: Plan) -> Result<Report> {
    let before = pid.and_then(meter::memory);
    let gathered = repeat(pace, pid, plan.count, async |line: &mut Line| {
        let ticket = line.ask(target, &plan.question).await?;
        line.read(target, &events_of(&ticket)).await
    })
    .await;
    let after = pid.and_then(meter::memory);
    let mut report = gathered.report("asks");
    let count = of_count(gathered.samples.len().max(1) as u64);
    let frames: u64 = gathered.samples.iter().map(|(_, scan)| scan.frames).sum();
    report.add("frames_each", of_count(frames) / count);
    let hops: Vec<f64> =
        gathered.samples.iter().map(|(_, scan)| of_count(scan.number("hops").unwrap_or(0))).collect();
    report.add("hops_each", hops.iter().sum::<f64>() / count);
    if plan.turn_ms > 0.0 {
        let overhead = |((ms, _), hops): (&(f64, _), &f64)| (ms - hops * plan.turn_ms) / hops.max(1.0);
        let mut overheads: Vec<f64> = gathered.samples.iter().zip(&hops).map(overhead).collect();
        report.add_spread("hop_overhead_ms", &mut overheads);
    }
    if let (Some(_), Some(before), Some(after)) = (plan.count, before, after) {
        report.add("memory_kb_each", of_count(after.saturating_sub(before)) / 1024.0 / count);
        report.add("memory_mb", of_count(after) / f64::from(1 << 20));
    }
    Ok(report)
}
