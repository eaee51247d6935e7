//! Withheld columns: every road to them is closed, and what is beside them stays open.

use ask_executor::refusal::Code::{Access, Invalid};
use serde_json::json;

use crate::fixture::{Bench, assert_refused};

/// Roads to `support.agents.email`, each of which must end in `access` naming the column.
const ROADS: &[&str] = &[
    "SELECT email FROM support.agents",
    "SELECT EMAIL FROM support.agents",
    "SELECT \"email\" FROM support.agents",
    "SELECT [email] FROM support.agents",
    "SELECT `email` FROM support.agents",
    "SELECT agents.email FROM support.agents",
    "SELECT support.agents.email FROM support.agents",
    "SELECT \"support\".\"agents\".\"email\" FROM support.agents",
    "SELECT a.email FROM support.agents a",
    "SELECT a.email AS name FROM support.agents AS a",
    "SELECT a.\"Email\" FROM support.agents AS \"a\"",
    "SELECT name FROM support.agents WHERE email LIKE 'canary%'",
    "SELECT count(*) FROM support.agents WHERE email = 'canary-ann@desk.test'",
    "SELECT name FROM support.agents ORDER BY email",
    "SELECT name FROM support.agents ORDER BY upper(email)",
    "SELECT count(*) FROM support.agents GROUP BY email",
    "SELECT team FROM support.agents GROUP BY team HAVING max(email) > 'a'",
    "SELECT max(email) FROM support.agents",
    "SELECT length(email) FROM support.agents",
    "SELECT substr(email, 1, 1) FROM support.agents",
    "SELECT group_concat(email) FROM support.agents",
    "SELECT group_concat(name, ',' ORDER BY email) FROM support.agents",
    "SELECT count(DISTINCT email) FROM support.agents",
    "SELECT count(*) FILTER (WHERE email > 'a') FROM support.agents",
    "SELECT json_object('e', email) FROM support.agents",
    "SELECT email || '' FROM support.agents",
    "SELECT CAST(email AS BLOB) FROM support.agents",
    "SELECT CASE WHEN email > 'canary-b' THEN 1 END FROM support.agents",
    "SELECT coalesce(NULL, email) FROM support.agents",
    "SELECT (email) FROM support.agents",
    "SELECT (SELECT email) FROM support.agents",
    "SELECT (SELECT a.email) FROM support.agents a",
    "SELECT (SELECT email FROM support.agents LIMIT 1)",
    "SELECT * FROM (SELECT email FROM support.agents)",
    "SELECT x FROM (SELECT email AS x FROM support.agents) AS t",
    "SELECT s.email FROM (SELECT * FROM support.agents) AS s",
    "SELECT email FROM (SELECT * FROM support.agents)",
    "SELECT email FROM (SELECT * FROM (SELECT a.* FROM support.agents a) AS b) AS c",
    "WITH a AS (SELECT email FROM support.agents) SELECT * FROM a",
    "WITH a AS (SELECT * FROM support.agents) SELECT email FROM a",
    "WITH a AS (SELECT * FROM support.agents), b AS (SELECT * FROM a) SELECT b.email FROM b",
    "WITH RECURSIVE a(e) AS (SELECT email FROM support.agents UNION SELECT e FROM a) SELECT e FROM a",
    "SELECT name FROM support.agents UNION SELECT email FROM support.agents",
    "SELECT email FROM support.agents UNION ALL SELECT 'x'",
    "SELECT name FROM support.customers EXCEPT SELECT email FROM support.agents",
    "SELECT name FROM support.customers INTERSECT SELECT email FROM support.agents",
    "SELECT * FROM support.tickets t JOIN support.agents a ON a.email LIKE 'c%'",
    "SELECT * FROM support.agents a JOIN support.agents b ON a.email < b.email",
    "SELECT count(*) FROM support.agents JOIN (SELECT 'canary-ann@desk.test' AS email) AS g USING (email)",
    "SELECT count(*) FROM (SELECT 'canary-ann@desk.test' AS email) AS g JOIN support.agents USING (email)",
    "SELECT 1 FROM support.tickets WHERE agent_id IN (SELECT id FROM support.agents WHERE email > 'a')",
    "SELECT 1 FROM support.tickets WHERE 'x' IN (SELECT email FROM support.agents)",
    "SELECT 1 FROM support.tickets t WHERE EXISTS (SELECT 1 FROM support.agents a WHERE a.id = t.agent_id AND a.email > 'a')",
    "SELECT row_number() OVER (ORDER BY email) FROM support.agents",
    "SELECT rank() OVER w FROM support.agents WINDOW w AS (PARTITION BY email)",
    "SELECT first_value(email) OVER () FROM support.agents",
    "SELECT 1 FROM support.agents LIMIT (SELECT length(email) FROM support.agents)",
    "SELECT (id, email) = (1, 'x') FROM support.agents",
    "SELECT id BETWEEN 1 AND length(email) FROM support.agents",
    "SELECT 'x' LIKE email FROM support.agents",
    "SELECT email COLLATE NOCASE FROM support.agents",
    "SELECT EXTRACT(YEAR FROM email) FROM support.agents",
    "SELECT position('a' IN email) FROM support.agents",
    "SELECT substring(email FROM 1 FOR 2) FROM support.agents",
    "SELECT trim(email, 'x') FROM support.agents",
    "SELECT trim(LEADING 'x' FROM email) FROM support.agents",
    "(SELECT email FROM support.agents) UNION ALL (SELECT 'x')",
    "SELECT email FROM ((SELECT * FROM support.agents))",
    "SELECT email::text FROM support.agents",
    "SELECT email IS NULL FROM support.agents",
    "SELECT -email FROM support.agents",
    "SELECT json_valid(email) FROM support.agents",
    "SELECT c.name FROM support.customers c WHERE (SELECT a.email FROM support.agents a WHERE a.id = c.id) > 'a'",
    // The inner column would be taken for the customer's if the agent's were merely not there.
    "SELECT (SELECT email FROM support.agents LIMIT 1) FROM support.customers",
    "SELECT (SELECT email FROM (SELECT * FROM support.agents) AS s LIMIT 1) FROM support.customers",
    "WITH s AS (SELECT * FROM support.agents) SELECT (SELECT email FROM s LIMIT 1) FROM support.customers",
    "SELECT id FROM support.agents a WHERE id = (SELECT max(id) FROM support.tickets WHERE a.email > 'x')",
    "VALUES ((SELECT email FROM support.agents))",
    "SELECT address FROM support.contact",
    "SELECT * FROM support.contact",
    "SELECT count(*) FROM support.contact WHERE address > 'a'",
];

#[actix_web::test]
async fn every_road_to_a_withheld_column_is_refused_and_names_it() {
    let bench = Bench::new();
    for sql in ROADS {
        assert_refused(sql, bench.run("analyst", sql).await, Access, "support.agents.email");
    }
}

#[actix_web::test]
async fn the_same_roads_are_open_to_those_who_may_see_the_column() {
    let bench = Bench::new();
    let mut failed = Vec::new();
    for sql in ROADS {
        if let Err(refusal) = bench.run("finance", sql).await {
            failed.push(format!("{sql}: {}", refusal.message));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Statements around the column that run, each with the names of the result's columns.
const BESIDE: &[(&str, &[&str])] = &[
    ("SELECT * FROM support.agents", &["id", "name", "team"]),
    ("SELECT a.* FROM support.agents a", &["id", "name", "team"]),
    ("SELECT support.agents.* FROM support.agents", &["id", "name", "team"]),
    ("SELECT agents.*, 1 AS x FROM support.agents", &["id", "name", "team", "x"]),
    ("SELECT * FROM (SELECT * FROM support.agents)", &["id", "name", "team"]),
    ("WITH a AS (SELECT * FROM support.agents) SELECT * FROM a", &["id", "name", "team"]),
    ("SELECT * FROM support.agents UNION ALL SELECT * FROM support.agents", &["id", "name", "team"]),
    (
        "SELECT * FROM support.customers c JOIN support.agents a ON a.id = c.id",
        &["id", "name", "email", "region", "id", "name", "team"],
    ),
    (
        "SELECT * FROM support.agents JOIN support.tickets USING (id) WHERE 1 = 2",
        &[
            "id",
            "name",
            "team",
            "agent_id",
            "customer_id",
            "status",
            "opened_at",
            "resolution_minutes",
            "raw",
        ],
    ),
    (
        "SELECT * FROM support.agents NATURAL JOIN support.customers WHERE 1 = 2",
        &["id", "name", "team", "email", "region"],
    ),
    ("SELECT support.agents.name FROM support.agents WHERE support.agents.id = 1", &["name"]),
    ("SELECT c.email FROM support.customers c JOIN support.agents a ON a.id = c.id", &["email"]),
    ("SELECT c.email FROM support.customers c, support.agents a", &["email"]),
    ("SELECT email FROM support.customers WHERE id IN (SELECT id FROM support.agents)", &["email"]),
    ("SELECT (SELECT email FROM support.customers LIMIT 1) AS e FROM support.agents", &["e"]),
    ("SELECT name AS email FROM support.agents ORDER BY email", &["email"]),
    ("SELECT s.email FROM (SELECT name AS email FROM support.agents) AS s", &["email"]),
    ("SELECT count(*) FROM support.agents", &["count(*)"]),
    ("SELECT 'email' AS x FROM support.agents WHERE name <> 'email'", &["x"]),
    (
        "SELECT t.id, a.name FROM support.tickets t LEFT JOIN support.agents a ON a.id = t.agent_id",
        &["id", "name"],
    ),
    ("SELECT people FROM support.team_sizes", &["people"]),
];

#[actix_web::test]
async fn what_is_beside_a_withheld_column_stays_open() {
    let bench = Bench::new();
    for (sql, columns) in BESIDE {
        let outcome = bench.run("analyst", sql).await.unwrap_or_else(|err| panic!("{sql}: {err}"));
        let lower: Vec<String> = outcome.columns.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(lower, *columns, "{sql}");
        let text = serde_json::to_string(&outcome.rows).unwrap();
        assert!(!text.contains("canary"), "{sql}: {text}");
    }
}

#[actix_web::test]
async fn a_table_with_every_column_withheld_cannot_be_read_at_all() {
    let bench = Bench::new();
    for sql in [
        "SELECT * FROM support.secret",
        "SELECT count(*) FROM support.secret",
        "SELECT 1 FROM support.secret",
    ] {
        assert_refused(sql, bench.run("analyst", sql).await, Access, "support.secret");
    }
}

#[actix_web::test]
async fn row_numbers_give_no_way_to_a_withheld_key() {
    let bench = Bench::new();
    for sql in [
        "SELECT rowid FROM support.agents",
        "SELECT a._rowid_ FROM support.agents a",
        "SELECT oid FROM support.agents",
    ] {
        assert_refused(sql, bench.run("analyst", sql).await, Invalid, "no column");
    }
}

#[actix_web::test]
async fn an_unknown_column_is_a_mistake_and_not_a_refusal() {
    let bench = Bench::new();
    for role in ["analyst", "finance"] {
        let refused = bench.run(role, "SELECT nowt FROM support.agents").await;
        assert_refused("nothing", refused, Invalid, "support.agents has id, name, team");
    }
}

#[actix_web::test]
async fn a_name_that_could_be_either_column_is_ambiguous() {
    let bench = Bench::new();
    let sql = "SELECT email FROM support.customers c JOIN support.agents a ON a.id = c.id";
    assert_refused(sql, bench.run("analyst", sql).await, Invalid, "ambiguous");
    assert_refused(sql, bench.run("finance", sql).await, Invalid, "ambiguous");
}

#[test]
fn roles_add_up() {
    let bench = Bench::new();
    let both = bench.rights(&["analyst", "phones"]);
    let support = bench.warehouse.source("support").unwrap();
    assert!(both.withholds(support, "agents", "email"));
    assert!(!both.withholds(support, "agents", "phone"));
    let all = bench.rights(&["analyst", "finance"]);
    assert!(!all.withholds(support, "agents", "email"));
    let unknown = bench.rights(&["stranger"]);
    assert!(unknown.require_any().is_err());
}

#[test]
fn a_rule_for_a_column_that_does_not_exist_stops_the_start() {
    let bench = Bench::new();
    for withheld in ["support.agents.mail", "sales.agents.email", "agents.email", "support.agent.email"] {
        let rules = json!({"roles": {"r": {"sources": {"support": {"withheld": [withheld]}}}}});
        let rules: ask_executor::access::Rules = serde_json::from_value(rules).unwrap();
        assert!(rules.check(&bench.warehouse).unwrap_err().to_string().contains(withheld));
    }
}

#[actix_web::test]
async fn results_keep_order_and_values_of_a_projected_table() {
    let bench = Bench::new();
    let sql = "SELECT * FROM support.agents ORDER BY id DESC LIMIT 2";
    let outcome = bench.run("analyst", sql).await.unwrap();
    assert_eq!(
        outcome.rows,
        vec![
            vec![json!(3), json!("Cy"), json!("Frontline")],
            vec![json!(2), json!("Ben"), json!("Frontline")]
        ]
    );
    assert_eq!(outcome.tables, ["support.agents"]);
    assert_eq!(outcome.source, "support");
}
