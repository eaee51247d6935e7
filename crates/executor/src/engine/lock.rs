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

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every action that is not named is denied, also ones to come"
)]
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

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::access::{Rights, Rules};
    use crate::engine::connection;
    use crate::refusal::Code;
    use crate::warehouse::{Column, Table, Warehouse};

    /// A database file that goes away with the value, and the warehouse and rights over it.
    struct Bench {
        path: std::path::PathBuf,
        warehouse: Warehouse,
        rights: Rights,
    }

    impl Drop for Bench {
        fn drop(&mut self) {
            drop(std::fs::remove_file(&self.path));
        }
    }

    fn bench(name: &str) -> Bench {
        let path = std::env::temp_dir().join(format!("ask-executor-lock-{}-{name}.db", std::process::id()));
        drop(std::fs::remove_file(&path));
        Connection::open(&path)
            .unwrap()
            .execute_batch(
                "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, email TEXT);
                 INSERT INTO people VALUES (1, 'Ann', 'ann@desk.test');
                 CREATE VIEW mails AS SELECT email AS address FROM people;",
            )
            .unwrap();
        let column =
            |name: &str| Column { name: name.to_owned(), data_type: "TEXT".to_owned(), nullable: true };
        let source = Source {
            name: "desk".to_owned(),
            kind: "sqlite".to_owned(),
            description: String::new(),
            schema: "desk".to_owned(),
            path: path.clone(),
            tables: vec![
                Table { name: "people".to_owned(), columns: ["id", "name", "email"].map(column).to_vec() },
                Table { name: "mails".to_owned(), columns: vec![column("address")] },
            ],
        };
        let rules: Rules = serde_json::from_str(
            r#"{"roles": {"r": {"sources": {"desk": {"withheld": ["desk.people.email"]}}}}}"#,
        )
        .unwrap();
        let warehouse = Warehouse::new(vec![source]);
        let rights = rules.rights(&["r".to_owned()]);
        Bench { path, warehouse, rights }
    }

    /// Runs a statement that the guard has never seen.
    fn run(bench: &Bench, sql: &str) -> Result<usize, Option<Refusal>> {
        let view = View { warehouse: &bench.warehouse, rights: &bench.rights };
        let source = bench.warehouse.source("desk").unwrap();
        let deadline = Instant::now() + std::time::Duration::from_secs(5);
        let mut connection = connection::open(source, deadline).unwrap();
        let denied = set(&mut connection, view, source, bench.warehouse.tables_of(source)).unwrap();
        let counted = (|| {
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            let mut count = 0;
            while rows.next()?.is_some() {
                count += 1;
            }
            Ok::<_, rusqlite::Error>(count)
        })();
        counted.map_err(|_denied| denied.take())
    }

    #[test]
    fn what_slips_past_the_guard_is_denied_by_the_engine() {
        let bench = bench("denied");
        for (sql, code) in [
            ("SELECT email FROM desk.people", Code::Access),
            ("SELECT * FROM people", Code::Access),
            ("SELECT 1 FROM people WHERE email > 'a'", Code::Access),
            ("SELECT 1 FROM people ORDER BY email", Code::Access),
            ("SELECT x FROM (SELECT email AS x FROM people)", Code::Access),
            ("WITH p AS (SELECT email FROM people) SELECT * FROM p", Code::Access),
            ("SELECT address FROM mails", Code::Access),
            ("SELECT * FROM sqlite_master", Code::Guard),
            ("SELECT * FROM desk.sqlite_master", Code::Guard),
            ("SELECT count(*) FROM sqlite_master", Code::Guard),
            ("SELECT * FROM pragma_table_info('people')", Code::Guard),
            ("SELECT * FROM json_each('[1]')", Code::Guard),
            ("SELECT load_extension('x')", Code::Guard),
            ("SELECT randomblob(10)", Code::Guard),
            ("SELECT sqlite_version()", Code::Guard),
            ("DELETE FROM desk.people", Code::Guard),
            ("INSERT INTO desk.people VALUES (2, 'B', 'b')", Code::Guard),
            ("UPDATE desk.people SET name = 'x'", Code::Guard),
            ("DROP TABLE desk.people", Code::Guard),
            ("CREATE TABLE x (y)", Code::Guard),
            ("CREATE TEMP TABLE x AS SELECT 1", Code::Guard),
            ("ATTACH '/tmp/x.db' AS x", Code::Guard),
            ("DETACH desk", Code::Guard),
            ("PRAGMA query_only = OFF", Code::Guard),
            ("VACUUM desk INTO '/tmp/ask-executor-never.db'", Code::Guard),
            ("BEGIN", Code::Guard),
        ] {
            match run(&bench, sql) {
                Err(Some(refusal)) => assert_eq!(refusal.code, code, "{sql}: {refusal}"),
                other => panic!("{sql}: {other:?}"),
            }
        }
        assert!(!std::path::Path::new("/tmp/ask-executor-never.db").exists());
        for sql in [
            "SELECT id, name FROM desk.people",
            "SELECT count(*) FROM people",
            "WITH p AS (SELECT 1) SELECT count(*) FROM p",
        ] {
            assert_eq!(run(&bench, sql).unwrap(), 1, "{sql}");
        }
    }

    #[test]
    fn a_name_in_double_quotes_that_does_not_exist_is_no_text() {
        let bench = bench("quotes");
        assert!(run(&bench, "SELECT \"nowt\" FROM people").is_err());
    }

    /// Why the guard projects and does not rely on this lock alone: the engine does not ask about these columns.
    #[test]
    fn the_engine_does_not_ask_about_columns_in_using() {
        let bench = bench("using");
        let sql = "SELECT count(*) FROM people JOIN (SELECT 'ann@desk.test' AS email) USING (email)";
        assert_eq!(run(&bench, sql).unwrap(), 1);
    }
}
