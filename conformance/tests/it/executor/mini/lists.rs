//! What there is: sources, tables, columns.

use serde_json::{Value, json};

use super::MiniExecutor;
use super::desk::Refusal;
use super::guard::TABLES;

impl MiniExecutor {
    pub(super) fn list_sources(&self) -> Value {
        let source = |name: &str| {
            let mut source =
                json!({"name": name, "kind": "sqlite", "dialect": "sqlite", "description": "A source."});
            if self.is("source-lacks-dialect") {
                source.as_object_mut().unwrap().remove("dialect");
            }
            source
        };
        json!({"sources": [source("support"), source("sales")]})
    }

    pub(super) fn list_tables(&self, source: Option<&str>) -> Result<Value, Refusal> {
        let unknown = source.is_some_and(|name| !["support", "sales"].contains(&name));
        if unknown && !self.is("unknown-source-is-empty") {
            return Err(Refusal::invalid(format!("there is no source {}", source.unwrap_or_default())));
        }
        let only = source.filter(|_| !self.is("source-filter-ignored"));
        let tables: Vec<Value> = TABLES
            .iter()
            .filter(|(schema, _)| only.is_none_or(|only| only == *schema))
            .map(|(schema, table)| {
                let full = format!("{schema}.{table}");
                let count = self.engine.count(&full) + i64::from(self.is("row-count-off-by-one"));
                let name = if self.is("tables-unqualified") { (*table).to_owned() } else { full };
                json!({"source": schema, "name": name, "rowCount": count})
            })
            .collect();
        Ok(json!({"tables": tables}))
    }

    pub(super) fn describe_table(
        &self,
        written: &str,
        source: Option<&str>,
        whole: bool,
    ) -> Result<Value, Refusal> {
        let (schema, table) = match (written.split_once('.'), source) {
            (Some((schema, _)), Some(source)) if schema != source => {
                return Err(Refusal::invalid(format!("{written} is no table of {source}")));
            }
            (Some((schema, table)), _) => (schema, table),
            (None, Some(_)) if self.is("schema-always-needed") => {
                return Err(Refusal::invalid(format!("write the schema of {written}")));
            }
            (None, source) => (source.unwrap_or("support"), written),
        };
        let known = TABLES.contains(&(schema, table));
        if !known && !self.is("unknown-table-is-empty") {
            return Err(Refusal::invalid(format!("there is no table {written}")));
        }
        let described = if known {
            self.engine.columns(schema, table, whole || self.is("withheld-described"))
        } else {
            Vec::new()
        };
        let mut columns: Vec<Value> = described
            .into_iter()
            .map(|(name, kind, nullable)| {
                let mut column = json!({"name": name, "type": kind, "nullable": nullable});
                if self.is("nullable-is-text") {
                    column["nullable"] = json!(nullable.to_string());
                }
                if self.is("meanings-described") {
                    column["description"] = json!(format!("The {name}."));
                }
                column
            })
            .collect();
        if self.is("columns-sorted") {
            columns.sort_by_key(|column| column["name"].as_str().map(str::to_owned));
        }
        Ok(json!({"source": schema, "table": format!("{schema}.{table}"), "columns": columns}))
    }
}
