//! One call, whatever it came over: counted, performed, timed and audited.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{MAX_ROWS, MiniExecutor, RATE_CALLS, guard};
use crate::mini::issuer::Caller;

/// Why a call is turned down.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn access(message: impl Into<String>) -> Self {
        Self { code: "access", message: message.into() }
    }

    pub(super) fn guard(message: impl Into<String>) -> Self {
        Self { code: "guard", message: message.into() }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self { code: "invalid", message: message.into() }
    }

    pub(super) fn timeout() -> Self {
        Self { code: "timeout", message: "the statement was stopped at its limit".to_owned() }
    }
}

/// How a call ended: its body with `ms`, and the code of a refusal.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    pub(super) body: Value,
    pub(super) code: Option<&'static str>,
}

/// The arguments that each tool knows, the needed ones first, and how many are needed.
const ARGUMENTS: [(&str, &[&str], usize); 6] = [
    ("list_sources", &[], 0),
    ("list_tables", &["source"], 0),
    ("describe_table", &["table", "source"], 1),
    ("run_query", &["sql", "source", "maxRows"], 1),
    ("search_metadata", &["query", "entityType", "limit"], 1),
    ("get_entity_details", &["entityType", "fqn"], 2),
];

/// The names of a tool's arguments, and how many of them are needed.
pub(super) fn arguments_of(tool: &str) -> (&'static [&'static str], usize) {
    let known = ARGUMENTS.iter().find(|(name, ..)| *name == tool);
    known.map_or((&[], 0), |(_, names, needed)| (*names, *needed))
}

impl MiniExecutor {
    /// Makes a call and writes its line.
    pub(super) async fn call(
        &self,
        caller: &Caller,
        surface: &str,
        tool: &str,
        args: &Map<String, Value>,
    ) -> Reply {
        if self.is("answers-remembered") {
            let key = json!([tool, args]).to_string();
            if let Some(reply) = self.cached.borrow().get(&key) {
                return reply.clone();
            }
            let reply = self.audited(caller, surface, tool, args).await;
            self.cached.borrow_mut().insert(key, reply.clone());
            return reply;
        }
        self.audited(caller, surface, tool, args).await
    }

    async fn audited(&self, caller: &Caller, surface: &str, tool: &str, args: &Map<String, Value>) -> Reply {
        if let Some(until) = self.held_until.take() {
            tokio::time::sleep_until(until).await;
        }
        let begun = Instant::now();
        let done = match self.admit(caller, surface) {
            Ok(()) => self.perform(caller, tool, args),
            Err(refusal) => Err(refusal),
        };
        let ms = u64::try_from(begun.elapsed().as_millis()).unwrap();
        let done = done.map_err(|refusal| match refusal.code {
            "invalid" if self.is("mistakes-are-guard") => Refusal { code: "guard", ..refusal },
            _ => refusal,
        });
        let (mut body, code) = match done {
            Ok(body) => (body, None),
            Err(refusal) => {
                (json!({"error": {"code": refusal.code, "message": refusal.message}}), Some(refusal.code))
            }
        };
        body["ms"] = json!(ms);
        self.audit(caller, tool, args, &body, code);
        if code == Some("timeout") && self.is("stopped-statement-holds-engine") {
            self.held_until.set(Some(Instant::now() + Duration::from_millis(1500)));
        }
        Reply { body, code }
    }

    fn audit(
        &self,
        caller: &Caller,
        tool: &str,
        args: &Map<String, Value>,
        body: &Value,
        code: Option<&str>,
    ) {
        if code.is_some() && self.is("refused-calls-not-audited") {
            return;
        }
        let ms = body["ms"].as_u64().unwrap();
        let oid = if self.is("audit-names-sub") { &caller.sub } else { &caller.oid };
        let mut line = json!({
            "op": tool,
            "oid": oid,
            "verdict": if self.is("audit-always-ok") { "ok" } else { code.unwrap_or("ok") },
            "ms": if self.is("audit-ms-is-another") { ms + 1 } else { ms },
        });
        if self.is("statements-in-log") {
            line["sql"] = args.get("sql").cloned().unwrap_or_default();
        }
        if self.is("values-in-log") {
            line["first"] = body["rows"][0].clone();
        }
        self.write(&format!("audit {line}"));
        if self.is("two-lines-a-call") && code.is_none() {
            self.write(&format!("audit {line}"));
        }
    }

    fn admit(&self, caller: &Caller, surface: &str) -> Result<(), Refusal> {
        let known = ["oid-of-alice", "oid-of-carol", "oid-of-bob"].contains(&caller.oid.as_str());
        let key = if self.is("surfaces-counted-apart") {
            format!("{} {surface}", caller.oid)
        } else {
            caller.oid.clone()
        };
        let mut calls = self.calls.borrow_mut();
        if known && self.is("one-limit-for-all") {
            let spent = calls.values().any(|made| *made >= RATE_CALLS);
            return if spent {
                Err(Refusal { code: "rate_limit", message: "too many calls".to_owned() })
            } else {
                Ok(())
            };
        }
        let made = calls.entry(key).or_default();
        if *made >= RATE_CALLS && !known {
            return Err(Refusal { code: "rate_limit", message: "too many calls".to_owned() });
        }
        *made += 1;
        Ok(())
    }

    /// Whether the caller may see everything; `access` for nobody's roles.
    fn sees_all(&self, caller: &Caller) -> Result<bool, Refusal> {
        let role = |wanted: &str| caller.roles.iter().any(|role| role == wanted);
        let analyst = role("analyst") || (self.is("unknown-role-is-analyst") && !caller.roles.is_empty());
        if self.is("first-role-counts") {
            return match caller.roles.first().map(String::as_str) {
                Some("analyst") => Ok(false),
                Some("finance") => Ok(true),
                _ => Err(Refusal::access("your account has no role on any source")),
            };
        }
        if !analyst && !role("finance") {
            return Err(Refusal::access("your account has no role on any source"));
        }
        Ok(role("finance"))
    }

    fn perform(&self, caller: &Caller, tool: &str, args: &Map<String, Value>) -> Result<Value, Refusal> {
        if self.is("no-role-lists-nothing") && caller.roles.is_empty() && tool == "list_sources" {
            return Ok(json!({"sources": []}));
        }
        if self.is("arguments-before-rights") && tool == "describe_table" {
            let known =
                args.get("table").and_then(Value::as_str).is_some_and(|table| table.starts_with("support."));
            if !known {
                return Err(Refusal::invalid("there is no such table"));
            }
        }
        let whole = self.sees_all(caller)?;
        self.well_formed(tool, args)?;
        let text = |name: &str| args.get(name).and_then(Value::as_str);
        match tool {
            "list_sources" => Ok(self.list_sources()),
            "list_tables" => self.list_tables(text("source")),
            "describe_table" => self.describe_table(text("table").unwrap_or_default(), text("source"), whole),
            "run_query" => self.run_query(args, whole),
            "search_metadata" => self.search(args),
            _ => self.details(text("entityType").unwrap_or_default(), text("fqn").unwrap_or_default(), whole),
        }
    }

    fn well_formed(&self, tool: &str, args: &Map<String, Value>) -> Result<(), Refusal> {
        let (names, needed) = arguments_of(tool);
        for name in &names[..needed] {
            if !args.contains_key(*name) {
                let message = format!("{name} is missing");
                return Err(if self.is("missing-argument-is-guard") {
                    Refusal::guard(message)
                } else {
                    Refusal::invalid(message)
                });
            }
        }
        for (name, value) in args {
            if !names.contains(&name.as_str()) && !self.is("unknown-arguments-ignored") {
                return Err(Refusal::invalid(format!("{name} is no argument of {tool}")));
            }
            let number = ["maxRows", "limit"].contains(&name.as_str());
            let fits = if number { value.is_i64() } else { value.is_string() };
            let overlooked = self.is("wrong-types-taken") && tool == "list_tables";
            if !fits && !overlooked {
                return Err(Refusal::invalid(format!("{name} is of the wrong type")));
            }
            if number && value.as_i64() < Some(1) && !self.is("no-rows-asked-taken") {
                return Err(Refusal::invalid(format!("{name} must be at least 1")));
            }
        }
        Ok(())
    }

    fn run_query(&self, args: &Map<String, Value>, whole: bool) -> Result<Value, Refusal> {
        let sql = args.get("sql").and_then(Value::as_str).unwrap_or_default();
        let source = args.get("source").and_then(Value::as_str);
        let checked = guard::check(self, sql, source, whole)?;
        let asked = args.get("maxRows").and_then(Value::as_u64).map(|most| usize::try_from(most).unwrap());
        let ceiling = if self.is("no-ceiling") && asked.is_none() { usize::MAX } else { MAX_ROWS };
        let most = match asked.filter(|_| !self.is("max-rows-ignored")) {
            Some(asked) if self.is("asking-raises-ceiling") => asked,
            asked => asked.unwrap_or(ceiling).min(ceiling),
        };
        let (columns, mut rows, mut truncated) = self.engine.run(self, &checked, most)?;
        if self.is("ceiling-unsaid") && asked.is_none() {
            truncated = false;
        }
        if self.is("cut-unsaid") && asked.is_some() {
            truncated = false;
        }
        truncated |=
            self.is("always-truncated") || (self.is("exact-is-truncated") && asked == Some(rows.len()));
        for value in rows.iter_mut().flatten() {
            if self.is("numbers-are-texts") && value.is_i64() {
                *value = json!(value.to_string());
            }
            if let (true, Some(text)) = (self.is("backslashes-cut"), value.as_str()) {
                *value = json!(text.replace('\\', ""));
            }
        }
        let sql = if self.is("statement-rewritten") {
            sql.split_whitespace().collect::<Vec<_>>().join(" ")
        } else {
            sql.trim_matches(|sign: char| sign.is_whitespace() || sign == ';').to_owned()
        };
        let count = if self.is("row-count-is-the-ceiling") { MAX_ROWS } else { rows.len() };
        let tables = if self.is("first-table-alone") {
            &checked.tables[..checked.tables.len().min(1)]
        } else {
            &checked.tables
        };
        Ok(json!({
            "source": checked.source, "sql": sql, "tables": tables, "columns": columns,
            "rows": rows, "rowCount": count, "truncated": truncated,
        }))
    }
}
