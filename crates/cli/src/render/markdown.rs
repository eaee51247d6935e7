//! An answer as Markdown, for a note or a ticket.

use std::fmt::Write as _;

use ask_contract::Answer;

use super::text::path;
use super::{Layout, TRUNCATED, headline, table};
use crate::neutral;

/// The answer, each line ended.
///
/// Prose keeps its emphasis and lists, but nothing of it becomes a link, an image or HTML: whoever renders this must not
/// fetch what a peer names.
pub(crate) fn markdown(answer: &Answer, layout: Layout) -> String {
    let mut parts = Vec::new();
    if let Some(figure) = &answer.headline {
        parts.push(format!("**{}**\n", inert(&headline::line(figure))));
    }
    if !answer.text.trim().is_empty() {
        parts.push(format!("{}\n", inert(&neutral::block(&answer.text)).trim_end()));
    }
    if let Some(result) = &answer.result {
        let (rows, left_out) = layout.rows(&result.rows);
        let mut drawn = String::new();
        record(&mut drawn, result.columns.iter().map(|name| neutral::line(name).into_owned()));
        record(&mut drawn, result.columns.iter().map(|_| "---".to_owned()));
        for row in rows {
            record(&mut drawn, row.iter().map(table::cell));
        }
        for note in left_out.as_deref().into_iter().chain(result.truncated.then_some(TRUNCATED)) {
            // Writing to a string can't fail.
            write!(drawn, "\n{note}\n").unwrap_or_default();
        }
        parts.push(drawn);
    }
    if !answer.provenance.is_empty() {
        let entries = answer.provenance.iter().map(|entry| {
            let [term, statement, source] =
                [&entry.term, &entry.statement, &entry.source].map(|text| inert(&neutral::line(text)));
            format!("- **{term}**: {statement} ({source})")
        });
        parts.push(section("Definitions", entries));
    }
    if layout.sql && !answer.sql.is_empty() {
        parts.push(section("SQL", answer.sql.iter().map(|sql| fenced(&neutral::block(sql)))));
    }
    if !answer.caveats.is_empty() {
        let entries = answer.caveats.iter().map(|caveat| format!("- {}", inert(&neutral::line(caveat))));
        parts.push(section("Caveats", entries));
    }
    parts.push(format!("{}\n", inert(&path(answer))));
    parts.join("\n")
}

fn section(heading: &str, entries: impl Iterator<Item = String>) -> String {
    let entries: Vec<String> = entries.collect();
    format!("### {heading}\n\n{}\n", entries.join("\n"))
}

fn record(text: &mut String, cells: impl Iterator<Item = String>) {
    for cell in cells {
        // Writing to a string can't fail.
        write!(text, "| {} ", inert(&cell).replace('|', "\\|")).unwrap_or_default();
    }
    text.push_str("|\n");
}

/// A code block that its text can't close.
fn fenced(sql: &str) -> String {
    let longest = sql.split(|char| char != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}sql\n{}\n{fence}", sql.trim())
}

/// Text in which brackets and angle brackets are themselves.
fn inert(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut inert, char| {
        if matches!(char, '[' | ']' | '<') {
            inert.push('\\');
        }
        inert.push(char);
        inert
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::sample;
    use crate::style::Style;

    fn layout() -> Layout {
        Layout { style: Style::new(false), width: None, rows: 2, sql: true, sql_by: "--sql", chart: false }
    }

    #[test]
    fn everything_of_an_answer_is_there() {
        let shown = markdown(&sample::answer(), layout());
        for part in [
            "**Fastest team: Billing**\n\nBilling resolves tickets fastest.\n\n| team | avg_minutes |\n| --- | --- |\n",
            "| Front line | 1203 |\n\n2 of 3 rows shown",
            "### Definitions\n\n- **Resolution Time**: Time to resolve,",
            "### SQL\n\n```sql\nSELECT team,",
            "### Caveats\n\n- Tickets before 2024 lack a team.\n- SLA is disputed.\n",
        ] {
            assert!(shown.contains(part), "{part}\nis not in\n{shown}");
        }
    }

    #[test]
    fn nothing_of_a_peer_is_loaded_or_breaks_out() {
        let mut answer = sample::answer();
        answer.text = "![x](http://evil/?q=1) <img src=x>".to_owned();
        answer.sql = vec!["select '```'\n```\n![x](y)".to_owned()];
        let shown = markdown(&answer, Layout { rows: 0, ..layout() });
        assert!(shown.contains(r"!\[x\](http://evil/?q=1) \<img src=x>"));
        assert!(shown.contains("````sql\n"));
        assert!(shown.contains(r"| Über\|all | – |"));
    }
}
