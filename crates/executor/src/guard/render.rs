//! Writes a checked tree out as the statement that runs.
//!
//! The parser's own output cannot be trusted with text: it takes a quote after a backslash for an escaped one and leaves it
//! alone, so that `'\'' or 1 --'` would come out as a shorter string followed by code. So each string is swapped for a mark
//! that no statement can hold before the tree is written, and put in afterwards, escaped as the engine reads it. Names with
//! quotes, backslashes or marks in them are turned down.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser's enums are large; every arm that is not named is turned down"
)]

use std::ops::ControlFlow;

use sqlparser::ast::{Ident, Query, Statement, Value, ValueWithSpan, VisitMut, VisitorMut};
use sqlparser::dialect::SQLiteDialect;
use sqlparser::parser::Parser;

use crate::refusal::Refusal;

/// Stands at both ends of a string's number. The guard has turned down every text that holds it.
const MARK: char = '\u{1}';

/// The statement that runs.
///
/// # Errors
///
/// `invalid` for names and literals that cannot be written safely, and when the text does not read back as the same tree.
pub(super) fn render(query: &Query) -> Result<String, Refusal> {
    let mut plain = query.clone();
    if let ControlFlow::Break(refusal) = plain.visit(&mut Names) {
        return Err(refusal);
    }
    let mut marked = plain.clone();
    let mut strings = Strings::default();
    if let ControlFlow::Break(refusal) = marked.visit(&mut strings) {
        return Err(refusal);
    }
    let sql = fill(&marked.to_string(), &strings.found)?;
    match Parser::parse_sql(&SQLiteDialect {}, &sql).as_deref() {
        Ok([Statement::Query(again)]) if **again == plain => Ok(sql),
        _ => Err(Refusal::invalid(
            "the statement uses a form that cannot be written out safely; write it in plainer SQL",
        )),
    }
}

/// Puts the strings back in, each between quotes with every quote in it doubled.
fn fill(marked: &str, strings: &[String]) -> Result<String, Refusal> {
    let mut sql = String::with_capacity(marked.len());
    for (position, part) in marked.split(MARK).enumerate() {
        if position % 2 == 0 {
            sql.push_str(part);
            continue;
        }
        let string = part
            .parse::<usize>()
            .ok()
            .and_then(|number| strings.get(number))
            .ok_or_else(|| Refusal::invalid("the statement could not be written out"))?;
        sql.push('\'');
        sql.push_str(&string.replace('\'', "''"));
        sql.push('\'');
    }
    Ok(sql)
}

/// Turns down names that could break out of their quotes, and gives the quoted ones the standard quotes.
struct Names;

impl VisitorMut for Names {
    type Break = Refusal;

    fn pre_visit_ident(&mut self, ident: &mut Ident) -> ControlFlow<Self::Break> {
        let odd =
            |sign: char| sign.is_control() || matches!(sign, '\'' | '"' | '`' | '[' | ']' | '\\' | ':' | '?');
        if ident.value.is_empty() || ident.value.chars().any(odd) {
            return ControlFlow::Break(Refusal::invalid(format!(
                "{:?} is not usable as a name here",
                ident.value
            )));
        }
        if ident.quote_style.is_some() {
            ident.quote_style = Some('"');
        }
        ControlFlow::Continue(())
    }
}

#[derive(Default)]
struct Strings {
    found: Vec<String>,
}

impl VisitorMut for Strings {
    type Break = Refusal;

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<Self::Break> {
        match &value.value {
            Value::SingleQuotedString(text) => {
                let mark = format!("{MARK}{}{MARK}", self.found.len());
                self.found.push(text.clone());
                value.value = Value::Placeholder(mark);
                ControlFlow::Continue(())
            }
            Value::Number(text, false)
                if text
                    .chars()
                    .all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '.' | '+' | '-' | '_')) =>
            {
                ControlFlow::Continue(())
            }
            Value::HexStringLiteral(text) if text.chars().all(|sign| sign.is_ascii_hexdigit()) => {
                ControlFlow::Continue(())
            }
            Value::Boolean(_) | Value::Null => ControlFlow::Continue(()),
            Value::Placeholder(name) => ControlFlow::Break(Refusal::invalid(format!(
                "parameters such as {name} are not supported; write the value into the statement"
            ))),
            other => ControlFlow::Break(Refusal::invalid(format!(
                "the literal {other} is not supported; write strings between single quotes"
            ))),
        }
    }
}
