//! One reader of a ticket's log, woken by its writer.

use std::sync::Arc;

use ask_core::ticket::{Batch, Log};
use tokio::sync::watch;

/// One reader of a ticket: a cursor over the shared log.
#[derive(Debug)]
pub(crate) struct Follower {
    log: Arc<Log>,
    wake: watch::Receiver<u64>,
    seen: u64,
}

impl Follower {
    /// A reader that has seen the events up to `seen`, and is woken through `wake`.
    pub(super) const fn new(log: Arc<Log>, wake: watch::Receiver<u64>, seen: u64) -> Self {
        Self { log, wake, seen }
    }

    /// The frames that are there and were not read yet.
    pub(crate) fn read(&mut self, budget: usize) -> Batch {
        // Marked as seen before the log is read: what is appended in between wakes the next wait.
        drop(self.wake.borrow_and_update());
        let batch = self.log.read(self.seen, budget);
        self.seen = batch.seen;
        batch
    }

    /// Waits until something was appended since the last read.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when dropped.
    pub(crate) async fn appended(&mut self) {
        // The writer is gone only when the log is over, which the next read tells.
        self.wake.changed().await.ok();
    }
}
