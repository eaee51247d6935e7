//! A ticket's log as a Server-Sent Events body.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;

use crate::actors::Follower;

/// Frames that are ready go out together, up to this many bytes a chunk.
const CHUNK: usize = 64 * 1024;

/// A comment: keeps the connection alive, and gets the headers through gateways that wait for a first byte.
const COMMENT: Bytes = Bytes::from_static(b":\n\n");

struct Reading {
    follower: Follower,
    keep_alive: Duration,
    /// Whether anything went out yet.
    begun: bool,
    /// Whether the last chunk was a full one: then others get a turn before the next.
    full: bool,
}

/// The body: what is there, then what comes, until `done`.
///
/// A silence is broken by a comment, counted from the last byte sent. A reader that does not read holds its cursor and
/// one chunk, nothing more.
pub(super) fn frames(
    follower: Follower,
    keep_alive: Duration,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let reading = Reading { follower, keep_alive, begun: false, full: false };
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
            if tokio::time::timeout(reading.keep_alive, reading.follower.appended()).await.is_err() {
                return Some((Ok(COMMENT), Some(reading)));
            }
        }
    })
}
