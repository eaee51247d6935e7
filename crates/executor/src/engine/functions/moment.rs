//! Points in time as SQLite writes them, read and cut to a unit.

use time::{Date, Duration, Month, PrimitiveDateTime, Time, UtcOffset};

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

impl Unit {
    /// The unit of this name, in the singular or plural, whatever the case.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let lower = name.trim().to_ascii_lowercase();
        Some(match lower.strip_suffix('s').unwrap_or(&lower) {
            "second" => Self::Second,
            "minute" => Self::Minute,
            "hour" => Self::Hour,
            "day" => Self::Day,
            "week" => Self::Week,
            "month" => Self::Month,
            "quarter" => Self::Quarter,
            "year" => Self::Year,
            _ => return None,
        })
    }
}

/// Reads `YYYY-MM-DD`, with ` HH:MM[:SS[.fff]]` (or `T`) and `Z` or `+HH:MM` behind it if need be, as UTC.
pub(super) fn parse(text: &str) -> Option<PrimitiveDateTime> {
    let text = text.trim();
    let date = date(text.get(..10)?)?;
    let rest = text.get(10..)?;
    if rest.is_empty() {
        return Some(PrimitiveDateTime::new(date, Time::MIDNIGHT));
    }
    let rest = rest.strip_prefix([' ', 'T'])?;
    let (clock, offset) = split_offset(rest)?;
    let mut parts = clock.splitn(3, ':');
    let hour = number(parts.next()?, 2)?;
    let minute = number(parts.next()?, 2)?;
    let second = match parts.next() {
        Some(second) => number(second.split('.').next()?, 2)?,
        None => 0,
    };
    let at = PrimitiveDateTime::new(date, Time::from_hms(hour, minute, second).ok()?);
    at.checked_sub(Duration::seconds(i64::from(offset.whole_seconds())))
}

fn date(text: &str) -> Option<Date> {
    let mut parts = text.split('-');
    let year: i32 = parts.next().filter(|year| year.len() == 4)?.parse().ok()?;
    let month = Month::try_from(number(parts.next()?, 2)?).ok()?;
    let day = number(parts.next()?, 2)?;
    Date::from_calendar_date(year, month, day).ok()
}

fn number(text: &str, digits: usize) -> Option<u8> {
    (text.len() == digits && text.bytes().all(|digit| digit.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

fn split_offset(text: &str) -> Option<(&str, UtcOffset)> {
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock.trim_end(), UtcOffset::UTC));
    }
    let Some(at) = text.rfind(['+', '-']) else {
        return Some((text, UtcOffset::UTC));
    };
    let (clock, offset) = text.split_at_checked(at)?;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let hours = i8::try_from(number(hours, 2)?).ok()?;
    let minutes = i8::try_from(number(minutes, 2)?).ok()?;
    let offset = UtcOffset::from_hms(sign * hours, sign * minutes, 0).ok()?;
    Some((clock.trim_end(), offset))
}

/// The beginning of the unit that holds this point in time. Weeks begin on Monday.
pub(super) fn truncate(at: PrimitiveDateTime, unit: Unit) -> Option<PrimitiveDateTime> {
    let date = at.date();
    let (hour, minute, second) = at.time().as_hms();
    let midnight = |date: Date| PrimitiveDateTime::new(date, Time::MIDNIGHT);
    Some(match unit {
        Unit::Second => PrimitiveDateTime::new(date, Time::from_hms(hour, minute, second).ok()?),
        Unit::Minute => PrimitiveDateTime::new(date, Time::from_hms(hour, minute, 0).ok()?),
        Unit::Hour => PrimitiveDateTime::new(date, Time::from_hms(hour, 0, 0).ok()?),
        Unit::Day => midnight(date),
        Unit::Week => {
            midnight(date.checked_sub(Duration::days(i64::from(date.weekday().number_days_from_monday())))?)
        }
        Unit::Month => midnight(date.replace_day(1).ok()?),
        Unit::Quarter => {
            let month = Month::try_from((quarter(date) - 1) * 3 + 1).ok()?;
            midnight(Date::from_calendar_date(date.year(), month, 1).ok()?)
        }
        Unit::Year => midnight(Date::from_calendar_date(date.year(), Month::January, 1).ok()?),
    })
}

/// The quarter of the calendar year, 1 to 4.
pub(super) fn quarter(date: Date) -> u8 {
    (u8::from(date.month()) - 1) / 3 + 1
}

/// How many beginnings of the unit lie between two points in time, negative when the second is the earlier.
pub(super) fn difference(unit: Unit, from: PrimitiveDateTime, until: PrimitiveDateTime) -> Option<i64> {
    let months = |at: PrimitiveDateTime| i64::from(at.year()) * 12 + i64::from(u8::from(at.month())) - 1;
    let elapsed = truncate(until, unit)? - truncate(from, unit)?;
    Some(match unit {
        Unit::Second => elapsed.whole_seconds(),
        Unit::Minute => elapsed.whole_minutes(),
        Unit::Hour => elapsed.whole_hours(),
        Unit::Day => elapsed.whole_days(),
        Unit::Week => elapsed.whole_weeks(),
        Unit::Month => months(until) - months(from),
        Unit::Quarter => months(until).div_euclid(3) - months(from).div_euclid(3),
        Unit::Year => i64::from(until.year()) - i64::from(from.year()),
    })
}

/// The point in time as SQLite writes it: a date alone for days and longer units.
pub(super) fn write(at: PrimitiveDateTime, unit: Unit) -> String {
    let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
    let (hour, minute, second) = at.time().as_hms();
    match unit {
        Unit::Second | Unit::Minute | Unit::Hour => {
            format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
        }
        Unit::Day | Unit::Week | Unit::Month | Unit::Quarter | Unit::Year => {
            format!("{year:04}-{month:02}-{day:02}")
        }
    }
}
