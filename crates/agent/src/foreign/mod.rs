//! Reads what tool servers answer that know nothing of this service's conventions: rows in text, and failures in prose.
//!
//! What can't be read faithfully stays text for the model; nothing is made up in its place.

mod literal;

use ask_contract::ResultTable;
use serde_json::Value;

use literal::Literal;

/// The most words before the colon of a sentence that is taken for a failure.
const WORDS_BEFORE_THE_COLON: usize = 4;

/// An object that a server put as text under the one member `result`, as some frameworks wrap what a tool returns; any other
/// answer as it is.
pub(crate) fn unwrapped(structured: Value) -> Value {
    let inner = structured
        .as_object()
        .filter(|members| members.len() == 1)
        .and_then(|members| members.get("result")?.as_str())
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    inner.filter(Value::is_object).unwrap_or(structured)
}

/// The rows of an answer that is a list of records, each with the same fields in the same order: JSON, or what Python
/// prints of it, as text or under the one member `result`.
pub(crate) fn records(structured: Option<&Value>, text: &str) -> Option<ResultTable> {
    // The text comes first: it has the columns in the server's order.
    literal::read(text).and_then(table).or_else(|| {
        let Value::Object(members) = structured? else { return None };
        let result = members.get("result").filter(|_| members.len() == 1)?;
        let text = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
        literal::read(&text).and_then(table)
    })
}

fn table(read: Literal) -> Option<ResultTable> {
    let items = match read {
        Literal::List(items) => items,
        Literal::Map(members) => match <[_; 1]>::try_from(members).ok()? {
            [(name, Literal::List(items))] if name == "result" => items,
            _ => return None,
        },
        Literal::Scalar(_) => return None,
    };
    let mut columns: Option<Vec<String>> = None;
    let mut rows = Vec::with_capacity(items.len());
    for item in items {
        let Literal::Map(members) = item else { return None };
        let (names, cells): (Vec<String>, Vec<Literal>) = members.into_iter().unzip();
        if *columns.get_or_insert_with(|| names.clone()) != names {
            return None;
        }
        rows.push(cells.into_iter().map(Literal::into_value).collect());
    }
    Some(ResultTable { columns: columns.unwrap_or_default(), rows, truncated: false })
}

/// What a tool says that did not do what it was asked to, although its result is not marked as an error: a member
/// `success` that is false, or a sentence such as `Database error: no such table: x` in place of a result.
pub(crate) fn failure(structured: Option<&Value>, text: &str) -> Option<String> {
    if let Some(Value::Object(members)) = structured {
        let said = members.get("error").and_then(Value::as_str).unwrap_or("the tool says that it failed");
        return (members.get("success") == Some(&Value::Bool(false))).then(|| said.to_owned());
    }
    let text = text.trim_start();
    let (before, _) = text.lines().next()?.split_once(':')?;
    let words: Vec<&str> = before.split_whitespace().collect();
    let last = words.last()?.to_lowercase();
    let says_so = last.ends_with("error") || last.ends_with("exception");
    (says_so && words.len() <= WORDS_BEFORE_THE_COLON).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn records_are_rows_in_the_servers_order() {
        let expected = ResultTable {
            columns: vec!["team".to_owned(), "n".to_owned()],
            rows: vec![vec![json!("Billing's"), json!(3)], vec![json!(null), json!(0.5)]],
            truncated: false,
        };
        for text in [
            r#"[{'team': "Billing's", 'n': 3}, {'team': None, 'n': 0.5}]"#,
            r#"[{"team": "Billing's", "n": 3}, {"team": null, "n": 0.5}]"#,
            r#"{"result": [{"team": "Billing's", "n": 3}, {"team": null, "n": 0.5}]}"#,
        ] {
            assert_eq!(records(None, text).as_ref(), Some(&expected), "{text}");
        }
        let wrapped = json!({"result": "[{'team': \"Billing's\", 'n': 3}, {'team': None, 'n': 0.5}]"});
        assert_eq!(records(Some(&wrapped), "see there"), Some(expected));
        assert_eq!(records(None, "[]").unwrap().rows, Vec::<Vec<Value>>::new());
    }

    #[test]
    fn what_is_not_a_list_of_like_records_stays_text() {
        for text in [
            "3 rows",
            "[1, 2]",
            "[{'a': 1}, {'b': 1}]",
            "[{'a': datetime.date(2024, 1, 1)}]",
            "[{'a': 1}] and more",
            "{'a': 1}",
            "[{'a': 1}",
            "",
        ] {
            assert_eq!(records(None, text), None, "{text}");
        }
    }

    #[test]
    fn an_object_in_a_text_is_the_answer_and_other_texts_are_not() {
        let wrapped = json!({"result": "{\"columns\": [\"n\"], \"rows\": [[1]]}"});
        assert_eq!(unwrapped(wrapped), json!({"columns": ["n"], "rows": [[1]]}));
        for same in [
            json!({"result": "[1]"}),
            json!({"result": "text"}),
            json!({"result": {"a": 1}}),
            json!({"result": "{}", "b": 1}),
        ] {
            assert_eq!(unwrapped(same.clone()), same);
        }
    }

    #[test]
    fn failures_in_prose_are_failures_and_results_are_none() {
        for text in ["Database error: no such table: x", "Error: Only SELECT", "sqlite3.OperationalError: y"]
        {
            assert_eq!(failure(None, text).as_deref(), Some(text));
        }
        let said = json!({"success": false, "error": "Catalog Error: no table"});
        assert_eq!(failure(Some(&said), "").as_deref(), Some("Catalog Error: no table"));
        for text in ["[{'error': 'x: y'}]", "team: Billing", "no error", "The rows that have an error: 3"] {
            assert_eq!(failure(None, text), None, "{text}");
        }
        assert_eq!(failure(Some(&json!({"success": true, "error": "x"})), "Error: x"), None);
    }
}
