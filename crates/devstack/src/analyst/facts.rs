//! What is known of sources, tables and catalog, collected from the look-ups of the whole dialogue.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    entity::{Column, Entity, EntityKind, Source, Table},
    exchange::{Exchange, Observation},
    values::listed_values,
};

/// Everything known.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Facts {
    pub(crate) sources: Vec<Source>,
    pub(crate) tables: Vec<Table>,
    pub(crate) entities: Vec<Entity>,
    /// Whether the tables were listed, so that a missing one does not exist for this caller.
    pub(crate) tables_listed: bool,
    /// Look-ups made, as `tool argument`, whatever they brought.
    pub(crate) done: BTreeSet<String>,
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().trim().to_owned()
}

fn list<'value>(value: &'value Value, key: &str) -> &'value [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    list(value, key)
        .iter()
        .filter_map(|item| item.as_str().or_else(|| item.get("fullyQualifiedName")?.as_str()))
        .map(ToOwned::to_owned)
        .collect()
}

fn tags(value: &Value) -> Vec<String> {
    let tags = list(value, "tags").iter();
    tags.map(|tag| text(tag, "tagFQN")).collect()
}

impl Facts {
    /// The facts that `exchanges` brought to light; those of the catalog only when it may be used.
    pub(crate) fn from(exchanges: &[Exchange], with_catalog: bool) -> Self {
        let mut facts = Self::default();
        for observation in exchanges.iter().flat_map(|exchange| &exchange.observations) {
            let of_catalog = ["search_metadata", "get_entity_details"].contains(&observation.tool.as_str());
            if with_catalog || !of_catalog {
                facts.learn(observation);
            }
        }
        facts
    }

    fn learn(&mut self, observation: &Observation) {
        let argument = ["query", "fqn", "table", "source"]
            .iter()
            .map(|name| observation.arg(name))
            .find(|value| !value.is_empty())
            .unwrap_or_default();
        self.done.insert(mark(&observation.tool, argument));
        if observation.is_error {
            return;
        }
        let result = &observation.result;
        match observation.tool.as_str() {
            "list_sources" => {
                for found in list(result, "sources") {
                    let name = text(found, "name");
                    if !self.sources.iter().any(|source| source.name == name) {
                        let description = text(found, "description");
                        self.sources.push(Source { name, description });
                    }
                }
            }
            "list_tables" => {
                self.tables_listed = true;
                for found in list(result, "tables") {
                    self.table_named(&text(found, "name"), &text(found, "source"));
                }
            }
            "describe_table" => {
                let (name, source) = (text(result, "table"), text(result, "source"));
                self.describe(&name, &source, list(result, "columns"));
            }
            "search_metadata" => {
                for found in list(result, "results") {
                    self.entity(found, false);
                }
            }
            "get_entity_details" => self.entity(result, true),
            _ => {}
        }
    }

    fn table_named(&mut self, name: &str, source: &str) -> Option<&mut Table> {
        let known = self.tables.iter().position(|table| table.name == name);
        let at = known.unwrap_or_else(|| {
            let schema = name.split_once('.').map_or("", |(schema, _)| schema);
            self.tables.push(Table {
                source: if source.is_empty() { schema } else { source }.to_owned(),
                name: name.to_owned(),
                columns: Vec::new(),
            });
            self.tables.len() - 1
        });
        self.tables.get_mut(at)
    }

    fn describe(&mut self, name: &str, source: &str, columns: &[Value]) {
        let listed = self.tables_listed;
        let known = self.tables.iter().any(|table| table.name == name);
        // The catalog may know tables that this caller may not see or that are gone.
        if name.is_empty() || (listed && !known) {
            return;
        }
        let Some(table) = self.table_named(name, source) else {
            return;
        };
        for found in columns {
            let column = Column {
                name: text(found, "name"),
                kind: ["dataType", "type"]
                    .iter()
                    .map(|key| text(found, key).to_uppercase())
                    .find(|kind| !kind.is_empty())
                    .unwrap_or_default(),
                description: text(found, "description"),
                personal: tags(found).iter().any(|tag| tag.starts_with("PII")),
                values: listed_values(&text(found, "description")),
            };
            match table.columns.iter_mut().find(|known| known.name == column.name) {
                Some(known) if known.description.is_empty() => *known = column,
                Some(_) => {}
                None => table.columns.push(column),
            }
        }
    }

    fn entity(&mut self, found: &Value, detailed: bool) {
        let kind = match text(found, "entityType").as_str() {
            "glossaryTerm" => EntityKind::Term,
            "metric" => EntityKind::Metric,
            "table" => EntityKind::Table,
            _ => return,
        };
        let display = ["displayName", "name"]
            .iter()
            .map(|key| text(found, key))
            .find(|name| !name.is_empty())
            .unwrap_or_default();
        let description = text(found, "description");
        let deprecated =
            tags(found).iter().any(|tag| tag.contains("Deprecated")) || description.starts_with("Deprecated");
        let entity = Entity {
            kind,
            fqn: text(found, "fullyQualifiedName"),
            display,
            description,
            synonyms: texts(found, "synonyms"),
            related: texts(found, "relatedTerms"),
            assets: texts(found, "assets"),
            formula: found.pointer("/metricExpression/code").and_then(Value::as_str).map(ToOwned::to_owned),
            unit: Some(text(found, "unitOfMeasurement")).filter(|unit| !unit.is_empty()),
            deprecated,
            detailed,
        };
        if kind == EntityKind::Table && detailed {
            self.describe(&entity.fqn, "", list(found, "columns"));
        }
        match self.entities.iter_mut().find(|known| known.fqn == entity.fqn && known.kind == kind) {
            Some(known) if detailed && !known.detailed => *known = entity,
            Some(_) => {}
            None => self.entities.push(entity),
        }
    }

    /// Whether a look-up was made already.
    pub(crate) fn has_done(&self, tool: &str, argument: &str) -> bool {
        self.done.contains(&mark(tool, argument))
    }

    /// The entity of this name.
    pub(crate) fn named(&self, fqn: &str) -> Option<&Entity> {
        self.entities.iter().find(|entity| entity.fqn == fqn)
    }

    /// The entities of one kind.
    pub(crate) fn of_kind(&self, kind: EntityKind) -> impl Iterator<Item = &Entity> {
        self.entities.iter().filter(move |entity| entity.kind == kind)
    }

    /// The table of this name.
    pub(crate) fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The table and column that an asset of the catalog names; catalogs may put a service before the schema.
    pub(crate) fn asset(&self, asset: &str) -> Option<(&Table, &Column)> {
        let (table, column) = asset.rsplit_once('.')?;
        let table = self.tables.iter().find(|known| {
            known.name == table || table.strip_suffix(&known.name).is_some_and(|before| before.ends_with('.'))
        })?;
        Some((table, table.column(column)?))
    }

    /// What the catalog says of a table.
    pub(crate) fn entry_of(&self, table: &Table) -> Option<&Entity> {
        self.of_kind(EntityKind::Table)
            .find(|entity| entity.fqn == table.name || entity.fqn.ends_with(&format!(".{}", table.name)))
    }

    /// Whether the catalog marks a table as no longer to be used.
    pub(crate) fn is_deprecated(&self, table: &Table) -> bool {
        self.entry_of(table).is_some_and(|entity| entity.deprecated)
    }
}

fn mark(tool: &str, argument: &str) -> String {
    format!("{tool} {argument}")
}
