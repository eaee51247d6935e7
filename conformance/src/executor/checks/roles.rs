//! What a caller's roles open.

use serde_json::{Value, json};

use crate::check::{Check, Failure, Verdict, check, ensure};
use crate::executor::call::{Outcome, Surface, short};
use crate::executor::ctx::Ctx;
use crate::executor::mcp::Server;
use crate::token::Bearer;

use super::description::names;

pub(super) fn checks() -> Vec<Check<Ctx>> {
    vec![
        check!("roles.none", "a user without a role is refused as access by every tool", "roles", none),
        check!(
            "roles.none-first",
            "a user without a role learns nothing from a wrong call",
            "roles",
            none_first
        ),
        check!("roles.unknown", "a role that the rules do not know opens nothing", "roles", unknown),
        check!(
            "roles.other",
            "the second user's role opens the column that is kept from the first",
            "roles",
            other
        ),
        check!("roles.union", "a caller with two roles has the rights of both", "roles", union),
        check!("roles.apart", "callers side by side never get each other's answers", "roles", apart),
    ]
}

fn surfaces(tool: &str) -> &'static [Surface] {
    match Server::of(tool) {
        Server::Warehouse => &Surface::BOTH,
        Server::Catalog => &[Surface::Mcp],
    }
}

async fn every_tool_refuses(ctx: &Ctx, bearer: &Bearer) -> Verdict {
    let calls = ctx.good_calls();
    for (tool, args) in &calls {
        for surface in surfaces(tool) {
            let outcome = ctx.call(*surface, bearer, tool, args).await?;
            outcome.refused("access")?;
            let status = outcome.answer.status();
            let right = if *surface == Surface::Rest { 403 } else { 200 };
            ensure(status == right, || format!("{} was answered {status}", outcome.call))?;
        }
    }
    Ok(format!("{} tools", calls.len()))
}

async fn none(ctx: &Ctx) -> Verdict {
    every_tool_refuses(ctx, ctx.without_role()?).await
}

async fn none_first(ctx: &Ctx) -> Verdict {
    let bearer = ctx.without_role()?;
    for (tool, args) in [
        ("list_tables", json!({"source": "never_was"})),
        ("describe_table", json!({"table": "never.was"})),
        ("run_query", json!({"sql": format!("SELECT never_was FROM {}", ctx.options.table)})),
        ("run_query", json!({"sql": "SELECT 1"})),
        ("get_entity_details", json!({"entityType": "metric", "fqn": "never was"})),
    ] {
        for surface in surfaces(tool) {
            ctx.call(*surface, bearer, tool, &args).await?.refused("access")?;
        }
    }
    Ok("access".to_owned())
}

async fn unknown(ctx: &Ctx) -> Verdict {
    let bearer = ctx
        .minted(|claims| {
            claims.insert("roles".to_owned(), json!(["role that never was", "ANALYST "]));
        })
        .await?;
    every_tool_refuses(ctx, &bearer).await
}

/// The names of the described columns of the table with the withheld one.
async fn described(ctx: &Ctx, bearer: &Bearer) -> Result<Vec<String>, Failure> {
    let (table, _) = ctx.options.withheld_parts();
    names(&ctx.call(Surface::Mcp, bearer, "describe_table", &json!({"table": table})).await?)
}

async fn sees_withheld(ctx: &Ctx, bearer: &Bearer) -> Verdict {
    let (table, column) = ctx.options.withheld_parts();
    for surface in Surface::BOTH {
        let sql = format!("SELECT {column} FROM {table} LIMIT 3");
        let outcome = ctx.call(surface, bearer, "run_query", &json!({"sql": sql})).await?;
        ensure(!outcome.list("rows")?.is_empty(), || format!("{} gave no rows", outcome.call))?;
    }
    let described = described(ctx, bearer).await?;
    ensure(described.iter().any(|name| name == column), || format!("{column} is not among {described:?}"))?;
    Ok(format!("{} columns", described.len()))
}

async fn other(ctx: &Ctx) -> Verdict {
    sees_withheld(ctx, ctx.other()?).await
}

async fn union(ctx: &Ctx) -> Verdict {
    let role = ctx.options.other_role.clone();
    let bearer = ctx
        .minted(|claims| {
            let mut roles = claims.get("roles").and_then(Value::as_array).cloned().unwrap_or_default();
            roles.push(json!(role));
            claims.insert("roles".to_owned(), json!(roles));
        })
        .await?;
    sees_withheld(ctx, &bearer).await
}

async fn apart(ctx: &Ctx) -> Verdict {
    let other = ctx.other()?;
    let (table, column) = ctx.options.withheld_parts();
    let args = json!({"sql": format!("SELECT * FROM {table} LIMIT 1")});
    let shows = |outcome: &Outcome| -> Result<bool, Failure> {
        Ok(outcome.list("columns")?.contains(&json!(column)))
    };
    for surface in Surface::BOTH {
        for _round in 0..8 {
            let (own, others) = futures_util::future::join(
                ctx.call(surface, &ctx.ids.first, "run_query", &args),
                ctx.call(surface, other, "run_query", &args),
            )
            .await;
            let (own, others) = (own?, others?);
            ensure(!shows(&own)? && shows(&others)?, || {
                format!("the first user got {}, the second {}", short(&own.body), short(&others.body))
            })?;
        }
    }
    Ok("sixteen pairs".to_owned())
}
