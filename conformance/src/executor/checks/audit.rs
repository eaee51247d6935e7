//! The audit lines: one a call, the time of the result, and nothing of the data.

use serde_json::{Value, json};
use tokio::time::Duration;

use crate::audit_log::lines;
use crate::check::{Check, Failure, Verdict, check, ensure, wrong};
use crate::executor::call::{Outcome, Surface, short};
use crate::executor::ctx::Ctx;
use crate::executor::mcp::Server;
use crate::token;

pub(super) fn checks() -> Vec<Check<Ctx>> {
    vec![
        check!(
            "audit.one-line",
            "each call writes exactly one line, over both surfaces, refused ones too",
            "audit",
            one_line
        ),
        check!("audit.ms", "a line's ms is the result's", "audit", ms),
        check!("audit.caller", "a line names the caller", "audit", caller),
        check!("audit.verdict", "a line says ok or the code of the refusal", "audit", verdict),
        check!(
            "audit.no-literals",
            "no line of the log holds a statement or a word of one",
            "audit",
            no_literals
        ),
        check!("audit.no-values", "no line of the log holds a value of a row", "audit", no_values),
        check!("audit.no-bearer", "no line of the log holds a bearer", "audit", no_bearer),
    ]
}

/// Calls of every tool over every surface that has it, and some that are turned down.
fn calls(ctx: &Ctx) -> Vec<(Surface, &'static str, Value)> {
    let (withheld_table, withheld) = ctx.options.withheld_parts();
    let refused = [
        format!("DELETE FROM {}", ctx.options.table),
        format!("SELECT {withheld} FROM {withheld_table}"),
        "SELEC 1".to_owned(),
    ];
    let refused = refused.into_iter().map(|sql| ("run_query", json!({"sql": sql})));
    let all: Vec<_> = ctx.good_calls().into_iter().chain(refused).collect();
    let mut calls = Vec::new();
    for (tool, args) in all {
        calls.push((Surface::Mcp, tool, args.clone()));
        if Server::of(tool) == Server::Warehouse {
            calls.push((Surface::Rest, tool, args));
        }
    }
    calls
}

/// The name by which a line knows a tool, without its server.
fn tool_in(line: &Value) -> &str {
    let tool = line.get("op").or_else(|| line.get("tool")).and_then(Value::as_str).unwrap_or_default();
    tool.rsplit_once("__").map_or(tool, |(_, name)| name)
}

/// Makes the calls one by one; gives each outcome with the lines that were written for it.
async fn audited(ctx: &Ctx) -> Result<Vec<(&'static str, Outcome, Vec<Value>)>, Failure> {
    let log = ctx.audit()?;
    let mut all = Vec::new();
    for (surface, tool, args) in calls(ctx) {
        let before = lines(&log.text()?, "audit").len();
        let outcome = ctx.call(surface, &ctx.ids.first, tool, &args).await?;
        let new = log
            .waited(|text| {
                let new = lines(text, "audit").get(before..).unwrap_or_default().to_vec();
                (!new.is_empty()).then_some(new)
            })
            .await?;
        let Some(new) = new else { return wrong(format!("{} wrote no line", outcome.call)) };
        all.push((tool, outcome, new));
    }
    Ok(all)
}

async fn one_line(ctx: &Ctx) -> Verdict {
    let log = ctx.audit()?;
    let before = lines(&log.text()?, "audit").len();
    let audited = audited(ctx).await?;
    for (tool, outcome, new) in &audited {
        let [line] = new.as_slice() else {
            return wrong(format!("{} wrote {} lines", outcome.call, new.len()));
        };
        ensure(tool_in(line) == *tool, || format!("{} wrote {}", outcome.call, short(line)))?;
    }
    // A line too many may be a moment late.
    tokio::time::sleep(Duration::from_millis(150)).await;
    let written = lines(&log.text()?, "audit").len() - before;
    ensure(written == audited.len(), || format!("{} calls wrote {written} lines", audited.len()))?;
    Ok(format!("{written} calls, {written} lines"))
}

async fn ms(ctx: &Ctx) -> Verdict {
    let mut seen = Vec::new();
    for (_, outcome, new) in audited(ctx).await? {
        let told = outcome.ms()?;
        let written: Vec<_> = new.iter().map(|line| line.get("ms").and_then(Value::as_u64)).collect();
        ensure(written.contains(&Some(told)), || {
            format!("{} says {told} ms, the log {written:?}", outcome.call)
        })?;
        seen.push(told);
    }
    // Short calls are often equal by chance; one that takes its time is not.
    let log = ctx.audit()?;
    let before = lines(&log.text()?, "audit").len();
    let args = json!({"sql": format!("SELECT count(*) FROM ({})", ctx.options.many_rows_sql)});
    let outcome = ctx.call(Surface::Rest, &ctx.ids.first, "run_query", &args).await?;
    let told = outcome.ms()?;
    let line = log.waited(|text| lines(text, "audit").get(before).cloned()).await?.unwrap_or_default();
    ensure(line.get("ms") == Some(&json!(told)), || {
        format!("the result says {told} ms, the line {}", short(&line))
    })?;
    Ok(format!("{} calls, up to {told} ms", seen.len() + 1))
}

async fn caller(ctx: &Ctx) -> Verdict {
    let oid = ctx.oid()?;
    let audited = audited(ctx).await?;
    for (_, outcome, new) in &audited {
        for line in new {
            ensure(line.get("oid") == Some(&json!(oid)), || {
                format!("{} wrote {}", outcome.call, short(line))
            })?;
        }
    }
    Ok(format!("{} calls", audited.len()))
}

async fn verdict(ctx: &Ctx) -> Verdict {
    let audited = audited(ctx).await?;
    for (_, outcome, new) in &audited {
        let wanted = if outcome.failed { outcome.code() } else { "ok" };
        for line in new {
            ensure(line.get("verdict") == Some(&json!(wanted)), || {
                format!("{} ended in {wanted}, the line is {}", outcome.call, short(line))
            })?;
        }
    }
    Ok("ok, guard, access and invalid".to_owned())
}

/// Makes calls, waits for their lines, and looks for words that the log must not have gained.
async fn never_logged(ctx: &Ctx, calls: &[(&str, Value)], words: &[&str]) -> Verdict {
    let log = ctx.audit()?;
    let size = log.text()?.len();
    let before = lines(&log.text()?, "audit").len();
    let mut made = 0;
    for (tool, args) in calls {
        for surface in Surface::BOTH {
            if surface == Surface::Mcp || Server::of(tool) == Server::Warehouse {
                ctx.call(surface, &ctx.ids.first, tool, args).await?;
                made += 1;
            }
        }
    }
    let written = log.waited(|text| (lines(text, "audit").len() >= before + made).then_some(())).await?;
    ensure(written.is_some(), || format!("{made} calls wrote fewer lines"))?;
    let text = log.text()?;
    let new = text.get(size..).unwrap_or_default().to_lowercase();
    for word in words {
        ensure(!new.contains(&word.to_lowercase()), || format!("the log holds {word:?}"))?;
    }
    Ok(format!("{made} calls"))
}

async fn no_literals(ctx: &Ctx) -> Verdict {
    let options = &ctx.options;
    let (withheld_table, withheld) = options.withheld_parts();
    let calls = [
        (
            "run_query",
            json!({"sql": format!("SELECT count(*) FROM {} WHERE {} <> 'marmot-literal'", options.table, options.column)}),
        ),
        ("run_query", json!({"sql": "SELECT 1 AS marmot_alias -- marmot comment"})),
        (
            "run_query",
            json!({"sql": format!("DELETE FROM {} WHERE {} = 'marmot'", options.table, options.column)}),
        ),
        (
            "run_query",
            json!({"sql": format!("SELECT 'marmot' FROM {withheld_table} WHERE {withheld} = 'marmot'")}),
        ),
        ("run_query", json!({"sql": format!("SELECT marmot FROM {}", options.table)})),
        ("run_query", json!({"sql": "marmot SELECT marmot"})),
        ("run_query", json!({"sql": "SELECT 'marmot"})),
        ("search_metadata", json!({"query": "marmot of the ledger"})),
    ];
    never_logged(ctx, &calls, &["marmot", "SELECT ", "DELETE FROM"]).await
}

async fn no_values(ctx: &Ctx) -> Verdict {
    // The statement holds the value in pieces, so that it is found in results alone.
    let calls = [
        ("run_query", json!({"sql": "SELECT 'crimson' || 'porcupine' AS v"})),
        (
            "run_query",
            json!({"sql": "WITH t AS (SELECT 'crimson' || 'porcupine' AS v) SELECT v, count(*) FROM t GROUP BY v"}),
        ),
    ];
    never_logged(ctx, &calls, &["crimsonporcupine"]).await
}

async fn no_bearer(ctx: &Ctx) -> Verdict {
    let log = ctx.audit()?;
    let forged = token::forged(&ctx.ids.first).map_err(Failure::NotExercised)?;
    for bearer in [&ctx.ids.first, &forged] {
        ctx.http.send(&ctx.get("/sources", Some(bearer))).await?;
    }
    let before = lines(&log.text()?, "audit").len();
    ctx.query(Surface::Rest, "SELECT 1").await?;
    log.waited(|text| (lines(text, "audit").len() > before).then_some(())).await?;
    let text = log.text()?;
    let others =
        [&ctx.ids.other, &ctx.ids.refused, &ctx.ids.expired, &ctx.ids.no_scope, &ctx.ids.wrong_audience];
    for bearer in others.into_iter().flatten().chain([&ctx.ids.first, &forged]) {
        let signature = bearer.expose().rsplit_once('.').map_or(bearer.expose(), |(_, last)| last);
        ensure(signature.is_empty() || !text.contains(signature), || "a line holds a bearer".to_owned())?;
    }
    Ok(format!("{} lines searched", text.lines().count()))
}
