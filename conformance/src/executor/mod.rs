//! The executor's own contract as executable assertions: its tools over MCP and over the REST mirror.

mod call;
mod checks;
mod corpus;
mod ctx;
mod mcp;
mod options;

use std::time::Duration;

use anyhow::Context as _;
use tokio::time::Instant;
use url::Url;

pub use self::options::Options;
use crate::http::Client;
use crate::report::{Report, TargetReport};
use crate::run::{chosen, judge};
use crate::token::Identities;

/// Judges an executor; `said` hears each line as it becomes true.
///
/// # Errors
///
/// When judging can't begin: an option that is no URL, a corpus that can't be read, or a first user without a token.
///
/// # Cancel safety
///
/// Dropping it abandons the checks; a statement that it started ends by itself.
pub async fn run(options: &Options, said: &mut dyn FnMut(&str)) -> anyhow::Result<Report> {
    let running = &options.running;
    let deadline = Instant::now() + Duration::from_secs(running.timeout);
    let http = Client::new(Duration::from_secs(running.check_timeout), running.ca.as_deref())?;
    let base = Url::parse(&options.base).with_context(|| format!("the base URL {}", options.base))?;
    let corpus = corpus::Corpus::read(options)?;
    let ids = Identities::gather(&options.sign_in, &http).await?;
    let ctx = ctx::Ctx::new(options.clone(), base, http, ids, corpus);
    said(&format!("executor: {}", options.base));
    let results = judge(&ctx, &chosen(checks::all(), &running.only), deadline, said).await;
    let report = TargetReport {
        contract: "executor",
        name: "direct",
        base: options.base.clone(),
        models: Vec::new(),
        results,
    };
    said(&report.summary());
    Ok(Report { targets: vec![report] })
}

/// The checks' ids and titles, in the order in which they run.
pub fn list(only: &[String]) -> Vec<(&'static str, &'static str)> {
    chosen(checks::all(), only).iter().map(|check| (check.id, check.title)).collect()
}
