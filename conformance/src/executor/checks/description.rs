//! What a table has: its columns.

use serde_json::{Value, json};

use crate::check::{Check, Failure, Verdict, check, ensure, ensure_none};
use crate::executor::call::{Outcome, Surface, short};
use crate::executor::ctx::Ctx;

pub(super) fn checks() -> Vec<Check<Ctx>> {
    vec![
        check!(
            "description.columns",
            "columns are described by name, type and whether they may be null",
            "describe_table",
            columns
        ),
        check!(
            "description.order",
            "a description has the columns of SELECT *, in their order",
            "describe_table",
            order
        ),
        check!(
            "description.by-source",
            "a table is found without its schema, where its source is named",
            "describe_table",
            by_source
        ),
        check!(
            "description.unknown",
            "an unknown table is invalid, also one of another source",
            "describe_table",
            unknown
        ),
        check!(
            "description.no-meanings",
            "a description holds no meanings: those are the catalog's",
            "describe_table",
            no_meanings
        ),
        check!("description.agreement", "both surfaces describe the same", "REST mirror", agreement),
    ]
}

async fn described(ctx: &Ctx, table: &str) -> Result<Outcome, Failure> {
    ctx.call(Surface::Mcp, &ctx.ids.first, "describe_table", &json!({"table": table})).await
}

/// The names of the described columns.
pub(super) fn names(outcome: &Outcome) -> Result<Vec<String>, Failure> {
    let columns = outcome.list("columns")?;
    Ok(columns.iter().filter_map(|column| column.get("name")?.as_str().map(str::to_owned)).collect())
}

async fn columns(ctx: &Ctx) -> Verdict {
    let outcome = described(ctx, &ctx.options.table).await?;
    outcome.ms()?;
    ensure(outcome.result()?.get("table") == Some(&json!(ctx.options.table)), || {
        format!("the table is {}", short(&outcome.body))
    })?;
    ensure(outcome.body.get("source") == Some(&json!(ctx.options.source)), || {
        format!("the source is {}", short(&outcome.body))
    })?;
    for column in outcome.list("columns")? {
        let fits = column.get("name").is_some_and(Value::is_string)
            && column.get("type").is_some_and(Value::is_string)
            && column.get("nullable").is_some_and(Value::is_boolean);
        ensure(fits, || format!("a column is {column}"))?;
    }
    let names = names(&outcome)?;
    ensure(names.contains(&ctx.options.column), || format!("{} is not among {names:?}", ctx.options.column))?;
    Ok(format!("{} columns", names.len()))
}

async fn order(ctx: &Ctx) -> Verdict {
    let (withheld_table, _) = ctx.options.withheld_parts();
    for table in [&ctx.options.table, withheld_table, &ctx.options.second_table] {
        let described = names(&described(ctx, table).await?)?;
        let outcome = ctx.query(Surface::Mcp, &format!("SELECT * FROM {table} LIMIT 1")).await?;
        let selected = outcome.list("columns")?;
        ensure(json!(described) == json!(selected), || {
            format!("{table} is described with {described:?}, SELECT * has {}", json!(selected))
        })?;
    }
    Ok("three tables".to_owned())
}

async fn by_source(ctx: &Ctx) -> Verdict {
    let whole = described(ctx, &ctx.options.table).await?;
    for surface in Surface::BOTH {
        for table in [ctx.options.bare_table(), &ctx.options.table] {
            let args = json!({"table": table, "source": ctx.options.source});
            let outcome = ctx.call(surface, &ctx.ids.first, "describe_table", &args).await?;
            outcome.result()?;
            ensure(outcome.said() == whole.said(), || {
                format!("{} gave {}", outcome.call, short(&outcome.body))
            })?;
        }
    }
    Ok("with and without the schema".to_owned())
}

async fn unknown(ctx: &Ctx) -> Verdict {
    let options = &ctx.options;
    for args in [
        json!({"table": format!("{}.never_was", options.source)}),
        json!({"table": "never_was"}),
        json!({"table": options.table, "source": options.second_source}),
        json!({"table": options.table, "source": "never_was"}),
    ] {
        for surface in Surface::BOTH {
            ctx.call(surface, &ctx.ids.first, "describe_table", &args).await?.refused("invalid")?;
        }
    }
    Ok("invalid".to_owned())
}

async fn no_meanings(ctx: &Ctx) -> Verdict {
    let outcome = described(ctx, &ctx.options.table).await?;
    let columns = outcome.list("columns")?.iter().chain([&outcome.body]);
    let told = ["description", "displayName", "meaning", "comment", "tags", "synonyms"];
    ensure_none(
        columns
            .flat_map(|part| {
                told.iter().filter(|member| part.get(**member).is_some_and(|value| !value.is_null()))
            })
            .map(|member| format!("{member} is told"))
            .collect(),
    )?;
    Ok("name, type and nullable alone".to_owned())
}

async fn agreement(ctx: &Ctx) -> Verdict {
    let options = &ctx.options;
    let (withheld_table, _) = options.withheld_parts();
    let calls = [
        ("describe_table", json!({"table": options.table})),
        ("describe_table", json!({"table": withheld_table})),
        ("describe_table", json!({"table": options.bare_table(), "source": options.source})),
        ("describe_table", json!({"table": format!("{}.never_was", options.source)})),
    ];
    super::query::agree(ctx, &calls).await
}
