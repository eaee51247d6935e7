//! The arguments of each tool, read strictly: an unknown or misspelt one is a mistake that the caller hears of.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Tool;
use crate::refusal::Refusal;

/// `list_sources` takes none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListSources {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListTables {
    #[serde(default)]
    pub(super) source: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DescribeTable {
    pub(super) table: String,
    #[serde(default)]
    pub(super) source: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RunQuery {
    pub(super) sql: String,
    #[serde(default)]
    pub(super) source: Option<String>,
    #[serde(default)]
    pub(super) max_rows: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct SearchMetadata {
    pub(super) query: String,
    #[serde(default)]
    pub(super) entity_type: Option<String>,
    #[serde(default)]
    pub(super) limit: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct GetEntityDetails {
    pub(super) entity_type: String,
    pub(super) fqn: String,
}

/// Reads a tool's arguments.
///
/// # Errors
///
/// `invalid`, saying which argument is wrong.
pub(super) fn parse<T: DeserializeOwned>(tool: Tool, arguments: Map<String, Value>) -> Result<T, Refusal> {
    T::deserialize(Value::Object(arguments))
        .map_err(|err| Refusal::invalid(format!("the arguments of {} are wrong: {err}", tool.name())))
}

/// A number of rows or hits: at least one, and no more than there may be.
///
/// # Errors
///
/// `invalid` for none or less.
pub(super) fn at_least_one(name: &str, given: i64) -> Result<usize, Refusal> {
    usize::try_from(given)
        .ok()
        .filter(|given| *given > 0)
        .ok_or_else(|| Refusal::invalid(format!("{name} must be at least 1")))
}
