//! Text functions: those that other engines have, and searches whose time grows with the text alone.

use std::borrow::Cow;

use rusqlite::functions::Context;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result};

use super::{PURE, mistake};

/// The longest text that a function makes, in bytes; the engine's own limit on texts.
const MAX_BYTES: usize = 1_000_000;

pub(super) fn register(connection: &Connection) -> Result<()> {
    for name in ["instr", "strpos"] {
        connection.create_scalar_function(name, 2, PURE, |context| {
            let (Some(inside), Some(what)) = (text(context, 0), text(context, 1)) else {
                return Ok(None);
            };
            Ok(Some(position(&inside, &what)))
        })?;
    }
    connection.create_scalar_function("replace", 3, PURE, |context| replace(context))?;
    for (name, left, right) in [("trim", true, true), ("ltrim", true, false), ("rtrim", false, true)] {
        for arguments in [1, 2] {
            connection.create_scalar_function(name, arguments, PURE, move |context| {
                Ok(trim(context, left, right))
            })?;
        }
    }
    connection.create_scalar_function("left", 2, PURE, |context| {
        Ok(part(context, |signs, wanted| {
            let end = if wanted < 0 { (signs + wanted).max(0) } else { wanted.min(signs) };
            (0, end)
        }))
    })?;
    connection.create_scalar_function("right", 2, PURE, |context| {
        Ok(part(context, |signs, wanted| {
            let start = if wanted < 0 { (-wanted).min(signs) } else { (signs - wanted).max(0) };
            (start, signs)
        }))
    })?;
    for (name, left) in [("lpad", true), ("rpad", false)] {
        for arguments in [2, 3] {
            connection.create_scalar_function(name, arguments, PURE, move |context| pad(context, left))?;
        }
    }
    connection.create_scalar_function("split_part", 3, PURE, |context| Ok(split_part(context)))?;
    connection.create_scalar_function("char_length", 1, PURE, |context| {
        Ok(text(context, 0).map(|text| i64::try_from(text.chars().count()).unwrap_or(i64::MAX)))
    })
}

/// The argument as text; NULL is none, and bytes are none either.
pub(super) fn text<'a>(context: &'a Context<'_>, position: usize) -> Option<Cow<'a, str>> {
    match context.get_raw(position) {
        ValueRef::Text(text) => Some(String::from_utf8_lossy(text)),
        ValueRef::Integer(integer) => Some(integer.to_string().into()),
        ValueRef::Real(real) => Some(real.to_string().into()),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

/// Where `what` begins inside `inside`, counted in characters from 1; 0 when it does not occur.
fn position(inside: &str, what: &str) -> i64 {
    inside
        .find(what)
        .and_then(|byte| inside.get(..byte))
        .and_then(|before| i64::try_from(before.chars().count() + 1).ok())
        .unwrap_or(0)
}

fn replace(context: &Context<'_>) -> Result<Option<String>> {
    let (Some(inside), Some(what), Some(with)) = (text(context, 0), text(context, 1), text(context, 2))
    else {
        return Ok(None);
    };
    if what.is_empty() {
        return Ok(Some(inside.into_owned()));
    }
    let growth = inside.matches(what.as_ref()).count().saturating_mul(with.len());
    if growth > MAX_BYTES {
        return Err(mistake("replace would make too long a text".to_owned()));
    }
    Ok(Some(inside.replace(what.as_ref(), &with)))
}

fn trim(context: &Context<'_>, left: bool, right: bool) -> Option<String> {
    let subject = text(context, 0)?;
    let signs: std::collections::HashSet<char> =
        if context.len() > 1 { text(context, 1)?.chars().collect() } else { std::iter::once(' ').collect() };
    let mut rest: &str = &subject;
    if left {
        rest = rest.trim_start_matches(|sign| signs.contains(&sign));
    }
    if right {
        rest = rest.trim_end_matches(|sign| signs.contains(&sign));
    }
    Some(rest.to_owned())
}

/// A run of characters, from and up to where `bounds` says for a text of so many.
fn part(context: &Context<'_>, bounds: impl Fn(i64, i64) -> (i64, i64)) -> Option<String> {
    let subject = text(context, 0)?;
    let ValueRef::Integer(wanted) = context.get_raw(1) else {
        return None;
    };
    let signs = i64::try_from(subject.chars().count()).ok()?;
    let (start, end) = bounds(signs, wanted.clamp(-signs, signs));
    let start = usize::try_from(start).ok()?;
    let length = usize::try_from(end).ok()?.saturating_sub(start);
    Some(subject.chars().skip(start).take(length).collect())
}

fn pad(context: &Context<'_>, left: bool) -> Result<Option<String>> {
    let (Some(subject), ValueRef::Integer(wanted)) = (text(context, 0), context.get_raw(1)) else {
        return Ok(None);
    };
    let fill = if context.len() > 2 {
        match text(context, 2) {
            Some(fill) => fill,
            None => return Ok(None),
        }
    } else {
        Cow::Borrowed(" ")
    };
    let wanted = usize::try_from(wanted).unwrap_or(0);
    if wanted > MAX_BYTES / 4 {
        return Err(mistake("the padded text would be too long".to_owned()));
    }
    let signs = subject.chars().count();
    if signs >= wanted || fill.is_empty() {
        return Ok(Some(subject.chars().take(wanted).collect()));
    }
    let padding: String = fill.chars().cycle().take(wanted - signs).collect();
    Ok(Some(if left { format!("{padding}{subject}") } else { format!("{subject}{padding}") }))
}

/// The n-th piece between separators, counted from 1, or from the end when negative; empty when there is none.
fn split_part(context: &Context<'_>) -> Option<String> {
    let subject = text(context, 0)?;
    let separator = text(context, 1)?;
    let ValueRef::Integer(wanted) = context.get_raw(2) else {
        return None;
    };
    let nth = usize::try_from(wanted.unsigned_abs()).ok()?.checked_sub(1)?;
    let piece = if separator.is_empty() {
        (nth == 0).then_some(subject.as_ref())
    } else if wanted > 0 {
        subject.split(separator.as_ref()).nth(nth)
    } else {
        subject.rsplit(separator.as_ref()).nth(nth)
    };
    Some(piece.unwrap_or_default().to_owned())
}
