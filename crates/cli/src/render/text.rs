//! An answer as text for a terminal: headline, prose, table, definitions, SQL, caveats, path.

use std::fmt::{Display, Write as _};

use ask_contract::{Answer, PathDetail, Speed};

use super::{Layout, chart, headline, table, wrap};
use crate::{neutral, words};

/// How far in the entries of a section stand.
const INDENT: &str = "  ";

/// The answer, each line ended.
pub(crate) fn text(answer: &Answer, layout: Layout) -> String {
    let style = layout.style;
    let plain = |line: &str| line.to_owned();
    let mut parts = Vec::new();
    if let Some(figure) = &answer.headline {
        parts.push(format!("{}\n", style.strong(headline::line(figure))));
    }
    let prose = neutral::block(&answer.text);
    if !prose.trim().is_empty() {
        let lines = wrap::lines(prose.trim_end(), layout.width.map(usize::from));
        parts.push(format!("{}\n", lines.join("\n")));
    }
    if let Some(result) = &answer.result {
        parts.push(table::table(result, layout));
        if layout.chart {
            parts.push(chart::chart(result, layout));
        }
    }
    if layout.chart && answer.result.is_none() {
        parts.push(format!("{}\n", style.dim(chart::NOTHING)));
    }
    let width = layout.width.map(|width| usize::from(width).saturating_sub(INDENT.len()));
    if !answer.provenance.is_empty() {
        let entries = answer.provenance.iter().map(|entry| {
            let term = style.strong(neutral::line(&entry.term));
            let source = style.dim(format!("({})", neutral::line(&entry.source)));
            format!("{term}: {} {source}", neutral::block(&entry.statement).trim_end())
        });
        parts.push(section(&style.strong("Definitions"), entries, width, plain));
    }
    if let Some(divergence) = &answer.divergence {
        let entries =
            divergence.iter().map(|(name, value)| format!("{}: {}", neutral::line(name), table::cell(value)));
        parts.push(section(&style.strong("Without the catalog"), entries, width, plain));
    }
    if layout.sql && !answer.sql.is_empty() {
        // Never broken, so that it can be copied.
        let entries = answer.sql.iter().map(|sql| neutral::block(sql).trim().to_owned());
        parts.push(section(&style.strong("SQL"), entries, None, |line| style.dim(line).to_string()));
    }
    if !answer.caveats.is_empty() {
        let entries = answer.caveats.iter().map(|caveat| format!("! {}", neutral::block(caveat).trim_end()));
        parts.push(section(&style.warn("Caveats"), entries, width, |line| style.warn(line).to_string()));
    }
    let mut path = path(answer);
    if !layout.sql && !answer.sql.is_empty() {
        let count = words::count(answer.sql.len() as u64, "SQL statement", "SQL statements");
        // Writing to a string can't fail.
        write!(path, "; {count} ({} shows)", layout.sql_by).unwrap_or_default();
    }
    let path = wrap::lines(&path, layout.width.map(usize::from));
    parts.push(path.iter().map(|line| format!("{}\n", style.dim(line))).collect::<Vec<_>>().concat());
    parts.join("\n")
}

/// How the answer came about, on one line.
pub(super) fn path(answer: &Answer) -> String {
    let speed = match answer.path.speed {
        Speed::Fast => "fast",
        Speed::Full => "full",
    };
    let detail = match answer.path.detail {
        PathDetail::Catalog => "catalog",
        PathDetail::Warehouse => "warehouse",
        PathDetail::Multi => "multi",
    };
    let mut line = format!("Path: {speed} / {detail}");
    for (name, list) in [("sources", &answer.sources), ("tables", &answer.tables)] {
        if !list.is_empty() {
            let list: Vec<_> = list.iter().map(|item| neutral::line(item)).collect();
            // Writing to a string can't fail.
            write!(line, "; {name} {}", list.join(", ")).unwrap_or_default();
        }
    }
    line
}

/// A heading with its entries below, indented, each line painted by itself so that no style runs over the indentation.
fn section(
    heading: &impl Display,
    entries: impl Iterator<Item = String>,
    width: Option<usize>,
    paint: impl Fn(&str) -> String,
) -> String {
    let mut text = format!("{heading}\n");
    for line in entries.flat_map(|entry| wrap::lines(&entry, width)) {
        if !line.is_empty() {
            text.push_str(INDENT);
            text.push_str(&paint(&line));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::sample;
    use crate::style::Style;

    fn layout() -> Layout {
        Layout { style: Style::new(false), width: None, rows: 40, sql: true, sql_by: "--sql", chart: false }
    }

    #[test]
    fn everything_of_an_answer_is_shown_in_order() {
        assert_eq!(
            text(&sample::answer(), layout()),
            "Fastest team: Billing\n\
             \n\
             Billing resolves tickets fastest.\n\
             \n\
             team        avg_minutes\n\
             ────────────────────────\n\
             Billing            41.5\n\
             Front line       1203\n\
             Über|all              –\n\
             \n\
             Definitions\n  \
               Resolution Time: Time to resolve, without waiting on the customer. (support.ResolutionTime)\n\
             \n\
             SQL\n  \
               SELECT team,\n    \
                 AVG(resolution_minutes)\n  \
               FROM support.tickets GROUP BY team\n\
             \n\
             Caveats\n  \
               ! Tickets before 2024 lack a team.\n  \
               ! SLA is disputed.\n\
             \n\
             Path: full / warehouse; sources support; tables support.tickets\n"
        );
    }

    #[test]
    fn sql_can_be_left_out_and_caveats_can_not() {
        let shown = text(&sample::answer(), Layout { sql: false, ..layout() });
        assert!(!shown.contains("SELECT") && shown.contains("! SLA is disputed."));
        assert!(shown.ends_with("tables support.tickets; 1 SQL statement (--sql shows)\n"));
    }

    #[test]
    fn nothing_a_peer_sent_steers_the_terminal() {
        let mut answer = sample::answer();
        let evil = "\u{1b}[2Jx\u{202E}y\u{9b}31m\u{7}";
        answer.text = evil.to_owned();
        answer.caveats = vec![evil.to_owned()];
        answer.sql = vec![evil.to_owned()];
        answer.sources = vec![evil.to_owned()];
        answer.tables = vec![evil.to_owned()];
        answer.provenance[0].term = evil.to_owned();
        answer.provenance[0].statement = evil.to_owned();
        answer.provenance[0].source = evil.to_owned();
        answer.divergence = serde_json::from_value(serde_json::json!({evil: evil})).unwrap();
        let shown = text(&answer, layout());
        assert!(shown.chars().all(|char| char == '\n' || !char.is_control()));
        assert!(!shown.contains('\u{202E}'));
        assert_eq!(shown.matches("\u{FFFD}[2Jx").count(), 10);
    }

    #[test]
    fn prose_breaks_between_words_and_sql_does_not() {
        let mut answer = sample::answer();
        answer.text = "word ".repeat(30);
        answer.caveats = vec!["caveat ".repeat(30)];
        answer.sql = vec!["select ".repeat(30)];
        let shown = text(&answer, Layout { width: Some(50), ..layout() });
        for line in shown.lines().filter(|line| !line.contains("select")) {
            assert!(console::measure_text_width(line) <= 50, "{line}");
        }
        assert_eq!(shown.lines().filter(|line| line.contains("select")).count(), 1);
        assert!(shown.contains("  ! caveat") && shown.contains("\n    caveat"));
    }

    #[test]
    fn style_wraps_text_and_never_breaks_lines() {
        let shown = text(&sample::answer(), Layout { style: Style::new(true), ..layout() });
        assert!(shown.starts_with("\u{1b}[1mFastest team: Billing\u{1b}[0m\n"));
        assert_eq!(console::strip_ansi_codes(&shown), text(&sample::answer(), layout()));
    }
}
