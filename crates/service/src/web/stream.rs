//! A ticket's log as a Server-Sent Events body.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;

use tokio::time::Instant;

use super::come_back::OpenStream;
use crate::actors::Follower;
use crate::settings::Retention;

/// Frames that are ready go out together, up to this many bytes a chunk.
const CHUNK: usize = 32 * 1024;

/// What goes out first, and when nothing else has for a while.
///
/// The comment keeps the connection alive and gets the headers through gateways that wait for a first byte; the number says when
/// to come back after a cut, so that after a crash not all come at once.
fn heartbeat(open: &OpenStream) -> Bytes {
    Bytes::from(format!(":\nretry: {}\n\n", open.come_back_ms()))
}

struct Reading {
    follower: Follower,
    open: OpenStream,
    keep_alive: Duration,
    /// When the connection has lived long enough.
    until: Option<Instant>,
    /// Whether anything went out yet.
    begun: bool,
    /// Whether the last chunk was a full one: then others get a turn before the next.
    full: bool,
}

/// The body: what is there, then what comes, until `done`.
///
/// A silence is broken by a comment, counted from the last byte sent. A reader that does not read holds its cursor and
/// one chunk, nothing more. A connection that has reached its greatest age ends between two frames and asks its client
/// to come back a little later.
pub(super) fn frames(
    follower: Follower,
    open: OpenStream,
    retention: Retention,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let keep_alive = retention.keep_alive;
    let until = retention.max_stream_age.map(|age| Instant::now() + age);
    let reading = Reading { follower, open, keep_alive, until, begun: false, full: false };
    unfold(Some(reading), |reading| async move {
        let mut reading = reading?;
        if reading.full {
            tokio::task::yield_now().await;
        }
        if !reading.begun {
            reading.begun = true;
            return Some((Ok(heartbeat(&reading.open)), Some(reading)));
        }
        loop {
            let batch = reading.follower.read(CHUNK);
            if !batch.bytes.is_empty() {
                reading.full = batch.bytes.len() > CHUNK / 2;
                let rest = (!batch.over).then_some(reading);
                return Some((Ok(batch.bytes), rest));
            }
            if batch.over {
                return None;
            }
            let now = Instant::now();
            let left = reading.until.map(|until| until.saturating_duration_since(now));
            if left.is_some_and(|left| left.is_zero()) {
                return Some((Ok(heartbeat(&reading.open)), None));
            }
            let silence = left.map_or(reading.keep_alive, |left| left.min(reading.keep_alive));
            if tokio::time::timeout(silence, reading.follower.appended()).await.is_err()
                && silence == reading.keep_alive
            {
                return Some((Ok(heartbeat(&reading.open)), Some(reading)));
            }
        }
    })
}
