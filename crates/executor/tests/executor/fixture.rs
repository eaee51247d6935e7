//! Two small sources and the rules about them, in a folder that goes away with the value.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ask_executor::access::{Rights, Rules, View};
use ask_executor::engine::{Engine, Limits, Outcome, SourceConfig, Statement, load};
use ask_executor::refusal::{Code, Failure, Refusal};
use ask_executor::warehouse::Warehouse;
use serde_json::json;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder of its own below the system's temporary one.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("ask-executor-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

const SUPPORT: &str = "
    CREATE TABLE agents (id INTEGER PRIMARY KEY, name TEXT NOT NULL, team TEXT NOT NULL, email TEXT NOT NULL, phone TEXT);
    INSERT INTO agents VALUES (1, 'Ann', 'Billing', 'canary-ann@desk.test', '1'), (2, 'Ben', 'Frontline', 'canary-ben@desk.test', '2'),
        (3, 'Cy', 'Frontline', 'canary-cy@desk.test', NULL);
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, region TEXT);
    INSERT INTO customers VALUES (1, 'Acme', 'shop@acme.test', 'north'), (2, 'Bolt', 'buy@bolt.test', NULL);
    CREATE TABLE tickets (id INTEGER PRIMARY KEY, agent_id INTEGER REFERENCES agents(id), customer_id INTEGER,
        status TEXT NOT NULL, opened_at TEXT NOT NULL, resolution_minutes REAL, raw BLOB);
    INSERT INTO tickets VALUES (1, 1, 1, 'resolved', '2025-01-05 10:00:00', 30.5, x'0102'),
        (2, 1, 2, 'resolved', '2025-02-10 11:00:00', 60, NULL), (3, 2, 1, 'open', '2025-02-11 12:00:00', NULL, NULL),
        (4, 3, 2, 'resolved', '2025-04-02 09:30:00', 90, NULL);
    CREATE VIRTUAL TABLE words USING fts5(word);
    INSERT INTO words VALUES ('canary-word');
    CREATE VIEW team_sizes AS SELECT team, count(*) AS people FROM agents GROUP BY team;
    CREATE VIEW contact AS SELECT name, email AS address FROM agents;
    CREATE TABLE secret (id INTEGER PRIMARY KEY, word TEXT);
    INSERT INTO secret VALUES (1, 'canary-word');
";

const SALES: &str = "
    CREATE TABLE fct_sales (id INTEGER PRIMARY KEY, product_id INTEGER, amount REAL, sold_on TEXT);
    INSERT INTO fct_sales VALUES (1, 1, 10.0, '2025-03-31'), (2, 1, 20.5, '2025-04-01'), (3, 2, 5, '2025-04-02');
    CREATE TABLE dim_product (id INTEGER PRIMARY KEY, name TEXT, cost REAL);
    INSERT INTO dim_product VALUES (1, 'Pen', 2.0), (2, 'Ink', 1.0);
";

/// Writes the sources' files, the rules and the catalog, and `executor.json` that names them.
pub(crate) fn write(folder: &Path) {
    for (file, sql) in [("support.db", SUPPORT), ("sales.db", SALES)] {
        rusqlite::Connection::open(folder.join(file)).unwrap().execute_batch(sql).unwrap();
    }
    let config = json!({
        "sources": [
            {"name": "support", "kind": "sqlite", "path": "support.db", "schema": "support", "description": "The support desk"},
            {"name": "sales", "kind": "sqlite", "path": "sales.db", "schema": "sales", "description": "What was sold"}
        ],
        "catalog": "catalog.json",
        "access": "access.json"
    });
    std::fs::write(folder.join("executor.json"), config.to_string()).unwrap();
    std::fs::write(folder.join("access.json"), rules_text()).unwrap();
    std::fs::write(folder.join("catalog.json"), super::catalog::sample().to_string()).unwrap();
}

/// Ann's analysts see no personal data, finance sees all, the intern sees one source only.
fn rules_text() -> String {
    json!({"roles": {
        "analyst": {"sources": {
            "support": {"withheld": ["support.agents.email", "support.agents.phone", "support.secret.id", "support.secret.word"]},
            "sales": {"withheld": []}
        }},
        "finance": {"sources": {"support": {"withheld": []}, "sales": {"withheld": []}}},
        "intern": {"sources": {"sales": {"withheld": ["sales.dim_product.cost"]}}},
        "phones": {"sources": {"support": {"withheld": ["support.agents.email"]}}}
    }})
    .to_string()
}

/// The library's parts over the fixture, without any server.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) folder: Folder,
    pub(crate) warehouse: Arc<Warehouse>,
    pub(crate) rules: Rules,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = Folder::new();
        write(folder.path());
        let sources: Vec<SourceConfig> = ["support", "sales"]
            .map(|name| SourceConfig {
                name: name.to_owned(),
                kind: "sqlite".to_owned(),
                path: format!("{name}.db").into(),
                schema: name.to_owned(),
                description: String::new(),
            })
            .to_vec();
        let warehouse = Arc::new(load(&sources, folder.path()).unwrap());
        let rules: Rules = serde_json::from_str(&rules_text()).unwrap();
        rules.check(&warehouse).unwrap();
        Self { folder, warehouse, rules }
    }

    pub(crate) fn rights(&self, roles: &[&str]) -> Rights {
        let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
        self.rules.rights(&roles)
    }

    /// What the guard says to a statement.
    pub(crate) fn guard(&self, role: &str, sql: &str) -> Result<ask_executor::guard::Checked, Refusal> {
        let rights = self.rights(&[role]);
        ask_executor::guard::check(sql, View { warehouse: &self.warehouse, rights: &rights })
    }

    pub(crate) fn engine(&self, limits: Limits) -> Engine {
        Engine::start(Arc::clone(&self.warehouse), limits, 2).unwrap()
    }

    /// Runs a statement with the usual limits.
    pub(crate) async fn run(&self, role: &str, sql: &str) -> Result<Outcome, Refusal> {
        self.run_limited(role, sql, LIMITS).await
    }

    pub(crate) async fn run_limited(
        &self,
        role: &str,
        sql: &str,
        limits: Limits,
    ) -> Result<Outcome, Refusal> {
        let rights = Arc::new(self.rights(&[role]));
        let statement = Statement { sql: sql.to_owned(), source: None, max_rows: None };
        match self.engine(limits).run(rights, statement).await {
            Ok(outcome) => Ok(outcome),
            Err(Failure::Refused(refusal)) => Err(refusal),
            Err(other) => panic!("{sql}: {other:?}"),
        }
    }
}

pub(crate) const LIMITS: Limits =
    Limits { max_rows: 100, max_bytes: 100_000, timeout: Duration::from_secs(10) };

/// Fails with the statement in the message unless the refusal has this code and says this.
pub(crate) fn assert_refused<T: std::fmt::Debug>(
    sql: &str,
    result: Result<T, Refusal>,
    code: Code,
    says: &str,
) {
    let wrong = not_refused(sql, result, code, says);
    assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
}

/// What is wrong with the result, unless it is a refusal that has this code and says this.
pub(crate) fn not_refused<T: std::fmt::Debug>(
    sql: &str,
    result: Result<T, Refusal>,
    code: Code,
    says: &str,
) -> Option<String> {
    match result {
        Ok(passed) => Some(format!("{sql}\n    should be {code:?}, but passed: {passed:?}")),
        Err(refusal)
            if refusal.code == code && refusal.message.to_lowercase().contains(&says.to_lowercase()) =>
        {
            None
        }
        Err(refusal) => Some(format!(
            "{sql}\n    should be {code:?} {says:?}, but is {:?}: {}",
            refusal.code, refusal.message
        )),
    }
}
