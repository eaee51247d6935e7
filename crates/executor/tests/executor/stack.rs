//! A whole executor on a free port, in this process, with a client and the audit lines it has written.

use std::future::Future;
use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ask_auth::Verifier;
use ask_executor::audit::Audit;
use ask_executor::config::Content;
use ask_executor::engine::Engine;
use ask_executor::rate::RateLimit;
use ask_executor::settings::Settings;
use ask_executor::tools::Desk;
use ask_executor::web::Bound;
use awc::http::StatusCode;
use awc::http::header::HeaderMap;
use serde_json::{Value, json};

use crate::fixture::{Folder, write};
use crate::issuer::Issuer;

pub(crate) const VERSIONS: [&str; 4] = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// Runs a future beside the test, for as long as its runtime lives.
#[expect(clippy::disallowed_methods, reason = "the server of a test ends with the test's runtime")]
pub(crate) fn background(future: impl Future + 'static) {
    drop(actix_web::rt::spawn(async move {
        future.await;
    }));
}

pub(crate) struct Stack {
    pub(crate) issuer: Issuer,
    pub(crate) url: String,
    lines: Lines,
    client: awc::Client,
    _folder: Folder,
}

#[derive(Debug, Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// An answer over HTTP.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Stack {
    pub(crate) fn start() -> Self {
        Self::with(&[("DAS_RATE_CALLS", "100000")])
    }

    /// Starts with these settings beside the issuer.
    pub(crate) fn with(set: &[(&str, &str)]) -> Self {
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let folder = Folder::new();
        write(folder.path());
        let issuer = Issuer::start();
        let settings = Settings::read(|name| match name {
            "DAS_ENTRA_ISSUER" => Some(issuer.url().to_owned()),
            other => set.iter().find(|(known, _)| *known == other).map(|(_, value)| (*value).to_owned()),
        })
        .unwrap();
        let content = Content::read(&folder.path().join("executor.json")).unwrap();
        let engine = Engine::start(Arc::clone(&content.warehouse), settings.limits, 2).unwrap();
        let lines = Lines::default();
        let rate = RateLimit::new(settings.rate_calls, settings.rate_window);
        let desk = Arc::new(Desk::new(content, engine, rate, Audit::to(lines.clone())));
        let verifier = Verifier::start(settings.policy.clone()).unwrap();
        let bound = Bound::bind("127.0.0.1", 0).unwrap();
        let url = format!("http://{}", bound.address);
        background(bound.serve(&settings, verifier, desk).unwrap());
        let client = awc::Client::builder().timeout(Duration::from_secs(15)).disable_redirects().finish();
        Self { issuer, url, lines, client, _folder: folder }
    }

    pub(crate) fn alice(&self) -> String {
        self.issuer.token("alice", &["analyst"])
    }

    pub(crate) fn carol(&self) -> String {
        self.issuer.token("carol", &["finance"])
    }

    pub(crate) fn bob(&self) -> String {
        self.issuer.token("bob", &[])
    }

    /// The audit lines so far.
    pub(crate) fn audit(&self) -> Vec<Value> {
        let bytes = self.lines.0.lock().unwrap().clone();
        String::from_utf8(bytes)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line.strip_prefix("audit ").unwrap()).unwrap())
            .collect()
    }

    pub(crate) async fn get(&self, path: &str, token: Option<&str>) -> Answer {
        self.get_with(path, token, &[]).await
    }

    pub(crate) async fn get_with(&self, path: &str, token: Option<&str>, headers: &[(&str, &str)]) -> Answer {
        let mut request = self.client.get(format!("{}{path}", self.url));
        if let Some(token) = token {
            request = request.insert_header(("authorization", format!("Bearer {token}")));
        }
        for (name, value) in headers {
            request = request.insert_header((*name, *value));
        }
        let mut response = request.send().await.unwrap();
        let bytes = response.body().await.unwrap();
        Answer { status: response.status(), headers: response.headers().clone(), body: parsed(&bytes) }
    }

    pub(crate) async fn post(
        &self,
        path: &str,
        token: Option<&str>,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Answer {
        let mut request = self
            .client
            .post(format!("{}{path}", self.url))
            .insert_header(("content-type", "application/json"))
            .insert_header(("accept", "application/json, text/event-stream"));
        if let Some(token) = token {
            request = request.insert_header(("authorization", format!("Bearer {token}")));
        }
        for (name, value) in headers {
            request = request.insert_header((*name, *value));
        }
        let mut response = request.send_body(body.to_string()).await.unwrap();
        let bytes = response.body().limit(8 * 1024 * 1024).await.unwrap();
        Answer { status: response.status(), headers: response.headers().clone(), body: parsed(&bytes) }
    }

    /// Posts a body whose answer will take a while, and closes the connection once the server has had time to begin.
    pub(crate) async fn send_and_leave(&self, path: &str, token: &str, headers: &str, body: &Value) {
        let (address, body) = (self.url.trim_start_matches("http://"), body.to_string());
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n{headers}accept: application/json, \
             text/event-stream\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut socket = TcpStream::connect(address).unwrap();
        socket.write_all(head.as_bytes()).unwrap();
        socket.write_all(body.as_bytes()).unwrap();
        // The statement runs for a second: it has begun, and has not ended.
        actix_web::rt::time::sleep(Duration::from_millis(300)).await;
    }

    /// One JSON-RPC request in the words of a protocol version.
    pub(crate) async fn rpc(
        &self,
        version: &str,
        path: &str,
        token: &str,
        method: &str,
        params: Value,
    ) -> Answer {
        let mut params = params;
        let mut headers = vec![("mcp-protocol-version", version)];
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if version == "2026-07-28" {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": version,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {}
            });
            headers.push(("mcp-method", method));
            if !name.is_empty() {
                headers.push(("mcp-name", &name));
            }
        }
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        self.post(path, Some(token), &headers, &body).await
    }

    /// Calls a tool and gives its `structuredContent` and whether it is an error.
    pub(crate) async fn tool(&self, token: &str, name: &str, arguments: Value) -> (Value, bool) {
        self.tool_in("2025-11-25", token, name, arguments).await
    }

    pub(crate) async fn tool_in(
        &self,
        version: &str,
        token: &str,
        name: &str,
        arguments: Value,
    ) -> (Value, bool) {
        let path = if matches!(name, "search_metadata" | "get_entity_details") {
            "/om/mcp"
        } else {
            "/warehouse/mcp"
        };
        let params = json!({"name": name, "arguments": arguments});
        let answer = self.rpc(version, path, token, "tools/call", params).await;
        let result = &answer.body["result"];
        let structured = result["structuredContent"].clone();
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{name}: {answer:?}"));
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), structured, "both forms hold the same");
        assert_eq!(result["content"].as_array().unwrap().len(), 1);
        (structured, result["isError"].as_bool().unwrap_or(false))
    }
}

/// The body as JSON, taken out of a single event where it comes as a stream.
fn parsed(bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    serde_json::from_str(&text).unwrap_or_else(|_| {
        text.lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .find_map(|data| serde_json::from_str(data.trim()).ok())
            .unwrap_or(Value::Null)
    })
}
