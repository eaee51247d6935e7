//! The column that is kept from the first user: no road leads to it, and what is beside it stays open.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::check::{Check, Verdict, check, ensure, ensure_none, not_exercised};
use crate::executor::call::{Surface, short};
use crate::executor::ctx::Ctx;

use super::description::names;

pub(super) fn checks() -> Vec<Check<Ctx>> {
    vec![
        check!("withheld.description", "a withheld column is not described", "withheld", description),
        check!(
            "withheld.star",
            "SELECT * leaves a withheld column out, wherever it stands",
            "withheld",
            star
        ),
        check!(
            "withheld.named",
            "a withheld column that is named is refused as access, naming it",
            "withheld",
            named
        ),
        check!(
            "withheld.filtered",
            "nor can it be filtered, sorted, grouped or joined by",
            "withheld",
            filtered
        ),
        check!(
            "withheld.nested",
            "nor reached through subqueries, WITH or set operations",
            "withheld",
            nested
        ),
        check!(
            "withheld.open",
            "the same statements run for the user who may see the column",
            "withheld",
            open
        ),
        check!("withheld.beside", "what is beside a withheld column stays open", "withheld", beside),
        check!("withheld.catalog", "the catalog's table leaves a withheld column out", "withheld", catalog),
        check!(
            "withheld.values",
            "no answer to the first user held a value of the withheld column",
            "withheld",
            values
        ),
    ]
}

async fn description(ctx: &Ctx) -> Verdict {
    let (table, column) = ctx.options.withheld_parts();
    for surface in Surface::BOTH {
        let outcome = ctx.call(surface, &ctx.ids.first, "describe_table", &json!({"table": table})).await?;
        let names = names(&outcome)?;
        ensure(!names.iter().any(|name| name == column), || format!("{} tells of {column}", outcome.call))?;
        ensure(names.contains(&ctx.options.beside), || {
            format!("{} is not among {names:?}", ctx.options.beside)
        })?;
    }
    Ok(format!("{table} without {column}"))
}

async fn star(ctx: &Ctx) -> Verdict {
    let (table, column) = ctx.options.withheld_parts();
    let statements = [
        format!("SELECT * FROM {table}"),
        format!("SELECT a.* FROM {table} AS a"),
        format!("SELECT {table}.* FROM {table}"),
        format!("SELECT * FROM (SELECT * FROM {table})"),
        format!("SELECT * FROM (SELECT * FROM {table}) AS x JOIN {table} AS y ON 1 = 1"),
        format!("WITH a AS (SELECT * FROM {table}) SELECT * FROM a"),
        format!("SELECT * FROM {table} UNION ALL SELECT * FROM {table}"),
    ];
    for sql in &statements {
        for surface in Surface::BOTH {
            let outcome = ctx.query(surface, sql).await?;
            let columns = outcome.list("columns")?;
            ensure(!columns.is_empty() && !columns.contains(&json!(column)), || {
                format!("{sql} shows {}", short(&json!(columns)))
            })?;
        }
    }
    Ok(format!("{} statements", statements.len()))
}

async fn every_road(ctx: &Ctx, group: &str) -> Verdict {
    let (_, column) = ctx.options.withheld_parts();
    let mut found = Vec::new();
    let mut count = 0;
    for road in ctx.corpus.roads_in(group) {
        count += 1;
        for surface in Surface::BOTH {
            let outcome = ctx.query(surface, &road.sql).await?;
            let status = outcome.answer.status();
            if !outcome.failed {
                found.push(format!("{}: {} ran", surface.name(), road.sql));
            } else if outcome.code() != "access" {
                found.push(format!(
                    "{}: {} is {}: {}",
                    surface.name(),
                    road.sql,
                    outcome.code(),
                    outcome.message()
                ));
            } else if !outcome.message().contains(column) {
                found.push(format!(
                    "{}: {} does not name {column}: {}",
                    surface.name(),
                    road.sql,
                    outcome.message()
                ));
            } else if surface == Surface::Rest && status != 403 {
                found.push(format!("{} was answered {status}", road.sql));
            }
        }
    }
    if count == 0 {
        return not_exercised(format!("the corpus has no roads {group}"));
    }
    ensure_none(found)?;
    Ok(format!("{count} statements over both surfaces"))
}

async fn named(ctx: &Ctx) -> Verdict {
    every_road(ctx, "named").await
}

async fn filtered(ctx: &Ctx) -> Verdict {
    every_road(ctx, "filtered").await
}

async fn nested(ctx: &Ctx) -> Verdict {
    every_road(ctx, "nested").await
}

async fn open(ctx: &Ctx) -> Verdict {
    let other = ctx.other()?;
    let mut found = Vec::new();
    for road in &ctx.corpus.roads {
        let outcome = ctx.call(Surface::Mcp, other, "run_query", &json!({"sql": road.sql})).await?;
        if outcome.failed {
            found.push(format!("{} is {}: {}", road.sql, outcome.code(), outcome.message()));
        }
    }
    ensure_none(found)?;
    Ok(format!("{} statements", ctx.corpus.roads.len()))
}

async fn beside(ctx: &Ctx) -> Verdict {
    let mut found = Vec::new();
    for sql in &ctx.corpus.beside {
        for surface in Surface::BOTH {
            let outcome = ctx.query(surface, sql).await?;
            if outcome.failed {
                found.push(format!("{sql} is {}: {}", outcome.code(), outcome.message()));
            }
        }
    }
    ensure_none(found)?;
    Ok(format!("{} statements over both surfaces", ctx.corpus.beside.len()))
}

async fn catalog(ctx: &Ctx) -> Verdict {
    let (table, column) = ctx.options.withheld_parts();
    let args = json!({"entityType": "table", "fqn": table});
    let own = ctx.call(Surface::Mcp, &ctx.ids.first, "get_entity_details", &args).await?;
    let others = ctx.call(Surface::Mcp, ctx.other()?, "get_entity_details", &args).await?;
    let (own, others) = (names(&own)?, names(&others)?);
    ensure(!own.iter().any(|name| name == column) && others.iter().any(|name| name == column), || {
        format!("the first user is told of {own:?}, the second of {others:?}")
    })?;
    Ok(format!("{} of {} columns", own.len(), others.len()))
}

async fn values(ctx: &Ctx) -> Verdict {
    let (table, column) = ctx.options.withheld_parts();
    let sql = format!("SELECT DISTINCT {column} FROM {table} LIMIT 50");
    let outcome = ctx.call(Surface::Mcp, ctx.other()?, "run_query", &json!({"sql": sql})).await?;
    let secrets: BTreeSet<String> = outcome
        .list("rows")?
        .iter()
        .filter_map(|row| row.get(0).and_then(Value::as_str))
        .filter(|value| value.len() > 5)
        .map(str::to_owned)
        .collect();
    if secrets.is_empty() {
        return not_exercised(format!("{} has no texts to look for", ctx.options.withheld));
    }
    // Enough roads for a run of this check alone.
    for road in ctx.corpus.roads.iter().step_by(4) {
        ctx.query(Surface::Mcp, &road.sql).await?;
    }
    for sql in &ctx.corpus.beside {
        ctx.query(Surface::Rest, sql).await?;
    }
    let told = ctx.told.borrow();
    let leak = told.iter().find(|answer| secrets.iter().any(|secret| answer.contains(secret.as_str())));
    ensure(leak.is_none(), || "an answer to the first user holds a withheld value".to_owned())?;
    Ok(format!("{} values in {} answers", secrets.len(), told.len()))
}
