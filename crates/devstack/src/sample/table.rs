//! One table of the sample data and how it is put into an SQLite file.

use std::path::Path;

use rusqlite::{Connection, params_from_iter, types::Value};

/// A table: its columns in order, each with its declared type, and its rows.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [(&'static str, &'static str)],
    pub(crate) rows: Vec<Vec<Value>>,
}

impl Table {
    fn create(&self) -> String {
        let columns: Vec<String> = self.columns.iter().map(|(name, kind)| format!("{name} {kind}")).collect();
        format!("CREATE TABLE {} ({})", self.name, columns.join(", "))
    }

    fn insert(&self) -> String {
        let marks = vec!["?"; self.columns.len()].join(", ");
        format!("INSERT INTO {} VALUES ({marks})", self.name)
    }
}

/// Writes `tables` into a new SQLite file at `path`.
pub(crate) fn write(path: &Path, tables: &[Table]) -> rusqlite::Result<()> {
    let mut connection = Connection::open(path)?;
    // The file is thrown away when anything fails, so there is nothing for a journal to save.
    connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
    let transaction = connection.transaction()?;
    for table in tables {
        transaction.execute_batch(&table.create())?;
        let mut insert = transaction.prepare(&table.insert())?;
        for row in &table.rows {
            insert.execute(params_from_iter(row))?;
        }
    }
    transaction.commit()?;
    connection.close().map_err(|(_, err)| err)
}

/// An amount of money, given in cents.
pub(crate) fn money(cents: i64) -> Value {
    // Amounts stay far below 2^52 cents, where every cent is still exact.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    Value::Real(cents as f64 / 100.0)
}

/// A text value.
pub(crate) fn text(value: impl Into<String>) -> Value {
    Value::Text(value.into())
}

/// A number, or null.
pub(crate) fn number(value: Option<i64>) -> Value {
    value.map_or(Value::Null, Value::Integer)
}
