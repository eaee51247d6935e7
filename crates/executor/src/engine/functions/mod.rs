//! The functions that the engine lacks, and replacements of those that could run past the time limit.

mod aggregates;
mod dates;
mod moment;
mod numbers;
mod patterns;
mod texts;

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

/// Every function here gives the same result for the same arguments and touches nothing else.
const PURE: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS);

/// Adds all functions to a connection.
///
/// # Errors
///
/// When the engine does not take one.
pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    aggregates::register(connection)?;
    dates::register(connection)?;
    numbers::register(connection)?;
    patterns::register(connection)?;
    texts::register(connection)
}

/// An error with a message for the caller, who must not learn a row's value from it.
fn mistake(message: String) -> rusqlite::Error {
    rusqlite::Error::UserFunctionError(message.into())
}
