//! Finds a question in text, however it was disguised.

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

/// Letters and digits alone, case and form folded, words apart by one space.
pub(crate) fn folded(text: &str) -> String {
    let unescaped = unescape(&unescape(text));
    let letters: String = unescaped
        .nfkc()
        .flat_map(char::to_lowercase)
        .nfkc()
        .map(|c| if c.is_alphanumeric() { c } else { ' ' })
        .collect();
    letters.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Undoes JSON's escapes, also where they stand outside a JSON string.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut units: Vec<u16> = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let escaped = rest.strip_prefix("\\u").and_then(|tail| {
            let digits = tail.get(..4)?;
            u16::from_str_radix(digits, 16).ok().zip(tail.get(4..))
        });
        if let Some((unit, tail)) = escaped {
            units.push(unit);
            rest = tail;
            continue;
        }
        out.extend(char::decode_utf16(units.drain(..)).map(|c| c.unwrap_or('\u{fffd}')));
        let mut tail = rest.chars();
        tail.next();
        if c == '\\' {
            match tail.next() {
                Some('n' | 't' | 'r' | 'b' | 'f') => out.push(' '),
                Some(other) => out.push(other),
                None => out.push('\\'),
            }
        } else {
            out.push(c);
        }
        rest = tail.as_str();
    }
    out.extend(char::decode_utf16(units.drain(..)).map(|c| c.unwrap_or('\u{fffd}')));
    out
}

/// Whether the text holds the question in any casing, spacing, form or escaping.
pub(crate) fn holds(text: &str, question: &str) -> bool {
    let question = folded(question);
    !question.is_empty()
        && (folded(text).contains(&question) || squeezed(text).contains(&question.replace(' ', "")))
}

fn squeezed(text: &str) -> String {
    folded(text).replace(' ', "")
}

/// The first string in a JSON value, key or value, that holds the question.
pub(crate) fn place(value: &Value, question: &str) -> Option<String> {
    match value {
        Value::String(text) => holds(text, question).then(|| text.clone()),
        Value::Array(items) => items.iter().find_map(|item| place(item, question)),
        Value::Object(members) => members.iter().find_map(|(name, member)| {
            holds(name, question).then(|| name.clone()).or_else(|| place(member, question))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disguises_are_seen_through() {
        let question = "Wie läuft der \"Umsatz\" heute?";
        for text in [
            "WIE LÄUFT DER \"UMSATZ\" HEUTE?",
            "he said: wie  la\u{308}uft\nder umsatz   heute, no?",
            r#"{\"q\":\"Wie l\u00e4uft der \\\"Umsatz\\\" heute?\"}"#,
            "Wie\\nläuft\\tder Umsatz heute",
            "WielaufderWieläuftderUmsatzheute",
        ] {
            assert!(holds(text, question), "{text}");
        }
        assert!(!holds("Wie läuft der Gewinn heute?", question));
    }

    #[test]
    fn a_surrogate_pair_is_one_letter() {
        assert_eq!(folded(r"\ud835\udc00"), "a");
    }
}
