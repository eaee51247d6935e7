//! Time and number: statements that are stopped, and callers who call too often.

use futures_util::StreamExt as _;
use serde_json::json;
use tokio::time::{Duration, Instant};

use crate::check::{Check, Failure, Verdict, check, ensure, not_exercised};
use crate::executor::call::{Surface, short};
use crate::executor::ctx::Ctx;
use crate::token::Bearer;

pub(super) fn checks() -> Vec<Check<Ctx>> {
    vec![
        check!(
            "limits.timeout",
            "a statement that does not end is stopped at its limit, as timeout",
            "timeout",
            timeout
        ),
        check!(
            "limits.after-timeout",
            "after stopped statements the next ones run at once",
            "timeout",
            after_timeout
        ),
        check!(
            "limits.rate",
            "who calls too often gets 429 with a Retry-After over REST",
            "rate_limit",
            rate
        ),
        check!("limits.rate-mcp", "over MCP it is a result with the code rate_limit", "rate_limit", rate_mcp),
        check!(
            "limits.rate-count",
            "as many calls are let through as the limit says, over both surfaces together",
            "rate_limit",
            rate_count
        ),
        check!("limits.rate-others", "one caller's limit does not touch another", "rate_limit", rate_others),
    ]
}

async fn stopped(ctx: &Ctx, surface: Surface) -> Result<Duration, Failure> {
    let begun = Instant::now();
    let outcome = ctx.query(surface, &ctx.options.endless_sql).await?;
    let took = begun.elapsed();
    outcome.refused("timeout")?;
    let limit = ctx.options.sql_timeout;
    let ms = outcome.ms()?;
    let enough = Duration::from_secs_f64(limit * 0.9);
    ensure(took >= enough && Duration::from_millis(ms) >= enough, || {
        format!(
            "stopped after {} ms, by its own word {ms} ms, before its limit of {limit} s",
            took.as_millis()
        )
    })?;
    let status = outcome.answer.status();
    ensure(surface == Surface::Mcp || status == 504, || format!("over REST it was answered {status}"))?;
    Ok(took)
}

async fn timeout(ctx: &Ctx) -> Verdict {
    let limit = ctx.options.sql_timeout;
    let (over_mcp, over_rest) =
        futures_util::future::join(stopped(ctx, Surface::Mcp), stopped(ctx, Surface::Rest)).await;
    // Both may have had to take turns.
    for took in [over_mcp?, over_rest?] {
        ensure(took <= Duration::from_secs_f64(limit * 2.0 + 5.0), || {
            format!("stopped after {} ms with a limit of {limit} s", took.as_millis())
        })?;
    }
    Ok(format!("after {limit} s"))
}

async fn after_timeout(ctx: &Ctx) -> Verdict {
    let stopped =
        futures_util::future::join_all((0..4).map(|_| ctx.query(Surface::Rest, &ctx.options.endless_sql)));
    for outcome in stopped.await {
        outcome?.refused("timeout")?;
    }
    let begun = Instant::now();
    for surface in Surface::BOTH {
        ctx.query(surface, &format!("SELECT count(*) FROM {}", ctx.options.table)).await?.result()?;
    }
    let took = begun.elapsed();
    ensure(took < Duration::from_secs_f64((ctx.options.sql_timeout * 0.8).max(1.0)), || {
        format!("the next statements took {} ms", took.as_millis())
    })?;
    Ok(format!("{} ms", took.as_millis()))
}

/// A caller who has called until a call was turned away, and how many calls were let through.
async fn spent(ctx: &Ctx) -> Result<(Bearer, u64), Failure> {
    if let Some(spent) = &*ctx.spent.borrow() {
        return Ok(spent.clone());
    }
    let bearer = if let Some(token) = &ctx.options.spendthrift_token {
        Bearer::new(token)
    } else {
        let mut nonce = [0_u8; 8];
        getrandom::fill(&mut nonce).map_err(|err| Failure::NotExercised(err.to_string()))?;
        let name = format!("spendthrift-{}", data_encoding::HEXLOWER.encode(&nonce));
        ctx.minted(|claims| {
            claims.insert("oid".to_owned(), json!(name));
            claims.insert("sub".to_owned(), json!(name));
        })
        .await?
    };
    let nothing = json!({});
    let mut through = 0;
    let mut refused = false;
    let mut made = 0;
    while !refused && made < ctx.options.most_calls {
        // Some side by side, and both surfaces, since all count together.
        let batch: Vec<_> = futures_util::stream::iter(0..8)
            .map(|at| {
                let surface = if at % 2 == 0 { Surface::Rest } else { Surface::Mcp };
                ctx.call_at_any_rate(surface, &bearer, "list_sources", &nothing)
            })
            .buffer_unordered(4)
            .collect()
            .await;
        made += 8;
        for outcome in batch {
            let outcome = outcome?;
            match (outcome.failed, outcome.code()) {
                (false, _) => through += 1,
                (true, "rate_limit") => refused = true,
                (true, other) => {
                    return Err(Failure::Wrong(format!(
                        "a call was turned down as {other:?}: {}",
                        short(&outcome.body)
                    )));
                }
            }
        }
    }
    if !refused {
        return not_exercised(format!(
            "none of {made} calls was turned away; lower DAS_RATE_CALLS or raise --most-calls"
        ));
    }
    *ctx.spent.borrow_mut() = Some((bearer.clone(), through));
    Ok((bearer, through))
}

async fn rate(ctx: &Ctx) -> Verdict {
    let (bearer, _) = spent(ctx).await?;
    let outcome = ctx.call_at_any_rate(Surface::Rest, &bearer, "list_sources", &json!({})).await?;
    outcome.refused("rate_limit")?;
    let status = outcome.answer.status();
    ensure(status == 429, || format!("it was answered {status}"))?;
    let told = outcome.answer.head.header("retry-after").unwrap_or_default();
    let seconds: u64 = told.trim().parse().unwrap_or_default();
    ensure(seconds > 0, || format!("Retry-After is {told:?}"))?;
    Ok(format!("Retry-After: {seconds}"))
}

async fn rate_mcp(ctx: &Ctx) -> Verdict {
    let (bearer, _) = spent(ctx).await?;
    for (tool, args) in ctx.good_calls() {
        let outcome = ctx.call_at_any_rate(Surface::Mcp, &bearer, tool, &args).await?;
        outcome.refused("rate_limit")?;
        let status = outcome.answer.status();
        ensure(status == 200, || format!("{tool} was answered {status}"))?;
    }
    Ok("every tool".to_owned())
}

async fn rate_count(ctx: &Ctx) -> Verdict {
    let (_, through) = spent(ctx).await?;
    match ctx.options.rate_calls {
        Some(limit) => {
            ensure(through == limit, || format!("{through} calls were let through, the limit is {limit}"))?;
        }
        None => ensure(through > 0, || "not one call was let through".to_owned())?,
    }
    Ok(format!("{through} calls"))
}

async fn rate_others(ctx: &Ctx) -> Verdict {
    spent(ctx).await?;
    for bearer in [&ctx.ids.first, ctx.other()?] {
        for surface in Surface::BOTH {
            ctx.call_at_any_rate(surface, bearer, "list_sources", &json!({})).await?.result()?;
        }
    }
    Ok("two others".to_owned())
}
