//! What a caller may see: the union of the rights of the caller's roles.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::refusal::Refusal;
use crate::warehouse::{Column, Source, TableId, Warehouse};

/// The access rules as they are written in `access.json`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The roles by name, as tokens carry them.
    pub roles: BTreeMap<String, Role>,
}

/// One role: the sources that it opens.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// The sources by name; a source that is not named is closed to the role.
    #[serde(default)]
    pub sources: BTreeMap<String, Grant>,
}

/// What a role may see of one source.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The columns it may not see, each as `schema.table.column`. A generated column that is made from one of them is a
    /// column of its own, and has to be named as well.
    #[serde(default)]
    pub withheld: Vec<String>,
}

/// A rule that names something which does not exist, and so protects nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The role opens a source that is not configured.
    #[error("role {role:?} names the source {source_name:?}, which is not configured")]
    NoSource {
        /// The role.
        role: String,
        /// The name that was not found.
        source_name: String,
    },
    /// A withheld column does not exist in that source.
    #[error("role {role:?} withholds {column:?}, which is no schema.table.column of that source")]
    NoColumn {
        /// The role.
        role: String,
        /// The name that was not found.
        column: String,
    },
}

impl Rules {
    /// Checks that every name in the rules exists, so that a misspelt one cannot leave a column open.
    ///
    /// # Errors
    ///
    /// The first name that does not exist.
    pub fn check(&self, warehouse: &Warehouse) -> Result<(), RuleError> {
        for (role, rule) in &self.roles {
            for (name, grant) in &rule.sources {
                let source = warehouse
                    .source(name)
                    .ok_or_else(|| RuleError::NoSource { role: role.clone(), source_name: name.clone() })?;
                for column in &grant.withheld {
                    if !exists(warehouse, source, column) {
                        return Err(RuleError::NoColumn { role: role.clone(), column: column.clone() });
                    }
                }
            }
        }
        Ok(())
    }

    /// The rights of a caller with these roles: a source is open when any role opens it, and a column is withheld
    /// only when every role that opens its source withholds it. Roles that the rules do not name give nothing.
    pub fn rights(&self, roles: &[String]) -> Rights {
        let mut sources: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for role in roles.iter().filter_map(|role| self.roles.get(role)) {
            for (name, grant) in &role.sources {
                let withheld: BTreeSet<String> =
                    grant.withheld.iter().map(|column| column.to_ascii_lowercase()).collect();
                sources
                    .entry(name.to_ascii_lowercase())
                    .and_modify(|both| both.retain(|column| withheld.contains(column)))
                    .or_insert(withheld);
            }
        }
        Rights { sources }
    }
}

fn exists(warehouse: &Warehouse, source: &Source, written: &str) -> bool {
    let mut parts = written.splitn(3, '.');
    let (Some(schema), Some(table), Some(column)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    source.schema.eq_ignore_ascii_case(schema)
        && warehouse
            .find(schema, table)
            .and_then(|id| warehouse.table(id))
            .is_some_and(|table| table.columns.iter().any(|known| known.name.eq_ignore_ascii_case(column)))
}

/// What one caller may see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rights {
    /// Open sources by lower-case name, each with its withheld columns as lower-case `schema.table.column`.
    sources: BTreeMap<String, BTreeSet<String>>,
}

impl Rights {
    /// Turns away a caller who has no role on any source.
    ///
    /// # Errors
    ///
    /// `access`.
    pub fn require_any(&self) -> Result<(), Refusal> {
        if self.sources.is_empty() {
            return Err(Refusal::access(
                "your account has no role on any source; ask the owner of the data for access",
            ));
        }
        Ok(())
    }

    /// Whether the caller may use this source.
    pub fn allows(&self, source: &Source) -> bool {
        self.sources.contains_key(&source.name.to_ascii_lowercase())
    }

    /// Turns away a caller who may not use this source.
    ///
    /// # Errors
    ///
    /// `access`, naming the source.
    pub fn require(&self, source: &Source) -> Result<(), Refusal> {
        if self.allows(source) {
            return Ok(());
        }
        Err(Refusal::access(format!("your account has no role on the source {}", source.name)))
    }

    /// Whether this column is kept from the caller; also true for every column of a closed source.
    pub fn withholds(&self, source: &Source, table: &str, column: &str) -> bool {
        self.sources.get(&source.name.to_ascii_lowercase()).is_none_or(|withheld| {
            withheld.contains(&format!("{}.{table}.{column}", source.schema).to_ascii_lowercase())
        })
    }
}

/// The warehouse as one caller sees it.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Everything there is.
    pub warehouse: &'a Warehouse,
    /// What the caller may see of it.
    pub rights: &'a Rights,
}

impl<'a> View<'a> {
    /// The sources that the caller may use.
    pub fn sources(&self) -> impl Iterator<Item = &'a Source> {
        let rights = self.rights;
        self.warehouse.sources().iter().filter(|source| rights.allows(source))
    }

    /// The columns of a table that the caller may see, in their declared order.
    pub fn visible(&self, id: TableId) -> Vec<&'a Column> {
        self.columns(id, false)
    }

    /// The columns of a table that are kept from the caller.
    pub fn withheld(&self, id: TableId) -> Vec<&'a Column> {
        self.columns(id, true)
    }

    fn columns(&self, id: TableId, withheld: bool) -> Vec<&'a Column> {
        match (self.warehouse.source_of(id), self.warehouse.table(id)) {
            (Some(source), Some(table)) => table
                .columns
                .iter()
                .filter(|column| self.rights.withholds(source, &table.name, &column.name) == withheld)
                .collect(),
            _ => Vec::new(),
        }
    }
}
