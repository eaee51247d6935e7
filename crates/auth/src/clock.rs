//! Where the time comes from, so that a test can move it.

use std::fmt;
use std::sync::Arc;

use time::OffsetDateTime;

/// A shared source of the current time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> OffsetDateTime + Send + Sync>);

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self::from_fn(OffsetDateTime::now_utc)
    }

    /// A clock that reads whatever the function returns.
    pub fn from_fn(now: impl Fn() -> OffsetDateTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Milliseconds since 1970-01-01 UTC.
    pub(crate) fn now(&self) -> Millis {
        let millis = (self.0)().unix_timestamp_nanos() / 1_000_000;
        i64::try_from(millis).unwrap_or(i64::MAX)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock(..)")
    }
}

/// Milliseconds since 1970-01-01 UTC, or a span of them.
pub(crate) type Millis = i64;

/// A duration in milliseconds, saturating.
pub(crate) fn millis(duration: std::time::Duration) -> Millis {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
