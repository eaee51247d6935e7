//! Who may call at all.

use serde_json::{Value, json};

use crate::check::{Check, Failure, Verdict, check, ensure, wrong};
use crate::executor::call::short;
use crate::executor::ctx::{Ctx, had};
use crate::executor::mcp::Server;
use crate::http::Request;
use crate::token::{self, Bearer, Maybe};

pub(super) fn checks() -> Vec<Check<Ctx>> {
    vec![
        check!("identity.health", "health answers without a bearer", "health", health),
        check!("identity.no-bearer", "no bearer is 401 on every route of both surfaces", "401", no_bearer),
        check!("identity.challenge", "401 carries WWW-Authenticate: Bearer", "401", challenge),
        check!("identity.metadata", "a 401 points to metadata that names the issuer", "RFC 9728", metadata),
        check!("identity.forged", "a forged bearer is refused: signed by an unknown key", "401", forged),
        check!("identity.altered", "a bearer with altered claims is refused", "401", altered),
        check!("identity.unsigned", "a bearer under alg none is refused", "401", unsigned),
        check!("identity.audience", "a bearer for another audience is refused", "401", audience),
        check!("identity.issuer", "a bearer of another issuer is refused", "401", issuer),
        check!("identity.expired", "an expired bearer is refused", "401", expired),
        check!(
            "identity.scope",
            "a valid bearer without the required scope gets 403 on every route, and is told why",
            "403",
            scope
        ),
        check!("identity.garbage", "what is not a bearer token is refused", "401", garbage),
        check!("identity.header-alone", "a token in the query is no bearer", "401", header_alone),
        check!("identity.scheme-case", "the scheme's case does not matter", "RFC 9110", scheme_case),
        check!(
            "identity.first",
            "without a bearer nothing else is judged: no 404, 405 or 400",
            "401",
            judged_first
        ),
    ]
}

/// Every call of both surfaces, as it would succeed with a bearer.
fn routes(ctx: &Ctx) -> Result<Vec<Request>, Failure> {
    let mut routes = Vec::new();
    for (tool, args) in ctx.good_calls().iter().filter(|(tool, _)| Server::of(tool) == Server::Warehouse) {
        routes.push(ctx.rest_request(tool, args)?);
    }
    for server in Server::BOTH {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
        routes.push(
            ctx.mcp_request(server)
                .header("MCP-Protocol-Version", "2025-11-25")
                .body("application/json", message.to_string()),
        );
    }
    Ok(routes)
}

fn named(request: &Request) -> String {
    format!("{} {}", request.method, request.url.path())
}

async fn every_route(ctx: &Ctx, header: Option<&str>, status: u16) -> Verdict {
    let routes = routes(ctx)?;
    for route in &routes {
        let request = match header {
            Some(value) => route.clone().header("Authorization", value),
            None => route.clone(),
        };
        let answer = ctx.http.send(&request).await?;
        ensure(answer.status() == status, || format!("{} answered {}", named(route), answer.status()))?;
    }
    Ok(format!("{} routes answer {status}", routes.len()))
}

async fn with(ctx: &Ctx, bearer: &Bearer, status: u16) -> Verdict {
    every_route(ctx, Some(&format!("Bearer {}", bearer.expose())), status).await
}

async fn with_made(ctx: &Ctx, bearer: Maybe) -> Verdict {
    // A genuine token that has just been taken is what a careless memory of tokens would confuse it with.
    ctx.http.send(&ctx.get("/sources", Some(&ctx.ids.first))).await?;
    with(ctx, &bearer.map_err(Failure::NotExercised)?, 401).await
}

async fn health(ctx: &Ctx) -> Verdict {
    let answer = ctx.http.send(&ctx.get("/health", None)).await?;
    ensure(answer.status() == 200, || format!("GET /health answered {}", answer.status()))?;
    Ok(answer.text())
}

async fn no_bearer(ctx: &Ctx) -> Verdict {
    every_route(ctx, None, 401).await
}

async fn challenge(ctx: &Ctx) -> Verdict {
    for header in [None, Some("Bearer not.a.token")] {
        for route in routes(ctx)? {
            let name = named(&route);
            let request = match header {
                Some(value) => route.header("Authorization", value),
                None => route,
            };
            let answer = ctx.http.send(&request).await?;
            let challenge = answer.head.header("www-authenticate").unwrap_or_default();
            ensure(answer.status() == 401 && challenge.to_ascii_lowercase().starts_with("bearer"), || {
                format!("{name} answered {} with challenge {challenge:?}", answer.status())
            })?;
        }
    }
    Ok("with and without a bearer".to_owned())
}

async fn metadata(ctx: &Ctx) -> Verdict {
    let issuer = ctx.ids.first.claims().and_then(|claims| claims.get("iss").cloned()).unwrap_or_default();
    for route in routes(ctx)? {
        let name = named(&route);
        let answer = ctx.http.send(&route).await?;
        let challenge = answer.head.header("www-authenticate").unwrap_or_default().to_owned();
        let place = challenge.split_once("resource_metadata=\"").and_then(|(_, rest)| rest.split('"').next());
        let Some(place) = place.and_then(|place| url::Url::parse(place).ok()) else {
            return wrong(format!("the challenge of {name} has no resource_metadata address: {challenge}"));
        };
        let metadata = ctx.http.send(&Request::new("GET", place.clone())).await?;
        let body = metadata.json().unwrap_or_default();
        ensure(metadata.status() == 200, || format!("GET {place} answered {}", metadata.status()))?;
        let servers = body.get("authorization_servers").and_then(Value::as_array);
        ensure(servers.is_some_and(|servers| servers.contains(&issuer)), || {
            format!("the metadata of {name} does not name the issuer {issuer}: {}", short(&body))
        })?;
        let resource = body.get("resource").and_then(Value::as_str).unwrap_or_default();
        ensure(resource.ends_with(route.url.path()), || {
            format!("the metadata of {name} is about the resource {resource:?}")
        })?;
    }
    Ok(format!("names {issuer}"))
}

async fn forged(ctx: &Ctx) -> Verdict {
    with_made(ctx, token::forged(&ctx.ids.first)).await
}

async fn altered(ctx: &Ctx) -> Verdict {
    with_made(ctx, token::altered(&ctx.ids.first)).await
}

async fn unsigned(ctx: &Ctx) -> Verdict {
    with_made(ctx, token::unsigned(&ctx.ids.first)).await
}

async fn audience(ctx: &Ctx) -> Verdict {
    with(ctx, had("another audience", &ctx.ids.wrong_audience)?, 401).await
}

async fn issuer(ctx: &Ctx) -> Verdict {
    with(ctx, had("another issuer", &ctx.ids.wrong_issuer)?, 401).await
}

async fn expired(ctx: &Ctx) -> Verdict {
    with(ctx, had("an expired user", &ctx.ids.expired)?, 401).await
}

async fn scope(ctx: &Ctx) -> Verdict {
    let bearer = had("a user without the scope", &ctx.ids.no_scope)?;
    let verdict = with(ctx, bearer, 403).await?;
    let answer = ctx.http.send(&ctx.get("/sources", Some(bearer))).await?;
    let challenge = answer.head.header("www-authenticate").unwrap_or_default();
    ensure(challenge.contains("insufficient_scope"), || format!("403 came with challenge {challenge:?}"))?;
    Ok(verdict)
}

async fn garbage(ctx: &Ctx) -> Verdict {
    let token = ctx.ids.first.expose();
    let long = "x".repeat(5000);
    let headers = [
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer a.b.c".to_owned(),
        "Bearer ..".to_owned(),
        format!("Basic {token}"),
        token.to_owned(),
        format!("Bearer {long}"),
        format!("Bearer {}", token.rsplit_once('.').map_or("", |(signed, _)| signed)),
        format!("Bearer {token}x"),
    ];
    for header in &headers {
        let answer = ctx.http.send(&ctx.get("/sources", None).header("Authorization", header)).await?;
        ensure(answer.status() == 401, || {
            let shown: String = header.chars().take(12).collect();
            format!("{shown:?}... was answered {}", answer.status())
        })?;
    }
    Ok(format!("{} forms answer 401", headers.len()))
}

async fn header_alone(ctx: &Ctx) -> Verdict {
    for path in ["/sources", ctx.path_of(Server::Warehouse)] {
        let mut url = ctx.url(path);
        url.query_pairs_mut().append_pair("access_token", ctx.ids.first.expose());
        let answer = ctx.http.send(&Request::new("GET", url)).await?;
        ensure(answer.status() == 401, || format!("{path}?access_token= was answered {}", answer.status()))?;
    }
    Ok("401".to_owned())
}

async fn scheme_case(ctx: &Ctx) -> Verdict {
    for scheme in ["bearer", "BEARER"] {
        let header = format!("{scheme} {}", ctx.ids.first.expose());
        let answer = ctx.http.send(&ctx.get("/sources", None).header("Authorization", header)).await?;
        ensure(answer.status() == 200, || format!("{scheme:?} was answered {}", answer.status()))?;
    }
    Ok("bearer and BEARER are taken".to_owned())
}

async fn judged_first(ctx: &Ctx) -> Verdict {
    let requests = [
        ctx.get("/tables/never.was", None),
        ctx.get("/never-was", None),
        ctx.get("/query", None),
        Request::new("POST", ctx.url("/query")).body("text/plain", "x"),
        Request::new("POST", ctx.url("/query")).body("application/json", "{"),
        ctx.mcp_request(Server::Warehouse).body("application/json", "{"),
    ];
    for request in &requests {
        let answer = ctx.http.send(request).await?;
        ensure(answer.status() == 401, || format!("{} answered {}", named(request), answer.status()))?;
    }
    Ok(format!("{} calls answer 401", requests.len()))
}
