//! The tools that tell what there is: sources, tables, columns, and what the catalog says of them.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};
use serde_json::{Map, Value, json};

use super::arguments::{self, DescribeTable, GetEntityDetails, ListSources, ListTables, SearchMetadata};
use super::{Desk, Done};
use crate::access::{Rights, View};
use crate::catalog::{DEFAULT_LIMIT, EntityType, MAX_LIMIT};
use crate::engine::find_source;
use crate::refusal::{Failure, Refusal};
use crate::warehouse::TableId;

impl Desk {
    pub(super) async fn list_tables(
        &self,
        rights: &Arc<Rights>,
        ListTables { source }: ListTables,
    ) -> Result<Done, Failure> {
        let view = self.view(rights);
        let sources = match source.as_deref() {
            Some(name) => vec![find_source(view, name)?],
            None => view.sources().collect(),
        };
        let tables: Vec<TableId> =
            sources.into_iter().flat_map(|source| view.warehouse.tables_of(source)).collect();
        let counts = self.engine.counts(tables.clone()).await?;
        let listed: Vec<Value> = tables
            .iter()
            .zip(counts)
            .map(|(id, count)| {
                let mut table = Map::new();
                if let Some(source) = view.warehouse.source_of(*id) {
                    table.insert("source".to_owned(), json!(source.name));
                }
                table.insert("name".to_owned(), json!(view.warehouse.qualified(*id)));
                if let Some(count) = count {
                    table.insert("rowCount".to_owned(), json!(count));
                }
                Value::Object(table)
            })
            .collect();
        Ok(Done { source, rows: Some(listed.len()), result: one("tables", json!(listed)), ..Done::default() })
    }

    pub(super) fn search_metadata(
        &self,
        view: View<'_>,
        SearchMetadata { query, entity_type, limit }: &SearchMetadata,
    ) -> Result<Done, Refusal> {
        let only = entity_type.as_deref().map(parse_type).transpose()?;
        let limit = match limit {
            Some(limit) => arguments::at_least_one("limit", *limit)?.min(MAX_LIMIT),
            None => DEFAULT_LIMIT,
        };
        let result = self.content.catalog.search(view, query, only, limit)?;
        let rows = result.get("results").and_then(Value::as_array).map(Vec::len);
        Ok(Done { result, rows, ..Done::default() })
    }

    pub(super) fn get_entity_details(
        &self,
        view: View<'_>,
        GetEntityDetails { entity_type, fqn }: &GetEntityDetails,
    ) -> Result<Done, Refusal> {
        let result = self.content.catalog.details(view, parse_type(entity_type)?, fqn)?;
        let columns = result.get("columns").and_then(Value::as_array).map(Vec::len);
        Ok(Done { result, columns, rows: Some(1), ..Done::default() })
    }
}

pub(super) fn list_sources(view: View<'_>, ListSources {}: ListSources) -> Done {
    let sources: Vec<Value> = view
        .sources()
        .map(|source| {
            json!({
                "name": source.name,
                "kind": source.kind,
                "dialect": "sqlite",
                "description": source.description,
            })
        })
        .collect();
    Done { rows: Some(sources.len()), result: one("sources", json!(sources)), ..Done::default() }
}

pub(super) fn describe_table(
    view: View<'_>,
    DescribeTable { table, source }: &DescribeTable,
) -> Result<Done, Refusal> {
    let id = find_table(view, table, source.as_deref())?;
    let Some(of) = view.warehouse.source_of(id) else {
        return Err(Refusal::invalid("there is no such table"));
    };
    view.rights.require(of)?;
    let name = view.warehouse.qualified(id);
    let columns: Vec<Value> = view
        .visible(id)
        .into_iter()
        .map(|column| json!({"name": column.name, "type": column.data_type, "nullable": column.nullable}))
        .collect();
    let mut result = one("source", json!(of.name));
    result.insert("table".to_owned(), json!(name));
    result.insert("columns".to_owned(), json!(columns));
    Ok(Done {
        result,
        source: Some(of.name.clone()),
        tables: vec![name],
        columns: Some(columns.len()),
        rows: None,
    })
}

/// The table that a caller has written, with or without its schema.
fn find_table(view: View<'_>, written: &str, source: Option<&str>) -> Result<TableId, Refusal> {
    let Some(name) = source else {
        // A closed source is refused as such, whether or not it has this table.
        if let Some((schema, _)) = written.split_once('.')
            && let Some(closed) = view.warehouse.source_of_schema(schema)
        {
            view.rights.require(closed)?;
        }
        return view.warehouse.resolve(written);
    };
    let source = find_source(view, name)?;
    let table = match written.split_once('.') {
        Some((schema, table)) if schema.eq_ignore_ascii_case(&source.schema) => table,
        Some(_) => {
            return Err(Refusal::invalid(format!("{written} is no table of the source {}", source.name)));
        }
        None => written,
    };
    view.warehouse.find(&source.schema, table).ok_or_else(|| {
        Refusal::invalid(format!(
            "the source {} has no table {table:?}; list_tables lists its tables",
            source.name
        ))
    })
}

fn parse_type(name: &str) -> Result<EntityType, Refusal> {
    let deserializer: StrDeserializer<'_, ValueError> = name.into_deserializer();
    EntityType::deserialize(deserializer).map_err(|_unknown| {
        Refusal::invalid(format!(
            "there is no entityType {name:?}; there are {}",
            EntityType::NAMES.join(", ")
        ))
    })
}

fn one(name: &str, value: Value) -> Map<String, Value> {
    let mut result = Map::new();
    result.insert(name.to_owned(), value);
    result
}
