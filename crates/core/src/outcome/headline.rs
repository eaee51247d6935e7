//! The headline: a figure that really stands in a result, or none.

use ask_contract::{Headline, HeadlineValue};
use serde_json::Value;

use super::facts::Statement;

/// The headline that the model proposed, if a result of this run holds its value; else the only cell of a one-cell result.
pub(super) fn headline(proposed: Option<&Headline>, statements: &[Statement]) -> Option<Headline> {
    let cells = || {
        statements
            .iter()
            .filter_map(|ran| ran.result.as_ref())
            .flat_map(|result| result.rows.iter().flatten())
    };
    if let Some(proposed) = proposed
        && cells().any(|cell| holds(cell, &proposed.value))
    {
        return Some(proposed.clone());
    }
    only_cell(statements)
}

fn only_cell(statements: &[Statement]) -> Option<Headline> {
    let result = statements.last()?.result.as_ref()?;
    let ([column], [row]) = (result.columns.as_slice(), result.rows.as_slice()) else { return None };
    let value = match row.as_slice() {
        [Value::Number(number)] => HeadlineValue::Number(number.clone()),
        [Value::String(text)] => HeadlineValue::Text(text.clone()),
        _ => return None,
    };
    Some(Headline { value, unit: None, label: column.clone() })
}

/// Whether a cell holds the value: the same text, or the same number at the precision that the value is given in, also
/// as a percentage of it.
fn holds(cell: &Value, value: &HeadlineValue) -> bool {
    match (cell, value) {
        (Value::String(cell), HeadlineValue::Text(text)) => cell.trim().eq_ignore_ascii_case(text.trim()),
        (Value::Number(cell), HeadlineValue::Number(number)) => {
            let (Some(cell), Some(value)) = (cell.as_f64(), number.as_f64()) else { return false };
            let decimals = number
                .to_string()
                .split_once('.')
                .map_or(0, |(_, digits)| digits.trim_end_matches('0').len());
            let half_a_unit = 0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(0)) * (1.0 + 1e-9);
            let near = |cell: f64| (cell - value).abs() <= half_a_unit;
            near(cell) || near(cell * 100.0)
        }
        (Value::Number(cell), HeadlineValue::Text(text)) => cell.to_string() == text.trim(),
        (Value::String(cell), HeadlineValue::Number(number)) => cell.trim() == number.to_string(),
        (Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_), _) => false,
    }
}

#[cfg(test)]
mod tests {
    use ask_contract::ResultTable;
    use serde_json::json;

    use super::*;

    fn ran(columns: &[&str], rows: Vec<Vec<Value>>) -> Vec<Statement> {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        vec![Statement {
            result: Some(ResultTable { columns, rows, truncated: false }),
            ..Statement::default()
        }]
    }

    fn figure(value: f64) -> Headline {
        let value = HeadlineValue::Number(serde_json::Number::from_f64(value).unwrap());
        Headline { value, unit: Some("minutes".into()), label: "average".into() }
    }

    #[test]
    fn a_rounded_figure_of_a_result_stands() {
        let ran = ran(
            &["team", "avg"],
            vec![vec![json!("Billing"), json!(412.348)], vec![json!("Other"), json!(0.4213)]],
        );
        for value in [412.35, 412.3, 412.0, 0.42, 42.13, 42.0] {
            assert_eq!(headline(Some(&figure(value)), &ran), Some(figure(value)), "{value}");
        }
        let winner =
            Headline { value: HeadlineValue::Text("billing".into()), unit: None, label: "fastest".into() };
        assert_eq!(headline(Some(&winner), &ran), Some(winner.clone()));
    }

    #[test]
    fn a_figure_that_no_result_holds_does_not_stand() {
        let ran = ran(&["team", "avg"], vec![vec![json!("Billing"), json!(412.348)]]);
        for value in [411.0, 412.4, 41234.0] {
            assert_eq!(headline(Some(&figure(value)), &ran), None, "{value}");
        }
        assert_eq!(headline(Some(&figure(1.0)), &[]), None);
    }

    #[test]
    fn a_single_cell_is_a_headline_by_itself() {
        let ran = ran(&["open_tickets"], vec![vec![json!(42)]]);
        let expected =
            Headline { value: HeadlineValue::Number(42.into()), unit: None, label: "open_tickets".into() };
        assert_eq!(headline(None, &ran), Some(expected.clone()));
        assert_eq!(headline(Some(&figure(7.0)), &ran), Some(expected));
    }
}
