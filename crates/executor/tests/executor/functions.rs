//! The functions that the engine is given, each against a value worked out by hand.

use serde_json::{Value, json};

use crate::fixture::Bench;

#[actix_web::test]
async fn functions_give_what_analysts_expect() {
    let bench = Bench::new();
    let cases: Vec<(&str, Value)> = vec![
        ("date_trunc('month', '2025-05-17 13:45:10')", json!("2025-05-01")),
        ("date_trunc('Quarter', '2025-05-17')", json!("2025-04-01")),
        ("date_trunc('week', '2025-05-18')", json!("2025-05-12")),
        ("date_trunc('year', '2025-05-17T01:00:00Z')", json!("2025-01-01")),
        ("date_trunc('hour', '2025-05-17 13:45:10.123')", json!("2025-05-17 13:00:00")),
        ("date_trunc('day', '2025-05-17 01:00:00+02:00')", json!("2025-05-16")),
        ("date_trunc('day', 'nonsense')", json!(null)),
        ("date_trunc('day', NULL)", json!(null)),
        ("date_part('dow', '2025-05-18')", json!(0)),
        ("date_part('isodow', '2025-05-18')", json!(7)),
        ("date_part('doy', '2025-02-01')", json!(32)),
        ("date_part('epoch', '1970-01-02')", json!(86_400)),
        ("date_diff('day', '2025-01-31', '2025-02-02 23:00')", json!(2)),
        ("date_diff('month', '2025-01-31', '2025-02-01')", json!(1)),
        ("date_diff('quarter', '2025-03-31', '2025-04-01')", json!(1)),
        ("date_diff('week', '2025-05-18', '2025-05-19')", json!(1)),
        ("date_diff('hour', '2025-01-01 10:59', '2025-01-01 11:01')", json!(1)),
        ("date_diff('year', '2025-06-01', '2024-12-31')", json!(-1)),
        ("year('2025-05-17')", json!(2025)),
        ("quarter('2025-12-31')", json!(4)),
        ("sqrt(9)", json!(3.0)),
        ("sqrt(-1)", json!(null)),
        ("power(2, 10)", json!(1024.0)),
        ("mod(7, 4)", json!(3)),
        ("mod(7, 0)", json!(null)),
        ("ceil(1.2)", json!(2.0)),
        ("floor(-1.2)", json!(-2.0)),
        ("ceil(3)", json!(3)),
        ("ln(1)", json!(0.0)),
        ("log(2, 8)", json!(3.0)),
        ("greatest(1, 3, NULL, 2)", json!(3)),
        ("least('b', 'a')", json!("a")),
        ("left('abcdef', 2)", json!("ab")),
        ("right('abcdef', 2)", json!("ef")),
        ("left('abc', -1)", json!("ab")),
        ("lpad('7', 3, '0')", json!("007")),
        ("rpad('7', 3)", json!("7  ")),
        ("split_part('a,b,c', ',', 2)", json!("b")),
        ("split_part('a,b,c', ',', -1)", json!("c")),
        ("split_part('a,b,c', ',', 9)", json!("")),
        ("strpos('größe', 'ß')", json!(4)),
        ("char_length('größe')", json!(5)),
        ("replace('aXbX', 'X', '-')", json!("a-b-")),
        ("trim('  x ')", json!("x")),
        ("ltrim('xxy', 'x')", json!("y")),
        ("instr('abc', 'd')", json!(0)),
        ("'ABC' LIKE 'a%c'", json!(1)),
        ("'abc' LIKE 'a_c'", json!(1)),
        ("'50%' LIKE '50!%' ESCAPE '!'", json!(1)),
        ("'50x' LIKE '50!%' ESCAPE '!'", json!(0)),
        ("'' LIKE '%'", json!(1)),
        ("'abab' LIKE '%ab'", json!(1)),
        ("NULL LIKE 'a'", json!(null)),
        ("'abc' GLOB 'a[a-c]?'", json!(1)),
        ("'Abc' GLOB 'a*'", json!(0)),
        ("'a]' GLOB 'a[]]'", json!(1)),
        ("'ab' GLOB 'a[^b]'", json!(0)),
    ];
    for (expression, expected) in cases {
        let sql = format!("SELECT {expression}");
        let outcome = bench.run("finance", &sql).await.unwrap_or_else(|err| panic!("{sql}: {err}"));
        assert_eq!(outcome.rows, vec![vec![expected]], "{sql}");
    }
}

#[actix_web::test]
async fn aggregates_agree_with_values_worked_out_by_hand() {
    let bench = Bench::new();
    let sql = "WITH v(x) AS (VALUES (2), (4), (4), (4), (5), (5), (7), (9), (NULL)) \
               SELECT median(x), percentile_cont(x, 0.25), stddev_pop(x), var_pop(x), round(stddev(x), 6), round(variance(x), 6) FROM v";
    let outcome = bench.run("finance", sql).await.unwrap();
    assert_eq!(
        outcome.rows,
        vec![vec![json!(4.5), json!(4.0), json!(2.0), json!(4.0), json!(2.13809), json!(4.571_429)]]
    );
    let none = bench
        .run("finance", "SELECT median(id), stddev(id), var_pop(id) FROM support.agents WHERE id < 0")
        .await
        .unwrap();
    assert_eq!(none.rows, vec![vec![json!(null), json!(null), json!(null)]]);
}
