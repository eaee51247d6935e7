//! The REST surface, its agreement with MCP, and who comes in at all.

use awc::http::StatusCode;
use serde_json::{Value, json};

use crate::stack::{Answer, Stack};

/// The same call over both surfaces: the tool with its arguments, and the path (with a body for a POST).
fn pairs() -> Vec<(&'static str, Value, &'static str, Option<Value>)> {
    let query = |sql: &str| (json!({"sql": sql}), Some(json!({"sql": sql})));
    let mut pairs = vec![
        ("list_sources", json!({}), "/sources", None),
        ("list_tables", json!({}), "/tables", None),
        ("list_tables", json!({"source": "sales"}), "/tables?source=sales", None),
        ("list_tables", json!({"source": "nowhere"}), "/tables?source=nowhere", None),
        ("describe_table", json!({"table": "support.agents"}), "/tables/support.agents", None),
        (
            "describe_table",
            json!({"table": "agents", "source": "support"}),
            "/tables/agents?source=support",
            None,
        ),
        ("describe_table", json!({"table": "support.nowt"}), "/tables/support.nowt", None),
        (
            "run_query",
            json!({"sql": "SELECT 1", "maxRows": 0}),
            "/query",
            Some(json!({"sql": "SELECT 1", "maxRows": 0})),
        ),
        ("run_query", json!({"nonsense": 1}), "/query", Some(json!({"nonsense": 1}))),
    ];
    for sql in [
        "SELECT * FROM support.agents ORDER BY id",
        "SELECT status, count(*) AS n FROM support.tickets GROUP BY status ORDER BY 1",
        "DELETE FROM support.tickets",
        "SELECT email FROM support.agents",
        "SELECT * FROM tickets",
        "SELECT nowt FROM support.tickets",
        "SELECT 1; SELECT 2",
    ] {
        let (arguments, body) = query(sql);
        pairs.push(("run_query", arguments, "/query", body));
    }
    pairs
}

async fn ask(stack: &Stack, token: &str, path: &str, body: Option<&Value>) -> Answer {
    match body {
        Some(body) => stack.post(path, Some(token), &[], body).await,
        None => stack.get(path, Some(token)).await,
    }
}

fn timeless(mut value: Value) -> Value {
    value.as_object_mut().map(|members| members.remove("ms"));
    value
}

#[actix_web::test]
async fn both_surfaces_say_the_same() {
    let stack = Stack::start();
    for token in [stack.alice(), stack.carol(), stack.bob()] {
        for (tool, arguments, path, body) in pairs() {
            let (over_mcp, is_error) = stack.tool(&token, tool, arguments).await;
            let over_rest = ask(&stack, &token, path, body.as_ref()).await;
            assert_eq!(is_error, over_rest.status != StatusCode::OK, "{path} {body:?}: {over_rest:?}");
            if is_error {
                assert_eq!(over_rest.body["error"], over_mcp["error"], "{path}");
                assert_eq!(over_rest.body["code"], over_mcp["error"]["code"]);
                assert_eq!(over_rest.body["detail"], over_mcp["error"]["message"]);
                assert!(over_rest.body["ms"].is_u64());
            } else {
                assert_eq!(timeless(over_rest.body), timeless(over_mcp), "{path}");
            }
        }
    }
}

#[actix_web::test]
async fn each_code_has_its_status_and_is_a_problem() {
    let stack = Stack::with(&[("DAS_SQL_TIMEOUT_S", "1")]);
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    for (sql, status, code) in [
        ("SELECT phone FROM support.agents", 403, "access"),
        ("DROP TABLE support.tickets", 422, "guard"),
        ("SELEC 1", 400, "invalid"),
        (endless, 504, "timeout"),
    ] {
        let answer = stack.post("/query", Some(&stack.alice()), &[], &json!({"sql": sql})).await;
        assert_eq!(answer.status.as_u16(), status, "{sql}: {answer:?}");
        assert_eq!(answer.headers.get("content-type").unwrap(), "application/problem+json");
        assert_eq!((&answer.body["status"], &answer.body["code"]), (&json!(status), &json!(code)));
    }
}

#[actix_web::test]
async fn a_caller_who_calls_too_often_is_told_when_to_come_back() {
    let stack = Stack::with(&[("DAS_RATE_CALLS", "3")]);
    let alice = stack.alice();
    for _ in 0..2 {
        assert_eq!(stack.get("/sources", Some(&alice)).await.status, StatusCode::OK);
    }
    let (_, is_error) = stack.tool(&alice, "list_sources", json!({})).await;
    assert!(!is_error);
    let answer = stack.get("/sources", Some(&stack.alice())).await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    let seconds: u64 = answer.headers.get("retry-after").unwrap().to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds));
    assert_eq!(answer.body["error"]["retryAfter"], seconds);
    let (refused, is_error) = stack.tool(&alice, "run_query", json!({"sql": "SELECT 1"})).await;
    assert!(is_error && refused["error"]["code"] == "rate_limit", "{refused}");
    assert_eq!(
        stack.get("/sources", Some(&stack.carol())).await.status,
        StatusCode::OK,
        "others are not affected"
    );
}

#[actix_web::test]
async fn nobody_comes_in_without_a_token_of_ours() {
    let stack = Stack::start();
    let mut wrong_audience = stack.issuer.claims("alice", &["analyst"]);
    wrong_audience["aud"] = json!("api://other");
    let mut expired = stack.issuer.claims("alice", &["analyst"]);
    for claim in ["exp", "iat", "nbf"] {
        expired[claim] = json!(expired[claim].as_i64().unwrap() - 7_200);
    }
    let other = crate::issuer::Issuer::start();
    let tokens = [
        None,
        Some("nonsense".to_owned()),
        Some(stack.issuer.sign(&wrong_audience)),
        Some(stack.issuer.sign(&expired)),
        Some(other.sign(&stack.issuer.claims("alice", &["analyst"]))),
    ];
    let mut answers = Vec::new();
    for token in &tokens {
        for path in
            ["/sources", "/tables", "/tables/support.tickets", "/warehouse/mcp", "/om/mcp", "/nowhere"]
        {
            let answer = stack.get(path, token.as_deref()).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path} {token:?}");
            let challenge = answer.headers.get("www-authenticate").unwrap().to_str().unwrap();
            assert_eq!(
                challenge,
                format!(
                    "Bearer resource_metadata=\"{}/.well-known/oauth-protected-resource{path}\"",
                    stack.url
                )
            );
            answers.push(answer.body);
        }
        let posted = stack.post("/query", token.as_deref(), &[], &json!({"sql": "SELECT 1"})).await;
        assert_eq!(posted.status, StatusCode::UNAUTHORIZED);
    }
    assert!(answers.iter().all(|body| *body == answers[0]), "every 401 says the same");
    assert!(stack.audit().is_empty());
}

#[actix_web::test]
async fn a_token_without_the_scope_is_valid_but_may_not_call() {
    let stack = Stack::start();
    let mut claims = stack.issuer.claims("alice", &["analyst"]);
    claims["scp"] = json!("profile");
    let token = stack.issuer.sign(&claims);
    for path in ["/sources", "/warehouse/mcp"] {
        let answer = stack.get(path, Some(&token)).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN);
        let challenge = answer.headers.get("www-authenticate").unwrap().to_str().unwrap();
        assert!(challenge.contains("insufficient_scope"), "{challenge}");
    }
}

#[actix_web::test]
async fn a_client_can_find_out_where_to_sign_in() {
    let stack = Stack::start();
    for (path, resource) in [("", ""), ("/warehouse/mcp", "/warehouse/mcp"), ("/om/mcp", "/om/mcp")] {
        let answer = stack.get(&format!("/.well-known/oauth-protected-resource{path}"), None).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.body["resource"], format!("{}{resource}", stack.url));
        assert_eq!(answer.body["authorization_servers"], json!([stack.issuer.url()]));
        assert_eq!(answer.body["scopes_supported"], json!(["api://data-agent-service/access_as_user"]));
    }
    assert_eq!(stack.get("/health", None).await.body["status"], "ok");
}

#[actix_web::test]
async fn malformed_requests_are_problems() {
    let stack = Stack::start();
    let alice = stack.alice();
    for (path, body, status) in [
        ("/query", json!([1]), 400),
        ("/query", json!("text"), 400),
        ("/query", json!({"sql": "x".repeat(300_000)}), 413),
        ("/sources", json!({}), 405),
        ("/nowhere", json!({}), 404),
    ] {
        let answer = stack.post(path, Some(&alice), &[], &body).await;
        assert_eq!(answer.status.as_u16(), status, "{path}: {answer:?}");
        assert_eq!(answer.headers.get("content-type").unwrap(), "application/problem+json", "{path}");
    }
    let text = stack.post("/query", Some(&alice), &[("content-type", "text/plain")], &json!({})).await;
    assert_eq!(text.status.as_u16(), 415);
    assert_eq!(stack.get("/query", Some(&alice)).await.status.as_u16(), 405);
    assert_eq!(stack.get("/tables?sauce=sales", Some(&alice)).await.status.as_u16(), 400);
}

#[actix_web::test]
async fn a_web_page_gets_nowhere_over_any_surface() {
    let stack = Stack::with(&[("DAS_EXECUTOR_HOSTS", "tools.example")]);
    let token = stack.alice();
    let metadata = "/.well-known/oauth-protected-resource";
    let paths = ["/sources", "/tables/support.agents", "/warehouse/mcp", "/om/mcp", metadata, "/nowhere"];
    for path in paths {
        for (name, value) in [("host", "evil.example"), ("origin", "http://evil.example"), ("origin", "null")]
        {
            let answer = stack.get_with(path, Some(&token), &[(name, value)]).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path} {name}: {value}");
            assert_eq!(answer.headers.get("content-type").unwrap(), "application/problem+json");
            let body = answer.body.to_string();
            assert!(!body.contains("evil"), "{body}");
        }
        // Without a token it learns no more than with one.
        let answer = stack.get_with(path, None, &[("host", "evil.example")]).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
        assert!(!answer.headers.contains_key("www-authenticate"));
    }
    for headers in [
        [("host", "tools.example"), ("x-a", "b")],
        [("host", "localhost:1"), ("origin", "http://localhost:6274")],
    ] {
        let answer = stack.get_with("/sources", Some(&token), &headers).await;
        assert_eq!(answer.status, StatusCode::OK, "{headers:?}");
    }
}

#[actix_web::test]
async fn behind_a_gateway_the_way_to_sign_in_is_named_by_its_address() {
    let stack = Stack::with(&[("DAS_EXECUTOR_PUBLIC_URL", "https://tools.example:8443/data/")]);
    let through = [("host", "tools.example:8443")];
    let answer = stack.get_with("/om/mcp", None, &through).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    let metadata = "https://tools.example:8443/data/.well-known/oauth-protected-resource/om/mcp";
    let challenge = answer.headers.get("www-authenticate").unwrap();
    assert_eq!(challenge, &format!("Bearer resource_metadata=\"{metadata}\""));
    let answer = stack.get_with("/.well-known/oauth-protected-resource/om/mcp", None, &through).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.body["resource"], "https://tools.example:8443/data/om/mcp");
    assert_eq!(answer.body["authorization_servers"], json!([stack.issuer.url()]));
}
