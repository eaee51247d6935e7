//! Cuts a question out of text, by its letters: case, marks, spacing and escapes do not count.

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use super::Mini;

/// The base letters of a text, each with the bytes it came from.
fn letters(mini: &Mini, text: &str) -> Vec<(char, usize, usize)> {
    let mut found = Vec::new();
    let mut high: Option<(u16, usize)> = None;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let mut end = at + c.len_utf8();
        let mut read = Some(c);
        if c == '\\' && !mini.is("cut-misses-escapes") {
            while text[end..].starts_with('\\') {
                end += 1;
            }
            let escape = text[end..].chars().next();
            let unit = text.get(end + 1..end + 5).and_then(|digits| u16::from_str_radix(digits, 16).ok());
            match (escape, unit) {
                (Some('u'), Some(unit)) => {
                    end += 5;
                    if (0xd800..0xdc00).contains(&unit) {
                        high = Some((unit, at));
                        at = end;
                        continue;
                    }
                    let units = high.take().map_or(vec![unit], |(first, _)| vec![first, unit]);
                    read = char::decode_utf16(units).next().and_then(Result::ok);
                }
                (Some('n' | 't' | 'r' | 'b' | 'f'), _) => {
                    end += 1;
                    read = None;
                }
                _ => read = None,
            }
        }
        let folded: Vec<char> = if mini.is("cut-misses-unicode-forms") {
            read.into_iter().collect()
        } else {
            read.into_iter().nfkd().collect()
        };
        for letter in folded {
            let lower: Vec<char> =
                if mini.is("cut-misses-case") { vec![letter] } else { letter.to_lowercase().collect() };
            for letter in lower {
                let counts =
                    letter.is_alphanumeric() || (mini.is("cut-misses-spacing") && letter.is_whitespace());
                if counts {
                    found.push((letter, at, end));
                }
            }
        }
        at = end;
    }
    found
}

/// The text without the question.
pub(super) fn cut(mini: &Mini, text: &str, question: &str) -> String {
    let wanted: Vec<char> = letters(mini, question).into_iter().map(|(letter, _, _)| letter).collect();
    let mut text = text.to_owned();
    if wanted.is_empty() || (question.split_whitespace().count() < 4 && !mini.is("short-questions-cut")) {
        return text;
    }
    loop {
        let there = letters(mini, &text);
        let hit = there
            .windows(wanted.len())
            .find(|window| window.iter().map(|(letter, _, _)| letter).eq(wanted.iter()));
        let Some(window) = hit else { return text };
        let (start, end) = (window[0].1, window[window.len() - 1].2);
        text.replace_range(start..end, "[cut]");
    }
}

/// The value with the question cut out of every string.
pub(super) fn cut_all(mini: &Mini, value: &Value, question: &str) -> Value {
    match value {
        Value::String(text) => Value::String(cut(mini, text, question)),
        Value::Array(items) => items.iter().map(|item| cut_all(mini, item, question)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (cut(mini, name, question), cut_all(mini, member, question)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
