//! A connection for one statement: in memory, with one source attached for reading, and everything else switched off.

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use tokio::time::Instant;

use super::functions;
use crate::warehouse::Source;

/// The most memory that the engine takes, over all statements that run, in bytes.
const HEAP_BYTES: u64 = 256 * 1024 * 1024;

/// How many of the engine's steps lie between two looks at the clock; some tens of microseconds.
const STEPS: i32 = 1_000;

/// Bounds on what a statement can make the engine do between two steps, where the time limit cannot stop it.
const LIMITS: &[(Limit, i32)] = &[
    (Limit::SQLITE_LIMIT_LENGTH, 1_000_000),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 200_000),
    (Limit::SQLITE_LIMIT_COLUMN, 500),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 500),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 100),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 50),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 0),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// Opens a connection on which only `source` can be read, and which stops at the deadline.
///
/// # Errors
///
/// When the file cannot be opened.
pub(super) fn open(source: &Source, deadline: Instant) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory_with_flags(
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.execute_batch(&format!(
        "PRAGMA hard_heap_limit = {HEAP_BYTES}; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;"
    ))?;
    attach(&connection, source)?;
    // The last pragma that works: from here on, the connection refuses to write.
    connection.execute_batch("PRAGMA query_only = ON")?;
    for (config, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        // A misspelt "name" must be an error, not a text.
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
    ] {
        connection.set_db_config(config, on)?;
    }
    functions::register(&connection)?;
    for (limit, value) in LIMITS {
        connection.set_limit(*limit, *value)?;
    }
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 1)?;
    connection.progress_handler(STEPS, Some(move || Instant::now() >= deadline))?;
    Ok(connection)
}

/// Attaches the source's file under its schema name, for reading only.
///
/// # Errors
///
/// When the file is not there or is no database.
pub(super) fn attach(connection: &Connection, source: &Source) -> rusqlite::Result<()> {
    let uri = format!("file:{}?mode=ro", encoded(&source.path.to_string_lossy()));
    let schema = source.schema.replace('"', "\"\"");
    connection.execute(&format!("ATTACH DATABASE ?1 AS \"{schema}\""), [uri])?;
    Ok(())
}

/// The signs that mean something in a URI, written so that they do not.
fn encoded(path: &str) -> String {
    path.replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}
