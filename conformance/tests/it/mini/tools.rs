//! The make-believe executor and catalog: answers, refuses, audits.

use std::time::Duration;

use serde_json::{Value, json};

use super::Mini;
use super::issuer::Caller;

/// The statement that takes long.
pub(crate) const SLOW_SQL: &str = "SELECT COUNT(*) AS n FROM support.tickets a, support.tickets b";

/// What a tool said.
pub(crate) struct Outcome {
    pub(crate) ms: u64,
    /// The executor's code when it is an error.
    pub(crate) code: Option<&'static str>,
    pub(crate) result: Value,
}

/// The tables of a statement, `source.table`.
fn tables(sql: &str) -> Vec<String> {
    let words: Vec<_> = sql.split([' ', ',', '\n', '\t']).filter(|word| !word.is_empty()).collect();
    let mut found: Vec<String> = Vec::new();
    for word in words {
        let qualified =
            word.split_once('.').is_some_and(|(source, _)| source == "support" || source == "sales");
        if qualified && !found.iter().any(|table| table == word) {
            found.push(word.to_owned());
        }
    }
    found
}

fn error(code: &'static str, message: &str) -> (Option<&'static str>, Value) {
    (Some(code), json!({"error": {"code": code, "message": message}}))
}

fn query(caller: &Caller, sql: &str) -> (Option<&'static str>, Value) {
    if caller.roles.is_empty() {
        return error("access", "no role of yours may use this source");
    }
    if !sql.trim_start().to_uppercase().starts_with("SELECT") {
        return error("guard", &format!("only SELECT is allowed, not: {sql}"));
    }
    if sql.contains("no_such_column") {
        return error("invalid", "there is no such column");
    }
    let tables = tables(sql);
    let source =
        tables.first().and_then(|table| table.split_once('.')).map_or("support", |(source, _)| source);
    let (columns, row) = if sql.contains("team") {
        (json!(["team", "n"]), json!(["Billing", 7]))
    } else {
        (json!(["n"]), json!([42]))
    };
    (
        None,
        json!({"source": source, "sql": sql, "tables": tables, "columns": columns, "rows": [row],
               "rowCount": 1, "truncated": false}),
    )
}

/// Runs one call and writes its audit line, whoever still waits for it.
pub(super) async fn call(mini: &Mini, caller: &Caller, tool: &str, args: &Value) -> Option<Outcome> {
    mini.counter.set(mini.counter.get() + 1);
    let mut ms = (mini.counter.get() * 7) % 23 + 1;
    let text = |name: &str| args[name].as_str().unwrap_or_default();
    let (code, mut result) = match tool {
        "warehouse__list_sources" => (None, json!({"sources": [{"name": "support"}, {"name": "sales"}]})),
        "warehouse__run_query" => {
            if text("sql") == SLOW_SQL {
                ms = 1200;
                tokio::time::sleep(Duration::from_millis(ms)).await;
            }
            query(caller, text("sql"))
        }
        "catalog__search_metadata" => (None, json!({"query": text("query"), "totalFound": 0, "results": []})),
        "catalog__get_entity_details" if text("fqn") == "Support.ResolutionTime" => (
            None,
            json!({"entityType": "glossaryTerm", "fullyQualifiedName": "Support.ResolutionTime",
                   "displayName": "Resolution Time", "description": "Time to resolve, without waiting."}),
        ),
        "catalog__get_entity_details" => error("invalid", "no such entity"),
        _ => return None,
    };
    result["ms"] = json!(ms);
    let who = if mini.is("calls-as-the-service") { "oid-of-the-service" } else { &caller.oid };
    let name = tool.split_once("__").map_or(tool, |(_, name)| name);
    let verdict = code.unwrap_or("ok");
    let line = json!({"op": name, "oid": who, "ms": ms, "verdict": verdict});
    mini.write("executor.log", &format!("audit {line}"));
    Some(Outcome { ms, code, result })
}
