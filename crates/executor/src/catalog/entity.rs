//! One entity of the catalog: a glossary term, a metric or a table.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::access::View;
use crate::refusal::Refusal;

/// What kind of thing an entity describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EntityType {
    /// A word and what it means.
    GlossaryTerm,
    /// A figure and its formula.
    Metric,
    /// A table and its columns.
    Table,
}

impl EntityType {
    /// All types, as they are written.
    pub const NAMES: [&'static str; 3] = ["glossaryTerm", "metric", "table"];

    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GlossaryTerm => "glossaryTerm",
            Self::Metric => "metric",
            Self::Table => "table",
        }
    }
}

/// Why a catalog cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The text is no JSON of the expected form.
    #[error("the catalog is not of the form {{\"entities\": [...]}}")]
    Form(#[source] serde_json::Error),
    /// An entity lacks what every entity has.
    #[error("entity {position} of the catalog is not usable")]
    Entity {
        /// Its place in the list, from 0.
        position: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Two entities of one type have one name.
    #[error("the catalog has two entities {fqn:?} of one type")]
    Twice {
        /// Their name.
        fqn: String,
    },
}

/// An entity: what the index needs of it, and all of it as it was written.
#[derive(Debug, Clone)]
pub(super) struct Entity {
    pub(super) kind: EntityType,
    pub(super) fqn: String,
    pub(super) name: String,
    pub(super) display_name: String,
    pub(super) description: String,
    pub(super) synonyms: Vec<String>,
    pub(super) tags: Vec<String>,
    pub(super) columns: Vec<ColumnText>,
    whole: Map<String, Value>,
}

/// The words about one column of a table.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ColumnText {
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
}

#[derive(Deserialize)]
struct File {
    entities: Vec<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Known {
    entity_type: EntityType,
    fully_qualified_name: String,
    name: String,
    #[serde(default)]
    display_name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    synonyms: Vec<String>,
    #[serde(default)]
    tags: Vec<Tag>,
    #[serde(default)]
    columns: Vec<ColumnText>,
}

#[derive(Deserialize)]
struct Tag {
    #[serde(rename = "tagFQN")]
    fqn: String,
}

pub(super) fn parse_all(text: &str) -> Result<Vec<Entity>, CatalogError> {
    let file: File = serde_json::from_str(text).map_err(CatalogError::Form)?;
    let mut entities: Vec<Entity> = Vec::with_capacity(file.entities.len());
    for (position, whole) in file.entities.into_iter().enumerate() {
        let entity = parse(whole).map_err(|source| CatalogError::Entity { position, source })?;
        if entities
            .iter()
            .any(|known| known.kind == entity.kind && known.fqn.eq_ignore_ascii_case(&entity.fqn))
        {
            return Err(CatalogError::Twice { fqn: entity.fqn });
        }
        entities.push(entity);
    }
    Ok(entities)
}

fn parse(whole: Map<String, Value>) -> Result<Entity, serde_json::Error> {
    let known = Known::deserialize(Value::Object(whole.clone()))?;
    Ok(Entity {
        kind: known.entity_type,
        fqn: known.fully_qualified_name,
        display_name: if known.display_name.is_empty() { known.name.clone() } else { known.display_name },
        name: known.name,
        description: known.description,
        synonyms: known.synonyms,
        tags: known.tags.into_iter().map(|tag| tag.fqn).collect(),
        columns: known.columns,
        whole,
    })
}

impl Entity {
    /// What a search shows of it.
    pub(super) fn summary(&self) -> Value {
        json!({
            "entityType": self.kind.as_str(),
            "fullyQualifiedName": self.fqn,
            "name": self.name,
            "displayName": self.display_name,
            "description": self.description,
            "tags": self.whole.get("tags").cloned().unwrap_or_else(|| json!([])),
            "synonyms": self.synonyms,
        })
    }

    /// All of it that the caller may see.
    ///
    /// # Errors
    ///
    /// `access` for a table of a closed source.
    pub(super) fn details(&self, view: View<'_>) -> Result<Map<String, Value>, Refusal> {
        if let Some(source) = self.source(view) {
            view.rights.require(source)?;
        }
        let mut shown = self.whole.clone();
        if let Some(Value::Array(columns)) = shown.get_mut("columns") {
            let all = columns.len();
            columns.retain(|column| {
                column.get("name").and_then(Value::as_str).is_none_or(|name| !self.withholds(view, name))
            });
            let withheld = all - columns.len();
            if withheld > 0 {
                shown.insert("note".to_owned(), json!(format!("columns withheld from you: {withheld}")));
            }
        }
        if let Some(Value::Array(assets)) = shown.get_mut("assets") {
            assets.retain(|asset| asset.as_str().is_none_or(|asset| !asset_withheld(view, asset)));
        }
        Ok(shown)
    }

    /// Whether the caller may know of it at all.
    pub(super) fn is_visible(&self, view: View<'_>) -> bool {
        self.source(view).is_none_or(|source| view.rights.allows(source))
    }

    /// Whether the caller may not see this column of the table that it describes.
    pub(super) fn withholds(&self, view: View<'_>, column: &str) -> bool {
        self.kind == EntityType::Table && asset_withheld(view, &format!("{}.{column}", self.fqn))
    }

    fn source<'a>(&self, view: View<'a>) -> Option<&'a crate::warehouse::Source> {
        if self.kind != EntityType::Table {
            return None;
        }
        let (schema, _) = self.fqn.rsplit_once('.')?;
        view.warehouse.source_of_schema(schema)
    }
}

/// Whether an asset written `schema.table.column` is one that the caller may not see.
fn asset_withheld(view: View<'_>, asset: &str) -> bool {
    let mut parts = asset.splitn(3, '.');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(schema), Some(table), Some(column)) => view
            .warehouse
            .source_of_schema(schema)
            .is_some_and(|source| view.rights.withholds(source, table, column)),
        _ => false,
    }
}
