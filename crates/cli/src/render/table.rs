//! A result as a table: numbers to the right, within the width of the terminal.

use ask_contract::ResultTable;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, TableComponent, presets};
use serde_json::Value;

use super::{Layout, TRUNCATED};
use crate::neutral;

/// What stands for a null.
const NULL: &str = "–";

/// The width of a number's fraction with its point.
fn fraction(number: &str) -> usize {
    if number.contains(['e', 'E']) { 0 } else { number.find('.').map_or(0, |at| number.len() - at) }
}

/// A cell of a column whose fractions are so wide: points stand below each other, and no digit is added.
fn figure(value: &Value, widest: usize) -> String {
    let mut text = cell(value);
    if value.is_number() {
        let missing = widest.saturating_sub(fraction(&text));
        text.extend(std::iter::repeat_n('\u{a0}', missing));
    }
    text
}

/// The table with its notes below, each line ended.
pub(super) fn table(result: &ResultTable, layout: Layout) -> String {
    let (rows, left_out) = layout.rows(&result.rows);
    let mut text =
        if result.columns.is_empty() { String::new() } else { drawn(&result.columns, rows, layout) };
    if result.rows.is_empty() {
        text.push_str(&ended(layout.style.dim("No rows.")));
    }
    for note in left_out.as_deref().into_iter().chain(result.truncated.then_some(TRUNCATED)) {
        text.push_str(&ended(layout.style.dim(note)));
    }
    text
}

fn drawn(columns: &[String], rows: &[Vec<Value>], layout: Layout) -> String {
    let numeric = |column: usize| {
        let mut cells =
            rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.is_null()).peekable();
        cells.peek().is_some() && cells.all(Value::is_number)
    };
    let alignments: Vec<CellAlignment> = (0..columns.len())
        .map(|column| if numeric(column) { CellAlignment::Right } else { CellAlignment::Left })
        .collect();
    let fractions: Vec<usize> = alignments
        .iter()
        .enumerate()
        .map(|(column, alignment)| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|cell| fraction(&cell.to_string())).max();
            if *alignment == CellAlignment::Right { widest.unwrap_or_default() } else { 0 }
        })
        .collect();
    let aligned = |text: String, alignment: &CellAlignment| Cell::new(text).set_alignment(*alignment);

    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_style(TableComponent::HeaderLines, '─');
    table.remove_style(TableComponent::VerticalLines);
    if let Some(width) = layout.width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    } else {
        table.set_content_arrangement(ContentArrangement::Disabled);
    }
    table.set_header(
        columns
            .iter()
            .zip(&alignments)
            .map(|(name, alignment)| aligned(neutral::line(name).into_owned(), alignment)),
    );
    for row in rows {
        table.add_row(alignments.iter().zip(&fractions).enumerate().map(
            |(column, (alignment, fraction))| {
                let text = row.get(column).map_or_else(String::new, |value| figure(value, *fraction));
                aligned(text, alignment)
            },
        ));
    }
    let lines: Vec<String> =
        table.lines().map(|line| line.replace('\u{a0}', " ").trim_end().to_owned()).collect();
    // The first column's padding would indent the whole table by one.
    let padded = lines.iter().all(|line| line.is_empty() || line.starts_with([' ', '─']));
    let flush = |line| if padded { str::strip_prefix(line, [' ', '─']).unwrap_or(line) } else { line };
    lines.iter().map(|line| ended(flush(line))).collect()
}

fn ended(line: impl std::fmt::Display) -> String {
    format!("{line}\n")
}

/// A cell as one line of text.
pub(super) fn cell(value: &Value) -> String {
    match value {
        Value::Null => NULL.to_owned(),
        Value::String(text) => neutral::line(text).into_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => neutral::json(&value.to_string()).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::sample;
    use crate::style::Style;
    use serde_json::json;

    fn layout(width: Option<u16>, rows: usize) -> Layout {
        Layout { style: Style::new(false), width, rows, sql: true, sql_by: "--sql", chart: false }
    }

    #[test]
    fn numbers_stand_to_the_right() {
        let drawn = table(&sample::answer().result.unwrap(), layout(None, 0));
        assert_eq!(
            drawn,
            "team        avg_minutes\n\
             ────────────────────────\n\
             Billing            41.5\n\
             Front line       1203\n\
             Über|all              –\n"
        );
    }

    #[test]
    fn rows_left_out_are_told() {
        let mut result = sample::answer().result.unwrap();
        result.truncated = true;
        let drawn = table(&result, layout(None, 2));
        assert!(!drawn.contains("Über"));
        assert!(drawn.ends_with(
            "2 of 3 rows shown; --rows 0 shows all\nThere are more rows than the service returned.\n"
        ));
        assert!(!table(&result, layout(None, 3)).contains("shown"));
    }

    #[test]
    fn a_narrow_terminal_is_kept_within() {
        let result = ResultTable {
            columns: vec!["name".to_owned(), "story".to_owned(), "n".to_owned()],
            rows: vec![
                vec![json!("a"), json!("word ".repeat(40)), json!(1)],
                vec![json!("名前"), json!("x"), json!(22)],
            ],
            truncated: false,
        };
        let drawn = table(&result, layout(Some(40), 0));
        assert!(drawn.lines().all(|line| console::measure_text_width(line) <= 40), "{drawn}");
        assert_eq!(drawn.matches("word").count(), 40);
    }

    #[test]
    fn odd_results_are_drawn_all_the_same() {
        let mut result = ResultTable { columns: vec!["a".to_owned()], rows: Vec::new(), truncated: false };
        assert!(table(&result, layout(None, 40)).ends_with("No rows.\n"));
        result.rows = vec![vec![], vec![json!([1, {"x": "\u{202E}"}]), json!("more than columns")]];
        let drawn = table(&result, layout(None, 40));
        assert!(drawn.contains(r#"[1,{"x":"\u202e"}]"#) && !drawn.contains("more than"), "{drawn}");
        result.columns.clear();
        assert_eq!(table(&result, layout(None, 40)), "");
    }

    #[test]
    fn cells_are_neutralised() {
        let result = ResultTable {
            columns: vec!["\u{1b}[31mred".to_owned()],
            rows: vec![vec![json!("\u{1b}]8;;http://evil\u{7}link")]],
            truncated: false,
        };
        assert!(!table(&result, layout(Some(80), 0)).contains(['\u{1b}', '\u{7}']));
    }
}
