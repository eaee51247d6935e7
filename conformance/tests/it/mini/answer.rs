//! How a run's outcome is decided.

use serde_json::{Value, json};

use super::Mini;

/// A statement that ran, as the executor reported it.
pub(crate) struct Statement(pub(crate) Value);

/// What happened in a run.
#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) hops: u64,
    pub(crate) statements: Vec<Statement>,
    pub(crate) read: Vec<Value>,
    pub(crate) searched: Vec<String>,
    pub(crate) refusal: Option<(&'static str, String)>,
    pub(crate) broken: bool,
}

pub(super) fn decide(mini: &Mini, facts: &Facts, conclusion: &Value) -> (&'static str, Value) {
    let text = conclusion["text"].as_str().unwrap_or_default();
    if let Some((what, detail)) = facts.refusal.as_ref().filter(|_| !mini.is("refusal-smoothed-over")) {
        return ("refusal", json!({"what": what, "detail": detail, "source": null}));
    }
    if !facts.statements.is_empty() {
        return ("answer", with_statements(mini, facts, text));
    }
    let named: Vec<_> = conclusion["entities"].as_array().cloned().unwrap_or_default();
    let read: Vec<_> =
        facts.read.iter().filter(|entity| named.contains(&entity["fullyQualifiedName"])).collect();
    let believed = mini.is("unread-entities-believed") && !named.is_empty();
    let prose = mini.is("prose-believed") && conclusion["kind"] == "prose";
    if (conclusion["kind"] == "answer" && (!read.is_empty() || believed)) || prose {
        let provenance: Vec<_> = read
            .iter()
            .map(|entity| {
                json!({"term": entity["displayName"], "statement": entity["description"],
                       "source": "catalog", "kind": "glossary_term"})
            })
            .collect();
        let speed = if mini.is("catalog-answer-is-full") { "full" } else { "fast" };
        return (
            "answer",
            json!({"text": text, "path": {"speed": speed, "detail": "catalog"}, "provenance": provenance,
                   "sources": [], "tables": [], "sql": [], "caveats": [], "result": null, "headline": null,
                   "divergence": null}),
        );
    }
    let mut terms = facts.searched.clone();
    let own = conclusion["searched_terms"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for term in own {
        if !terms.iter().any(|known| known == term) {
            terms.push(term.to_owned());
        }
    }
    if mini.is("searched-terms-left-out") {
        terms.clear();
    }
    if mini.is("searched-terms-sorted") {
        terms.sort();
    }
    ("abstention", json!({"text": text, "searched_terms": terms}))
}

fn with_statements(mini: &Mini, facts: &Facts, text: &str) -> Value {
    let mut sources: Vec<Value> = Vec::new();
    let mut tables: Vec<Value> = Vec::new();
    let mut sql = Vec::new();
    for Statement(report) in &facts.statements {
        if !sources.contains(&report["source"]) {
            sources.push(report["source"].clone());
        }
        for table in report["tables"].as_array().into_iter().flatten() {
            if !tables.contains(table) {
                tables.push(table.clone());
            }
        }
        sql.push(report["sql"].clone());
    }
    let detail = if sources.len() > 1 && !mini.is("multi-is-warehouse") { "multi" } else { "warehouse" };
    let last = &facts.statements[facts.statements.len() - 1].0;
    let mut result =
        json!({"columns": last["columns"], "rows": last["rows"], "truncated": last["truncated"]});
    if mini.is("result-left-out") || last["columns"].is_null() {
        result = Value::Null;
    }
    if mini.is("sources-left-out") {
        sources.clear();
    }
    if mini.is("sql-left-out") {
        sql.clear();
    }
    let speed = if mini.is("full-answer-is-fast") { "fast" } else { "full" };
    let speed = if mini.is("speed-is-a-new-word") { "quick" } else { speed };
    let divergence = if mini.is("divergence-filled") { json!({"text": "else"}) } else { Value::Null };
    let provenance = if mini.is("provenance-made-up") {
        json!([{"term": "T", "statement": "S", "source": "catalog", "kind": "glossary_term"}])
    } else {
        json!([])
    };
    json!({"text": text, "path": {"speed": speed, "detail": detail}, "provenance": provenance, "sources": sources,
           "tables": tables, "sql": sql, "caveats": [], "result": result, "headline": null, "divergence": divergence})
}
