//! Mathematics that the bundled engine is built without.

use rusqlite::functions::Context;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

use super::PURE;

pub(super) fn register(connection: &Connection) -> Result<()> {
    for (name, function) in [
        ("exp", f64::exp as fn(f64) -> f64),
        ("ln", f64::ln),
        ("log10", f64::log10),
        ("log2", f64::log2),
        ("sqrt", f64::sqrt),
    ] {
        connection.create_scalar_function(name, 1, PURE, move |context| {
            Ok(number(context, 0)?.map(function).filter(|result| result.is_finite()))
        })?;
    }
    for (name, function) in [
        ("ceil", f64::ceil as fn(f64) -> f64),
        ("ceiling", f64::ceil),
        ("floor", f64::floor),
        ("trunc", f64::trunc),
    ] {
        connection.create_scalar_function(name, 1, PURE, move |context| whole(context, function))?;
    }
    connection.create_scalar_function("log", 1, PURE, |context| {
        Ok(number(context, 0)?.map(f64::log10).filter(|result| result.is_finite()))
    })?;
    connection.create_scalar_function("log", 2, PURE, |context| {
        Ok(two(context)?.map(|(base, of)| of.log(base)).filter(|result| result.is_finite()))
    })?;
    for name in ["pow", "power"] {
        connection.create_scalar_function(name, 2, PURE, |context| {
            Ok(two(context)?.map(|(base, exponent)| base.powf(exponent)).filter(|result| result.is_finite()))
        })?;
    }
    connection.create_scalar_function("mod", 2, PURE, |context| {
        Ok(match (context.get_raw(0), context.get_raw(1)) {
            (ValueRef::Integer(of), ValueRef::Integer(by)) => {
                of.checked_rem(by).map_or(Value::Null, Value::Integer)
            }
            _ => two(context)?
                .map(|(of, by)| of % by)
                .filter(|result| result.is_finite())
                .map_or(Value::Null, Value::Real),
        })
    })?;
    for (name, wanted) in [("greatest", std::cmp::Ordering::Greater), ("least", std::cmp::Ordering::Less)] {
        connection.create_scalar_function(name, -1, PURE, move |context| Ok(extreme(context, wanted)))?;
    }
    Ok(())
}

/// Integers stay integers, as in every engine.
fn whole(context: &Context<'_>, function: fn(f64) -> f64) -> Result<Value> {
    if let ValueRef::Integer(integer) = context.get_raw(0) {
        return Ok(Value::Integer(integer));
    }
    Ok(number(context, 0)?.map_or(Value::Null, |value| Value::Real(function(value))))
}

/// The argument as a number; a text that is none counts as NULL.
#[expect(clippy::cast_precision_loss, reason = "SQL's integers become reals in the same way")]
#[expect(clippy::unnecessary_wraps, reason = "callers use it with the question mark in one expression")]
pub(super) fn number(context: &Context<'_>, position: usize) -> Result<Option<f64>> {
    Ok(match context.get_raw(position) {
        ValueRef::Integer(integer) => Some(integer as f64),
        ValueRef::Real(real) => Some(real),
        ValueRef::Text(text) => std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()),
        ValueRef::Null | ValueRef::Blob(_) => None,
    })
}

fn two(context: &Context<'_>) -> Result<Option<(f64, f64)>> {
    Ok(number(context, 0)?.zip(number(context, 1)?))
}

/// The greatest or least argument, NULLs left out, as Postgres does it.
fn extreme(context: &Context<'_>, wanted: std::cmp::Ordering) -> Value {
    let mut best: Option<ValueRef<'_>> = None;
    for position in 0..context.len() {
        let value = context.get_raw(position);
        if value == ValueRef::Null {
            continue;
        }
        if best.is_none_or(|best| compare(value, best) == wanted) {
            best = Some(value);
        }
    }
    best.map_or(Value::Null, |value| value.try_into().unwrap_or(Value::Null))
}

#[expect(clippy::cast_precision_loss, reason = "integers and reals are compared as reals")]
fn compare(left: ValueRef<'_>, right: ValueRef<'_>) -> std::cmp::Ordering {
    let as_number = |value| match value {
        ValueRef::Integer(integer) => Some(integer as f64),
        ValueRef::Real(real) => Some(real),
        ValueRef::Null | ValueRef::Text(_) | ValueRef::Blob(_) => None,
    };
    let bytes = |value| match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
    };
    match (left, right) {
        (ValueRef::Integer(left), ValueRef::Integer(right)) => left.cmp(&right),
        _ => match (as_number(left), as_number(right)) {
            (Some(left), Some(right)) => left.total_cmp(&right),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => bytes(left).cmp(&bytes(right)),
        },
    }
}
