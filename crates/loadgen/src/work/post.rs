//! One recorded body, posted again and again.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use awc::{Client, Connector};
use bytes::Bytes;

use super::repeat;
use crate::args::{Args, Pace};
use crate::figures::Report;

/// The most bytes of an answer.
const MOST: usize = 8 << 20;

pub(super) async fn run(args: &Args, pace: Pace, path: &str, body: Vec<u8>) -> Result<Report> {
    let url = format!("{}{path}", args.base.trim_end_matches('/'));
    let client = Client::builder()
        .connector(Connector::new().limit(0))
        .timeout(Duration::from_secs(60))
        .add_default_header(("Content-Type", "application/json"))
        .add_default_header(("anthropic-version", "2023-06-01"))
        .finish();
    let body = Bytes::from(body);
    let gathered = repeat(pace, args.pid, None, async |(): &mut ()| {
        let sent = client.post(&url).no_decompress().send_body(body.clone()).await;
        let mut response = sent.map_err(|err| anyhow!("{err}"))?;
        let answer = response.body().limit(MOST).await?;
        if !response.status().is_success() {
            bail!("answered {}: {}", response.status(), String::from_utf8_lossy(&answer));
        }
        Ok(())
    })
    .await;
    Ok(gathered.report("posts"))
}
