//! The client against rmcp's own server, which shares no code with it, in every version.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use actix_web::{App, HttpServer};
use ask_mcp::{CallError, Content, NoteKind, Version};
use futures_util::future::join_all;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
        PaginatedRequestParams, ProgressNotificationParam, ProgressToken, ServerCapabilities, ServerConfig,
        Tool,
    },
    service::RequestContext,
    transport::streamable_http_server::session::local::LocalSessionManager,
};
use rmcp_actix_web::transport::StreamableHttpService;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::peer::{client, no_args};

#[derive(Clone, Default)]
struct Tools {
    cancelled: Arc<Mutex<usize>>,
    waiting: Arc<Notify>,
    ended: Arc<Notify>,
}

/// Tells the test when a tool's work was dropped.
struct Ending(Tools);

impl Drop for Ending {
    fn drop(&mut self) {
        *self.0.cancelled.lock().unwrap() += 1;
        self.0.ended.notify_one();
    }
}

fn schema(properties: &Value) -> serde_json::Map<String, Value> {
    let schema = json!({"type": "object", "properties": properties});
    schema.as_object().unwrap().clone()
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let property = json!({"text": {"type": "string", "x-mcp-header": "Text"}});
        (name == "echo").then(|| Tool::new("echo", "says it again", schema(&property)))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|r| r.cursor);
        let tools = match cursor.as_deref() {
            None => self.get_tool("echo").into_iter().collect(),
            Some(_) => vec![
                Tool::new("fail", "fails", schema(&json!({}))),
                Tool::new("bad name", "cannot be offered", schema(&json!({}))),
            ],
        };
        let mut list = ListToolsResult::with_all_items(tools);
        list.next_cursor = cursor.is_none().then(|| "2".to_owned());
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        match request.name.as_ref() {
            "echo" => Ok(CallToolResult::structured(Value::Object(arguments)).into()),
            "progress" => {
                let token = ProgressToken(rmcp::model::NumberOrString::Number(1));
                let progress = ProgressNotificationParam::new(token, 0.5);
                context.peer.notify_progress(progress).await.unwrap();
                Ok(CallToolResult::success(vec![ContentBlock::text("done")]).into())
            }
            "fail" => Ok(CallToolResult::structured_error(json!({"code": "guard"})).into()),
            "wait" => {
                let _ending = Ending(self.clone());
                self.waiting.notify_one();
                tokio::select! {
                    () = context.ct.cancelled() => {}
                    () = tokio::time::sleep(Duration::from_secs(20)) => {}
                }
                Ok(CallToolResult::success(Vec::new()).into())
            }
            _ => Err(ErrorData::invalid_params("no such tool", None)),
        }
    }
}

/// Starts rmcp's server; it ends with the test's runtime.
fn start(tools: Tools, stateful: bool, json: bool) -> String {
    let service = StreamableHttpService::builder()
        .service_factory(Arc::new(move || Ok(tools.clone())))
        .session_manager(Arc::new(LocalSessionManager::default()))
        .stateful_mode(stateful)
        .json_response(json)
        .build();
    let server = HttpServer::new(move || {
        App::new().service(actix_web::web::scope("/mcp").service(service.clone().scope()))
    })
    .workers(1)
    // Without this the server takes a closed connection for a half-closed one and goes on.
    .h1_allow_half_closed(false)
    // Without this a stream's second event waits 40 ms for the first one's acknowledgement.
    .tcp_nodelay(true)
    .disable_signals()
    .bind("127.0.0.1:0")
    .unwrap();
    let url = format!("http://{}/mcp", server.addrs()[0]);
    actix_rt::spawn(server.run());
    url
}

#[actix_rt::test]
async fn every_version_and_kind_of_reply_works() {
    for (stateful, json) in [(true, false), (true, true), (false, false), (false, true)] {
        let url = start(Tools::default(), stateful, json);
        for version in [None].into_iter().chain(Version::ALL.map(Some)) {
            let mut config = ask_mcp::ServerConfig::new("peer", &url);
            config.version = version;
            let session = client().connect(&config, None, None).await.unwrap();
            let expected = version.unwrap_or(Version::V2026_07_28);
            assert_eq!(session.version(), expected);

            let list = session.list_tools().await.unwrap();
            let names: Vec<&str> = list.tools.iter().map(|t| t.name.as_str()).collect();
            assert_eq!(names, ["echo", "fail"]);
            assert_eq!(list.notes.len(), 1);
            assert_eq!(list.notes[0].kind, NoteKind::BadName);

            let args = json!({"text": "größe"}).as_object().unwrap().clone();
            let done = session.call("echo", &args).await.unwrap();
            assert_eq!(done.structured, Some(json!({"text": "größe"})));
            assert!(!done.is_error);
            assert_eq!(done.render(1000).text, r#"{"text":"größe"}"#);

            let failed = session.call("fail", &no_args()).await.unwrap();
            assert!(failed.is_error);
            let unknown = session.call("unknown", &no_args()).await;
            assert!(matches!(unknown, Err(CallError::Rpc { code: -32602, .. })), "{unknown:?}");
            let progress = session.call("progress", &no_args()).await.unwrap();
            assert_eq!(progress.content, [Content::Text("done".to_owned())]);

            let calls = (0..10).map(|n| {
                let session = &session;
                async move {
                    let args = json!({"n": n}).as_object().unwrap().clone();
                    session.call("echo", &args).await.unwrap().structured
                }
            });
            for (n, done) in join_all(calls).await.into_iter().enumerate() {
                assert_eq!(done, Some(json!({"n": n})));
            }
            session.close().await;
        }
    }
}

#[actix_rt::test]
async fn dropping_a_call_cancels_the_work_in_the_newest_version() {
    let tools = Tools::default();
    let url = start(tools.clone(), true, false);
    let session = client().connect(&ask_mcp::ServerConfig::new("peer", url), None, None).await.unwrap();
    let args = no_args();
    tokio::select! {
        done = session.call("wait", &args) => panic!("{done:?}"),
        () = tools.waiting.notified() => {}
    }
    let ended = tokio::time::timeout(Duration::from_secs(3), tools.ended.notified()).await;
    assert!(ended.is_ok());
    assert_eq!(*tools.cancelled.lock().unwrap(), 1);
    session.call("echo", &args).await.unwrap();
}

/// Not a check but a measurement: `cargo test -p ask-mcp -- --ignored --nocapture latency`.
#[actix_rt::test]
#[ignore = "prints how long a call takes"]
async fn latency_of_a_call_is_measured() {
    for json in [true, false] {
        let url = start(Tools::default(), false, json);
        for version in [Version::V2026_07_28, Version::V2025_11_25] {
            let mut config = ask_mcp::ServerConfig::new("peer", &url);
            config.version = Some(version);
            let session = client().connect(&config, None, None).await.unwrap();
            session.list_tools().await.unwrap();
            let args = json!({"text": "x"}).as_object().unwrap().clone();
            let mut times = Vec::new();
            for _ in 0..1000 {
                times.push(session.call("echo", &args).await.unwrap().elapsed);
            }
            times.sort();
            let kind = if json { "json" } else { "sse" };
            println!("rmcp server, {version}, {kind}: median {:?}, p99 {:?}", times[500], times[990]);
        }
    }
    let peer = crate::peer::Peer::start(crate::peer::new(|r| {
        crate::peer::json_reply(&crate::peer::result(r, &crate::peer::text_result("x")))
    }))
    .await;
    let session = peer.session().await;
    for size in [1, 20_000, 200_000] {
        let args = json!({"text": "x".repeat(size)}).as_object().unwrap().clone();
        let mut times = Vec::new();
        for _ in 0..500 {
            times.push(session.call("echo", &args).await.unwrap().elapsed);
        }
        times.sort();
        let (median, p99) = (times[250], times[495]);
        println!("scripted peer, request of {size} bytes: median {median:?}, p99 {p99:?}");
    }
}
