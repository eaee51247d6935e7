//! The time of day, for comparing with what tokens say.

/// Seconds since 1970-01-01 UTC.
pub fn now() -> i64 {
    time::OffsetDateTime::now_utc().unix_timestamp()
}
