//! What the executor and the service write down about an ask.

use serde_json::{Value, json};
use tokio::time::Duration;

use crate::audit_log::{AuditLog, lines};
use crate::check::{Check, Failure, Verdict, check, ensure, not_exercised, wrong};
use crate::ctx::{Ctx, Run};
use crate::privacy;

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!(
            "peers.step-ms",
            "a step's ms matches the executor's audit line for the same call",
            "step",
            step_ms
        ),
        check!(
            "peers.as-the-user",
            "the executor's audit names the asking user for every call",
            "rule 7",
            as_the_user
        ),
        check!(
            "peers.audit-line",
            "the service writes one audit line per ask with the fields named",
            "Audit lines",
            audit_line
        ),
        check!(
            "peers.gap-line",
            "an abstention also writes a gap line, under a pseudonym",
            "Audit lines",
            gap_line
        ),
        check!("peers.log-question", "no log or audit line holds the question", "rule 4", log_question),
        check!("peers.log-bearer", "no log or audit line holds a bearer", "rule 7", log_bearer),
    ]
}

fn executor_audit(ctx: &Ctx) -> Result<AuditLog<'_>, Failure> {
    match &ctx.options.executor_audit {
        Some(path) => Ok(AuditLog::new(path)),
        None => not_exercised("needs the executor's log (--executor-audit)"),
    }
}

fn service_log(ctx: &Ctx) -> Result<AuditLog<'_>, Failure> {
    match &ctx.options.service_log {
        Some(path) => Ok(AuditLog::new(path)),
        None => not_exercised("needs the service's log (--service-log)"),
    }
}

/// Tool and milliseconds of a call, however the line calls the tool.
fn call_in(line: &Value) -> Option<(String, u64)> {
    let tool = line.get("tool").or_else(|| line.get("op"))?.as_str()?;
    let tool = tool.rsplit_once("__").map_or(tool, |(_, name)| name);
    Some((tool.to_owned(), line.get("ms")?.as_u64()?))
}

/// An answered run and the executor's audit lines written meanwhile.
async fn audited(ctx: &Ctx) -> Result<(Run, Vec<Value>), Failure> {
    let log = executor_audit(ctx)?;
    let before = lines(&log.text()?, "audit").len();
    let script = [ctx.query(&ctx.options.sql), ctx.search("resolution"), ctx.conclude("answer", "Some.")];
    let script: &[_] = if ctx.control.is_some() { &script } else { &[] };
    let run = ctx.run("audited", &ctx.question(), script).await?;
    let steps = run.log.of("step").count();
    if steps == 0 {
        return not_exercised(format!("the run made no call: {}", run.log.outline()));
    }
    let new = log
        .waited(|text| {
            let all = lines(text, "audit");
            let new = all.get(before..).unwrap_or_default().to_vec();
            (new.iter().filter(|line| call_in(line).is_some()).count() >= steps).then_some(new)
        })
        .await?;
    match new {
        Some(new) => Ok((run, new)),
        None => wrong(format!("{steps} steps, but fewer audit lines with a tool and its ms")),
    }
}

async fn step_ms(ctx: &Ctx) -> Verdict {
    let (run, lines) = audited(ctx).await?;
    let mut audited: Vec<_> = lines.iter().filter_map(call_in).collect();
    let mut matched = Vec::new();
    for step in run.log.of("step") {
        let tool = step.text("tool");
        let tool = tool.rsplit_once("__").map_or(tool, |(_, name)| name);
        let ms = step.data.get("ms").and_then(Value::as_u64).unwrap_or_default();
        let Some(at) = audited.iter().position(|(name, audited)| name == tool && *audited == ms) else {
            return wrong(format!("a step of {tool} says {ms} ms; the audit has {audited:?} left"));
        };
        audited.swap_remove(at);
        matched.push(ms);
    }
    Ok(format!("{} calls: {matched:?} ms", matched.len()))
}

async fn as_the_user(ctx: &Ctx) -> Verdict {
    let (_, lines) = audited(ctx).await?;
    let claims = ctx.ids.first.claims().unwrap_or_default();
    let Some(oid) = claims.get("oid").or_else(|| claims.get("sub")).and_then(Value::as_str) else {
        return not_exercised("the first user's token names no oid");
    };
    let strangers = lines.iter().filter(|line| !line.to_string().contains(oid)).count();
    ensure(strangers == 0, || format!("{strangers} of {} lines do not name the user", lines.len()))?;
    Ok(format!("{} lines", lines.len()))
}

async fn audit_line(ctx: &Ctx) -> Verdict {
    let log = service_log(ctx)?;
    let script = [ctx.query(&ctx.options.sql), ctx.conclude("answer", "Some.")];
    let script: &[_] = if ctx.control.is_some() { &script } else { &[] };
    let run = ctx.run("audit", &ctx.question(), script).await?;
    let of_ticket = |text: &str| {
        let all = lines(text, "audit");
        let own: Vec<_> =
            all.into_iter().filter(|line| line.get("ticket") == Some(&json!(run.ticket.id))).collect();
        (!own.is_empty()).then_some(own)
    };
    let Some(own) = log.waited(of_ticket).await? else { return wrong("no audit line names the ticket") };
    ensure(own.len() == 1, || format!("{} audit lines for one ask", own.len()))?;
    let line = own.first().cloned().unwrap_or_default();
    for member in
        ["op", "oid", "ticket", "conversation", "turn", "verdict", "steps", "sources", "tables", "ms"]
    {
        ensure(line.get(member).is_some(), || format!("the audit line lacks {member}: {line}"))?;
    }
    let done = run.log.done().map(|done| done.data.clone()).unwrap_or_default();
    let agrees = line.get("op") == Some(&json!("ask"))
        && line.get("conversation") == Some(&json!(run.ticket.conversation))
        && line.get("turn") == run.ticket.body.get("turn")
        && line.get("verdict") == done.get("outcome")
        && line.get("steps") == done.get("steps");
    ensure(agrees, || format!("the audit line {line} does not agree with {done}"))?;
    Ok(line.to_string())
}

async fn gap_line(ctx: &Ctx) -> Verdict {
    let log = service_log(ctx)?;
    let before = lines(&log.text()?, "gap").len();
    let term = "semaphores";
    let script = [ctx.search(term), ctx.conclude("cannot_answer", "Nothing.")];
    ctx.run("gap", &ctx.question(), &script).await?;
    let new = log.waited(|text| lines(text, "gap").get(before).cloned()).await?;
    let Some(line) = new else { return wrong("an abstention wrote no gap line") };
    for member in ["op", "verdict", "subject", "terms"] {
        ensure(line.get(member).is_some(), || format!("the gap line lacks {member}: {line}"))?;
    }
    let claims = ctx.ids.first.claims().unwrap_or_default();
    for member in ["oid", "sub", "preferred_username", "name", "email"] {
        if let Some(value) = claims.get(member).and_then(Value::as_str).filter(|value| value.len() > 3) {
            ensure(!line.to_string().contains(value), || format!("the gap line holds the user's {member}"))?;
        }
    }
    let terms = line.get("terms").map(Value::to_string).unwrap_or_default();
    ensure(terms.contains(term), || format!("the gap line's terms are {terms}"))?;
    Ok(line.to_string())
}

async fn log_question(ctx: &Ctx) -> Verdict {
    let log = service_log(ctx)?;
    let question = "Where do the ninety crimson marmots keep their ledgers?";
    if ctx.control.is_some() {
        let script = [
            ctx.search(question),
            ctx.query(&format!("{} -- {question}", ctx.options.sql)),
            ctx.conclude("answer", question),
        ];
        ctx.run("logged", &json!({"question": question}), &script).await?;
    } else {
        ctx.run("logged", &json!({"question": question}), &[]).await?;
    }
    let conversation = ctx.conversation().await?;
    let refused = ctx.try_ask(&conversation, &json!({"question": question, "unknown": question})).await?;
    ensure(refused.status() == 422, || format!("an unknown member was answered {}", refused.status()))?;
    // What is written late is looked for late.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let text = log.text()?;
    let line = text.lines().find(|line| privacy::holds(line, question));
    ensure(line.is_none(), || {
        let shown: String = line.unwrap_or_default().chars().take(160).collect();
        format!("a line holds the question: {shown}")
    })?;
    Ok(format!("{} lines searched", text.lines().count()))
}

async fn log_bearer(ctx: &Ctx) -> Verdict {
    let log = service_log(ctx)?;
    let forged = crate::token::forged(&ctx.ids.first).map_err(Failure::NotExercised)?;
    ctx.get("/v1/asks/x", Some(&forged)).await?;
    let script = [ctx.query(&ctx.options.sql), ctx.conclude("answer", "Some.")];
    let script: &[_] = if ctx.control.is_some() { &script } else { &[] };
    ctx.run("logged", &ctx.question(), script).await?;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let text = log.text()?;
    let others = [&ctx.ids.other, &ctx.ids.refused, &ctx.ids.expired, &ctx.ids.no_scope];
    let bearers = others.into_iter().flatten().chain([&ctx.ids.first, &forged]);
    for bearer in bearers {
        let signature = bearer.expose().rsplit_once('.').map_or(bearer.expose(), |(_, last)| last);
        ensure(signature.is_empty() || !text.contains(signature), || "a line holds a bearer".to_owned())?;
    }
    Ok(format!("{} lines searched", text.lines().count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_lines_are_found_behind_a_log_s_own_columns() {
        let text = "audit {\"op\":\"run_query\",\"ms\":3}\n12:00 INFO audit {\"tool\":\"x\",\"ms\":4}\naudit of {}\n";
        let calls: Vec<_> = lines(text, "audit").iter().filter_map(call_in).collect();
        assert_eq!(calls, [("run_query".to_owned(), 3), ("x".to_owned(), 4)]);
    }
}
