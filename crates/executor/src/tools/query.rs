//! The tool that runs a statement.

use std::sync::Arc;

use serde_json::{Map, json};

use super::arguments::{self, RunQuery};
use super::{Desk, Done};
use crate::access::Rights;
use crate::engine::{Outcome, Statement};
use crate::refusal::Failure;

impl Desk {
    pub(super) async fn run_query(
        &self,
        rights: Arc<Rights>,
        RunQuery { sql, source, max_rows }: RunQuery,
    ) -> Result<Done, Failure> {
        let max_rows = max_rows.map(|rows| arguments::at_least_one("maxRows", rows)).transpose()?;
        let statement = Statement { sql: sql.clone(), source, max_rows };
        let Outcome { source, tables, columns, rows, truncated } = self.engine.run(rights, statement).await?;
        let (width, count) = (columns.len(), rows.len());
        let mut result = Map::new();
        result.insert("source".to_owned(), json!(source));
        result.insert("sql".to_owned(), json!(as_run(&sql)));
        result.insert("tables".to_owned(), json!(tables));
        result.insert("columns".to_owned(), json!(columns));
        result.insert("rows".to_owned(), json!(rows));
        result.insert("rowCount".to_owned(), json!(count));
        result.insert("truncated".to_owned(), json!(truncated));
        Ok(Done { result, source: Some(source), tables, columns: Some(width), rows: Some(count) })
    }
}

/// The statement as the caller wrote it, less what stands around it.
fn as_run(sql: &str) -> &str {
    sql.trim_matches(|sign: char| sign.is_whitespace() || sign == ';')
}
