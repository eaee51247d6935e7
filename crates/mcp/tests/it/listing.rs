//! Tool lists: pages, limits, and tools that are left out.

use ask_mcp::{CallError, NoteKind};
use serde_json::{Value, json};

use crate::peer::{Peer, Reply, Seen, json_reply, new, no_args, response, result, text_result};

fn tool(name: &str) -> Value {
    json!({"name": name, "title": "T", "description": "d",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": true}})
}

fn page(request: &Seen, tools: &[Value], next: Option<&str>) -> Reply {
    json_reply(&result(request, &json!({"tools": tools, "nextCursor": next})))
}

#[actix_rt::test]
async fn pages_are_read_in_order_with_their_cursors() {
    let peer = Peer::start(new(|r| match r.body["params"]["cursor"].as_str() {
        None => page(r, &[tool("a")], Some("two / ü")),
        Some("two / ü") => page(r, &[tool("b")], Some("3")),
        Some("3") => page(r, &[tool("c")], Some("")),
        Some(other) => panic!("{other}"),
    }))
    .await;
    let list = peer.session().await.list_tools().await.unwrap();
    let names: Vec<&str> = list.tools.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(list.notes.is_empty());
    assert_eq!(list.tools[0].title.as_deref(), Some("T"));
    assert_eq!(list.tools[0].read_only_hint, Some(true));
    assert_eq!(peer.count("tools/list"), 3);
}

#[actix_rt::test]
async fn endless_pages_end() {
    let peer = Peer::start(new(|r| {
        let n: u64 = r.body["params"]["cursor"].as_str().map_or(0, |c| c.parse().unwrap());
        page(r, &[], Some(&(n + 1).to_string()))
    }))
    .await;
    let list = peer.session().await.list_tools().await.unwrap();
    assert_eq!(list.notes[0].kind, NoteKind::TooManyPages);
    assert_eq!(peer.count("tools/list"), 50);
}

#[actix_rt::test]
async fn the_limit_of_bytes_counts_over_all_pages() {
    let peer = Peer::start(new(|r| {
        let n: u64 = r.body["params"]["cursor"].as_str().map_or(0, |c| c.parse().unwrap());
        let mut large = tool(&format!("t{n}"));
        large["description"] = json!("x".repeat(300_000));
        page(r, &[large], Some(&(n + 1).to_string()))
    }))
    .await;
    let failed = peer.session().await.list_tools().await;
    assert!(matches!(failed, Err(CallError::TooLarge { .. })));
    assert_eq!(peer.count("tools/list"), 4);
}

#[actix_rt::test]
async fn one_bad_tool_does_not_cost_the_others() {
    let peer = Peer::start(new(|r| {
        let id = r.id();
        let deep = format!("{}1{}", r#"{"items":"#.repeat(5000), "}".repeat(5000));
        let good = tool("good");
        let tools = format!(
            r#"[{{"name":"deep","inputSchema":{deep}}},{{"name":"a b","inputSchema":{{}}}},42,{good}]"#
        );
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":{tools}}}}}"#);
        response(200, "content-type: application/json\r\n", &body)
    }))
    .await;
    let list = peer.session().await.list_tools().await.unwrap();
    assert_eq!(list.tools.len(), 1);
    let kinds: Vec<NoteKind> = list.notes.iter().map(|n| n.kind).collect();
    assert_eq!(kinds, [NoteKind::SchemaTooDeep, NoteKind::BadName, NoteKind::Malformed]);
}

#[actix_rt::test]
async fn a_list_that_fails_on_a_later_page_is_no_list() {
    let peer = Peer::start(new(|r| match r.body["params"]["cursor"].as_str() {
        None => page(r, &[tool("a")], Some("2")),
        Some(_) => response(500, "", ""),
    }))
    .await;
    let failed = peer.session().await.list_tools().await;
    assert!(matches!(failed, Err(CallError::Status { status: 500, .. })));
}

#[actix_rt::test]
async fn annotated_arguments_travel_as_headers_too() {
    let peer = Peer::start(new(|r| match r.method() {
        "tools/list" => {
            let mut tool = tool("t");
            tool["inputSchema"]["properties"] =
                json!({"source": {"type": "string", "x-mcp-header": "Source"}});
            page(r, &[tool], None)
        }
        _ => json_reply(&result(r, &text_result("x"))),
    }))
    .await;
    let session = peer.session().await;
    session.list_tools().await.unwrap();
    let args = json!({"source": "größe"}).as_object().unwrap().clone();
    session.call("t", &args).await.unwrap();
    session.call("t", &no_args()).await.unwrap();
    let seen = peer.seen();
    assert_eq!(seen[2].header("mcp-param-source"), Some("=?base64?Z3LDtsOfZQ==?="));
    assert_eq!(seen[3].header("mcp-param-source"), None);
}
