//! Arguments and requests that are wrong in form.

use serde_json::{Value, json};

use crate::check::{Check, Failure, Verdict, check, ensure};
use crate::executor::call::{Surface, with};
use crate::executor::ctx::Ctx;
use crate::executor::mcp::Server;
use crate::http::Request;

pub(super) fn checks() -> Vec<Check<Ctx>> {
    vec![
        check!("arguments.missing", "a call that lacks an argument is invalid", "arguments", missing),
        check!(
            "arguments.unknown",
            "an unknown or misspelt argument is invalid, and the message names it",
            "arguments",
            unknown
        ),
        check!("arguments.type", "an argument of the wrong type is invalid", "arguments", of_type),
        check!(
            "arguments.body",
            "a body that is no JSON object is 400, of another media type 415",
            "REST mirror",
            body
        ),
        check!(
            "arguments.method",
            "a path does not answer another method than its own",
            "REST mirror",
            method
        ),
        check!(
            "arguments.too-large",
            "a body that is too large is 413, and the next call is served",
            "REST mirror",
            too_large
        ),
    ]
}

/// Makes each call over every surface that has it; each must be invalid.
async fn all_invalid(ctx: &Ctx, calls: &[(&str, Value, &str)]) -> Result<(), Failure> {
    for (tool, args, names) in calls {
        let surfaces: &[Surface] = match Server::of(tool) {
            // A GET can't carry arguments that are no texts, nor leave out the path's own.
            Server::Warehouse if *tool == "run_query" => &Surface::BOTH,
            Server::Warehouse | Server::Catalog => &[Surface::Mcp],
        };
        for surface in surfaces {
            let outcome = ctx.call(*surface, &ctx.ids.first, tool, args).await?;
            outcome.refused("invalid")?;
            ensure(outcome.message().contains(names), || {
                format!("{} does not name {names:?}: {}", outcome.call, outcome.message())
            })?;
        }
    }
    Ok(())
}

async fn missing(ctx: &Ctx) -> Verdict {
    let calls = [
        ("run_query", json!({}), "sql"),
        ("run_query", json!({"maxRows": 3}), "sql"),
        ("describe_table", json!({}), "table"),
        ("search_metadata", json!({}), "query"),
        ("get_entity_details", json!({"entityType": "metric"}), "fqn"),
        ("get_entity_details", json!({"fqn": "x"}), "entityType"),
    ];
    all_invalid(ctx, &calls).await?;
    Ok(format!("{} calls", calls.len()))
}

async fn unknown(ctx: &Ctx) -> Verdict {
    let calls = [
        ("run_query", json!({"sql": "SELECT 1", "max_rows": 1}), "max_rows"),
        ("run_query", json!({"sql": "SELECT 1", "limit": 1}), "limit"),
        ("list_sources", json!({"everything": true}), "everything"),
        ("list_tables", json!({"sources": ctx.options.source}), "sources"),
        ("describe_table", json!({"table": ctx.options.table, "schema": "x"}), "schema"),
        ("search_metadata", json!({"query": ctx.options.term, "entity_type": "metric"}), "entity_type"),
    ];
    all_invalid(ctx, &calls).await?;
    let mut url = ctx.url("/tables");
    url.query_pairs_mut().append_pair("sauce", &ctx.options.source);
    let answer = ctx.http.send(&with(Request::new("GET", url), &ctx.ids.first)).await?;
    ensure(answer.status() == 400, || format!("GET /tables?sauce= was answered {}", answer.status()))?;
    Ok(format!("{} calls", calls.len() + 1))
}

async fn of_type(ctx: &Ctx) -> Verdict {
    let calls = [
        ("run_query", json!({"sql": 1}), ""),
        ("run_query", json!({"sql": null}), ""),
        ("run_query", json!({"sql": ["SELECT 1"]}), ""),
        ("run_query", json!({"sql": "SELECT 1", "source": 5}), ""),
        ("list_tables", json!({"source": 5}), ""),
        ("describe_table", json!({"table": {"name": "x"}}), ""),
        ("search_metadata", json!({"query": 5}), ""),
        ("search_metadata", json!({"query": "x", "limit": "5"}), ""),
        ("get_entity_details", json!({"entityType": "metric", "fqn": 5}), ""),
    ];
    all_invalid(ctx, &calls).await?;
    Ok(format!("{} calls", calls.len()))
}

async fn body(ctx: &Ctx) -> Verdict {
    let json_bodies = ["", "{", "[1]", "\"SELECT 1\"", "null", "5"];
    for body in json_bodies {
        let request = Request::new("POST", ctx.url("/query")).body("application/json", body);
        let answer = ctx.http.send(&with(request, &ctx.ids.first)).await?;
        ensure(answer.status() == 400, || {
            format!("POST /query with {body:?} was answered {}", answer.status())
        })?;
    }
    let request = Request::new("POST", ctx.url("/query")).body("text/plain", r#"{"sql":"SELECT 1"}"#);
    let answer = ctx.http.send(&with(request, &ctx.ids.first)).await?;
    ensure(answer.status() == 415, || format!("text/plain was answered {}", answer.status()))?;
    Ok(format!("{} bodies", json_bodies.len() + 1))
}

async fn method(ctx: &Ctx) -> Verdict {
    let requests = [
        Request::new("GET", ctx.url("/query")),
        Request::new("POST", ctx.url("/sources")).body("application/json", "{}"),
        Request::new("POST", ctx.url("/tables")).body("application/json", "{}"),
        Request::new("DELETE", ctx.url(&format!("/tables/{}", ctx.options.table))),
    ];
    for request in requests {
        let name = format!("{} {}", request.method, request.url.path());
        let answer = ctx.http.send(&with(request, &ctx.ids.first)).await?;
        ensure(answer.status() == 405, || format!("{name} was answered {}", answer.status()))?;
    }
    Ok("405".to_owned())
}

async fn too_large(ctx: &Ctx) -> Verdict {
    let sql = format!("SELECT 1 -- {}", "x".repeat(ctx.options.too_large));
    let request =
        Request::new("POST", ctx.url("/query")).body("application/json", json!({"sql": sql}).to_string());
    let answer = ctx.http.send(&with(request, &ctx.ids.first)).await?;
    ensure(answer.status() == 413, || format!("{} bytes were answered {}", sql.len(), answer.status()))?;
    // The server is none the worse for it.
    ctx.query(Surface::Rest, "SELECT 1").await?.result()?;
    Ok("413".to_owned())
}
