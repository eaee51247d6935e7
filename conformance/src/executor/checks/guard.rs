//! The corpus: each refused statement for its stated reason, each allowed one allowed, over both surfaces.

use serde_json::json;

use crate::check::{Check, Verdict, check, ensure, ensure_none, not_exercised};
use crate::executor::call::{Outcome, Surface};
use crate::executor::corpus::Refused;
use crate::executor::ctx::Ctx;

use super::listing::counted;

pub(super) fn checks() -> Vec<Check<Ctx>> {
    vec![
        check!(
            "guard.writes",
            "statements that change something are refused as guard, for that reason",
            "guard",
            writes
        ),
        check!(
            "guard.engine",
            "the engine, its settings and its own tables are out of reach",
            "guard",
            engine
        ),
        check!("guard.functions", "functions that reach past the data are refused", "guard", functions),
        check!("guard.files", "files and functions are no tables", "guard", files),
        check!(
            "guard.several",
            "more than one statement is refused, however they are parted",
            "guard",
            several
        ),
        check!(
            "guard.disguised",
            "comments, case and quotes do not disguise a statement",
            "guard",
            disguised
        ),
        check!(
            "guard.mistakes",
            "what a model gets wrong and may correct is invalid, no refusal",
            "invalid",
            mistakes
        ),
        check!("guard.allowed", "each allowed statement runs", "guard", allowed),
        check!("guard.harmless", "after all refused statements the data is what it was", "guard", harmless),
    ]
}

/// What is wrong with a refusal, if anything.
fn fault_of(entry: &Refused, outcome: &Outcome) -> Option<String> {
    let shown: String = entry.sql.chars().take(80).collect();
    let surface = outcome.surface.name();
    if !outcome.failed {
        return Some(format!("{surface}: {shown:?} ran"));
    }
    if outcome.code() != entry.code {
        return Some(format!(
            "{surface}: {shown:?} is {}, not {}: {}",
            outcome.code(),
            entry.code,
            outcome.message()
        ));
    }
    let message = outcome.message().to_lowercase();
    let says = entry.says.iter().any(|said| message.contains(&said.to_lowercase()));
    if message.trim().is_empty() || !(says || entry.says.is_empty()) {
        return Some(format!(
            "{surface}: {shown:?} does not say any of {:?}: {}",
            entry.says,
            outcome.message()
        ));
    }
    let status = outcome.answer.status();
    let right = if outcome.surface == Surface::Rest { super::query::status_of(&entry.code) } else { 200 };
    (status != right).then(|| format!("{surface}: {shown:?} was answered {status}, not {right}"))
}

async fn each_refused(ctx: &Ctx, group: &str) -> Verdict {
    let mut found = Vec::new();
    let mut count = 0;
    for entry in ctx.corpus.refused_in(group) {
        count += 1;
        for surface in Surface::BOTH {
            found.extend(fault_of(entry, &ctx.query(surface, &entry.sql).await?));
        }
    }
    if count == 0 {
        return not_exercised(format!("the corpus has no group {group}"));
    }
    ensure_none(found)?;
    Ok(format!("{count} statements over both surfaces"))
}

async fn writes(ctx: &Ctx) -> Verdict {
    each_refused(ctx, "writes").await
}

async fn engine(ctx: &Ctx) -> Verdict {
    each_refused(ctx, "engine").await
}

async fn functions(ctx: &Ctx) -> Verdict {
    each_refused(ctx, "functions").await
}

async fn files(ctx: &Ctx) -> Verdict {
    each_refused(ctx, "files").await
}

async fn several(ctx: &Ctx) -> Verdict {
    each_refused(ctx, "several").await
}

async fn disguised(ctx: &Ctx) -> Verdict {
    each_refused(ctx, "disguised").await
}

async fn mistakes(ctx: &Ctx) -> Verdict {
    each_refused(ctx, "mistakes").await
}

async fn allowed(ctx: &Ctx) -> Verdict {
    let mut found = Vec::new();
    for sql in &ctx.corpus.allowed {
        for surface in Surface::BOTH {
            let outcome = ctx.query(surface, sql).await?;
            if outcome.failed {
                found.push(format!(
                    "{}: {sql:?} is {}: {}",
                    surface.name(),
                    outcome.code(),
                    outcome.message()
                ));
            }
        }
    }
    ensure_none(found)?;
    if ctx.corpus.allowed.is_empty() {
        return not_exercised("the corpus allows nothing");
    }
    Ok(format!("{} statements over both surfaces", ctx.corpus.allowed.len()))
}

async fn harmless(ctx: &Ctx) -> Verdict {
    let tables = async || {
        let listed = ctx.call(Surface::Mcp, &ctx.ids.first, "list_tables", &json!({})).await?;
        Ok::<_, crate::check::Failure>((counted(ctx, &ctx.options.table).await?, listed.said()))
    };
    let before = tables().await?;
    for entry in ctx.corpus.refused.iter().filter(|entry| entry.code == "guard") {
        ctx.query(Surface::Mcp, &entry.sql).await?;
    }
    let after = tables().await?;
    ensure(before == after, || format!("{} rows before, {} after; or other tables", before.0, after.0))?;
    Ok(format!("{} rows", after.0))
}
