//! Limits: time that really ends, rows and bytes that are cut and said to be, one source a statement.

use std::sync::Arc;
use std::time::Duration;

use ask_executor::engine::{Limits, Statement};
use ask_executor::refusal::Code::{Invalid, Timeout};
use serde_json::json;
use tokio::time::Instant;

use crate::fixture::{Bench, LIMITS, assert_refused};

const ENDLESS: &[&str] = &[
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000) \
     SELECT count(*) FROM n a, n b, n c WHERE a.i + b.i + c.i = 1",
];

#[actix_web::test]
async fn the_time_limit_really_stops_the_engine() {
    let bench = Bench::new();
    let limits = Limits { timeout: Duration::from_millis(300), ..LIMITS };
    for sql in ENDLESS {
        let begun = Instant::now();
        assert_refused(sql, bench.run_limited("analyst", sql, limits).await, Timeout, "stopped");
        assert!(begun.elapsed() < Duration::from_secs(3), "{sql}: {:?}", begun.elapsed());
    }
}

#[actix_web::test]
async fn single_steps_that_could_take_for_ever_do_not() {
    let bench = Bench::new();
    let limits = Limits { timeout: Duration::from_secs(2), ..LIMITS };
    let begun = Instant::now();
    for sql in [
        "SELECT rpad('', 200000, 'a') LIKE '%a%a%a%a%a%a%a%a%a%b'",
        "SELECT rpad('', 200000, 'a') GLOB '*a*a*a*a*a*a*a*a*a*b'",
        "SELECT instr(rpad('', 200000, 'a'), rpad('', 100000, 'a') || 'b')",
        "SELECT length(replace(rpad('', 200000, 'a'), rpad('', 100000, 'a') || 'b', ''))",
        "SELECT trim(rpad('', 200000, 'a'), rpad('', 100000, 'b') || 'a')",
    ] {
        bench.run_limited("analyst", sql, limits).await.unwrap_or_else(|err| panic!("{sql}: {err}"));
    }
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    for sql in [
        "SELECT printf('%2000000d', 1) || 'x'",
        "SELECT replace(rpad('', 200000, 'a'), 'a', rpad('', 200000, 'b'))",
        "SELECT rpad('', 2000000000, 'a')",
    ] {
        assert_refused(sql, bench.run_limited("analyst", sql, limits).await, Invalid, "long");
    }
}

#[actix_web::test]
async fn a_waiting_statement_is_given_up_at_its_limit() {
    let bench = Bench::new();
    let limits = Limits { timeout: Duration::from_millis(400), ..LIMITS };
    let engine = bench.engine(limits);
    let rights = Arc::new(bench.rights(&["analyst"]));
    let ask = |sql: &str| {
        engine.run(Arc::clone(&rights), Statement { sql: sql.to_owned(), source: None, max_rows: None })
    };
    let (first, second, third) = tokio::join!(ask(ENDLESS[0]), ask(ENDLESS[0]), ask("SELECT 1"));
    for result in [first.map(drop), second.map(drop)] {
        assert!(
            matches!(result, Err(ask_executor::refusal::Failure::Refused(refusal)) if refusal.code == Timeout)
        );
    }
    // Both threads were taken until the very moment at which this one's time was over too.
    if let Err(ask_executor::refusal::Failure::Refused(refusal)) = third {
        assert_eq!(refusal.code, Timeout);
    }
    assert_eq!(ask("SELECT 1").await.unwrap().rows, vec![vec![json!(1)]]);
}

#[actix_web::test]
async fn rows_are_cut_at_the_ceiling_and_said_to_be() {
    let bench = Bench::new();
    let engine = bench.engine(Limits { max_rows: 3, ..LIMITS });
    let rights = Arc::new(bench.rights(&["analyst"]));
    for (max_rows, rows, truncated) in
        [(None, 3, true), (Some(2), 2, true), (Some(3), 3, true), (Some(400), 3, true)]
    {
        let statement =
            Statement { sql: "SELECT id FROM support.tickets".to_owned(), source: None, max_rows };
        let outcome = engine.run(Arc::clone(&rights), statement).await.unwrap();
        assert_eq!((outcome.rows.len(), outcome.truncated), (rows, truncated), "{max_rows:?}");
    }
    let outcome = bench
        .run_limited("analyst", "SELECT id FROM support.tickets", Limits { max_rows: 4, ..LIMITS })
        .await
        .unwrap();
    assert_eq!((outcome.rows.len(), outcome.truncated), (4, false));
}

#[actix_web::test]
async fn bytes_are_cut_at_the_ceiling_and_said_to_be() {
    let bench = Bench::new();
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) SELECT rpad('', 1000, 'x') FROM n";
    let outcome = bench.run_limited("analyst", sql, Limits { max_bytes: 10_000, ..LIMITS }).await.unwrap();
    assert!(outcome.truncated && outcome.rows.len() == 9, "{}", outcome.rows.len());
}

#[actix_web::test]
async fn a_statement_reads_one_source() {
    let bench = Bench::new();
    let sql = "SELECT * FROM support.tickets t JOIN sales.fct_sales s ON s.id = t.id";
    assert_refused(sql, bench.run("analyst", sql).await, Invalid, "support and sales");
    let engine = bench.engine(LIMITS);
    let rights = Arc::new(bench.rights(&["analyst"]));
    let ask = |sql: &str, source: &str| {
        engine.run(
            Arc::clone(&rights),
            Statement { sql: sql.to_owned(), source: Some(source.to_owned()), max_rows: None },
        )
    };
    assert_eq!(ask("SELECT count(*) FROM sales.fct_sales", "sales").await.unwrap().source, "sales");
    assert_eq!(ask("SELECT 1", "SALES").await.unwrap().source, "sales");
    assert!(ask("SELECT * FROM sales.fct_sales", "support").await.is_err());
    assert!(ask("SELECT 1", "elsewhere").await.is_err());
}

#[actix_web::test]
async fn values_become_json_of_their_own_kind() {
    let bench = Bench::new();
    let sql = "SELECT NULL, 7, 2.5, 'text', raw, 9e999, -9e999, 9223372036854775807 FROM support.tickets WHERE id = 1";
    let outcome = bench.run("analyst", sql).await.unwrap();
    assert_eq!(
        outcome.rows,
        vec![vec![
            json!(null),
            json!(7),
            json!(2.5),
            json!("text"),
            json!("[blob, 2 bytes]"),
            json!("Infinity"),
            json!("-Infinity"),
            json!(9_223_372_036_854_775_807_i64)
        ]]
    );
}

#[actix_web::test]
async fn a_statement_reads_what_was_written_since_the_start() {
    let bench = Bench::new();
    let path = bench.folder.path().join("sales.db");
    rusqlite::Connection::open(path)
        .unwrap()
        .execute("INSERT INTO dim_product VALUES (3, 'Pad', 1)", [])
        .unwrap();
    let outcome = bench.run("finance", "SELECT count(*) FROM sales.dim_product").await.unwrap();
    assert_eq!(outcome.rows, vec![vec![json!(3)]]);
}
