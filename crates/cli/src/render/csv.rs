//! A result as CSV by RFC 4180, for another program.

use std::borrow::Cow;

use ask_contract::{Answer, HeadlineValue};
use serde_json::Value;

use crate::neutral;

/// The rows of the result with a header line; without a result, the headline as one row; nothing without either.
///
/// Lines end in LF. A null is an empty field. Line feeds within a field stay, in quotes. Text that a spreadsheet would run
/// as a formula has an apostrophe before it; numbers stay as they are.
pub(crate) fn csv(answer: &Answer) -> String {
    let mut text = String::new();
    if let Some(result) = &answer.result {
        record(&mut text, result.columns.iter().map(|name| field(name)));
        for row in &result.rows {
            record(&mut text, row.iter().map(cell));
        }
    } else if let Some(headline) = &answer.headline {
        let value = match &headline.value {
            HeadlineValue::Number(number) => number.to_string(),
            HeadlineValue::Text(text) => field(text),
        };
        record(&mut text, ["label", "value", "unit"].map(str::to_owned).into_iter());
        let unit = headline.unit.as_deref().unwrap_or_default();
        record(&mut text, [field(&headline.label), value, field(unit)].into_iter());
    }
    text
}

fn record(text: &mut String, fields: impl Iterator<Item = String>) {
    let fields: Vec<String> = fields.collect();
    text.push_str(&fields.join(","));
    text.push('\n');
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => field(text),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => field(&value.to_string()),
    }
}

fn field(text: &str) -> String {
    let text = neutral::block(text);
    let text = if is_formula(&text) { Cow::Owned(format!("'{text}")) } else { text };
    if text.contains([',', '"', '\n']) || text.starts_with(' ') || text.ends_with(' ') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into_owned()
    }
}

/// Whether a spreadsheet would take text for a formula; a number with a sign is none.
fn is_formula(text: &str) -> bool {
    text.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
        && text.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::sample;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let mut answer = sample::answer();
        let result = answer.result.as_mut().unwrap();
        result.rows[0][0] = "a \"b\", c".into();
        result.rows[2][0] = "\u{1b}[0m".into();
        assert_eq!(
            csv(&answer),
            "team,avg_minutes\n\"a \"\"b\"\", c\",41.5\n\"Front\nline\",1203\n\u{FFFD}[0m,\n"
        );
    }

    #[test]
    fn no_cell_is_a_formula() {
        for (text, cell) in [
            ("=HYPERLINK(\"http://evil\")", "\"'=HYPERLINK(\"\"http://evil\"\")\""),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("\t=1+1", "'\t=1+1"),
            ("-2+3", "'-2+3"),
            ("＝1+1", "'＝1+1"),
            ("-5.25", "-5.25"),
            ("a=b", "a=b"),
        ] {
            assert_eq!(field(text), cell);
        }
        assert_eq!(cell(&serde_json::json!(-5)), "-5");
    }

    #[test]
    fn a_headline_stands_in_for_a_result() {
        let mut answer = sample::answer();
        answer.result = None;
        assert_eq!(csv(&answer), "label,value,unit\nFastest team,Billing,\n");
        answer.headline = None;
        assert_eq!(csv(&answer), "");
    }
}
