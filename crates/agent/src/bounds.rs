//! Keeps what a tool returned within what a model should be sent.

use serde_json::{Value, json};

/// Bytes of one tool result that go to the model.
pub(crate) const RESULT_BYTES: usize = 24 * 1024;

/// The result as text for the model: whole, or with rows left out and that said.
pub(crate) fn result_text(structured: Option<&Value>, text: &str) -> String {
    let whole = structured.map_or_else(|| text.to_owned(), Value::to_string);
    if whole.len() <= RESULT_BYTES {
        return whole;
    }
    structured.and_then(fewer_rows).unwrap_or_else(|| cut_short(&whole))
}

/// The same result with as many of its rows as fit.
fn fewer_rows(structured: &Value) -> Option<String> {
    let rows = structured.get("rows")?.as_array()?;
    let mut kept = rows.len();
    while kept > 0 {
        kept /= 2;
        let mut fewer = structured.clone();
        let members = fewer.as_object_mut()?;
        members.insert("rows".to_owned(), rows.get(..kept)?.into());
        members.insert("truncated".to_owned(), json!(true));
        members.insert(
            "note".to_owned(),
            json!(format!("{kept} of {} rows shown here; the rest did not fit", rows.len())),
        );
        let text = fewer.to_string();
        if text.len() <= RESULT_BYTES {
            return Some(text);
        }
    }
    None
}

fn cut_short(text: &str) -> String {
    let end = text.floor_char_boundary(RESULT_BYTES);
    format!("{}\n[cut here: {} of {} bytes shown]", text.get(..end).unwrap_or_default(), end, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_result_keeps_its_shape_and_says_what_is_missing() {
        let rows: Vec<Value> = (0..5_000).map(|at| json!([at, "a cell of some length"])).collect();
        let text =
            result_text(Some(&json!({"columns": ["n", "text"], "rows": rows, "truncated": false})), "");
        assert!(text.len() <= RESULT_BYTES);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["truncated"], json!(true));
        assert!(value["note"].as_str().unwrap().contains("of 5000 rows"));
    }

    #[test]
    fn text_without_rows_is_cut_at_a_letter() {
        let text = result_text(None, &"é".repeat(RESULT_BYTES));
        assert!(text.len() < RESULT_BYTES + 100);
        assert!(text.contains("[cut here: 24576 of 49152 bytes shown]"));
        assert_eq!(result_text(Some(&json!({"a": 1})), "ignored"), r#"{"a":1}"#);
    }
}
