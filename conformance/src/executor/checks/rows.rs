//! How many rows a result has: as many as asked for, never more than the ceiling, and it says when it was cut.

use serde_json::{Value, json};

use crate::check::{Check, Failure, Verdict, check, ensure};
use crate::executor::call::{Surface, short};
use crate::executor::ctx::Ctx;

pub(super) fn checks() -> Vec<Check<Ctx>> {
    vec![
        check!("rows.requested", "no more rows than asked for, and truncated says so", "maxRows", requested),
        check!("rows.whole", "a result that has all its rows is not called truncated", "truncated", whole),
        check!(
            "rows.exact",
            "a result of exactly as many rows as asked for is not called truncated",
            "truncated",
            exact
        ),
        check!(
            "rows.ceiling",
            "the executor's own ceiling holds when nothing is asked for, and is reported",
            "ceiling",
            ceiling
        ),
        check!(
            "rows.above-ceiling",
            "asking for more rows than the ceiling does not raise it",
            "ceiling",
            above
        ),
        check!("rows.bad", "a number of rows that is none is invalid", "maxRows", bad),
    ]
}

/// Runs a statement and gives the number of rows and whether it was cut.
async fn run(ctx: &Ctx, surface: Surface, sql: &str, max_rows: Option<u64>) -> Result<(u64, bool), Failure> {
    let mut args = json!({"sql": sql});
    if let (Some(max_rows), Some(members)) = (max_rows, args.as_object_mut()) {
        members.insert("maxRows".to_owned(), json!(max_rows));
    }
    let outcome = ctx.call(surface, &ctx.ids.first, "run_query", &args).await?;
    let rows = outcome.list("rows")?.len();
    ensure(outcome.body.get("rowCount") == Some(&json!(rows)), || {
        format!("{} has {rows} rows, but {}", outcome.call, short(&outcome.body))
    })?;
    let truncated = outcome.body.get("truncated").and_then(Value::as_bool).unwrap_or_default();
    Ok((u64::try_from(rows).unwrap_or(u64::MAX), truncated))
}

async fn expect(ctx: &Ctx, sql: &str, max_rows: Option<u64>, wanted: (u64, bool)) -> Result<(), Failure> {
    for surface in Surface::BOTH {
        let had = run(ctx, surface, sql, max_rows).await?;
        ensure(had == wanted, || {
            format!(
                "{} with maxRows {max_rows:?} gave {} rows and truncated {}, not {} and {}",
                surface.name(),
                had.0,
                had.1,
                wanted.0,
                wanted.1
            )
        })?;
    }
    Ok(())
}

async fn requested(ctx: &Ctx) -> Verdict {
    let fewer = 7.min(ctx.options.max_rows);
    for most in [1, 2, fewer] {
        expect(ctx, &ctx.options.many_rows_sql, Some(most), (most, true)).await?;
    }
    Ok("1, 2 and a few".to_owned())
}

async fn whole(ctx: &Ctx) -> Verdict {
    expect(ctx, "SELECT 1", None, (1, false)).await?;
    expect(ctx, "SELECT 1", Some(100), (1, false)).await?;
    expect(ctx, "SELECT 1 WHERE 1 = 2", Some(1), (0, false)).await?;
    Ok("one row and none".to_owned())
}

async fn exact(ctx: &Ctx) -> Verdict {
    expect(ctx, "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3", Some(3), (3, false)).await?;
    expect(ctx, "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3", Some(2), (2, true)).await?;
    Ok("three of three, two of three".to_owned())
}

async fn ceiling(ctx: &Ctx) -> Verdict {
    let most = ctx.options.max_rows;
    expect(ctx, &ctx.options.many_rows_sql, None, (most, true)).await?;
    Ok(format!("{most} rows"))
}

async fn above(ctx: &Ctx) -> Verdict {
    let most = ctx.options.max_rows;
    for asked in [most.saturating_add(1), most.saturating_mul(20), 4_000_000_000] {
        expect(ctx, &ctx.options.many_rows_sql, Some(asked), (most, true)).await?;
    }
    Ok(format!("{most} rows"))
}

async fn bad(ctx: &Ctx) -> Verdict {
    for max_rows in [json!(0), json!(-1), json!(2.5), json!("3"), json!(true), json!([3])] {
        for surface in Surface::BOTH {
            let args = json!({"sql": "SELECT 1", "maxRows": max_rows});
            let outcome = ctx.call(surface, &ctx.ids.first, "run_query", &args).await?;
            outcome.refused("invalid")?;
            ensure(outcome.message().len() < 1000, || {
                format!("the message is {}", short(&json!(outcome.message())))
            })?;
        }
    }
    Ok("0, -1, 2.5, a text, true and a list".to_owned())
}
