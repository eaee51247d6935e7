//! The files that say what is served: `executor.json`, and the access rules and catalog that it names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::access::{RuleError, Rules};
use crate::catalog::{Catalog, CatalogError};
use crate::engine::{LoadError, SourceConfig, load};
use crate::warehouse::Warehouse;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    sources: Vec<SourceConfig>,
    catalog: PathBuf,
    access: PathBuf,
}

/// What is served, read from the files and checked.
#[derive(Debug, Clone)]
pub struct Content {
    /// The sources with their tables.
    pub warehouse: Arc<Warehouse>,
    /// Who may see what.
    pub rules: Arc<Rules>,
    /// What it means.
    pub catalog: Arc<Catalog>,
}

/// Why the files cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("{path:?} cannot be read")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not of the expected form.
    #[error("{path:?} is not of the expected form")]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// There are no sources.
    #[error("{path:?} names no source")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A source cannot be served.
    #[error("a source cannot be served")]
    Source(#[from] LoadError),
    /// An access rule protects nothing.
    #[error("an access rule is mistaken")]
    Rule(#[from] RuleError),
    /// The catalog cannot be served.
    #[error("the catalog cannot be served")]
    Catalog(#[from] CatalogError),
}

impl Content {
    /// Reads everything that the configuration file names; paths in it are relative to its own folder.
    ///
    /// # Errors
    ///
    /// The first thing that cannot be served.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let base = path.parent().unwrap_or(Path::new("."));
        let file: File = parse(path)?;
        if file.sources.is_empty() {
            return Err(ConfigError::Empty { path: path.to_owned() });
        }
        let warehouse = load(&file.sources, base)?;
        let rules: Rules = parse(&base.join(&file.access))?;
        rules.check(&warehouse)?;
        let catalog = Catalog::parse(&text(&base.join(&file.catalog))?)?;
        Ok(Self { warehouse: Arc::new(warehouse), rules: Arc::new(rules), catalog: Arc::new(catalog) })
    }
}

fn text(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })
}

fn parse<T: DeserializeOwned>(path: &Path) -> Result<T, ConfigError> {
    serde_json::from_str(&text(path)?).map_err(|source| ConfigError::Form { path: path.to_owned(), source })
}
