//! Date functions that other engines have: `date_trunc`, `date_part`, `date_diff`, and the parts by name.

use rusqlite::functions::Context;
use rusqlite::{Connection, Result};
use time::PrimitiveDateTime;

use super::moment::{self, Unit};
use super::texts::text;
use super::{PURE, mistake};

const UNITS: &str = "second, minute, hour, day, week, month, quarter and year";

pub(super) fn register(connection: &Connection) -> Result<()> {
    connection.create_scalar_function("date_trunc", 2, PURE, |context| {
        let (Some(unit), Some(at)) = (unit(context)?, at(context, 1)) else {
            return Ok(None);
        };
        Ok(moment::truncate(at, unit).map(|at| moment::write(at, unit)))
    })?;
    connection.create_scalar_function("date_diff", 3, PURE, |context| {
        let (Some(unit), Some(from), Some(until)) = (unit(context)?, at(context, 1), at(context, 2)) else {
            return Ok(None);
        };
        Ok(moment::difference(unit, from, until))
    })?;
    connection.create_scalar_function("date_part", 2, PURE, |context| {
        let Some(name) = text(context, 0) else {
            return Ok(None);
        };
        let name = name.to_ascii_lowercase();
        if part(&name, PrimitiveDateTime::MIN).is_none() {
            return Err(mistake(format!(
                "date_part does not know this part; it knows {UNITS}, dow, isodow, doy and epoch"
            )));
        }
        Ok(at(context, 1).and_then(|at| part(&name, at)))
    })?;
    for (name, of) in [
        ("year", "year"),
        ("quarter", "quarter"),
        ("month", "month"),
        ("week", "week"),
        ("day", "day"),
        ("hour", "hour"),
        ("minute", "minute"),
        ("second", "second"),
        ("dayofweek", "dow"),
    ] {
        connection.create_scalar_function(name, 1, PURE, move |context| {
            Ok(at(context, 0).and_then(|at| part(of, at)))
        })?;
    }
    Ok(())
}

fn unit(context: &Context<'_>) -> Result<Option<Unit>> {
    match text(context, 0) {
        None => Ok(None),
        Some(name) => Unit::parse(&name)
            .map(Some)
            .ok_or_else(|| mistake(format!("the first argument must be a unit of time: {UNITS}"))),
    }
}

fn at(context: &Context<'_>, position: usize) -> Option<PrimitiveDateTime> {
    text(context, position).and_then(|text| moment::parse(&text))
}

fn part(name: &str, at: PrimitiveDateTime) -> Option<i64> {
    Some(match name {
        "year" | "years" => i64::from(at.year()),
        "quarter" | "quarters" => i64::from(moment::quarter(at.date())),
        "month" | "months" => i64::from(u8::from(at.month())),
        "week" | "weeks" => i64::from(at.iso_week()),
        "day" | "days" => i64::from(at.day()),
        "hour" | "hours" => i64::from(at.hour()),
        "minute" | "minutes" => i64::from(at.minute()),
        "second" | "seconds" => i64::from(at.second()),
        "dow" => i64::from(at.weekday().number_days_from_sunday()),
        "isodow" => i64::from(at.weekday().number_from_monday()),
        "doy" => i64::from(at.ordinal()),
        "epoch" => at.assume_utc().unix_timestamp(),
        _ => return None,
    })
}
