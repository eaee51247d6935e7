//! LIKE and GLOB in time that grows with text times pattern; the engine's own can take for ever on a few `%` signs, and the
//! time limit cannot stop it there.

use rusqlite::functions::Context;
use rusqlite::{Connection, Result};

use super::texts::text;
use super::{PURE, mistake};

/// The longest pattern, in characters.
const MAX_PATTERN: usize = 500;

pub(super) fn register(connection: &Connection) -> Result<()> {
    connection.create_scalar_function("like", 2, PURE, |context| like(context, None))?;
    connection.create_scalar_function("like", 3, PURE, |context| {
        let Some(escape) = text(context, 2) else {
            return Ok(None);
        };
        let mut signs = escape.chars();
        match (signs.next(), signs.next()) {
            (Some(escape), None) => like(context, Some(escape)),
            _ => Err(mistake("ESCAPE takes a single character".to_owned())),
        }
    })?;
    connection.create_scalar_function("glob", 2, PURE, |context| glob(context))
}

/// One element of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Element {
    /// Any run of characters, also an empty one.
    Run,
    /// Any one character.
    One,
    /// This character.
    Exactly(char),
    /// One character of a set, or none of it.
    Set { negated: bool, ranges: Vec<(char, char)> },
}

impl Element {
    fn takes(&self, sign: char) -> bool {
        match self {
            Self::Run | Self::One => true,
            Self::Exactly(wanted) => *wanted == sign,
            Self::Set { negated, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&sign)) != *negated
            }
        }
    }
}

fn like(context: &Context<'_>, escape: Option<char>) -> Result<Option<bool>> {
    let (Some(pattern), Some(subject)) = (text(context, 0), text(context, 1)) else {
        return Ok(None);
    };
    bounded(&pattern)?;
    let mut elements = Vec::new();
    let mut signs = pattern.chars();
    while let Some(sign) = signs.next() {
        elements.push(if Some(sign) == escape {
            match signs.next() {
                Some(escaped) => Element::Exactly(escaped.to_ascii_lowercase()),
                None => return Ok(Some(false)),
            }
        } else {
            match sign {
                '%' => Element::Run,
                '_' => Element::One,
                other => Element::Exactly(other.to_ascii_lowercase()),
            }
        });
    }
    let subject: Vec<char> = subject.chars().map(|sign| sign.to_ascii_lowercase()).collect();
    Ok(Some(matches(&elements, &subject)))
}

fn glob(context: &Context<'_>) -> Result<Option<bool>> {
    let (Some(pattern), Some(subject)) = (text(context, 0), text(context, 1)) else {
        return Ok(None);
    };
    bounded(&pattern)?;
    let Some(elements) = glob_elements(&pattern) else {
        return Ok(Some(false));
    };
    let subject: Vec<char> = subject.chars().collect();
    Ok(Some(matches(&elements, &subject)))
}

/// Reads a GLOB pattern; one with an open bracket matches nothing.
fn glob_elements(pattern: &str) -> Option<Vec<Element>> {
    let mut elements = Vec::new();
    let mut signs = pattern.chars().peekable();
    while let Some(sign) = signs.next() {
        elements.push(match sign {
            '*' => Element::Run,
            '?' => Element::One,
            '[' => {
                let negated = signs.next_if_eq(&'^').is_some();
                let mut ranges = Vec::new();
                let mut first = true;
                loop {
                    let low = signs.next()?;
                    if low == ']' && !first {
                        break;
                    }
                    first = false;
                    let mut ahead = signs.clone();
                    if ahead.next() == Some('-')
                        && let Some(high) = ahead.next()
                        && high != ']'
                    {
                        ranges.push((low, high));
                        signs = ahead;
                    } else {
                        ranges.push((low, low));
                    }
                }
                Element::Set { negated, ranges }
            }
            other => Element::Exactly(other),
        });
    }
    Some(elements)
}

fn bounded(pattern: &str) -> Result<()> {
    if pattern.chars().nth(MAX_PATTERN).is_some() {
        return Err(mistake(format!("a pattern has at most {MAX_PATTERN} characters")));
    }
    Ok(())
}

/// Matches greedily and goes back only to the last run, which is enough.
fn matches(pattern: &[Element], subject: &[char]) -> bool {
    let (mut at, mut sign) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while let Some(current) = subject.get(sign) {
        match pattern.get(at) {
            Some(Element::Run) => {
                back = Some((at + 1, sign));
                at += 1;
            }
            Some(element) if element.takes(*current) => {
                at += 1;
                sign += 1;
            }
            Some(_) | None => match back {
                Some((after, from)) => {
                    at = after;
                    sign = from + 1;
                    back = Some((after, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).is_some_and(|rest| rest.iter().all(|element| *element == Element::Run))
}
