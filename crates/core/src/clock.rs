//! The time, as something that is given and not taken.

use std::sync::atomic::{AtomicI64, Ordering};

use ask_contract::Timestamp;

/// Tells the time of day. Everything that stamps an event or decides an expiry asks one of these.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The present moment, to the millisecond.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place where the time of day is read")]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_unix_ms(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that stands until it is moved; for tests.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at `at`.
    pub const fn at(at: Timestamp) -> Self {
        Self(AtomicI64::new(at.unix_ms()))
    }

    /// Moves the clock on by `ms` milliseconds.
    pub fn advance_ms(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_ms(self.0.load(Ordering::SeqCst))
    }
}
