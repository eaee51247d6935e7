//! The second lock: the engine's authorizer, which denies what the guard should already have turned down.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use crate::access::View;
use crate::guard;
use crate::refusal::Refusal;
use crate::warehouse::{Source, TableId};

/// What the lock has denied, kept for the message.
#[derive(Debug, Clone, Default)]
pub(super) struct Denied(Arc<Mutex<Option<Refusal>>>);

impl Denied {
    /// The first denial, if there was one.
    pub(super) fn take(&self) -> Option<Refusal> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn record(&self, refusal: Refusal) -> Authorization {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(refusal);
        Authorization::Deny
    }
}

/// The tables that one statement may read, each with the columns that it may not.
#[derive(Debug, Default)]
struct Readable {
    schema: String,
    tables: HashMap<String, HashSet<String>>,
}

/// Sets the lock: only columns of these tables that the caller may see can be read, and only allowed functions called.
///
/// The view is on the whole source and not only on the tables that the statement names, since a view in the database reads
/// tables of its own.
///
/// # Errors
///
/// When the engine does not take it.
pub(super) fn set(
    connection: &mut Connection,
    view: View<'_>,
    source: &Source,
    tables: impl Iterator<Item = TableId>,
) -> rusqlite::Result<Denied> {
    let mut readable = Readable { schema: source.schema.to_ascii_lowercase(), tables: HashMap::new() };
    for id in tables {
        if let Some(table) = view.warehouse.table(id) {
            let withheld = view.withheld(id).iter().map(|column| column.name.to_ascii_lowercase()).collect();
            readable.tables.insert(table.name.to_ascii_lowercase(), withheld);
        }
    }
    let denied = Denied::default();
    let record = denied.clone();
    connection.authorizer(Some(move |context: AuthContext<'_>| judge(&readable, &record, context)))?;
    Ok(denied)
}

fn judge(readable: &Readable, denied: &Denied, context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Recursive => Authorization::Allow,
        AuthAction::Read { table_name, column_name } => {
            read(readable, denied, context.database_name, table_name, column_name)
        }
        AuthAction::Function { function_name } => {
            if guard::is_allowed_function(function_name) || matches!(function_name, "->" | "->>") {
                Authorization::Allow
            } else {
                denied.record(Refusal::guard(format!("the function {function_name} is not allowed")))
            }
        }
        _ => denied.record(Refusal::guard("only SELECT statements over the sources' tables run here")),
    }
}

fn read(
    readable: &Readable,
    denied: &Denied,
    database: Option<&str>,
    table: &str,
    column: &str,
) -> Authorization {
    let lower = table.to_ascii_lowercase();
    let Some(database) = database else {
        // A WITH name or subquery of which no column is used; the guard has found out what it is.
        return if column.is_empty() && !lower.starts_with("sqlite_") {
            Authorization::Allow
        } else {
            denied.record(Refusal::guard(format!("{table} cannot be read")))
        };
    };
    let withheld = readable.tables.get(&lower).filter(|_| database.eq_ignore_ascii_case(&readable.schema));
    match withheld {
        None => denied.record(Refusal::guard(format!("{database}.{table} cannot be read"))),
        Some(withheld) if withheld.contains(&column.to_ascii_lowercase()) => {
            denied.record(Refusal::access(format!(
                "the column {database}.{table}.{} is withheld from your role",
                column.to_ascii_lowercase()
            )))
        }
        Some(_) => Authorization::Allow,
    }
}
