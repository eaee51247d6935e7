//! W1: asks accepted.

use anyhow::Result;

use super::{Line, repeat};
use crate::args::Pace;
use crate::figures::Report;
use crate::target::Target;

pub(super) async fn run(target: &Target, pid: Option<u32>, pace: Pace, question: &str) -> Result<Report> {
    let gathered = repeat(pace, pid, None, async |line: &mut Line| line.ask(target, question).await).await;
    Ok(gathered.report("asks"))
}
