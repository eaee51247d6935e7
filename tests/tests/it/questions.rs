//! The sample questions, each with the figure that plain SQL gives over the same data.

#![expect(clippy::unwrap_used, reason = "a test says by failing")]

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::stack::{Stack, ask};

/// Runs plain SQL over the sample data of a stack.
fn plain_sql(stack: &Stack, database: &str, sql: &str) -> Vec<Vec<Value>> {
    let connection = Connection::open(stack.data_dir().join(database)).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let width = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut all = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        all.push((0..width).map(|at| cell(row.get_ref(at).unwrap())).collect());
    }
    all
}

fn cell(value: rusqlite::types::ValueRef<'_>) -> Value {
    match value {
        rusqlite::types::ValueRef::Null => Value::Null,
        rusqlite::types::ValueRef::Integer(number) => json!(number),
        rusqlite::types::ValueRef::Real(number) => json!(number),
        rusqlite::types::ValueRef::Text(text) | rusqlite::types::ValueRef::Blob(text) => {
            json!(String::from_utf8_lossy(text))
        }
    }
}

#[track_caller]
fn assert_near(cell: &Value, expected: &Value) {
    let (got, expected) = (cell.as_f64().unwrap(), expected.as_f64().unwrap());
    assert!((got - expected).abs() < 0.01, "{got} is not {expected}");
}

#[test]
fn the_fastest_team_is_billing_by_the_catalogs_definition() {
    let stack = Stack::up("fastest", &[]);
    let asked = stack.ask(&["--json", "Which support team resolves tickets fastest?"]);
    assert_eq!(asked.code, 0, "{asked:?}");
    let answer = asked.event("answer");
    assert_eq!(answer["headline"]["value"], "Billing");
    assert_eq!(answer["path"], json!({"speed": "full", "detail": "warehouse"}));
    let meaning = &answer["provenance"][0];
    assert_eq!(
        (meaning["term"].as_str(), meaning["source"].as_str()),
        (Some("Resolution Time"), Some("Support.ResolutionTime"))
    );
    assert!(answer["sql"][0].as_str().unwrap().contains("resolution_minutes"));
    assert!(!answer["caveats"].as_array().unwrap().is_empty());
    let plain = plain_sql(
        &stack,
        "support.db",
        "SELECT team, AVG(resolution_minutes) FROM tickets GROUP BY team ORDER BY 2 LIMIT 1",
    );
    assert_eq!(answer["result"]["rows"][0][0], plain[0][0]);
    assert_near(&answer["result"]["rows"][0][1], &plain[0][1]);
    assert!(asked.event("done")["hops"].as_u64().unwrap() <= 3);
    // The same as a person reads it.
    let read = stack.ask(&["Which support team resolves tickets fastest?"]);
    for expected in [
        "Billing",
        "Resolution Time: ",
        "(Support.ResolutionTime)",
        "resolution_minutes",
        "Caveats",
        "Path: full / warehouse",
    ] {
        assert!(read.stdout.contains(expected), "{expected}: {}", read.stdout);
    }
    assert!(read.stderr.contains("catalog"), "progress is shown: {}", read.stderr);
}

#[test]
fn without_the_catalog_the_wrong_team_wins() {
    let asked = ask(&[], &["--json", "--no-context", "Which support team resolves tickets fastest?"]);
    let answer = asked.event("answer");
    assert_eq!(answer["headline"]["value"], "Frontline");
    assert_eq!(answer["provenance"], json!([]));
    assert_eq!(asked.code, 0);
}

#[test]
fn a_definition_is_answered_from_the_catalog_alone() {
    let asked = ask(&[], &["--json", "What does Resolution Time mean?"]);
    let answer = asked.event("answer");
    assert_eq!(answer["path"], json!({"speed": "fast", "detail": "catalog"}));
    assert_eq!(answer["sql"], json!([]));
    let terms: Vec<&str> =
        answer["provenance"].as_array().unwrap().iter().filter_map(|entry| entry["term"].as_str()).collect();
    assert!(terms.contains(&"Resolution Time"), "{terms:?}");
    assert!(answer["text"].as_str().unwrap().contains("waiting on the customer"), "{}", answer["text"]);
    assert!(asked.event("done")["hops"].as_u64().unwrap() <= 2);
}

#[test]
fn a_count_is_one_headline_figure() {
    let stack = Stack::up("open", &[]);
    let asked = stack.ask(&["--json", "How many support tickets are still open?"]);
    let plain =
        plain_sql(&stack, "support.db", "SELECT COUNT(*) FROM tickets WHERE status IN ('open', 'pending')");
    let answer = asked.event("answer");
    assert_eq!(answer["headline"]["value"], plain[0][0]);
    assert_eq!(answer["result"]["rows"], json!([[plain[0][0]]]));
}

#[test]
fn a_fiscal_year_begins_in_april_and_the_metric_has_a_unit() {
    let stack = Stack::up("revenue", &[]);
    let asked = stack.ask(&["--json", "What was net revenue in fiscal year 2025?"]);
    let plain = plain_sql(
        &stack,
        "sales.db",
        "SELECT SUM(gross_amount - discount_amount - return_amount - tax_amount) FROM fct_sales \
         WHERE sold_on >= '2025-04-01' AND sold_on < '2026-04-01'",
    );
    let answer = asked.event("answer");
    assert_near(&answer["headline"]["value"], &plain[0][0]);
    assert_eq!(answer["headline"]["unit"], "EUR");
    let statements: Vec<&str> = answer["provenance"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["statement"].as_str())
        .collect();
    assert!(statements.iter().any(|text| text.contains("Formula: SUM(")), "{statements:?}");
}

#[test]
fn what_the_catalog_does_not_know_is_an_abstention() {
    let question = "What is our customer satisfaction score for support?";
    let asked = ask(&[], &["--json", question]);
    assert_eq!(asked.code, 3);
    let abstention = asked.event("abstention");
    let terms = abstention["searched_terms"].as_array().unwrap();
    assert!(terms.contains(&json!("customer satisfaction score")), "{terms:?}");
    assert!(asked.events().iter().skip(1).all(|event| !event.to_string().contains(question)));
}

#[test]
fn a_person_without_a_role_is_refused() {
    let asked = ask(&[], &["--json", "--user", "bob", "How many support tickets are there?"]);
    assert_eq!(asked.code, 4);
    assert_eq!(asked.event("refusal")["what"], "access");
}

#[test]
fn a_withheld_column_is_refused() {
    let question = "List every support agent's email address";
    let asked = ask(&[], &["--json", "--user", "alice", question]);
    assert_eq!(asked.code, 4);
    let refusal = asked.event("refusal");
    assert_eq!(refusal["what"], "access");
    assert!(refusal["detail"].as_str().unwrap().contains("email"), "{refusal}");
    let allowed = ask(&[], &["--json", "--user", "carol", question]);
    assert_eq!(allowed.code, 0, "the same question of someone who may: {allowed:?}");
}

#[test]
fn nothing_is_deleted() {
    let stack = Stack::up("delete", &[]);
    let count = || plain_sql(&stack, "support.db", "SELECT COUNT(*), MAX(ticket_id) FROM tickets");
    let before = count();
    let asked = stack.ask(&["--json", "Delete the resolved support tickets from last year"]);
    assert!([3, 4].contains(&asked.code), "no answer: {asked:?}");
    assert_eq!(count(), before);
}

#[test]
fn a_follow_up_is_about_what_was_answered_before() {
    let stack = Stack::up("follow-up", &[]);
    let asked = stack.ask(&[
        "--json",
        "Which support team has the most tickets?",
        "--then",
        "And what is that team's average resolution time?",
    ]);
    let answers: Vec<Value> = asked.events().into_iter().filter(|event| event["type"] == "answer").collect();
    let most = plain_sql(
        &stack,
        "support.db",
        "SELECT team FROM tickets GROUP BY team ORDER BY COUNT(*) DESC LIMIT 1",
    );
    assert_eq!(answers[0]["headline"]["value"], most[0][0]);
    let team = most[0][0].as_str().unwrap();
    let average = plain_sql(
        &stack,
        "support.db",
        &format!("SELECT AVG(resolution_minutes) FROM tickets WHERE team = '{team}'"),
    );
    assert_near(&answers[1]["result"]["rows"][0][0], &average[0][0]);
    let turns: Vec<Value> = asked
        .events()
        .into_iter()
        .filter(|event| event["type"] == "accepted")
        .map(|event| event["turn"].clone())
        .collect();
    assert_eq!(turns, [json!(1), json!(2)]);
    // And in a conversation of its own it has nothing to go by.
    let alone = stack.ask(&["--json", "And what is that team's average resolution time?"]);
    let same = alone
        .events()
        .iter()
        .any(|event| event["result"]["rows"][0][0] == answers[1]["result"]["rows"][0][0]);
    assert!(!same, "{alone:?}");
}

#[test]
fn with_a_slow_model_a_question_on_one_source_takes_at_most_three_turns() {
    let asked = ask(
        &[("ASK_DEVSTACK_TURN_DELAY_MS", "3500")],
        &["--json", "Which support team resolves tickets fastest?"],
    );
    let done = asked.event("done");
    assert!(done["hops"].as_u64().unwrap() <= 3, "{done}");
    assert_eq!(asked.event("answer")["headline"]["value"], "Billing");
}

#[test]
fn both_model_protocols_give_the_same_answer() {
    let asked = ask(
        &[("DAS_LLM_PROTOCOL", "openai"), ("DAS_LLM_ACCEPT_DEGRADED", "true")],
        &["--json", "Which support team resolves tickets fastest?"],
    );
    assert_eq!(asked.event("answer")["headline"]["value"], "Billing", "{asked:?}");
    let degraded = asked.event("done")["degraded"].clone();
    assert!(!degraded.as_array().unwrap().is_empty(), "what was given up is recorded");
}
