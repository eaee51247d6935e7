//! Runs checked statements on the embedded engine, on threads of its own and within limits.

mod connection;
mod functions;
mod lock;
mod pool;
mod read;
mod schema;

pub use schema::{LoadError, SourceConfig, load};

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::access::{Rights, View};
use crate::guard;
use crate::refusal::{Failure, Refusal};
use crate::warehouse::{Source, TableId, Warehouse};

/// What a statement may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most rows that a result has.
    pub max_rows: usize,
    /// The most bytes that a result's values have, as JSON.
    pub max_bytes: usize,
    /// How long a statement may wait and run, together.
    pub timeout: Duration,
}

/// A statement to run.
#[derive(Debug, Clone)]
pub struct Statement {
    /// The caller's text.
    pub sql: String,
    /// The only source it may use, when the caller named one.
    pub source: Option<String>,
    /// The most rows that the caller wants; the executor's own ceiling holds as well.
    pub max_rows: Option<usize>,
}

/// What a statement gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The source it ran on.
    pub source: String,
    /// The tables it read, as `schema.table`, in the order of their first mention.
    pub tables: Vec<String>,
    /// The names of the result's columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Value>>,
    /// Whether there would have been more rows.
    pub truncated: bool,
}

/// The engine: a few threads, each of which opens a connection for one statement and closes it afterwards.
#[derive(Debug, Clone)]
pub struct Engine {
    warehouse: Arc<Warehouse>,
    pool: pool::Pool,
    limits: Limits,
}

impl Engine {
    /// Starts the threads.
    ///
    /// # Errors
    ///
    /// When a thread cannot be started.
    pub fn start(warehouse: Arc<Warehouse>, limits: Limits, threads: usize) -> std::io::Result<Self> {
        Ok(Self { warehouse, pool: pool::Pool::start(threads)?, limits })
    }

    /// Checks a statement for a caller and runs it.
    ///
    /// # Errors
    ///
    /// A refusal of the guard; `timeout` when the limit is over, in which case the engine has stopped; [`Failure::Engine`]
    /// when a database file cannot be read.
    ///
    /// # Cancel safety
    ///
    /// The statement runs to its end or its limit when the future is dropped; its result is lost.
    pub async fn run(&self, rights: Arc<Rights>, statement: Statement) -> Result<Outcome, Failure> {
        let deadline = Instant::now() + self.limits.timeout;
        let warehouse = Arc::clone(&self.warehouse);
        let limits = self.limits;
        self.pool
            .run(deadline, move || execute(&warehouse, &rights, &statement, limits, deadline))
            .await
            .map_err(|err| self.late(err))?
    }

    /// Counts the rows of tables that the caller may use. A count that would take too long is left out.
    ///
    /// # Errors
    ///
    /// [`Failure::Engine`] when a database file cannot be read.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses the counts and nothing else.
    pub async fn counts(&self, tables: Vec<TableId>) -> Result<Vec<Option<u64>>, Failure> {
        let deadline = Instant::now() + self.limits.timeout.min(COUNT_TIME);
        let warehouse = Arc::clone(&self.warehouse);
        let none = tables.iter().map(|_| None).collect();
        let counted = self
            .pool
            .run(deadline, move || {
                tables.iter().map(|id| read::count(&warehouse, *id, deadline)).collect::<Result<Vec<_>, _>>()
            })
            .await;
        match counted {
            Ok(counts) => counts,
            Err(pool::Unserved::Late) => Ok(none),
            Err(pool::Unserved::Stopped) => Err(Failure::Stopped),
        }
    }

    /// The limits it works within.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    fn late(&self, err: pool::Unserved) -> Failure {
        match err {
            pool::Unserved::Late => Refusal::timeout(format!(
                "the engine was busy for {} s, so the statement was not run; try again later",
                self.limits.timeout.as_secs()
            ))
            .into(),
            pool::Unserved::Stopped => Failure::Stopped,
        }
    }
}

/// How long all counts of one listing may take together.
const COUNT_TIME: Duration = Duration::from_millis(500);

pub(crate) fn execute(
    warehouse: &Warehouse,
    rights: &Rights,
    statement: &Statement,
    limits: Limits,
    deadline: Instant,
) -> Result<Outcome, Failure> {
    let view = View { warehouse, rights };
    rights.require_any()?;
    let named = statement.source.as_deref().map(|name| find_source(view, name)).transpose()?;
    let checked = guard::check(&statement.sql, view)?;
    let source = one_source(view, named, &checked.tables)?;
    let max_rows = statement.max_rows.map_or(limits.max_rows, |wanted| wanted.min(limits.max_rows));
    let read = read::Read { view, source, checked: &checked, max_rows, limits, deadline };
    let rows = read.run()?;
    Ok(Outcome {
        source: source.name.clone(),
        tables: checked.tables.iter().map(|id| warehouse.qualified(*id)).collect(),
        columns: rows.columns,
        rows: rows.values,
        truncated: rows.truncated,
    })
}

/// The source of this name, if the caller may use it.
///
/// # Errors
///
/// `invalid` when there is none, `access` when it is closed to the caller.
pub fn find_source<'a>(view: View<'a>, name: &str) -> Result<&'a Source, Refusal> {
    let source = view.warehouse.source(name).ok_or_else(|| {
        let known: Vec<&str> = view.sources().map(|source| source.name.as_str()).collect();
        Refusal::invalid(format!("there is no source {name:?}; there are {}", known.join(", ")))
    })?;
    view.rights.require(source)?;
    Ok(source)
}

/// A statement runs on one source, since sources are databases of their own.
fn one_source<'a>(
    view: View<'a>,
    named: Option<&'a Source>,
    tables: &[TableId],
) -> Result<&'a Source, Refusal> {
    let mut used: Vec<&Source> = Vec::new();
    for source in tables.iter().filter_map(|id| view.warehouse.source_of(*id)) {
        if !used.iter().any(|known| known.name == source.name) {
            used.push(source);
        }
    }
    match (used.as_slice(), named) {
        ([only], None) => Ok(only),
        ([only], Some(named)) if only.name == named.name => Ok(only),
        ([only], Some(named)) => Err(Refusal::invalid(format!(
            "the statement reads a table of the source {}, but the call names the source {}",
            only.name, named.name
        ))),
        ([], Some(named)) => Ok(named),
        ([], None) => view
            .sources()
            .next()
            .ok_or_else(|| Refusal::invalid("there is no source to run the statement on")),
        (several, _) => Err(Refusal::invalid(format!(
            "a statement reads one source, and this one reads {}; ask each source by a statement of its own",
            several.iter().map(|source| source.name.as_str()).collect::<Vec<_>>().join(" and ")
        ))),
    }
}
