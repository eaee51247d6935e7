//! The catalog's two tools.

use serde_json::{Value, json};

use crate::check::{Check, Failure, Verdict, check, ensure, wrong};
use crate::executor::call::{Outcome, Surface, short};
use crate::executor::ctx::Ctx;

use super::description::names;

pub(super) fn checks() -> Vec<Check<Ctx>> {
    vec![
        check!(
            "catalog.search",
            "a search finds the term by its words, best first, with a hit's members",
            "search_metadata",
            search
        ),
        check!("catalog.type", "a search for one type gives only that type", "search_metadata", of_type),
        check!(
            "catalog.limit",
            "a search gives no more hits than asked for, and tells how many there are",
            "search_metadata",
            limit
        ),
        check!(
            "catalog.nothing",
            "a word that the catalog does not know gives no hits and no error",
            "search_metadata",
            nothing
        ),
        check!("catalog.details", "each type of entity has its members", "get_entity_details", details),
        check!("catalog.hits", "an entity says what its hit says", "get_entity_details", hits),
        check!(
            "catalog.columns",
            "a table's columns in the catalog are columns that it has",
            "get_entity_details",
            columns
        ),
        check!("catalog.bad", "an unknown entity or type is invalid, an empty query too", "invalid", bad),
    ]
}

async fn found(ctx: &Ctx, args: Value) -> Result<Outcome, Failure> {
    ctx.call(Surface::Mcp, &ctx.ids.first, "search_metadata", &args).await
}

async fn entity(ctx: &Ctx, kind: &str, fqn: &str) -> Result<Outcome, Failure> {
    let args = json!({"entityType": kind, "fqn": fqn});
    ctx.call(Surface::Mcp, &ctx.ids.first, "get_entity_details", &args).await
}

async fn search(ctx: &Ctx) -> Verdict {
    let outcome = found(ctx, json!({"query": ctx.options.term})).await?;
    outcome.ms()?;
    let hits = outcome.list("results")?;
    ensure(outcome.body.get("query") == Some(&json!(ctx.options.term)), || {
        format!("query: {}", short(&outcome.body))
    })?;
    ensure(outcome.body.get("totalFound").is_some_and(Value::is_u64), || {
        format!("totalFound: {}", short(&outcome.body))
    })?;
    for hit in hits {
        for member in ["entityType", "fullyQualifiedName", "name", "displayName", "description"] {
            ensure(hit.get(member).is_some_and(Value::is_string), || {
                format!("{member} is no text in {}", short(hit))
            })?;
        }
        for member in ["tags", "synonyms"] {
            ensure(hit.get(member).is_some_and(Value::is_array), || {
                format!("{member} is no list in {}", short(hit))
            })?;
        }
    }
    let first = hits.first().and_then(|hit| hit.get("fullyQualifiedName")?.as_str()).unwrap_or_default();
    ensure(first == ctx.options.glossary_term, || format!("{:?} finds {first:?} first", ctx.options.term))?;
    Ok(format!("{} hits", hits.len()))
}

async fn of_type(ctx: &Ctx) -> Verdict {
    for kind in ["glossaryTerm", "metric", "table"] {
        let outcome = found(ctx, json!({"query": ctx.options.term, "entityType": kind})).await?;
        let stranger =
            outcome.list("results")?.iter().find(|hit| hit.get("entityType") != Some(&json!(kind)));
        ensure(stranger.is_none(), || format!("{kind} gives {}", short(stranger.unwrap_or(&Value::Null))))?;
    }
    let metrics =
        found(ctx, json!({"query": ctx.options.metric.replace('_', " "), "entityType": "metric"})).await?;
    let wanted = json!(ctx.options.metric);
    ensure(
        metrics.list("results")?.iter().any(|hit| hit.get("fullyQualifiedName") == Some(&wanted)),
        || format!("{wanted} is not among {}", short(&metrics.body)),
    )?;
    Ok("three types".to_owned())
}

async fn limit(ctx: &Ctx) -> Verdict {
    let all = found(ctx, json!({"query": ctx.options.term, "limit": 50})).await?;
    let (all, total) = (all.list("results")?, all.body.get("totalFound").cloned());
    for limit in [1, 2] {
        let outcome = found(ctx, json!({"query": ctx.options.term, "limit": limit})).await?;
        let hits = outcome.list("results")?;
        ensure(hits.len() == all.len().min(limit) && all.starts_with(hits), || {
            format!("limit {limit} gave {} hits of {}", hits.len(), all.len())
        })?;
        ensure(outcome.body.get("totalFound").cloned() == total, || {
            format!("limit {limit} changes totalFound: {}", short(&outcome.body))
        })?;
    }
    ensure(total.as_ref().and_then(Value::as_u64).is_some_and(|total| total >= all.len() as u64), || {
        format!("totalFound is {total:?} with {} hits", all.len())
    })?;
    found(ctx, json!({"query": ctx.options.term, "limit": 0})).await?.refused("invalid")?;
    Ok(format!("{} hits in all", all.len()))
}

async fn nothing(ctx: &Ctx) -> Verdict {
    let outcome = found(ctx, json!({"query": "zqxwv"})).await?;
    let hits = outcome.list("results")?;
    ensure(hits.is_empty() && outcome.body.get("totalFound") == Some(&json!(0)), || {
        format!("zqxwv finds {}", short(&outcome.body))
    })?;
    Ok("none".to_owned())
}

async fn details(ctx: &Ctx) -> Verdict {
    let lists = |body: &Value, members: &[&str]| -> Result<(), Failure> {
        for member in members {
            ensure(body.get(member).is_some_and(Value::is_array), || {
                format!("{member} is no list in {}", short(body))
            })?;
        }
        Ok(())
    };
    let texts = |body: &Value, members: &[&str]| -> Result<(), Failure> {
        for member in members {
            ensure(body.get(member).is_some_and(Value::is_string), || {
                format!("{member} is no text in {}", short(body))
            })?;
        }
        Ok(())
    };
    let common = ["entityType", "fullyQualifiedName", "name", "displayName", "description"];
    let term = entity(ctx, "glossaryTerm", &ctx.options.glossary_term).await?;
    let metric = entity(ctx, "metric", &ctx.options.metric).await?;
    let table = entity(ctx, "table", &ctx.options.table).await?;
    for outcome in [&term, &metric, &table] {
        outcome.ms()?;
        texts(outcome.result()?, &common)?;
        lists(&outcome.body, &["tags"])?;
        if let Some(extension) = outcome.body.get("extension") {
            lists(extension, &["caveats"])?;
        }
    }
    lists(&term.body, &["synonyms", "relatedTerms", "assets"])?;
    texts(&metric.body, &["unitOfMeasurement", "metricType"])?;
    lists(&metric.body, &["assets"])?;
    match metric.body.get("metricExpression") {
        Some(expression) => texts(expression, &["language", "code"])?,
        None => return wrong(format!("no metricExpression in {}", short(&metric.body))),
    }
    texts(&table.body, &["dialect"])?;
    for column in table.list("columns")? {
        texts(column, &["name", "dataType", "description"])?;
    }
    Ok("glossaryTerm, metric and table".to_owned())
}

async fn hits(ctx: &Ctx) -> Verdict {
    let outcome = found(ctx, json!({"query": ctx.options.term, "limit": 5})).await?;
    let hits = outcome.list("results")?;
    ensure(!hits.is_empty(), || format!("{:?} finds nothing", ctx.options.term))?;
    for hit in hits {
        let text = |member: &str| hit.get(member).and_then(Value::as_str).unwrap_or_default();
        let whole = entity(ctx, text("entityType"), text("fullyQualifiedName")).await?;
        for member in ["entityType", "fullyQualifiedName", "name", "displayName", "description"] {
            ensure(whole.result()?.get(member) == hit.get(member), || {
                format!("{} has another {member} than its hit", text("fullyQualifiedName"))
            })?;
        }
    }
    Ok(format!("{} hits", hits.len()))
}

async fn columns(ctx: &Ctx) -> Verdict {
    let (withheld_table, _) = ctx.options.withheld_parts();
    for table in [&ctx.options.table, withheld_table] {
        let told = names(&entity(ctx, "table", table).await?)?;
        let args = json!({"table": table});
        let has = names(&ctx.call(Surface::Mcp, &ctx.ids.first, "describe_table", &args).await?)?;
        ensure(!told.is_empty(), || format!("the catalog knows no column of {table}"))?;
        let stranger = told.iter().find(|name| !has.contains(name));
        ensure(stranger.is_none(), || format!("{table} has no column {stranger:?}"))?;
    }
    Ok("two tables".to_owned())
}

async fn bad(ctx: &Ctx) -> Verdict {
    entity(ctx, "metric", "never was").await?.refused("invalid")?;
    entity(ctx, "dashboard", &ctx.options.metric).await?.refused("invalid")?;
    entity(ctx, "metric", &ctx.options.glossary_term).await?.refused("invalid")?;
    found(ctx, json!({"query": "  "})).await?.refused("invalid")?;
    found(ctx, json!({"query": ctx.options.term, "entityType": "dashboard"})).await?.refused("invalid")?;
    Ok("five calls".to_owned())
}
