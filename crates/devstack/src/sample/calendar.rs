//! The days that the sample data cover, and how dates and times are written in them.

use time::{Date, Duration, Time, macros::date};

/// The first day with data.
pub(crate) const FIRST_DAY: Date = date!(2024 - 04 - 01);
/// The last day with data; the newest fiscal year is therefore half full.
pub(crate) const LAST_DAY: Date = date!(2026 - 09 - 30);

/// How many days have data.
pub(crate) fn days() -> i64 {
    (LAST_DAY - FIRST_DAY).whole_days() + 1
}

/// The day that is `offset` days after the first.
pub(crate) fn day(offset: i64) -> Date {
    FIRST_DAY.checked_add(Duration::days(offset)).unwrap_or(LAST_DAY)
}

/// `YYYY-MM-DD`.
pub(crate) fn written_day(day: Date) -> String {
    format!("{:04}-{:02}-{:02}", day.year(), u8::from(day.month()), day.day())
}

/// `YYYY-MM-DD HH:MM:SS` of the moment `minutes` after the first day began.
pub(crate) fn written_minute(minutes: i64) -> String {
    let moment = FIRST_DAY.with_time(Time::MIDNIGHT) + Duration::minutes(minutes);
    format!("{} {:02}:{:02}:00", written_day(moment.date()), moment.hour(), moment.minute())
}
