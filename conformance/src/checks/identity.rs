//! Who may call at all.

use serde_json::json;

use crate::check::{Check, Failure, Verdict, check, ensure, wrong};
use crate::ctx::{Ctx, asks, cancel, events, had, state};
use crate::http::{Answer, Request};
use crate::token::{self, Bearer, Maybe};

pub(super) fn checks() -> Vec<Check> {
    vec![
        check!("identity.health", "health answers without a bearer, and says the contract", "calls", health),
        check!("identity.no-bearer", "no bearer is refused on every route", "calls", no_bearer),
        check!("identity.challenge", "401 carries WWW-Authenticate: Bearer", "calls", challenge),
        check!("identity.forged", "a forged bearer is refused: signed by an unknown key", "calls", forged),
        check!("identity.altered", "a bearer with altered claims is refused", "calls", altered),
        check!("identity.unsigned", "a bearer under alg none is refused", "calls", unsigned),
        check!("identity.audience", "a bearer for another audience is refused", "calls", audience),
        check!("identity.issuer", "a bearer of another issuer is refused", "calls", issuer),
        check!("identity.expired", "an expired bearer is refused", "calls", expired),
        check!(
            "identity.scope",
            "a valid bearer without the required scope gets 403 on every route",
            "calls",
            scope
        ),
        check!("identity.garbage", "what is not a bearer token is refused", "calls", garbage),
        check!("identity.header-alone", "a token in the query is no bearer", "calls", header_alone),
        check!("identity.scheme-case", "the scheme's case does not matter", "RFC 9110", scheme_case),
        check!(
            "identity.first",
            "without a bearer nothing else is judged: no 404, 415 or 422",
            "calls",
            judged_first
        ),
    ]
}

/// Every call that needs a bearer, on identifiers that belong to the first user.
async fn routes(ctx: &Ctx) -> Result<Vec<(&'static str, String)>, Failure> {
    let ticket = ctx.new_ask().await?;
    Ok(vec![
        ("POST", "/v1/conversations".to_owned()),
        ("POST", asks(&ticket.conversation)),
        ("GET", events(&ticket.id)),
        ("GET", state(&ticket.id)),
        ("POST", cancel(&ticket.id)),
    ])
}

async fn call(ctx: &Ctx, method: &'static str, path: &str, header: Option<&str>) -> Result<Answer, Failure> {
    let mut request = Request::new(method, ctx.url(path));
    if let Some(value) = header {
        request = request.header("Authorization", value);
    }
    if method == "POST" {
        request = request.body("application/json", ctx.question().to_string());
    }
    ctx.send(&request).await
}

async fn every_route(ctx: &Ctx, header: Option<&str>, status: u16) -> Verdict {
    let routes = routes(ctx).await?;
    for (method, path) in &routes {
        let answer = call(ctx, method, path, header).await?;
        ensure(answer.status() == status, || format!("{method} {path} answered {}", answer.status()))?;
    }
    Ok(format!("{} routes answer {status}", routes.len()))
}

async fn with(ctx: &Ctx, bearer: &Bearer, status: u16) -> Verdict {
    every_route(ctx, Some(&format!("Bearer {}", bearer.expose())), status).await
}

async fn with_made(ctx: &Ctx, bearer: Maybe) -> Verdict {
    let bearer = bearer.map_err(Failure::NotExercised)?;
    with(ctx, &bearer, 401).await
}

async fn health(ctx: &Ctx) -> Verdict {
    let answer = ctx.get("/health", None).await?;
    ensure(answer.status() == 200, || format!("GET /health answered {}", answer.status()))?;
    let body = answer.json().unwrap_or_default();
    ensure(body.get("status") == Some(&json!("ok")) && body.get("contract") == Some(&json!("1")), || {
        format!("GET /health said {}", answer.text())
    })?;
    Ok(body.to_string())
}

async fn no_bearer(ctx: &Ctx) -> Verdict {
    every_route(ctx, None, 401).await
}

async fn challenge(ctx: &Ctx) -> Verdict {
    for header in [None, Some("Bearer not.a.token")] {
        for (method, path) in routes(ctx).await? {
            let answer = call(ctx, method, &path, header).await?;
            let challenge = answer.head.header("www-authenticate").unwrap_or_default();
            ensure(answer.status() == 401 && challenge.to_ascii_lowercase().starts_with("bearer"), || {
                format!("{method} {path} answered {} with challenge {challenge:?}", answer.status())
            })?;
        }
    }
    Ok("with and without a bearer".to_owned())
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
    with(ctx, had("a user without the scope", &ctx.ids.no_scope)?, 403).await
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
        let answer = call(ctx, "POST", "/v1/conversations", Some(header)).await?;
        if answer.status() != 401 {
            let shown: String = header.chars().take(12).collect();
            return wrong(format!("{shown:?}... was answered {}", answer.status()));
        }
    }
    Ok(format!("{} forms answer 401", headers.len()))
}

async fn header_alone(ctx: &Ctx) -> Verdict {
    let mut url = ctx.url("/v1/conversations");
    url.query_pairs_mut().append_pair("access_token", ctx.ids.first.expose());
    let answer = ctx.send(&Request::new("POST", url)).await?;
    ensure(answer.status() == 401, || format!("?access_token= was answered {}", answer.status()))?;
    Ok("401".to_owned())
}

async fn scheme_case(ctx: &Ctx) -> Verdict {
    for scheme in ["bearer", "BEARER"] {
        let header = format!("{scheme} {}", ctx.ids.first.expose());
        let answer = call(ctx, "POST", "/v1/conversations", Some(&header)).await?;
        ensure(answer.status() == 201, || format!("{scheme:?} was answered {}", answer.status()))?;
    }
    Ok("bearer and BEARER are taken".to_owned())
}

async fn judged_first(ctx: &Ctx) -> Verdict {
    let requests = [
        Request::new("GET", ctx.url("/v1/asks/never-was")),
        Request::new("GET", ctx.url("/v1/asks/never-was/events")),
        Request::new("POST", ctx.url("/v1/asks/never-was/cancel")),
        Request::new("POST", ctx.url("/v1/conversations/never-was/asks")).body("text/plain", "x"),
        Request::new("POST", ctx.url("/v1/conversations/never-was/asks")).body("application/json", "{}"),
    ];
    for request in &requests {
        let answer = ctx.send(request).await?;
        ensure(answer.status() == 401, || {
            format!("{} {} answered {}", request.method, request.url.path(), answer.status())
        })?;
    }
    Ok(format!("{} calls answer 401", requests.len()))
}
