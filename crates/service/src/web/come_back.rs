//! When a client that lost its stream should come back: the more streams there are, the further apart.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The soonest, in milliseconds.
const SOONEST_MS: u64 = 100;

/// How far apart a few clients come, in milliseconds.
const LEAST_SPREAD_MS: u64 = 400;

/// After a crash the service takes up this many streams a second: 5,000 come within six seconds and a quarter.
const STREAMS_PER_S: u64 = 800;

/// The latest, in milliseconds, however many there are.
const LATEST_MS: u64 = 60_000;

/// Counts the open streams of the process.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenStreams(Arc<AtomicU64>);

impl OpenStreams {
    /// Counts one more in, until what is returned is dropped.
    pub(super) fn enter(&self) -> OpenStream {
        self.0.fetch_add(1, Ordering::Relaxed);
        OpenStream(self.clone())
    }

    /// How many are open.
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One open stream.
#[derive(Debug)]
pub(super) struct OpenStream(OpenStreams);

impl OpenStream {
    /// Milliseconds after which the client should come back when this stream is cut: another number each time.
    pub(super) fn come_back_ms(&self) -> u64 {
        let random = RandomState::new().build_hasher().finish();
        SOONEST_MS + random % spread_ms(self.0.count())
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn spread_ms(streams: u64) -> u64 {
    (streams.saturating_mul(1000) / STREAMS_PER_S).clamp(LEAST_SPREAD_MS, LATEST_MS - SOONEST_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_come_back_at_once_and_many_far_apart() {
        for (streams, expected) in
            [(0, 400), (1, 400), (320, 400), (5_000, 6_250), (20_000, 25_000), (u64::MAX, 59_900)]
        {
            assert_eq!(spread_ms(streams), expected, "{streams}");
        }
    }

    #[test]
    fn streams_are_counted_while_they_are_open() {
        let open = OpenStreams::default();
        let (one, two) = (open.enter(), open.enter());
        assert_eq!(open.count(), 2);
        drop(one);
        assert_eq!(open.count(), 1);
        let all: std::collections::HashSet<u64> = (0..100).map(|_| two.come_back_ms()).collect();
        assert!(all.len() > 10 && all.iter().all(|ms| (100..500).contains(ms)), "{all:?}");
    }
}
