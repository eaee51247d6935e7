//! The data, in memory: all of it, and without the withheld column.

use std::cell::RefCell;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::desk::Refusal;
use super::guard::Checked;
use super::{MiniExecutor, TIMEOUT_S};

const DATA: &str = "
    ATTACH ':memory:' AS support; ATTACH ':memory:' AS sales;
    CREATE TABLE support.tickets (ticket_id INTEGER PRIMARY KEY, opened_at TIMESTAMP NOT NULL, status TEXT NOT NULL, minutes INTEGER);
    INSERT INTO support.tickets VALUES (1, '2025-01-02', 'open', NULL), (2, '2025-01-03', 'resolved', 90),
        (3, '2025-02-01', 'resolved', 30), (4, '2025-02-02', 'open', NULL);
    CREATE TABLE support.agents (agent_id INTEGER PRIMARY KEY, agent_name TEXT NOT NULL, email TEXT NOT NULL, team TEXT NOT NULL);
    INSERT INTO support.agents VALUES (1, 'Ann Abara', 'ann.abara@desk.example', 'Billing'),
        (2, 'Ben Becker', 'ben.becker@desk.example', 'Frontline'), (3, 'Cy Costa', 'cy.costa@desk.example', 'Frontline');
    CREATE TABLE sales.dim_product (product_id INTEGER PRIMARY KEY, product_name TEXT NOT NULL);
    INSERT INTO sales.dim_product VALUES (1, 'Pen'), (2, 'Pad');
";

/// The data twice.
pub(super) struct Engine {
    whole: RefCell<Connection>,
    narrow: RefCell<Connection>,
}

/// Columns, rows and whether there were more.
pub(super) type Rows = (Vec<String>, Vec<Vec<Value>>, bool);

impl Default for Engine {
    fn default() -> Self {
        let open = |more: &str| {
            let conn = Connection::open_in_memory().unwrap();
            conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false).unwrap();
            conn.execute_batch(DATA).unwrap();
            conn.execute_batch(more).unwrap();
            RefCell::new(conn)
        };
        Self { whole: open(""), narrow: open("ALTER TABLE support.agents DROP COLUMN email") }
    }
}

impl Engine {
    /// Takes a row away, as nothing should.
    pub(super) fn lose_a_row(&self) {
        let sql =
            "DELETE FROM support.tickets WHERE ticket_id = (SELECT max(ticket_id) FROM support.tickets)";
        self.narrow.borrow().execute_batch(sql).unwrap();
    }

    /// Name, type and whether it may be null of each column.
    pub(super) fn columns(&self, schema: &str, table: &str, whole: bool) -> Vec<(String, String, bool)> {
        let conn = if whole { &self.whole } else { &self.narrow };
        let conn = conn.borrow();
        let mut statement = conn.prepare(&format!("PRAGMA {schema}.table_info({table})")).unwrap();
        let columns = statement.query_map([], |row| {
            let kind: String = row.get(2)?;
            Ok((row.get(1)?, kind, row.get::<_, i64>(3)? == 0 && row.get::<_, i64>(5)? == 0))
        });
        columns.unwrap().map(Result::unwrap).collect()
    }

    /// The number of rows of a table.
    pub(super) fn count(&self, table: &str) -> i64 {
        self.narrow
            .borrow()
            .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))
            .unwrap()
    }

    /// Runs a checked statement; `most` is the number of rows after which it is cut.
    pub(super) fn run(&self, mini: &MiniExecutor, checked: &Checked, most: usize) -> Result<Rows, Refusal> {
        let conn = if checked.whole { &self.whole } else { &self.narrow };
        let deadline = Instant::now() + Duration::from_secs_f64(TIMEOUT_S);
        conn.borrow_mut().progress_handler(1000, Some(move || Instant::now() > deadline)).unwrap();
        let conn = conn.borrow();
        let failed = |err: rusqlite::Error| match err.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => {
                if mini.is("timeout-is-invalid") {
                    Refusal::invalid("it took too long")
                } else {
                    Refusal::timeout()
                }
            }
            _ => Refusal::invalid(format!("the engine says: {err}")),
        };
        let mut statement = conn.prepare(&checked.sql).map_err(failed)?;
        if !statement.readonly() && !mini.is("lower-case-verbs-pass") {
            return Err(Refusal::guard("only statements that read may run"));
        }
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut cursor = statement.query([]).map_err(failed)?;
        let mut rows = Vec::new();
        while let Some(row) = cursor.next().map_err(failed)? {
            if rows.len() == most {
                return Ok((columns, rows, true));
            }
            rows.push((0..columns.len()).map(|at| value(row.get_ref(at).unwrap())).collect());
        }
        Ok((columns, rows, false))
    }
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => json!(number),
        ValueRef::Real(number) => json!(number),
        ValueRef::Text(text) | ValueRef::Blob(text) => json!(String::from_utf8_lossy(text)),
    }
}
