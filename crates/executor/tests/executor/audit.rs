//! The audit lines: one per call, the same time as in the result, and nothing of the data.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::stack::Stack;

#[actix_web::test]
async fn each_call_has_one_line_with_the_results_own_time() {
    let stack = Stack::start();
    let alice = stack.alice();
    let calls = [
        ("list_sources", json!({}), "ok"),
        ("list_tables", json!({"source": "support"}), "ok"),
        ("describe_table", json!({"table": "support.agents"}), "ok"),
        ("run_query", json!({"sql": "SELECT id, status FROM support.tickets"}), "ok"),
        ("run_query", json!({"sql": "DELETE FROM support.tickets"}), "guard"),
        ("run_query", json!({"sql": "SELECT email FROM support.agents"}), "access"),
        ("run_query", json!({"sql": "SELECT * FROM tickets"}), "invalid"),
        ("run_query", json!({"sql": 5}), "invalid"),
        ("search_metadata", json!({"query": "ticket"}), "ok"),
        ("get_entity_details", json!({"entityType": "table", "fqn": "support.agents"}), "ok"),
    ];
    let mut times = Vec::new();
    for (tool, arguments, _) in &calls {
        let (result, _) = stack.tool(&alice, tool, arguments.clone()).await;
        times.push(result["ms"].clone());
    }
    let lines = stack.audit();
    assert_eq!(lines.len(), calls.len());
    for (((tool, _, verdict), ms), line) in calls.iter().zip(times).zip(&lines) {
        assert_eq!(
            (&line["op"], &line["verdict"], &line["ms"], &line["oid"], &line["surface"]),
            (&json!(tool), &json!(verdict), &ms, &json!("alice"), &json!("mcp")),
        );
    }
    let query = &lines[3];
    assert_eq!(
        (&query["source"], &query["tables"], &query["columns"], &query["rows"]),
        (&json!("support"), &json!(["support.tickets"]), &json!(2), &json!(4))
    );
    assert_eq!(query["sql_sha256"].as_str().unwrap().len(), 64);
}

#[actix_web::test]
async fn a_lines_time_is_the_time_that_the_call_took() {
    let stack = Stack::with(&[("DAS_SQL_TIMEOUT_S", "1")]);
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let answer = stack.post("/query", Some(&stack.alice()), &[], &json!({"sql": sql})).await;
    let line = &stack.audit()[0];
    assert_eq!(
        (&line["verdict"], &line["ms"], &line["surface"]),
        (&json!("timeout"), &answer.body["ms"], &json!("rest"))
    );
    assert!(line["ms"].as_u64().unwrap() >= 1_000);
}

#[actix_web::test]
async fn lines_hold_neither_statements_nor_values() {
    let stack = Stack::start();
    let carol = stack.carol();
    for sql in [
        "SELECT * FROM support.agents WHERE name <> 'literal-canary'",
        "SELECT nowt_canary FROM support.agents",
        "canary canary",
        "SELECT word FROM support.secret",
    ] {
        stack.tool(&carol, "run_query", json!({"sql": sql})).await;
    }
    stack.tool(&carol, "search_metadata", json!({"query": "canary words"})).await;
    let text = Value::from(stack.audit()).to_string();
    assert!(!text.contains("canary") && !text.contains("SELECT"), "{text}");
}

#[actix_web::test]
async fn request_and_trace_ids_are_kept_and_forged_ones_are_not() {
    let stack = Stack::start();
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let body = json!({"sql": "SELECT 1"});
    let alice = stack.alice();
    stack.post("/query", Some(&alice), &[("x-request-id", "req-1"), ("traceparent", trace)], &body).await;
    stack
        .post(
            "/query",
            Some(&alice),
            &[("x-request-id", "a b\" audit {}"), ("traceparent", "nonsense")],
            &body,
        )
        .await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_sources", "arguments": {}}});
    stack
        .post("/warehouse/mcp", Some(&alice), &[("x-request-id", "req-3"), ("traceparent", trace)], &call)
        .await;
    let lines = stack.audit();
    assert_eq!(
        (&lines[0]["request_id"], &lines[0]["trace_id"]),
        (&json!("req-1"), &json!("0af7651916cd43dd8448eb211c80319c"))
    );
    let made = lines[1]["request_id"].as_str().unwrap();
    assert!(made.len() == 32 && made.bytes().all(|byte| byte.is_ascii_hexdigit()), "{made}");
    assert!(lines[1]["trace_id"].is_null());
    assert_eq!((&lines[2]["request_id"], &lines[2]["surface"]), (&json!("req-3"), &json!("mcp")));
}

#[actix_web::test]
async fn a_call_whose_client_has_gone_runs_on_and_has_its_line() {
    let stack = Stack::with(&[("DAS_SQL_TIMEOUT_S", "1")]);
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let params = json!({"name": "run_query", "arguments": {"sql": sql}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}}});
    let modern = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: run_query\r\n";
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    for (path, headers, body, surface) in
        [("/query", "", json!({"sql": sql}), "rest"), ("/warehouse/mcp", modern, call, "mcp")]
    {
        let before = stack.audit().len();
        stack.send_and_leave(path, &stack.alice(), headers, &body).await;
        let end = Instant::now() + Duration::from_secs(10);
        while stack.audit().len() == before {
            assert!(Instant::now() < end, "no line over {surface}");
            actix_web::rt::time::sleep(Duration::from_millis(20)).await;
        }
        let line = &stack.audit()[before];
        assert_eq!((&line["surface"], &line["verdict"]), (&json!(surface), &json!("timeout")));
        assert!(line["ms"].as_u64().unwrap() >= 1_000);
    }
}

#[actix_web::test]
async fn answers_and_problems_name_their_request() {
    let stack = Stack::start();
    let alice = stack.alice();
    let id = |answer: &crate::stack::Answer| {
        answer.headers.get("x-request-id").unwrap().to_str().unwrap().to_owned()
    };
    for (path, body, status) in [
        ("/query", json!({"sql": "SELECT 1"}), 200),
        ("/query", json!({"sql": "DELETE FROM support.tickets"}), 422),
        ("/query", json!([]), 400),
        ("/nothing", json!({}), 404),
    ] {
        let answer = stack.post(path, Some(&alice), &[("x-request-id", "req-9")], &body).await;
        assert_eq!((answer.status.as_u16(), id(&answer).as_str()), (status, "req-9"), "{path}");
        let named = answer.body.get("request_id").and_then(Value::as_str);
        assert_eq!(named, (status != 200).then_some("req-9"), "{}", answer.body);
    }
    // Every 401 is the same to the byte.
    let [one, two] = [
        stack.post("/query", None, &[("x-request-id", "one")], &json!({})).await,
        stack.post("/query", None, &[("x-request-id", "two")], &json!({})).await,
    ];
    assert_eq!((id(&one).as_str(), id(&two).as_str()), ("one", "two"));
    assert_eq!((one.status.as_u16(), &one.body), (401, &two.body));
}
