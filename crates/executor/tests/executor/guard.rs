//! The guard's corpus: what is refused for which reason, and what is allowed.

use ask_executor::refusal::Code::{self, Access, Guard, Invalid};

use crate::fixture::{Bench, assert_refused, not_refused};

/// Statements that a caller who may see everything is refused, each with the code and a word of the reason.
const REFUSED: &[(&str, Code, &str)] = &[
    // Changing statements, in every dress.
    ("DELETE FROM support.tickets", Guard, "DELETE"),
    ("delete from support.tickets where status = 'resolved'", Guard, "DELETE"),
    ("UPDATE support.tickets SET status = 'open'", Guard, "UPDATE"),
    ("INSERT INTO support.tickets (id) VALUES (9)", Guard, "INSERT"),
    ("REPLACE INTO support.tickets (id) VALUES (9)", Guard, "REPLACE"),
    ("MERGE INTO support.tickets USING support.agents ON true WHEN MATCHED THEN DELETE", Guard, "MERGE"),
    ("TRUNCATE TABLE support.tickets", Guard, "TRUNCATE"),
    ("DROP TABLE support.tickets", Guard, "DROP"),
    ("CREATE TABLE support.x (id INTEGER)", Guard, "CREATE"),
    ("CREATE TABLE support.x AS SELECT * FROM support.tickets", Guard, "CREATE"),
    ("CREATE VIEW support.x AS SELECT 1", Guard, "CREATE"),
    ("CREATE TRIGGER t AFTER INSERT ON tickets BEGIN SELECT 1; END", Guard, ""),
    ("ALTER TABLE support.tickets RENAME TO t", Guard, "ALTER"),
    ("WITH gone AS (DELETE FROM support.tickets RETURNING *) SELECT * FROM gone", Guard, "only read"),
    (
        "WITH more AS (INSERT INTO support.tickets (id) VALUES (9) RETURNING id) SELECT * FROM more",
        Guard,
        "read",
    ),
    ("WITH x AS (SELECT 1) DELETE FROM support.tickets", Guard, ""),
    ("WITH x AS (SELECT 1) INSERT INTO support.tickets (id) SELECT * FROM x", Guard, ""),
    ("WITH x AS (SELECT 1) UPDATE support.tickets SET status = 'open'", Guard, ""),
    ("SELECT * INTO support.copy FROM support.tickets", Guard, "INTO"),
    ("SELECT * FROM support.tickets FOR UPDATE", Guard, "FOR UPDATE"),
    ("SELECT * FROM support.tickets FOR SHARE", Guard, "FOR UPDATE"),
    ("SELECT * FROM (SELECT * FROM support.tickets FOR UPDATE) AS t", Guard, "FOR UPDATE"),
    // The engine, its files and its settings.
    ("PRAGMA table_info(tickets)", Guard, "PRAGMA"),
    ("PRAGMA query_only = OFF", Guard, "PRAGMA"),
    ("ATTACH DATABASE '/etc/passwd' AS x", Guard, "ATTACH"),
    ("ATTACH 'other.db' AS other", Guard, "ATTACH"),
    ("DETACH DATABASE support", Guard, "DETACH"),
    ("VACUUM INTO '/tmp/copy.db'", Guard, "VACUUM"),
    ("VACUUM", Guard, "VACUUM"),
    ("REINDEX", Guard, "REINDEX"),
    ("ANALYZE", Guard, "ANALYZE"),
    ("BEGIN", Guard, "BEGIN"),
    ("COMMIT", Guard, "COMMIT"),
    ("SAVEPOINT s", Guard, "SAVEPOINT"),
    ("EXPLAIN SELECT * FROM support.tickets", Guard, "EXPLAIN"),
    ("EXPLAIN QUERY PLAN SELECT * FROM support.tickets", Guard, "EXPLAIN"),
    ("EXPLAIN ANALYZE DELETE FROM support.tickets", Guard, "EXPLAIN"),
    ("COPY support.tickets TO '/tmp/x.csv'", Guard, "COPY"),
    ("COPY (SELECT 1) TO PROGRAM 'sh'", Guard, "COPY"),
    ("SET x = 1", Guard, "SET"),
    ("SHOW TABLES", Guard, "SHOW"),
    ("USE support", Guard, "USE"),
    ("CALL something()", Guard, "CALL"),
    ("GRANT ALL ON support.tickets TO public", Guard, "GRANT"),
    ("INSTALL httpfs", Guard, "INSTALL"),
    ("LOAD 'httpfs'", Guard, "LOAD"),
    ("SELECT * FROM sqlite_master", Guard, "engine's own"),
    ("SELECT * FROM sqlite_schema", Guard, "engine's own"),
    ("SELECT * FROM support.sqlite_master", Guard, "engine's own"),
    ("SELECT sql FROM support.sqlite_schema", Guard, "engine's own"),
    ("SELECT * FROM main.sqlite_master", Guard, "engine's own"),
    ("SELECT * FROM \"sqlite_master\"", Guard, "engine's own"),
    ("SELECT * FROM SQLITE_TEMP_MASTER", Guard, "engine's own"),
    ("SELECT * FROM support.sqlite_sequence", Guard, "engine's own"),
    ("SELECT * FROM support.sqlite_stat1", Guard, "engine's own"),
    ("SELECT * FROM dbstat", Guard, "engine's own"),
    ("SELECT * FROM information_schema.tables", Guard, "engine's own"),
    ("SELECT * FROM pg_catalog.pg_tables", Guard, "engine's own"),
    ("SELECT (SELECT count(*) FROM sqlite_master) FROM support.tickets", Guard, "engine's own"),
    ("SELECT 1 WHERE EXISTS (SELECT 1 FROM support.sqlite_master)", Guard, "engine's own"),
    ("SELECT 1 UNION ALL SELECT count(*) FROM sqlite_master", Guard, "engine's own"),
    ("SELECT * FROM support.tickets ORDER BY (SELECT sql FROM sqlite_master)", Guard, "engine's own"),
    ("SELECT * FROM support.tickets LIMIT (SELECT count(*) FROM sqlite_master)", Guard, "engine's own"),
    (
        "SELECT sum(id) OVER (ORDER BY (SELECT 1 FROM sqlite_master)) FROM support.tickets",
        Guard,
        "engine's own",
    ),
    ("SELECT CASE WHEN (SELECT 1 FROM sqlite_master) THEN 1 END", Guard, "engine's own"),
    (
        "SELECT count(*) FILTER (WHERE (SELECT 1 FROM sqlite_master)) FROM support.tickets",
        Guard,
        "engine's own",
    ),
    ("SELECT 1 FROM support.tickets GROUP BY (SELECT sql FROM sqlite_master)", Guard, "engine's own"),
    (
        "SELECT 1 FROM support.tickets t JOIN support.agents a ON (SELECT 1 FROM sqlite_master)",
        Guard,
        "engine's own",
    ),
    ("SELECT CAST((SELECT sql FROM sqlite_master) AS TEXT)", Guard, "engine's own"),
    ("SELECT 1 IN (SELECT sql FROM sqlite_master)", Guard, "engine's own"),
    ("VALUES ((SELECT sql FROM sqlite_master))", Guard, "engine's own"),
    // Functions where tables belong.
    ("SELECT * FROM pragma_table_info('tickets')", Guard, "functions in FROM"),
    ("SELECT * FROM pragma_database_list", Guard, "engine's own"),
    ("SELECT * FROM json_each('[1]')", Guard, "functions in FROM"),
    ("SELECT * FROM generate_series(1, 10)", Guard, "functions in FROM"),
    ("SELECT * FROM read_csv('/etc/passwd')", Guard, "functions in FROM"),
    ("SELECT * FROM read_parquet('x.parquet')", Guard, "functions in FROM"),
    ("SELECT * FROM support.tickets, json_each(status)", Guard, "functions in FROM"),
    (
        "SELECT * FROM support.tickets t JOIN pragma_table_info('tickets') p ON true",
        Guard,
        "functions in FROM",
    ),
    ("SELECT * FROM TABLE(generate_series(1, 10))", Guard, "functions in FROM"),
    ("SELECT * FROM '/etc/passwd'", Guard, "files"),
    ("SELECT * FROM \"/etc/passwd\"", Guard, "files"),
    ("SELECT * FROM 'data.csv'", Guard, "files"),
    ("SELECT * FROM \"s3://bucket/key.parquet\"", Guard, "files"),
    ("SELECT * FROM support.\"../x.db\"", Guard, "files"),
    // Functions that reach past the data.
    ("SELECT load_extension('/tmp/x.so')", Guard, "load_extension"),
    ("SELECT LOAD_EXTENSION('/tmp/x.so', 'init')", Guard, "load_extension"),
    ("SELECT \"load_extension\"('/tmp/x.so')", Guard, "load_extension"),
    ("SELECT readfile('/etc/passwd')", Guard, "readfile"),
    ("SELECT writefile('/tmp/x', 'x')", Guard, "writefile"),
    ("SELECT edit('x')", Guard, "edit"),
    ("SELECT pg_sleep(10)", Guard, "pg_sleep"),
    ("SELECT pg_read_file('/etc/passwd')", Guard, "pg_read_file"),
    ("SELECT pg_catalog.pg_sleep(10)", Guard, "without a schema"),
    ("SELECT sqlite_version()", Guard, "sqlite_version"),
    ("SELECT sqlite_compileoption_get(1)", Guard, "sqlite_compileoption_get"),
    ("SELECT randomblob(1000000000)", Guard, "randomblob"),
    ("SELECT zeroblob(1000000000)", Guard, "zeroblob"),
    ("SELECT fts3_tokenizer('x')", Guard, "fts3_tokenizer"),
    ("SELECT getenv('HOME')", Guard, "getenv"),
    ("SELECT sleep(5)", Guard, "sleep"),
    ("SELECT count(*) FROM support.tickets WHERE readfile('/etc/passwd') LIKE '%root%'", Guard, "readfile"),
    ("SELECT 1 ORDER BY load_extension('x')", Guard, "load_extension"),
    ("SELECT group_concat(status, load_extension('x')) FROM support.tickets", Guard, "load_extension"),
    ("SELECT last_insert_rowid()", Guard, "last_insert_rowid"),
    // Several statements, also where one does not see them.
    ("SELECT 1; SELECT 2", Guard, "one statement"),
    ("SELECT 1; DROP TABLE support.tickets", Guard, "one statement"),
    ("SELECT 1 ; -- harmless\n DELETE FROM support.tickets", Guard, "one statement"),
    ("SELECT 1 /* ; */ ; /* x */ DELETE FROM support.tickets --", Guard, "one statement"),
    ("SELECT 1;;; vacuum full nonsense", Guard, "one statement"),
    (";SELECT 1", Guard, "one statement"),
    ("/* SELECT */ DELETE FROM support.tickets", Guard, "DELETE"),
    ("-- SELECT 1\nDELETE FROM support.tickets", Guard, "DELETE"),
    ("SELECT 1 --\n; DELETE FROM support.tickets", Guard, "one statement"),
    // What a model gets wrong and may correct.
    ("", Invalid, "no statement"),
    ("   \n\t", Invalid, "no statement"),
    (";", Invalid, "no statement"),
    ("-- nothing", Invalid, "no statement"),
    ("SELEC 1", Invalid, "parse"),
    ("SELECT FROM WHERE", Invalid, ""),
    ("how many tickets are there?", Invalid, "parse"),
    ("SELECT (1", Invalid, "parse"),
    ("SELECT 'open", Invalid, "parse"),
    ("SELECT /* open", Invalid, ""),
    ("SELECT * FROM tickets", Invalid, "support.tickets"),
    ("SELECT * FROM dim_product", Invalid, "sales.dim_product"),
    ("SELECT * FROM support.tickets t JOIN agents a ON a.id = t.agent_id", Invalid, "support.agents"),
    ("SELECT (SELECT count(*) FROM tickets)", Invalid, "support.tickets"),
    ("SELECT * FROM nowt", Invalid, "no table nowt"),
    ("SELECT * FROM support.nothing", Invalid, "support.tickets"),
    ("SELECT * FROM support.words", Invalid, "no table"),
    ("SELECT * FROM support.words_content", Invalid, "no table"),
    ("SELECT * FROM nowhere.tickets", Invalid, "no schema nowhere"),
    ("SELECT * FROM main.tickets", Invalid, "no schema main"),
    ("SELECT * FROM temp.tickets", Invalid, "no schema temp"),
    ("SELECT * FROM x.support.tickets", Invalid, "too many parts"),
    ("SELECT magic(1)", Invalid, "no function magic"),
    ("SELECT ?", Invalid, "parameters"),
    ("SELECT * FROM support.tickets WHERE id = ?1", Invalid, "parameters"),
    ("SELECT * FROM support.tickets WHERE id = :id", Invalid, "parameters"),
    ("SELECT * FROM support.tickets WHERE id = $1", Invalid, "parameters"),
    ("SELECT * FROM support.tickets WHERE id = @id", Invalid, ""),
    ("SELECT DISTINCT ON (status) status FROM support.tickets", Invalid, "DISTINCT ON"),
    ("SELECT * FROM support.tickets FETCH FIRST 3 ROWS ONLY", Invalid, "LIMIT"),
    ("SELECT now() - INTERVAL '7 days'", Invalid, ""),
    ("SELECT opened_at + INTERVAL '7' DAY FROM support.tickets", Invalid, "INTERVAL"),
    ("SELECT * FROM support.tickets CROSS APPLY support.agents", Invalid, ""),
    ("SELECT * FROM support.tickets t, LATERAL (SELECT 1) x", Invalid, ""),
    ("SELECT * FROM support.tickets TABLESAMPLE SYSTEM (10)", Invalid, ""),
    ("SELECT * FROM support.tickets AS a(x, y)", Invalid, "column list"),
    ("TABLE support.tickets", Invalid, ""),
    ("SELECT * EXCLUDE (id) FROM support.tickets", Invalid, ""),
    ("SELECT support.tickets.id FROM support.tickets t", Invalid, "alias"),
    ("SELECT a.b.c.d.e FROM support.tickets", Invalid, "too many parts"),
    ("SELECT 1 FROM support.tickets, support.tickets", Invalid, "alias"),
    ("SELECT 'a\u{0}b'", Invalid, "control character"),
    ("SELECT 'a\u{1}0\u{1}b'", Invalid, "control character"),
    ("SELECT status COLLATE evil FROM support.tickets", Invalid, "collation"),
    ("SELECT \"a'b\" FROM support.tickets", Invalid, "not usable as a name"),
    ("SELECT id AS \"x\\\" FROM support.tickets", Invalid, "not usable as a name"),
    ("SELECT status REGEXP 'x' FROM support.tickets", Invalid, "operator"),
    ("SELECT status MATCH 'x' FROM support.tickets", Invalid, "operator"),
    ("WITH tickets AS (SELECT 1) SELECT * FROM agents", Invalid, "support.agents"),
    // A WITH name lives only where it was made.
    (
        "SELECT * FROM (WITH tickets AS (SELECT 1 AS x) SELECT * FROM tickets) AS t, tickets",
        Invalid,
        "support.tickets",
    ),
    ("SELECT (WITH agents AS (SELECT 1 AS x) SELECT x FROM agents) FROM agents", Invalid, "support.agents"),
    (
        "WITH a AS (WITH tickets AS (SELECT 1 AS x) SELECT * FROM tickets) SELECT * FROM tickets",
        Invalid,
        "support.tickets",
    ),
    (
        "SELECT 1 UNION SELECT * FROM (WITH secret AS (SELECT 1) SELECT * FROM secret) AS t UNION SELECT word FROM secret",
        Invalid,
        "support.secret",
    ),
    ("WITH a AS (SELECT * FROM b), b AS (SELECT 1 AS x) SELECT * FROM a", Invalid, "no table b"),
    ("WITH sqlite_master AS (SELECT 1 AS x) SELECT * FROM support.sqlite_master", Guard, "engine's own"),
];

/// Statements that must pass, and run.
const ALLOWED: &[&str] = &[
    "SELECT 1",
    "SELECT 1;",
    "  select 1 ; -- done",
    "(SELECT 1)",
    "VALUES (1, 'a'), (2, 'b')",
    "(SELECT id FROM support.tickets ORDER BY id LIMIT 1) UNION ALL (SELECT id FROM support.agents ORDER BY id DESC LIMIT 1)",
    "((SELECT 1))",
    "SELECT id FROM support.tickets UNION (SELECT id FROM support.agents EXCEPT SELECT 1)",
    "SELECT trim(BOTH 'o' FROM status), trim(LEADING 'o' FROM status), trim(TRAILING 'n' FROM status) FROM support.tickets",
    "SELECT * FROM support.tickets",
    "SELECT * FROM \"support\".\"tickets\"",
    "SELECT * FROM [support].[tickets]",
    "SELECT * FROM `support`.`tickets`",
    "SELECT * FROM SUPPORT.TICKETS",
    "SELECT count(*) FROM support.tickets",
    "SELECT support.tickets.id, tickets.status FROM support.tickets",
    "SELECT support.tickets.* FROM support.tickets",
    "SELECT t.* FROM support.tickets t",
    "SELECT t.id AS 'number' FROM support.tickets AS t",
    "SELECT status, count(*) AS n FROM support.tickets GROUP BY status HAVING count(*) > 0 ORDER BY n DESC LIMIT 5",
    "SELECT status, count(*) FROM support.tickets GROUP BY 1 ORDER BY 2 DESC NULLS LAST LIMIT 5 OFFSET 1",
    "SELECT DISTINCT status FROM support.tickets LIMIT 1, 2",
    "SELECT a.team, avg(t.resolution_minutes) FROM support.tickets t JOIN support.agents a ON a.id = t.agent_id GROUP BY a.team",
    "SELECT * FROM support.tickets t LEFT JOIN support.agents a ON a.id = t.agent_id WHERE a.id IS NULL",
    "SELECT * FROM support.tickets t CROSS JOIN support.customers c WHERE c.id = t.customer_id",
    "SELECT * FROM support.tickets t, support.customers c WHERE c.id = t.customer_id",
    "SELECT * FROM (support.tickets t JOIN support.agents a ON a.id = t.agent_id)",
    "SELECT * FROM support.agents FULL OUTER JOIN support.customers USING (id)",
    "SELECT * FROM support.agents NATURAL JOIN support.customers",
    "SELECT * FROM (SELECT status AS s FROM support.tickets) AS x WHERE s = 'open'",
    "SELECT * FROM (SELECT 1 AS x)",
    "SELECT status FROM support.tickets UNION SELECT team FROM support.agents ORDER BY 1",
    "SELECT status FROM support.tickets UNION ALL SELECT team FROM support.agents",
    "SELECT id FROM support.tickets EXCEPT SELECT id FROM support.agents",
    "SELECT id FROM support.tickets INTERSECT SELECT id FROM support.agents",
    "WITH open AS (SELECT * FROM support.tickets WHERE status = 'open') SELECT count(*) FROM open",
    "WITH tickets AS (SELECT * FROM support.tickets) SELECT count(*) FROM tickets",
    "WITH a AS (SELECT id FROM support.agents), b AS (SELECT * FROM a) SELECT * FROM b JOIN a USING (id)",
    "WITH a(x, y) AS (SELECT id, team FROM support.agents) SELECT y, count(x) FROM a GROUP BY y",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT sum(i) FROM n",
    "WITH secret AS (SELECT 'mine' AS word) SELECT word FROM secret",
    "SELECT (SELECT max(id) FROM support.tickets) AS top, id FROM support.agents",
    "SELECT * FROM support.agents a WHERE EXISTS (SELECT 1 FROM support.tickets t WHERE t.agent_id = a.id)",
    "SELECT * FROM support.agents WHERE id NOT IN (SELECT agent_id FROM support.tickets WHERE agent_id IS NOT NULL)",
    "SELECT * FROM support.agents WHERE (id, team) IN (SELECT agent_id, 'Billing' FROM support.tickets)",
    "SELECT id, row_number() OVER (PARTITION BY status ORDER BY opened_at) FROM support.tickets",
    "SELECT id, sum(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM support.tickets",
    "SELECT id, lag(id, 1, 0) OVER w FROM support.tickets WINDOW w AS (ORDER BY id)",
    "SELECT count(*) FILTER (WHERE status = 'open'), count(DISTINCT status) FROM support.tickets",
    "SELECT CASE status WHEN 'open' THEN 1 ELSE 0 END, CASE WHEN id > 2 THEN 'x' END FROM support.tickets",
    "SELECT CAST(id AS TEXT), CAST(id AS DECIMAL(10, 2)), id::text FROM support.tickets",
    "SELECT coalesce(region, 'none'), ifnull(region, ''), nullif(id, 1), iif(id > 1, 'a', 'b') FROM support.customers",
    "SELECT round(100.0 * count(*) / (SELECT count(*) FROM support.tickets), 1) FROM support.tickets WHERE status = 'open'",
    "SELECT date_trunc('month', opened_at) AS m, count(*) FROM support.tickets GROUP BY m ORDER BY m",
    "SELECT strftime('%Y-%m', opened_at), julianday('2025-01-02') - julianday('2025-01-01') FROM support.tickets",
    "SELECT date('now', '-7 days'), datetime('now'), CURRENT_DATE, current_timestamp, unixepoch('now')",
    "SELECT EXTRACT(YEAR FROM opened_at), EXTRACT(month FROM opened_at) FROM support.tickets",
    "SELECT DATE '2025-01-01', TIMESTAMP '2025-01-01 00:00:00'",
    "SELECT substring(status FROM 2 FOR 3), substring(status, 2), substr(status, 1, 2) FROM support.tickets",
    "SELECT position('e' IN status), trim(status), trim(status, 'o') FROM support.tickets",
    "SELECT CEIL(resolution_minutes), FLOOR(resolution_minutes) FROM support.tickets",
    "SELECT status ILIKE 'OPEN', status LIKE 'o%', status NOT LIKE '%x\\%' ESCAPE '\\', status GLOB 'o*' FROM support.tickets",
    "SELECT status || '-' || id, -id, +id, ~id, NOT id, id % 2, id << 1, id & 1 FROM support.tickets",
    "SELECT id BETWEEN 1 AND 3, id IN (1, 2, 3), id NOT IN (4), id IS NULL, id IS NOT NULL, id IS DISTINCT FROM 2 FROM support.tickets",
    "SELECT true, false, NULL, 1.5, 1e3, .5, x'00ff', '', 'it''s', 'a;b', '--', '/* no */', 'line\nend'",
    "SELECT 'back\\', '\\'' OR 1=1 --', 'ü–漢'",
    "SELECT name AS \"the name\" FROM support.agents ORDER BY \"the name\" COLLATE NOCASE",
    "SELECT group_concat(name, ', ' ORDER BY name), string_agg(team, ';') FROM support.agents",
    "SELECT json_extract('{\"a\": 1}', '$.a'), '{\"a\": 2}' -> 'a', '{\"a\": 3}' ->> '$.a'",
    "SELECT median(resolution_minutes), stddev(resolution_minutes), percentile_cont(resolution_minutes, 0.9) FROM support.tickets",
    "SELECT * FROM support.team_sizes",
    "SELECT raw FROM support.tickets WHERE raw IS NOT NULL",
    "/* why */ SELECT /* what */ 1 -- that\n",
    "SELECT t.id FROM support.tickets AS t WHERE t.id = (SELECT min(u.id) FROM support.tickets AS u WHERE u.status = t.status)",
    "SELECT 1 WHERE 'DELETE FROM support.tickets; DROP TABLE x' <> ''",
    "SELECT \"status\" FROM support.tickets ORDER BY CASE WHEN status = 'open' THEN 0 ELSE 1 END, id",
    "SELECT status AS s FROM support.tickets GROUP BY s HAVING s <> 'open'",
    "SELECT sum(amount) FROM sales.fct_sales WHERE sold_on >= '2025-04-01'",
    // What models like to write.
    "SELECT 1 == 1, 1 != 2, 1 <> 2, NOT 1 = 2, 1 IS NOT DISTINCT FROM 1, id IS TRUE FROM support.tickets",
    "SELECT ALL status FROM support.tickets",
    "SELECT count(ALL status), group_concat(DISTINCT status), total(id), avg(DISTINCT id) FROM support.tickets",
    "SELECT CAST(id AS FLOAT), CAST(id AS DOUBLE PRECISION), CAST(id AS VARCHAR(10)), CAST(id AS NUMERIC), CAST(id AS DATE), CAST(id AS BIGINT) FROM support.tickets",
    "SELECT date('now', 'start of month', '+1 month', '-1 day'), datetime(0, 'unixepoch'), strftime('%s', 'now')",
    "SELECT CAST(strftime('%m', opened_at) AS INTEGER) AS m, printf('%.2f', avg(resolution_minutes)) FROM support.tickets GROUP BY 1",
    "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v",
    "SELECT column1 FROM (VALUES (1), (2)) AS v WHERE column1 > 1",
    "WITH v(x) AS (VALUES (1), (2)) SELECT sum(x) FROM v",
    "SELECT id FROM support.tickets WHERE opened_at NOT BETWEEN '2025-01-01' AND '2025-01-31' ORDER BY id DESC NULLS FIRST",
    "SELECT id, avg(id) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING), ntile(4) OVER (ORDER BY id), rank() OVER (ORDER BY id DESC) FROM support.tickets",
    "SELECT id, sum(id) OVER (PARTITION BY status ORDER BY id GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM support.tickets",
    "SELECT id, sum(id) OVER (ORDER BY id RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM support.tickets",
    "SELECT percent_rank() OVER w, cume_dist() OVER w, last_value(id) OVER w FROM support.tickets WINDOW w AS (PARTITION BY status ORDER BY id)",
    "SELECT t.id FROM support.tickets t INNER JOIN support.agents a USING (id) LEFT OUTER JOIN support.customers c ON c.id = t.customer_id",
    "SELECT count(*) FROM support.tickets t JOIN support.agents a",
    "SELECT a.name, (SELECT count(*) FROM support.tickets t WHERE t.agent_id = a.id AND t.status = 'open') AS open FROM support.agents a ORDER BY open DESC, a.name",
    "SELECT status, count(*) * 100.0 / sum(count(*)) OVER () AS share FROM support.tickets GROUP BY status",
    "WITH RECURSIVE days(d) AS (SELECT date('2025-01-01') UNION ALL SELECT date(d, '+1 day') FROM days WHERE d < '2025-01-31') SELECT d, count(t.id) FROM days LEFT JOIN support.tickets t ON date(t.opened_at) = d GROUP BY d",
    "SELECT CASE WHEN strftime('%m', opened_at) >= '04' THEN strftime('%Y', opened_at) ELSE strftime('%Y', opened_at) - 1 END AS fy, count(*) FROM support.tickets GROUP BY fy",
    "SELECT max(opened_at) - min(opened_at), julianday(max(opened_at)) - julianday(min(opened_at)) FROM support.tickets",
    "SELECT upper(substr(status, 1, 1)) || substr(status, 2), replace(status, 'o', '0'), length(status), instr(status, 'p') FROM support.tickets",
    "SELECT id FROM support.tickets WHERE status = 'open' OR (status = 'resolved' AND resolution_minutes >= 60) LIMIT 10 OFFSET 0",
    "SELECT name FROM support.customers WHERE name LIKE '%cm%' COLLATE NOCASE",
    "SELECT min(id, 3), max(id, 3), round(1.5), round(1.25, 1), abs(-1), sign(-2) FROM support.tickets",
    "SELECT \"t\".\"id\" AS \"Ticket Number\" FROM \"support\".\"tickets\" AS \"t\" ORDER BY \"Ticket Number\"",
    "SELECT id id2, status st FROM support.tickets tk WHERE tk.id IN (1,2) GROUP BY id2, st",
    "SELECT NULL IS NULL, (1 + 2) * 3, -(-1), 7 / 2, 7 % 2, 1 | 2, 1 << 2, 'a' < 'b', 1e2",
];

#[test]
fn each_forbidden_statement_is_refused_for_its_stated_reason() {
    let bench = Bench::new();
    let wrong: Vec<String> = REFUSED
        .iter()
        .filter_map(|(sql, code, says)| not_refused(sql, bench.guard("finance", sql), *code, says))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[actix_web::test]
async fn each_allowed_statement_runs() {
    let bench = Bench::new();
    let mut failed = Vec::new();
    for sql in ALLOWED {
        if let Err(refusal) = bench.run("finance", sql).await {
            failed.push(format!("{sql}\n    {:?}: {}", refusal.code, refusal.message));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_corpus_is_large_enough() {
    assert!(REFUSED.len() >= 80 && ALLOWED.len() >= 60, "{} and {}", REFUSED.len(), ALLOWED.len());
}

#[actix_web::test]
async fn texts_arrive_at_the_engine_as_they_were_written() {
    let bench = Bench::new();
    for text in
        ["it's", "\\", "\\'", "'", "''", "\\''; --", "a'' or 1", "%_", "ü\"`[x]", "?1 :a $b @c", "⟦0⟧"]
    {
        let sql = format!("SELECT '{}' AS x, 1 AS y", text.replace('\'', "''"));
        let outcome = bench.run("finance", &sql).await.unwrap();
        assert_eq!(outcome.rows, vec![vec![serde_json::json!(text), serde_json::json!(1)]], "{sql}");
    }
}

#[test]
fn deep_statements_are_refused_and_do_not_overflow_the_stack() {
    let bench = Bench::new();
    for sql in [
        format!("SELECT {}1{}", "(".repeat(3_000), ")".repeat(3_000)),
        format!("SELECT {}", vec!["1"; 2_400].join("+")),
        format!("SELECT {} 1", "- ".repeat(4_000)),
        format!("SELECT {} 1", "NOT ".repeat(4_000)),
        vec!["SELECT 1"; 2_000].join(" UNION ALL "),
        format!("SELECT {}1", "(SELECT ".repeat(1_000)),
        format!("SELECT {}", "CASE WHEN 1 THEN ".repeat(1_000)),
        format!("SELECT 1 {}", "x".repeat(30_000)),
    ] {
        let short: String = sql.chars().take(60).collect();
        assert_refused(&short, bench.guard("finance", &sql), Invalid, "");
    }
}

#[test]
fn a_closed_source_is_refused_wherever_its_table_stands() {
    let bench = Bench::new();
    for sql in [
        "SELECT * FROM support.tickets",
        "SELECT (SELECT count(*) FROM support.tickets)",
        "SELECT * FROM sales.fct_sales WHERE id IN (SELECT id FROM support.tickets)",
        "WITH t AS (SELECT * FROM support.tickets) SELECT 1",
        "SELECT 1 UNION SELECT id FROM support.tickets",
        "SELECT * FROM support.no_such_table",
        "SELECT support.agents.email FROM sales.fct_sales",
    ] {
        assert_refused(sql, bench.guard("intern", sql), Access, "support");
    }
}
