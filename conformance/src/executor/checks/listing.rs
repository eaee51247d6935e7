//! What there is: sources and tables.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::check::{Check, Failure, Verdict, check, ensure, wrong};
use crate::executor::call::{Surface, short};
use crate::executor::ctx::Ctx;

pub(super) fn checks() -> Vec<Check<Ctx>> {
    vec![
        check!(
            "listing.sources",
            "sources are listed by name, kind, dialect and description",
            "list_sources",
            sources
        ),
        check!(
            "listing.tables",
            "tables are listed fully qualified, each under a listed source",
            "list_tables",
            tables
        ),
        check!(
            "listing.of-source",
            "the tables of one source are its own and all of its own",
            "list_tables",
            of_source
        ),
        check!("listing.unknown-source", "an unknown source is invalid", "list_tables", unknown_source),
        check!("listing.row-count", "a rowCount is the number of rows", "list_tables", row_count),
        check!("listing.agreement", "both surfaces list the same", "REST mirror", agreement),
    ]
}

/// Names in a member of each entry.
fn names(list: &[Value], member: &str) -> Vec<String> {
    list.iter().filter_map(|entry| entry.get(member)?.as_str().map(str::to_owned)).collect()
}

async fn sources(ctx: &Ctx) -> Verdict {
    let outcome = ctx.call(Surface::Mcp, &ctx.ids.first, "list_sources", &json!({})).await?;
    let list = outcome.list("sources")?;
    outcome.ms()?;
    for source in list {
        for member in ["name", "kind", "dialect", "description"] {
            ensure(source.get(member).is_some_and(Value::is_string), || {
                format!("{member} is no text in {source}")
            })?;
        }
    }
    let names = names(list, "name");
    for wanted in [&ctx.options.source, &ctx.options.second_source] {
        ensure(names.contains(wanted), || format!("{wanted} is not among {names:?}"))?;
    }
    ensure(names.iter().collect::<BTreeSet<_>>().len() == names.len(), || format!("twice in {names:?}"))?;
    Ok(names.join(", "))
}

async fn tables(ctx: &Ctx) -> Verdict {
    let sources = ctx.call(Surface::Mcp, &ctx.ids.first, "list_sources", &json!({})).await?;
    let sources = names(sources.list("sources")?, "name");
    let outcome = ctx.call(Surface::Mcp, &ctx.ids.first, "list_tables", &json!({})).await?;
    outcome.ms()?;
    let list = outcome.list("tables")?;
    for table in list {
        let source = table.get("source").and_then(Value::as_str).unwrap_or_default();
        ensure(sources.iter().any(|known| known == source), || format!("{table} is of no listed source"))?;
        let name = table.get("name").and_then(Value::as_str).unwrap_or_default();
        ensure(name.contains('.'), || format!("{name:?} is not fully qualified"))?;
    }
    let names = names(list, "name");
    for wanted in [&ctx.options.table, &ctx.options.second_table] {
        ensure(names.contains(wanted), || format!("{wanted} is not among {names:?}"))?;
    }
    Ok(format!("{} tables", names.len()))
}

async fn of_source(ctx: &Ctx) -> Verdict {
    let all = ctx.call(Surface::Mcp, &ctx.ids.first, "list_tables", &json!({})).await?;
    for source in [&ctx.options.source, &ctx.options.second_source] {
        let own: Vec<_> = all
            .list("tables")?
            .iter()
            .filter(|table| table.get("source") == Some(&json!(source)))
            .cloned()
            .collect();
        for surface in Surface::BOTH {
            let listed = ctx.call(surface, &ctx.ids.first, "list_tables", &json!({"source": source})).await?;
            ensure(!own.is_empty() && names(listed.list("tables")?, "name") == names(&own, "name"), || {
                format!("{} gave {}", listed.call, short(&listed.body))
            })?;
        }
    }
    Ok("of two sources".to_owned())
}

async fn unknown_source(ctx: &Ctx) -> Verdict {
    for surface in Surface::BOTH {
        ctx.call(surface, &ctx.ids.first, "list_tables", &json!({"source": "never_was"}))
            .await?
            .refused("invalid")?;
    }
    Ok("invalid".to_owned())
}

/// The number of rows by a statement.
pub(super) async fn counted(ctx: &Ctx, table: &str) -> Result<u64, Failure> {
    let outcome = ctx.query(Surface::Mcp, &format!("SELECT count(*) AS n FROM {table}")).await?;
    match outcome.result()?.pointer("/rows/0/0").and_then(Value::as_u64) {
        Some(count) => Ok(count),
        None => wrong(format!("count(*) gave {}", short(&outcome.body))),
    }
}

async fn row_count(ctx: &Ctx) -> Verdict {
    let outcome = ctx.call(Surface::Mcp, &ctx.ids.first, "list_tables", &json!({})).await?;
    let mut seen = 0;
    for table in outcome.list("tables")? {
        // A count that would take too long may be left out.
        let (Some(told), Some(name)) = (table.get("rowCount"), table.get("name").and_then(Value::as_str))
        else {
            continue;
        };
        let counted = counted(ctx, name).await?;
        ensure(*told == json!(counted), || format!("{name} has {counted} rows, rowCount says {told}"))?;
        seen += 1;
    }
    Ok(format!("{seen} counts"))
}

async fn agreement(ctx: &Ctx) -> Verdict {
    let calls = [
        ("list_sources", json!({})),
        ("list_tables", json!({})),
        ("list_tables", json!({"source": ctx.options.second_source})),
        ("list_tables", json!({"source": "never_was"})),
    ];
    super::query::agree(ctx, &calls).await
}
