//! A ticket's log as a Server-Sent Events body.

use std::convert::Infallible;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;

use tokio::time::Instant;

use crate::actors::Follower;
use crate::settings::Retention;

/// Frames that are ready go out together, up to this many bytes a chunk.
const CHUNK: usize = 48 * 1024;

/// A comment: keeps the connection alive, and gets the headers through gateways that wait for a first byte.
const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// Tells the client when to come back, so that not all come at once.
fn come_back() -> Bytes {
    let jitter = RandomState::new().build_hasher().finish() % 2_000;
    Bytes::from(format!("retry: {}\n\n", 500 + jitter))
}

struct Reading {
    follower: Follower,
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
    retention: Retention,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let keep_alive = retention.keep_alive;
    let until = retention.max_stream_age.map(|age| Instant::now() + age);
    let reading = Reading { follower, keep_alive, until, begun: false, full: false };
    unfold(Some(reading), |reading| async move {
        let mut reading = reading?;
        if reading.full {
            tokio::task::yield_now().await;
        }
        loop {
            let batch = reading.follower.read(CHUNK);
            if !batch.bytes.is_empty() {
                reading.begun = true;
                reading.full = batch.bytes.len() > CHUNK / 2;
                let rest = (!batch.over).then_some(reading);
                return Some((Ok(batch.bytes), rest));
            }
            if batch.over {
                return None;
            }
            if !reading.begun {
                reading.begun = true;
                return Some((Ok(COMMENT), Some(reading)));
            }
            let now = Instant::now();
            let left = reading.until.map(|until| until.saturating_duration_since(now));
            if left.is_some_and(|left| left.is_zero()) {
                return Some((Ok(come_back()), None));
            }
            let silence = left.map_or(reading.keep_alive, |left| left.min(reading.keep_alive));
            if tokio::time::timeout(silence, reading.follower.appended()).await.is_err()
                && silence == reading.keep_alive
            {
                return Some((Ok(COMMENT), Some(reading)));
            }
        }
    })
}
