//! Reads at the start what tables and columns each source has.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use serde::Deserialize;

use super::connection;
use crate::warehouse::{Column, Source, Table, Warehouse};

/// One source as it is configured.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceConfig {
    /// The name that callers use.
    pub name: String,
    /// The kind of engine; `sqlite` is the only one there is.
    pub kind: String,
    /// The database file, relative to the configuration file.
    pub path: PathBuf,
    /// The schema name that qualifies its tables.
    pub schema: String,
    /// One sentence for people and models.
    #[serde(default)]
    pub description: String,
}

/// Why the sources cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The kind is not one that is known.
    #[error("source {name:?} is of the kind {kind:?}; only sqlite is known")]
    Kind {
        /// The source.
        name: String,
        /// Its kind.
        kind: String,
    },
    /// The schema name is no plain name, or one that the engine uses itself.
    #[error("source {name:?} has the schema name {schema:?}, which is not usable")]
    Schema {
        /// The source.
        name: String,
        /// Its schema.
        schema: String,
    },
    /// Two sources share a name or a schema.
    #[error("the source name or schema {name:?} is used twice")]
    Twice {
        /// The name.
        name: String,
    },
    /// The file cannot be read as a database.
    #[error("source {name:?} cannot be read from {path:?}")]
    Unreadable {
        /// The source.
        name: String,
        /// The file.
        path: PathBuf,
        /// What the engine said.
        source: rusqlite::Error,
    },
}

/// Reads the tables of all sources.
///
/// # Errors
///
/// The first source that cannot be served.
pub fn load(configs: &[SourceConfig], base: &Path) -> Result<Warehouse, LoadError> {
    let mut sources: Vec<Source> = Vec::with_capacity(configs.len());
    for config in configs {
        check(config)?;
        if sources.iter().any(|known| {
            known.name.eq_ignore_ascii_case(&config.name) || known.schema.eq_ignore_ascii_case(&config.schema)
        }) {
            return Err(LoadError::Twice { name: config.name.clone() });
        }
        let mut source = Source {
            name: config.name.clone(),
            kind: config.kind.clone(),
            description: config.description.clone(),
            schema: config.schema.clone(),
            path: base.join(&config.path),
            tables: Vec::new(),
        };
        source.tables = tables(&source).map_err(|err| LoadError::Unreadable {
            name: config.name.clone(),
            path: source.path.clone(),
            source: err,
        })?;
        sources.push(source);
    }
    Ok(Warehouse::new(sources))
}

fn check(config: &SourceConfig) -> Result<(), LoadError> {
    if config.kind != "sqlite" {
        return Err(LoadError::Kind { name: config.name.clone(), kind: config.kind.clone() });
    }
    let plain = config.schema.starts_with(|sign: char| sign.is_ascii_alphabetic())
        && config.schema.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_');
    let lower = config.schema.to_ascii_lowercase();
    if !plain || matches!(lower.as_str(), "main" | "temp") || lower.starts_with("sqlite_") {
        return Err(LoadError::Schema { name: config.name.clone(), schema: config.schema.clone() });
    }
    Ok(())
}

fn tables(source: &Source) -> rusqlite::Result<Vec<Table>> {
    let connection = Connection::open_in_memory_with_flags(
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI,
    )?;
    connection::attach(&connection, source)?;
    // Virtual tables and what lies behind them are left out: the same data stands there under other names.
    let mut names = connection.prepare(
        "SELECT name FROM pragma_table_list WHERE schema = ?1 AND type IN ('table', 'view') \
         AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
    )?;
    let names = names
        .query_map([&source.schema], |row| row.get::<_, String>(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    names
        .into_iter()
        .map(|name| {
            let mut columns = connection.prepare(
                "SELECT name, type, \"notnull\", pk FROM pragma_table_xinfo(?1, ?2) WHERE hidden <> 1 ORDER BY cid",
            )?;
            let columns = columns
                .query_map([&name, &source.schema], |row| {
                    Ok(Column {
                        name: row.get(0)?,
                        data_type: row.get(1)?,
                        nullable: row.get::<_, i64>(2)? == 0 && row.get::<_, i64>(3)? == 0,
                    })
                })?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(Table { name, columns })
        })
        .collect()
}
