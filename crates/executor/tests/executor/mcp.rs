//! The MCP surface in every protocol version.

use awc::http::StatusCode;
use serde_json::{Value, json};

use crate::stack::{Stack, VERSIONS};

#[actix_web::test]
async fn every_version_lists_and_calls_the_tools() {
    let stack = Stack::start();
    let alice = stack.alice();
    for version in VERSIONS {
        let opened = if version == "2026-07-28" {
            stack.rpc(version, "/warehouse/mcp", &alice, "server/discover", json!({})).await
        } else {
            let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
            let opened = stack.rpc(version, "/warehouse/mcp", &alice, "initialize", params).await;
            assert_eq!(opened.body["result"]["protocolVersion"], version, "{opened:?}");
            opened
        };
        assert_eq!(opened.status, StatusCode::OK, "{version}: {opened:?}");
        assert!(opened.body["result"]["capabilities"]["tools"].is_object(), "{version}: {opened:?}");
        for (path, names) in [
            ("/warehouse/mcp", vec!["list_sources", "list_tables", "describe_table", "run_query"]),
            ("/om/mcp", vec!["search_metadata", "get_entity_details"]),
        ] {
            let listed = stack.rpc(version, path, &alice, "tools/list", json!({})).await;
            let tools =
                listed.body["result"]["tools"].as_array().unwrap_or_else(|| panic!("{version}: {listed:?}"));
            let listed: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
            assert_eq!(listed, names, "{version}");
            for tool in tools {
                assert_eq!(tool["annotations"]["readOnlyHint"], true);
                assert_eq!(tool["inputSchema"]["additionalProperties"], false);
                assert!(tool["description"].as_str().unwrap().len() > 60);
            }
        }
        let (result, is_error) = stack
            .tool_in(
                version,
                &alice,
                "run_query",
                json!({"sql": "SELECT count(*) AS n FROM support.tickets;"}),
            )
            .await;
        assert!(!is_error, "{version}: {result}");
        assert_eq!(result["rows"], json!([[4]]));
        assert_eq!(result["sql"], "SELECT count(*) AS n FROM support.tickets");
    }
}

#[actix_web::test]
async fn a_client_of_an_older_protocol_is_told_the_notification_was_taken() {
    let stack = Stack::start();
    let body = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let headers = [("mcp-protocol-version", "2025-06-18")];
    let answer = stack.post("/warehouse/mcp", Some(&stack.alice()), &headers, &body).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED);
}

#[actix_web::test]
async fn an_unknown_tool_is_an_error_of_the_protocol() {
    let stack = Stack::start();
    for version in VERSIONS {
        for (path, name) in [
            ("/warehouse/mcp", "drop_table"),
            ("/warehouse/mcp", "search_metadata"),
            ("/om/mcp", "run_query"),
        ] {
            let params = json!({"name": name, "arguments": {}});
            let answer = stack.rpc(version, path, &stack.alice(), "tools/call", params).await;
            assert_eq!(answer.body["error"]["code"], -32602, "{version} {name}: {answer:?}");
            assert!(answer.body["result"].is_null());
        }
    }
    assert!(stack.audit().is_empty());
}

#[actix_web::test]
async fn results_have_the_agreed_shapes() {
    let stack = Stack::start();
    let alice = stack.alice();
    let (sources, _) = stack.tool(&alice, "list_sources", json!({})).await;
    assert_eq!(
        sources["sources"][0],
        json!({"name": "support", "kind": "sqlite", "dialect": "sqlite", "description": "The support desk"})
    );
    let (tables, _) = stack.tool(&alice, "list_tables", json!({"source": "sales"})).await;
    assert_eq!(
        tables["tables"],
        json!([{"source": "sales", "name": "sales.dim_product", "rowCount": 2}, {"source": "sales", "name": "sales.fct_sales", "rowCount": 3}])
    );
    let (table, _) = stack.tool(&alice, "describe_table", json!({"table": "support.agents"})).await;
    assert_eq!(
        (&table["source"], &table["table"], &table["columns"]),
        (
            &json!("support"),
            &json!("support.agents"),
            &json!([
                {"name": "id", "type": "INTEGER", "nullable": false},
                {"name": "name", "type": "TEXT", "nullable": false},
                {"name": "team", "type": "TEXT", "nullable": false}
            ])
        )
    );
    let (rows, _) =
        stack.tool(&alice, "run_query", json!({"sql": "SELECT id FROM support.tickets", "maxRows": 2})).await;
    let mut members: Vec<&String> = rows.as_object().unwrap().keys().collect();
    members.sort();
    assert_eq!(members, ["columns", "ms", "rowCount", "rows", "source", "sql", "tables", "truncated"]);
    assert_eq!(
        (&rows["rowCount"], &rows["truncated"], &rows["rows"]),
        (&json!(2), &json!(true), &json!([[1], [2]]))
    );
    for result in [&sources, &tables, &table, &rows] {
        assert!(result["ms"].is_u64(), "{result}");
    }
}

/// Calls that are turned down, by whom, with what code and word.
fn turned_down() -> Vec<(&'static str, &'static str, Value, &'static str, &'static str)> {
    vec![
        ("alice", "run_query", json!({"sql": "DELETE FROM support.tickets"}), "guard", "DELETE"),
        (
            "alice",
            "run_query",
            json!({"sql": "SELECT email FROM support.agents"}),
            "access",
            "support.agents.email",
        ),
        ("alice", "run_query", json!({"sql": "SELECT * FROM tickets"}), "invalid", "support.tickets"),
        ("alice", "run_query", json!({}), "invalid", "sql"),
        ("alice", "run_query", json!({"sql": 1}), "invalid", "string"),
        ("alice", "run_query", json!({"sql": "SELECT 1", "max_rows": 1}), "invalid", "max_rows"),
        ("alice", "run_query", json!({"sql": "SELECT 1", "maxRows": 0}), "invalid", "maxRows"),
        ("alice", "run_query", json!({"sql": "SELECT 1", "maxRows": -5}), "invalid", "maxRows"),
        ("alice", "run_query", json!({"sql": "SELECT 1", "source": "nowhere"}), "invalid", "nowhere"),
        ("alice", "list_sources", json!({"all": true}), "invalid", "all"),
        ("alice", "describe_table", json!({"table": "support.nowt"}), "invalid", "support.nowt"),
        (
            "alice",
            "describe_table",
            json!({"table": "support.tickets", "source": "sales"}),
            "invalid",
            "sales",
        ),
        ("alice", "search_metadata", json!({"query": "  "}), "invalid", "empty"),
        (
            "alice",
            "search_metadata",
            json!({"query": "x", "entityType": "dashboard"}),
            "invalid",
            "glossaryTerm",
        ),
        ("alice", "get_entity_details", json!({"entityType": "metric", "fqn": "nowt"}), "invalid", "nowt"),
        ("intern", "list_tables", json!({"source": "support"}), "access", "support"),
        ("intern", "describe_table", json!({"table": "support.tickets"}), "access", "support"),
        ("intern", "describe_table", json!({"table": "support.nowt"}), "access", "support"),
        ("intern", "describe_table", json!({"table": "tickets", "source": "support"}), "access", "support"),
        ("intern", "run_query", json!({"sql": "SELECT 1 FROM support.tickets"}), "access", "support"),
        ("intern", "run_query", json!({"sql": "SELECT 1", "source": "support"}), "access", "support"),
        (
            "intern",
            "get_entity_details",
            json!({"entityType": "table", "fqn": "support.agents"}),
            "access",
            "support",
        ),
        ("bob", "list_sources", json!({}), "access", "no role on any source"),
        ("bob", "list_tables", json!({}), "access", "no role on any source"),
        ("bob", "describe_table", json!({"table": "support.tickets"}), "access", "no role on any source"),
        ("bob", "run_query", json!({"sql": "SELECT 1"}), "access", "no role on any source"),
        ("bob", "search_metadata", json!({"query": "ticket"}), "access", "no role on any source"),
        (
            "bob",
            "get_entity_details",
            json!({"entityType": "metric", "fqn": "nowt"}),
            "access",
            "no role on any source",
        ),
    ]
}

#[actix_web::test]
async fn calls_are_turned_down_by_code_with_a_message_and_a_time() {
    let stack = Stack::start();
    for (person, tool, arguments, code, says) in turned_down() {
        let token = match person {
            "alice" => stack.alice(),
            "intern" => stack.issuer.token("ivy", &["intern"]),
            _ => stack.bob(),
        };
        let (result, is_error) = stack.tool(&token, tool, arguments.clone()).await;
        assert!(is_error, "{person} {tool} {arguments}: {result}");
        assert_eq!(result["error"]["code"], code, "{person} {tool} {arguments}: {result}");
        let message = result["error"]["message"].as_str().unwrap();
        assert!(message.contains(says), "{person} {tool} {arguments} should say {says:?}: {message}");
        assert!(result["ms"].is_u64());
    }
}

#[actix_web::test]
async fn a_closed_source_is_not_listed() {
    let stack = Stack::start();
    let ivy = stack.issuer.token("ivy", &["intern"]);
    let (sources, _) = stack.tool(&ivy, "list_sources", json!({})).await;
    assert_eq!(sources["sources"].as_array().unwrap().len(), 1);
    let (tables, _) = stack.tool(&ivy, "list_tables", json!({})).await;
    assert!(!tables.to_string().contains("support"), "{tables}");
    let (table, _) = stack.tool(&ivy, "describe_table", json!({"table": "dim_product"})).await;
    assert!(!table.to_string().contains("cost"), "{table}");
}

#[actix_web::test]
async fn callers_of_one_server_never_get_each_others_answers() {
    let stack = Stack::start();
    let (alice, carol) = (stack.alice(), stack.carol());
    let sql = json!({"sql": "SELECT * FROM support.agents LIMIT 1"});
    for _ in 0..10 {
        let ((hers, _), (others, _)) = futures_util::join!(
            stack.tool(&alice, "run_query", sql.clone()),
            stack.tool(&carol, "run_query", sql.clone())
        );
        assert_eq!(hers["columns"], json!(["id", "name", "team"]));
        assert_eq!(others["columns"], json!(["id", "name", "team", "email", "phone"]));
    }
}
