//! One statement on one connection: preparing, stepping, and turning values into JSON.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode};
use serde_json::{Number, Value};
use tokio::time::Instant;

use super::{Limits, connection, lock};
use crate::access::View;
use crate::guard::Checked;
use crate::refusal::{Failure, Refusal};
use crate::warehouse::{Source, TableId, Warehouse};

/// What a statement gave.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) columns: Vec<String>,
    pub(super) values: Vec<Vec<Value>>,
    pub(super) truncated: bool,
}

/// A checked statement and what it runs within.
#[derive(Debug)]
pub(super) struct Read<'a> {
    pub(super) view: View<'a>,
    pub(super) source: &'a Source,
    pub(super) checked: &'a Checked,
    pub(super) max_rows: usize,
    pub(super) limits: Limits,
    pub(super) deadline: Instant,
}

impl Read<'_> {
    pub(super) fn run(&self) -> Result<Rows, Failure> {
        let mut connection = connection::open(self.source, self.deadline)?;
        let tables = self.view.warehouse.tables_of(self.source);
        let denied = lock::set(&mut connection, self.view, self.source, tables)?;
        self.fetch(&connection).map_err(|err| match denied.take() {
            Some(refusal) => {
                // Views come to this, since the guard does not see what they read.
                tracing::warn!(code = refusal.code.as_str(), "the engine's lock refused a statement");
                refusal.into()
            }
            None => self.explain(err),
        })
    }

    fn fetch(&self, connection: &Connection) -> rusqlite::Result<Rows> {
        let mut statement = connection.prepare(&self.checked.sql)?;
        let mut result =
            Rows { columns: statement.column_names().map(str::to_owned).collect(), ..Rows::default() };
        let width = result.columns.len();
        let mut bytes = 0_usize;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if result.values.len() == self.max_rows {
                result.truncated = true;
                break;
            }
            let mut values = Vec::with_capacity(width);
            for column in 0..width {
                let value = row.get_ref(column)?;
                bytes = bytes.saturating_add(size(value));
                values.push(json(value));
            }
            if bytes > self.limits.max_bytes {
                result.truncated = true;
                break;
            }
            result.values.push(values);
        }
        Ok(result)
    }

    /// What the caller is told about an error of the engine.
    fn explain(&self, err: rusqlite::Error) -> Failure {
        match code(&err) {
            Some(ErrorCode::OperationInterrupted) => Refusal::timeout(format!(
                "the statement was stopped after {} s; narrow it, or aggregate less",
                self.limits.timeout.as_secs()
            ))
            .into(),
            Some(ErrorCode::OutOfMemory) => {
                Refusal::invalid("the statement needs more memory than it may have; narrow it").into()
            }
            Some(ErrorCode::TooBig) => {
                Refusal::invalid("a text in the statement or its result is too long").into()
            }
            Some(ErrorCode::Unknown | ErrorCode::TypeMismatch | ErrorCode::ConstraintViolation) => {
                self.mistake(&message(&err)).into()
            }
            Some(_) | None => Failure::Engine(err),
        }
    }

    /// The statement is mistaken. A column that cannot be found may be one that is kept from the caller.
    fn mistake(&self, message: &str) -> Refusal {
        let Some(name) = message.strip_prefix("no such column: ") else {
            return Refusal::invalid(message.to_owned());
        };
        // Behind a quoted name the engine asks whether a text was meant.
        let bare = name.split(" - ").next().unwrap_or(name);
        let column = bare.rsplit('.').next().unwrap_or(bare).trim_matches('"');
        for id in &self.checked.tables {
            if let Some(kept) =
                self.view.withheld(*id).iter().find(|kept| kept.name.eq_ignore_ascii_case(column))
            {
                return Refusal::access(format!(
                    "the column {}.{} is withheld from your role",
                    self.view.warehouse.qualified(*id),
                    kept.name
                ));
            }
        }
        let known: Vec<String> = self
            .checked
            .tables
            .iter()
            .map(|id| {
                let columns: Vec<&str> =
                    self.view.visible(*id).iter().map(|column| column.name.as_str()).collect();
                format!("{} has {}", self.view.warehouse.qualified(*id), columns.join(", "))
            })
            .collect();
        if known.is_empty() {
            return Refusal::invalid(format!("there is no column {name}"));
        }
        Refusal::invalid(format!("there is no column {name}; {}", known.join("; ")))
    }
}

/// Counts the rows of one table, or gives nothing when that takes too long.
pub(super) fn count(warehouse: &Warehouse, id: TableId, deadline: Instant) -> Result<Option<u64>, Failure> {
    let (Some(source), Some(table)) = (warehouse.source_of(id), warehouse.table(id)) else {
        return Ok(None);
    };
    let connection = connection::open(source, deadline)?;
    let sql = format!(
        "SELECT count(*) FROM \"{}\".\"{}\"",
        source.schema.replace('"', "\"\""),
        table.name.replace('"', "\"\"")
    );
    let counted = connection.query_row(&sql, [], |row| row.get::<_, i64>(0));
    match counted {
        Ok(count) => Ok(u64::try_from(count).ok()),
        Err(err) if code(&err) == Some(ErrorCode::OperationInterrupted) => Ok(None),
        Err(err) => Err(err.into()),
    }
}

/// The engine's code, also when the library has put the statement beside it.
fn code(err: &rusqlite::Error) -> Option<ErrorCode> {
    if let rusqlite::Error::SqlInputError { error, .. } = err {
        return Some(error.code);
    }
    err.sqlite_error_code()
}

/// The engine's message without the statement, which the library would put behind it.
fn message(err: &rusqlite::Error) -> String {
    if let rusqlite::Error::SqlInputError { msg, .. } | rusqlite::Error::SqliteFailure(_, Some(msg)) = err {
        return msg.clone();
    }
    "the statement failed".to_owned()
}

fn size(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Null | ValueRef::Blob(_) => 8,
        ValueRef::Integer(_) | ValueRef::Real(_) => 20,
        ValueRef::Text(text) => text.len() + 3,
    }
}

/// JSON has no infinity and no bytes; both become a text that says what they are.
fn json(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(integer) => Value::from(integer),
        ValueRef::Real(real) => Number::from_f64(real)
            .map_or_else(|| Value::from(if real > 0.0 { "Infinity" } else { "-Infinity" }), Value::Number),
        ValueRef::Text(text) => Value::from(String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => Value::from(format!("[blob, {} bytes]", bytes.len())),
    }
}
