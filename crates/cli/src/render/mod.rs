//! Events as a person reads them.

mod chart;
mod csv;
mod ending;
mod headline;
mod markdown;
mod table;
mod text;
pub(crate) mod wrap;

pub(crate) use csv::csv;
pub(crate) use ending::{abstention, beside_rows, failure, refusal, summary};
pub(crate) use markdown::markdown;
pub(crate) use text::text;

use crate::style::Style;

/// How much of an answer is shown, and for which output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// Colour or none.
    pub(crate) style: Style,
    /// Columns of the terminal, where there is one.
    pub(crate) width: Option<u16>,
    /// Rows of the result to show; 0 is all.
    pub(crate) rows: usize,
    /// Whether the SQL is shown.
    pub(crate) sql: bool,
    /// What to type to see the SQL.
    pub(crate) sql_by: &'static str,
    /// Whether the rows are drawn.
    pub(crate) chart: bool,
}

impl Layout {
    /// The rows to show of `all`, and what to say of those left out here.
    fn rows<T>(self, all: &[T]) -> (&[T], Option<String>) {
        match all.get(..self.rows) {
            Some(shown) if self.rows > 0 && shown.len() < all.len() => {
                let note = format!("{} of {} rows shown; --rows 0 shows all", shown.len(), all.len());
                (shown, Some(note))
            }
            _ => (all, None),
        }
    }
}

/// What is said of a result that the service itself cut short.
const TRUNCATED: &str = "There are more rows than the service returned.";

#[cfg(test)]
pub(crate) mod sample {
    //! An answer with everything in it.

    use ask_contract::{
        Answer, AnswerPath, Headline, HeadlineValue, PathDetail, Provenance, ResultTable, Speed,
    };
    use serde_json::json;

    pub(crate) fn answer() -> Answer {
        Answer {
            text: "Billing resolves tickets fastest.".to_owned(),
            path: AnswerPath { speed: Speed::Full, detail: PathDetail::Warehouse },
            provenance: vec![Provenance {
                term: "Resolution Time".to_owned(),
                statement: "Time to resolve, without waiting on the customer.".to_owned(),
                source: "support.ResolutionTime".to_owned(),
                kind: "glossary_term".to_owned(),
            }],
            sources: vec!["support".to_owned()],
            tables: vec!["support.tickets".to_owned()],
            sql: vec![
                "SELECT team,\n  AVG(resolution_minutes)\nFROM support.tickets GROUP BY team".to_owned(),
            ],
            caveats: vec!["Tickets before 2024 lack a team.".to_owned(), "SLA is disputed.".to_owned()],
            result: Some(ResultTable {
                columns: vec!["team".to_owned(), "avg_minutes".to_owned()],
                rows: vec![
                    vec![json!("Billing"), json!(41.5)],
                    vec![json!("Front\nline"), json!(1203)],
                    vec![json!("Über|all"), json!(null)],
                ],
                truncated: false,
            }),
            headline: Some(Headline {
                value: HeadlineValue::Text("Billing".to_owned()),
                unit: None,
                label: "Fastest team".to_owned(),
            }),
            divergence: None,
        }
    }
}
