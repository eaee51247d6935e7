//! A result drawn: bars for a category and a number, a line for a date and a number.

mod bars;
mod dots;
mod line;

use ask_contract::ResultTable;
use serde_json::Value;

use super::Layout;
use crate::neutral;

/// What is said where nothing can be drawn.
pub(super) const NOTHING: &str = "No chart: the rows have no category or date with a number.";
/// Columns where the terminal does not say how many it has.
const USUAL_WIDTH: usize = 80;
/// The widest drawing; wider ones are no easier to read.
const WIDEST: usize = 100;
/// The least that a drawing needs.
const NARROWEST: usize = 24;

/// A value and what it belongs to.
#[derive(Debug, Clone, PartialEq)]
struct Point {
    label: String,
    value: f64,
    /// The value as the result has it.
    shown: String,
}

/// The drawing of the rows, each line ended; a sentence where there is none.
pub(super) fn chart(result: &ResultTable, layout: Layout) -> String {
    let width = layout.width.map_or(USUAL_WIDTH, usize::from).clamp(NARROWEST, WIDEST);
    let note = |text: &str| format!("{}\n", layout.style.dim(text));
    let Some((label, value)) = columns(result) else { return note(NOTHING) };
    let mut points: Vec<Point> = result.rows.iter().filter_map(|row| point(row, label, value)).collect();
    let by_time = !points.is_empty() && points.iter().all(|point| is_date(&point.label));
    let name = |column: usize| result.columns.get(column).map(|name| neutral::line(name).into_owned());
    let title = format!("{} by {}\n", name(value).unwrap_or_default(), name(label).unwrap_or_default());
    if by_time && points.len() > 1 {
        points.sort_by(|one, other| one.label.cmp(&other.label));
        if points.windows(2).all(|pair| matches!(pair, [one, other] if one.label < other.label)) {
            return format!("{title}{}", line::line(&points, width));
        }
    }
    if points.is_empty() {
        return note(NOTHING);
    }
    let all = points.len();
    if layout.rows > 0 {
        points.truncate(layout.rows);
    }
    let mut text = format!("{title}{}", bars::bars(&points, width));
    if points.len() < all {
        text.push_str(&note(&format!("{} of {all} bars drawn; --rows 0 draws all", points.len())));
    }
    text
}

/// The column that names and the column that counts: the first date, else the first text; the first number beside it.
fn columns(result: &ResultTable) -> Option<(usize, usize)> {
    let all = |column: usize, is: fn(&Value) -> bool| {
        let mut cells =
            result.rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.is_null()).peekable();
        cells.peek().is_some() && cells.all(is)
    };
    let places = 0..result.columns.len();
    let names = |cell: &Value| cell.as_str().is_some_and(is_date);
    // A year comes as a number, and is a date where its column says so.
    let year = |column: usize| {
        let says = result.columns.get(column).is_some_and(|name| name.to_ascii_lowercase().contains("year"));
        says && all(column, |cell| cell.as_i64().is_some_and(|year| (1000..=9999).contains(&year)))
    };
    let label = places
        .clone()
        .find(|column| all(*column, names) || year(*column))
        .or_else(|| places.clone().find(|column| all(*column, Value::is_string)))?;
    let value =
        places.clone().find(|column| *column != label && !year(*column) && all(*column, Value::is_number))?;
    Some((label, value))
}

fn point(row: &[Value], label: usize, value: usize) -> Option<Point> {
    let number = row.get(value)?;
    let label = match row.get(label)? {
        Value::String(text) => neutral::line(text).into_owned(),
        Value::Null => "–".to_owned(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    };
    let finite = number.as_f64().filter(|number| number.is_finite())?;
    Some(Point { label, value: finite, shown: number.to_string() })
}

/// Whether text is a day, a month, a quarter or a year, in a form whose order as text is that of time.
fn is_date(text: &str) -> bool {
    let digits = |part: Option<&str>, count: usize| {
        part.is_some_and(|part| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let day = text.get(..10).unwrap_or(text);
    let rest = text.get(10..).unwrap_or_default();
    let mut parts = day.split('-');
    let year = digits(parts.next(), 4);
    match (parts.next(), parts.next(), parts.next()) {
        (None, None, None) => year && rest.is_empty(),
        (Some(part), None, None) => year && (digits(Some(part), 2) || digits(part.strip_prefix('Q'), 1)),
        (month, date, None) => {
            year && digits(month, 2) && digits(date, 2) && (rest.is_empty() || rest.starts_with(['T', ' ']))
        }
        (_, _, Some(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;
    use serde_json::json;

    fn layout(width: u16, rows: usize) -> Layout {
        Layout { style: Style::new(false), width: Some(width), rows, sql: true, sql_by: "--sql", chart: true }
    }

    fn result(columns: &[&str], rows: Value) -> ResultTable {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        ResultTable { columns, rows: serde_json::from_value(rows).unwrap(), truncated: false }
    }

    #[test]
    fn a_category_and_a_number_are_bars() {
        let teams = result(&["team", "avg"], json!([["Billing", 20], ["Front\u{1b}line", 40.5], [null, 10]]));
        assert_eq!(
            chart(&teams, layout(40, 0)),
            "avg by team\n\
             Billing     ███████████▍              20\n\
             Front\u{FFFD}line  ███████████████████████ 40.5\n\
             –           █████▋                    10\n"
        );
        assert!(chart(&teams, layout(40, 1)).ends_with("1 of 3 bars drawn; --rows 0 draws all\n"));
    }

    #[test]
    fn a_date_and_a_number_are_a_line_in_the_order_of_time() {
        let months =
            result(&["month", "revenue"], json!([["2025-03", 30], ["2025-01", 10], ["2025-02", 20]]));
        let drawn = chart(&months, layout(30, 40));
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines[0], "revenue by month");
        assert!(
            lines[1].starts_with("30 ┤") && lines[1].ends_with(['⡠', '⠔', '⠤', '⣀', '⠒', '⠊', '⠉', '⠁']),
            "{drawn}"
        );
        assert!(drawn.contains("10 ┤"), "{drawn}");
        assert_eq!(lines.last().unwrap().split_whitespace().collect::<Vec<_>>(), ["2025-01", "2025-03"]);
    }

    #[test]
    fn a_year_is_a_date_where_its_column_says_so() {
        let years = |name: &str| result(&[name, "n"], json!([[2024, 1], [2025, 3]]));
        assert!(chart(&years("fiscal_year"), layout(40, 0)).contains("n by fiscal_year\n"));
        assert!(chart(&years("amount"), layout(40, 0)).contains(NOTHING));
    }

    #[test]
    fn what_has_no_number_or_no_name_is_not_drawn() {
        for rows in [json!([["a", "b"]]), json!([[1, 2]]), json!([]), json!([["a", null]])] {
            assert_eq!(chart(&result(&["x", "y"], rows), layout(40, 0)), format!("{NOTHING}\n"));
        }
    }

    #[test]
    fn dates_are_known_by_their_form() {
        for text in ["2025", "2025-01", "2025-Q4", "2025-01-31", "2025-01-31T10:00:00Z", "2025-01-31 10:00"] {
            assert!(is_date(text), "{text}");
        }
        for text in
            ["", "x", "20250", "2025-1", "2025-01-3", "12-2025", "2025-01-31x", "2025-01-31-1", "Billing"]
        {
            assert!(!is_date(text), "{text}");
        }
    }
}
