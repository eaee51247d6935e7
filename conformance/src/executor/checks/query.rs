//! A statement's result, its errors, and that both surfaces say the same.

use serde_json::{Value, json};

use crate::check::{Check, Verdict, check, ensure};
use crate::executor::call::{Surface, short};
use crate::executor::ctx::Ctx;

pub(super) fn checks() -> Vec<Check<Ctx>> {
    vec![
        check!(
            "query.members",
            "a result has its eight members, and they fit each other",
            "run_query",
            members
        ),
        check!(
            "query.reported",
            "a result reports its statement as written, its source and its tables",
            "run_query",
            reported
        ),
        check!("query.values", "values arrive as JSON of their own kind", "run_query", values),
        check!("query.texts", "texts arrive as they were written", "run_query", texts),
        check!(
            "query.one-source",
            "a statement reads one source, the named one where one is named",
            "run_query",
            one_source
        ),
        check!(
            "query.agreement",
            "both surfaces give the same results and the same errors",
            "REST mirror",
            agreement
        ),
        check!("query.statuses", "over REST each error has the status of its code", "REST mirror", statuses),
        check!(
            "query.problems",
            "over REST each error is problem+json and holds the error as over MCP",
            "RFC 9457",
            problems
        ),
    ]
}

/// Makes each call over both surfaces; fails unless they say the same.
pub(super) async fn agree(ctx: &Ctx, calls: &[(&str, Value)]) -> Verdict {
    for (tool, args) in calls {
        let over_mcp = ctx.call(Surface::Mcp, &ctx.ids.first, tool, args).await?;
        let over_rest = ctx.call(Surface::Rest, &ctx.ids.first, tool, args).await?;
        ensure(over_mcp.failed == over_rest.failed && over_mcp.said() == over_rest.said(), || {
            format!(
                "{}: mcp says {}, rest says {}",
                over_rest.call,
                short(&over_mcp.said()),
                short(&over_rest.said())
            )
        })?;
        over_mcp.ms()?;
        over_rest.ms()?;
    }
    Ok(format!("{} calls agree", calls.len()))
}

async fn members(ctx: &Ctx) -> Verdict {
    for sql in [
        format!("SELECT {0}, count(*) AS n FROM {1} GROUP BY {0}", ctx.options.column, ctx.options.table),
        format!(
            "SELECT {0} FROM {1} WHERE {0} = 'no such value at all'",
            ctx.options.column, ctx.options.table
        ),
    ] {
        for surface in Surface::BOTH {
            let outcome = ctx.query(surface, &sql).await?;
            let body = outcome.result()?;
            outcome.ms()?;
            for member in ["source", "sql"] {
                ensure(body.get(member).is_some_and(Value::is_string), || {
                    format!("{member} is no text: {}", short(body))
                })?;
            }
            ensure(body.get("truncated").is_some_and(Value::is_boolean), || {
                format!("truncated: {}", short(body))
            })?;
            let (rows, columns) = (outcome.list("rows")?, outcome.list("columns")?);
            outcome.list("tables")?;
            ensure(body.get("rowCount") == Some(&json!(rows.len())), || {
                format!("{} rows, {}", rows.len(), short(body))
            })?;
            ensure(columns.iter().all(Value::is_string), || format!("columns are {}", json!(columns)))?;
            let wide = |row: &Value| row.as_array().is_some_and(|row| row.len() == columns.len());
            ensure(rows.iter().all(wide), || {
                format!("a row is not {} wide: {}", columns.len(), short(body))
            })?;
        }
    }
    Ok("with rows and without".to_owned())
}

async fn reported(ctx: &Ctx) -> Verdict {
    let options = &ctx.options;
    let (withheld_table, _) = options.withheld_parts();
    let sql = format!(
        "SELECT count(*)  AS \"n\" /* all */ FROM {} AS t LEFT JOIN {withheld_table} AS a ON a.{} = t.{}",
        options.table, options.beside, options.column
    );
    for surface in Surface::BOTH {
        for written in [sql.clone(), format!("  {sql} ;\n")] {
            let outcome = ctx.query(surface, &written).await?;
            let body = outcome.result()?;
            ensure(body.get("sql") == Some(&json!(sql)), || {
                format!("sql is {}, not as written", short(&body["sql"]))
            })?;
            ensure(body.get("source") == Some(&json!(options.source)), || {
                format!("source is {}", body["source"])
            })?;
            let mut tables: Vec<_> = outcome.list("tables")?.iter().filter_map(Value::as_str).collect();
            tables.sort_unstable();
            let mut wanted = vec![options.table.as_str(), withheld_table];
            wanted.sort_unstable();
            ensure(tables == wanted, || format!("tables are {tables:?}, not {wanted:?}"))?;
        }
    }
    Ok(format!("{} and {withheld_table}", options.table))
}

async fn values(ctx: &Ctx) -> Verdict {
    let sql =
        "SELECT NULL AS a, 7 AS b, 2.5 AS c, 'seven' AS d, 9007199254740993 AS e, -1 AS f, '' AS g, '7' AS h";
    let wanted = json!([[null, 7, 2.5, "seven", 9_007_199_254_740_993_i64, -1, "", "7"]]);
    for surface in Surface::BOTH {
        let outcome = ctx.query(surface, sql).await?;
        let body = outcome.result()?;
        ensure(body.get("rows") == Some(&wanted), || {
            format!("{} gave {}", surface.name(), short(&body["rows"]))
        })?;
        ensure(body.get("columns") == Some(&json!(["a", "b", "c", "d", "e", "f", "g", "h"])), || {
            format!("{} named {}", surface.name(), short(&body["columns"]))
        })?;
    }
    Ok("null, integers, a fraction and texts".to_owned())
}

async fn texts(ctx: &Ctx) -> Verdict {
    let texts = [
        "it's",
        "\\",
        "\\'",
        "'",
        "''",
        "\\''; --",
        "a'' or 1",
        "%_",
        "ü\"`[x]",
        "?1 :a $b @c",
        "漢字 🦊",
        "a\nb\tc",
    ];
    for text in texts {
        let sql = format!("SELECT '{}' AS x, 1 AS y", text.replace('\'', "''"));
        for surface in Surface::BOTH {
            let outcome = ctx.query(surface, &sql).await?;
            let body = outcome.result()?;
            ensure(body.get("rows") == Some(&json!([[text, 1]])), || {
                format!("{text:?} gave {}", short(&body["rows"]))
            })?;
        }
    }
    Ok(format!("{} texts", texts.len()))
}

async fn one_source(ctx: &Ctx) -> Verdict {
    let options = &ctx.options;
    let both = format!("SELECT count(*) FROM {} AS a, {} AS b", options.table, options.second_table);
    let own = format!("SELECT count(*) AS n FROM {}", options.table);
    for surface in Surface::BOTH {
        let run = |args: Value| async move { ctx.call(surface, &ctx.ids.first, "run_query", &args).await };
        run(json!({"sql": both})).await?.refused("invalid")?;
        run(json!({"sql": own, "source": options.second_source})).await?.refused("invalid")?;
        run(json!({"sql": own, "source": "never_was"})).await?.refused("invalid")?;
        run(json!({"sql": own, "source": options.source})).await?.result()?;
    }
    Ok("two are invalid".to_owned())
}

/// Statements that end in each way that does not take long.
fn sample(ctx: &Ctx) -> Vec<(&'static str, String)> {
    let options = &ctx.options;
    let (withheld_table, withheld) = options.withheld_parts();
    vec![
        (
            "",
            format!(
                "SELECT {0}, count(*) AS n FROM {1} GROUP BY {0} ORDER BY 1",
                options.column, options.table
            ),
        ),
        ("", format!("SELECT * FROM {withheld_table} ORDER BY 1 LIMIT 5")),
        ("", "SELECT 1 AS one".to_owned()),
        ("guard", format!("DELETE FROM {}", options.table)),
        ("guard", "SELECT 1; SELECT 2".to_owned()),
        ("access", format!("SELECT {withheld} FROM {withheld_table}")),
        ("invalid", format!("SELECT never_was FROM {}", options.table)),
        ("invalid", format!("SELECT * FROM {}", options.bare_table())),
        ("invalid", "SELEC 1".to_owned()),
    ]
}

async fn agreement(ctx: &Ctx) -> Verdict {
    let mut calls: Vec<_> =
        sample(ctx).into_iter().map(|(_, sql)| ("run_query", json!({"sql": sql}))).collect();
    calls.push(("run_query", json!({"sql": ctx.options.many_rows_sql, "maxRows": 3})));
    calls.push(("run_query", json!({"sql": "SELECT 1", "maxRows": 0})));
    calls.push(("run_query", json!({"nonsense": 1})));
    agree(ctx, &calls).await
}

/// The status by which REST says a code.
pub(super) fn status_of(code: &str) -> u16 {
    match code {
        "access" => 403,
        "guard" => 422,
        "invalid" => 400,
        "rate_limit" => 429,
        "timeout" => 504,
        _ => 200,
    }
}

async fn statuses(ctx: &Ctx) -> Verdict {
    for (code, sql) in sample(ctx) {
        let outcome = ctx.query(Surface::Rest, &sql).await?;
        let status = outcome.answer.status();
        ensure(status == status_of(code), || format!("{sql} ({code}) was answered {status}"))?;
    }
    Ok("403, 422 and 400".to_owned())
}

async fn problems(ctx: &Ctx) -> Verdict {
    let mut seen = 0;
    for (code, sql) in sample(ctx).into_iter().filter(|(code, _)| !code.is_empty()) {
        let outcome = ctx.query(Surface::Rest, &sql).await?;
        outcome.refused(code)?;
        outcome.ms()?;
        let media = outcome.answer.head.media_type();
        ensure(media == "application/problem+json", || format!("{sql} was answered as {media:?}"))?;
        let body = &outcome.body;
        ensure(body.get("status") == Some(&json!(outcome.answer.status())), || {
            format!("status: {}", short(body))
        })?;
        ensure(body.get("code") == Some(&json!(code)), || format!("code: {}", short(body)))?;
        ensure(body.get("detail").and_then(Value::as_str) == Some(outcome.message()), || {
            format!("detail: {}", short(body))
        })?;
        seen += 1;
    }
    let answer = ctx.http.send(&ctx.get("/never-was", Some(&ctx.ids.first))).await?;
    ensure(answer.status() == 404 && answer.head.media_type() == "application/problem+json", || {
        format!("GET /never-was was answered {} as {:?}", answer.status(), answer.head.media_type())
    })?;
    Ok(format!("{seen} refusals and a 404"))
}
