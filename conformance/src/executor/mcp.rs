//! Raw JSON-RPC over MCP's Streamable HTTP, in the words of each protocol version.

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::check::{Failure, wrong};
use crate::http::{Answer, Request};
use crate::sse::Reader;
use crate::token::Bearer;

use super::call::with;
use super::ctx::Ctx;

/// The versions that begin with `initialize`.
pub(crate) const WITH_SESSIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];
/// The newest of them.
pub(crate) const NEWEST_WITH_SESSIONS: &str = "2025-11-25";
/// The version without a handshake: each request says who and what it is.
pub(crate) const DISCOVERED: &str = "2026-07-28";
/// All versions.
pub(crate) const VERSIONS: [&str; 4] = ["2025-03-26", "2025-06-18", NEWEST_WITH_SESSIONS, DISCOVERED];

/// One of the two MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Server {
    Warehouse,
    Catalog,
}

impl Server {
    pub(crate) const BOTH: [Self; 2] = [Self::Warehouse, Self::Catalog];

    /// The server that offers a tool.
    pub(crate) fn of(tool: &str) -> Self {
        if matches!(tool, "search_metadata" | "get_entity_details") { Self::Catalog } else { Self::Warehouse }
    }

    /// The tools that it offers.
    pub(crate) fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Warehouse => &["list_sources", "list_tables", "describe_table", "run_query"],
            Self::Catalog => &["search_metadata", "get_entity_details"],
        }
    }
}

/// What came back for one JSON-RPC message.
#[derive(Debug, Clone)]
pub(crate) struct Rpc {
    pub(crate) answer: Answer,
    /// The response message, null where there is none.
    pub(crate) message: Value,
}

/// Sessions that servers have opened, by bearer, version and server.
pub(crate) type Sessions = std::collections::BTreeMap<(String, &'static str, Server), Option<String>>;

impl Ctx {
    /// The path of a server.
    pub(crate) fn path_of(&self, server: Server) -> &str {
        match server {
            Server::Warehouse => &self.options.warehouse_path,
            Server::Catalog => &self.options.catalog_path,
        }
    }

    /// Sends a request within a session, which it opens first where the version has one.
    pub(crate) async fn rpc(
        &self,
        version: &'static str,
        server: Server,
        bearer: &Bearer,
        method: &str,
        params: Value,
    ) -> Result<Rpc, Failure> {
        let session = self.session(version, server, bearer).await?;
        let message = json!({"jsonrpc": "2.0", "id": self.next_id(), "method": method, "params": params});
        self.send_rpc(version, server, bearer, session.as_deref(), message).await
    }

    /// Sends one message as it is, with what the version wants in its headers and its `_meta`.
    pub(crate) async fn send_rpc(
        &self,
        version: &str,
        server: Server,
        bearer: &Bearer,
        session: Option<&str>,
        mut message: Value,
    ) -> Result<Rpc, Failure> {
        let mut request = with(self.mcp_request(server), bearer);
        if message.get("method") != Some(&json!("initialize")) {
            request = request.header("MCP-Protocol-Version", version);
        }
        if let Some(session) = session {
            request = request.header("Mcp-Session-Id", session);
        }
        if version == DISCOVERED {
            let method = message.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
            request = request.header("Mcp-Method", method);
            if let Some(name) = message.pointer("/params/name").and_then(Value::as_str) {
                request = request.header("Mcp-Name", name);
            }
            if let Some(params) = message.get_mut("params").and_then(Value::as_object_mut) {
                let meta = json!({
                    "io.modelcontextprotocol/protocolVersion": version,
                    "io.modelcontextprotocol/clientInfo": {"name": "ask-executor-conformance", "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": {},
                });
                params.insert("_meta".to_owned(), meta);
            }
        }
        let id = message.get("id").cloned();
        let answer = self.http.send(&request.body("application/json", message.to_string())).await?;
        let message = match id {
            Some(id) => response_in(&answer, &id),
            None => Value::Null,
        };
        Ok(Rpc { answer, message })
    }

    /// A POST to a server, without bearer and body.
    pub(crate) fn mcp_request(&self, server: Server) -> Request {
        Request::new("POST", self.url(self.path_of(server)))
            .header("Accept", "application/json, text/event-stream")
    }

    /// Asks for a version and gives the answer to `initialize`.
    pub(crate) async fn initialize(
        &self,
        version: &str,
        server: Server,
        bearer: &Bearer,
    ) -> Result<Rpc, Failure> {
        let params = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "ask-executor-conformance", "version": "1"},
        });
        let message =
            json!({"jsonrpc": "2.0", "id": self.next_id(), "method": "initialize", "params": params});
        self.send_rpc(version, server, bearer, None, message).await
    }

    async fn session(
        &self,
        version: &'static str,
        server: Server,
        bearer: &Bearer,
    ) -> Result<Option<String>, Failure> {
        if version == DISCOVERED {
            return Ok(None);
        }
        let key = (bearer.expose().to_owned(), version, server);
        if let Some(session) = self.sessions.borrow().get(&key) {
            return Ok(session.clone());
        }
        let opened = self.initialize(version, server, bearer).await?;
        if opened.message.get("result").is_none() {
            return wrong(format!(
                "initialize in {version} at {} answered {}: {}",
                self.path_of(server),
                opened.answer.status(),
                super::call::short(&opened.message)
            ));
        }
        let session = opened.answer.head.header("mcp-session-id").map(str::to_owned);
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.send_rpc(version, server, bearer, session.as_deref(), told).await?;
        self.sessions.borrow_mut().insert(key, session.clone());
        Ok(session)
    }
}

/// The response to a request: the body, or the event of a stream that answers it.
fn response_in(answer: &Answer, id: &Value) -> Value {
    if answer.head.media_type() != "text/event-stream" {
        return answer.json().unwrap_or_default();
    }
    let messages: Vec<Value> = Reader::default()
        .feed(&answer.body, Instant::now())
        .iter()
        .filter_map(|frame| serde_json::from_str(&frame.values("data").collect::<Vec<_>>().join("\n")).ok())
        .collect();
    messages.into_iter().find(|message| message.get("id") == Some(id)).unwrap_or_default()
}
