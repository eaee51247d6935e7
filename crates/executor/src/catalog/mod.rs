//! The catalog: what the sources' data means, in the words of the people who own it.

mod entity;
mod search;
mod words;

pub use entity::{CatalogError, EntityType};

use serde_json::{Map, Value, json};

use crate::access::View;
use crate::refusal::Refusal;
use entity::Entity;

/// How many hits a search gives when it does not say.
pub const DEFAULT_LIMIT: usize = 10;
/// The most hits that a search gives.
pub const MAX_LIMIT: usize = 50;

/// All entities, indexed for search. Does not change while the process lives.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    entities: Vec<Entity>,
    index: search::Index,
}

impl Catalog {
    /// Reads a catalog from its file's content: `{"entities": [...]}`, each as [`Catalog::details`] gives it.
    ///
    /// # Errors
    ///
    /// What is wrong with the first entity that cannot be served.
    pub fn parse(text: &str) -> Result<Self, CatalogError> {
        let entities = entity::parse_all(text)?;
        let index = search::Index::new(&entities);
        Ok(Self { entities, index })
    }

    /// How many entities there are.
    pub fn len(&self) -> usize {
        self.entities.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// Finds entities by words, the best first; equal ones in the order of their names.
    ///
    /// Only what the caller may see is searched: neither tables of closed sources nor the names and descriptions of
    /// withheld columns.
    ///
    /// # Errors
    ///
    /// `invalid` for a query without words, `access` for a caller without any role.
    pub fn search(
        &self,
        view: View<'_>,
        query: &str,
        only: Option<EntityType>,
        limit: usize,
    ) -> Result<Map<String, Value>, Refusal> {
        view.rights.require_any()?;
        if query.trim().is_empty() {
            return Err(Refusal::invalid("the query is empty; give the words to look for"));
        }
        let found = self.index.search(&self.entities, view, query, only);
        let results: Vec<Value> = found
            .iter()
            .take(limit)
            .filter_map(|position| self.entities.get(*position))
            .map(Entity::summary)
            .collect();
        let mut result = Map::new();
        result.insert("query".to_owned(), json!(query));
        result.insert("totalFound".to_owned(), json!(found.len()));
        result.insert("results".to_owned(), json!(results));
        Ok(result)
    }

    /// The whole of one entity, less what the caller may not see of it.
    ///
    /// # Errors
    ///
    /// `invalid` when there is no such entity, `access` when it is a table of a closed source.
    pub fn details(
        &self,
        view: View<'_>,
        entity_type: EntityType,
        fqn: &str,
    ) -> Result<Map<String, Value>, Refusal> {
        view.rights.require_any()?;
        let named = || self.entities.iter().filter(|entity| entity.fqn.eq_ignore_ascii_case(fqn.trim()));
        match named().find(|entity| entity.kind == entity_type) {
            Some(entity) => entity.details(view),
            None => Err(match named().next() {
                Some(other) => Refusal::invalid(format!(
                    "{} is no {} but a {}",
                    other.fqn,
                    entity_type.as_str(),
                    other.kind.as_str()
                )),
                None => Refusal::invalid(format!(
                    "there is no {} {fqn:?}; search_metadata finds the fully qualified names",
                    entity_type.as_str()
                )),
            }),
        }
    }
}
