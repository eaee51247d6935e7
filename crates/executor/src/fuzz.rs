//! What must hold of any text that a caller sends as a statement; for the fuzzer and its corpus.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use tokio::time::Instant;

use crate::access::{Rights, Rules};
use crate::engine::{Limits, Outcome, SourceConfig, Statement, execute, load};
use crate::refusal::Failure;
use crate::warehouse::Warehouse;

/// A warehouse whose withheld columns and closed tables hold `secret`, as a caller sees it who may see neither.
struct World {
    warehouse: Warehouse,
    rights: Rights,
}

/// Two worlds that differ in what is kept from the caller and in nothing else.
static WORLDS: LazyLock<Option<[World; 2]>> =
    LazyLock::new(|| Some([world("first", 17)?, world("second", 99)?]));

fn world(secret: &str, number: u32) -> Option<World> {
    let folder = std::env::temp_dir().join(format!("ask-executor-fuzz-{}-{secret}", std::process::id()));
    std::fs::create_dir_all(&folder).ok()?;
    let support = format!(
        "CREATE TABLE agents (id INTEGER PRIMARY KEY, name TEXT, team TEXT, email TEXT, phone INTEGER);
         INSERT INTO agents VALUES (1, 'Ann', 'Billing', '{secret}', {number}), (2, 'Ben', 'Frontline', NULL, 2);
         CREATE TABLE tickets (id INTEGER PRIMARY KEY, agent_id INTEGER, status TEXT, resolution_minutes REAL);
         INSERT INTO tickets VALUES (1, 1, 'resolved', 30.5), (2, 2, 'open', NULL);
         CREATE VIEW contact AS SELECT name, email AS address FROM agents;"
    );
    let sales = format!(
        "CREATE TABLE deals (id INTEGER PRIMARY KEY, who TEXT); INSERT INTO deals VALUES ({number}, '{secret}');"
    );
    let loaded = made(&folder, &[("support", &support), ("sales", &sales)]);
    // The warehouse reads a file whenever a statement runs, so the folder stays until the system clears it.
    let rules: Rules = serde_json::from_str(
        r#"{"roles": {"analyst": {"sources": {"support": {"withheld": ["support.agents.email", "support.agents.phone"]}}}}}"#,
    )
    .ok()?;
    Some(World { warehouse: loaded?, rights: rules.rights(&["analyst".to_owned()]) })
}

fn made(folder: &Path, sources: &[(&str, &str)]) -> Option<Warehouse> {
    let mut configs = Vec::new();
    for (name, sql) in sources {
        let file = folder.join(format!("{name}.db"));
        drop(std::fs::remove_file(&file));
        rusqlite::Connection::open(&file).ok()?.execute_batch(sql).ok()?;
        configs.push(SourceConfig {
            name: (*name).to_owned(),
            kind: "sqlite".to_owned(),
            path: file,
            schema: (*name).to_owned(),
            description: String::new(),
        });
    }
    load(&configs, folder).ok()
}

fn run(world: &World, sql: &str) -> Result<Outcome, Failure> {
    let statement = Statement { sql: sql.to_owned(), source: None, max_rows: Some(50) };
    let timeout = Duration::from_secs(2);
    let limits = Limits { max_rows: 50, max_bytes: 100_000, timeout };
    execute(&world.warehouse, &world.rights, &statement, limits, Instant::now() + timeout)
}

/// Nothing that is kept from a caller changes what the caller gets, and what ran has changed nothing.
///
/// # Panics
///
/// When one of them does, or the two worlds can't be made.
pub fn statement(input: &[u8]) {
    let worlds = WORLDS.as_ref();
    assert!(worlds.is_some(), "the sample databases can't be written");
    let Some([first, second]) = worlds else { return };
    let Ok(sql) = std::str::from_utf8(input) else { return };
    let told = |failure: Failure| failure.to_string();
    let same = || run(first, sql).map_err(told) == run(second, sql).map_err(told);
    // A statement that asks for the time may be told two.
    assert!(same() || same() || same(), "a statement tells the two worlds apart");
    if run(first, sql).is_err() {
        return;
    }
    let untouched = run(first, "SELECT count(*), sum(id), min(name), max(team) FROM support.agents");
    let values = untouched.map(|outcome| serde_json::Value::from(outcome.rows.concat()).to_string());
    assert_eq!(values.unwrap_or_default(), r#"[2,3,"Ann","Frontline"]"#);
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_the_fuzzer_found_stays_right() {
        ask_corpus::replay("executor_statement", super::statement);
    }
}
