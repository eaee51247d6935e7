//! A second, independent executor, in one process and small: right, or wrong in exactly one way.
//!
//! It guards statements by their words alone, which is enough for the corpus and for nothing else, and knows the contract
//! from its text. Data, catalog and callers are a handful of rows.

mod catalog;
mod desk;
mod engine;
mod guard;
mod lists;
mod rest;
mod rpc;
mod words;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use self::engine::Engine;
use crate::mini::Wrong;
use crate::mini::http::{self, Request, Response};
use crate::mini::issuer::{Caller, Issuer};

/// Most rows of a result.
pub(crate) const MAX_ROWS: usize = 20;
/// Seconds that a statement may take.
pub(crate) const TIMEOUT_S: f64 = 0.5;
/// Calls that anybody but the three known people may make.
pub(crate) const RATE_CALLS: usize = 20;
/// Most bytes of a body.
pub(crate) const MAX_BODY: usize = 64 * 1024;

/// The whole executor.
pub(crate) struct MiniExecutor {
    wrong: Wrong,
    pub(crate) base: String,
    issuer: Issuer,
    engine: Engine,
    calls: RefCell<HashMap<String, usize>>,
    cached: RefCell<HashMap<String, desk::Reply>>,
    held_until: Cell<Option<Instant>>,
    directory: PathBuf,
}

impl MiniExecutor {
    /// Listens on a free port; must run within a `LocalSet`.
    pub(crate) async fn start(fault: Option<&'static str>) -> Rc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let base = format!("http://127.0.0.1:{port}");
        let directory = std::env::temp_dir().join(format!("ask-mini-executor-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("executor.log"), "").unwrap();
        let mini = Rc::new(Self {
            wrong: Wrong(fault),
            issuer: Issuer::new(&base),
            base,
            engine: Engine::default(),
            calls: RefCell::default(),
            cached: RefCell::default(),
            held_until: Cell::new(None),
            directory,
        });
        let serving = Rc::clone(&mini);
        tokio::task::spawn_local(async move {
            loop {
                let (conn, _) = listener.accept().await.unwrap();
                conn.set_nodelay(true).unwrap();
                tokio::task::spawn_local(serve(Rc::clone(&serving), conn));
            }
        });
        mini
    }

    /// Whether it is wrong in that way.
    fn is(&self, fault: &str) -> bool {
        self.wrong.is(fault)
    }

    /// The log with the audit lines.
    pub(crate) fn log(&self) -> PathBuf {
        self.directory.join("executor.log")
    }

    fn write(&self, line: &str) {
        use std::io::Write as _;
        let mut log = std::fs::OpenOptions::new().append(true).open(self.log()).unwrap();
        writeln!(log, "{line}").unwrap();
    }
}

impl Drop for MiniExecutor {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.directory);
    }
}

async fn serve(mini: Rc<MiniExecutor>, mut conn: TcpStream) {
    let most = if mini.is("large-bodies-taken") { usize::MAX } else { MAX_BODY };
    let Some(request) = http::read(most, &mut conn).await else { return };
    let response = route(&mini, &request).await;
    http::answer(&mut conn, &response).await;
    let _gone = conn.shutdown().await;
}

fn json_response(status: u16, body: &Value) -> Response {
    let headers = vec![("Content-Type", "application/json".to_owned())];
    Response { status, headers, body: body.to_string().into_bytes() }
}

/// A problem with more members than the standard's.
fn problem(status: u16, detail: &str, more: &Value) -> Response {
    let mut body = json!({"type": "about:blank", "title": "Not served", "status": status, "detail": detail});
    for (name, value) in more.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    let mut response = json_response(status, &body);
    response.headers = vec![("Content-Type", "application/problem+json".to_owned())];
    response
}

async fn route(mini: &MiniExecutor, request: &Request) -> Response {
    let parts: Vec<_> = request.path.trim_matches('/').split('/').collect();
    if let Some(response) = open_calls(mini, request, &parts) {
        return response;
    }
    let caller = match admitted(mini, request) {
        Ok(caller) => caller,
        Err(response) => return response,
    };
    match parts.as_slice() {
        ["warehouse", "mcp"] => rpc::answer(mini, &caller, request, false).await,
        ["om", "mcp"] => rpc::answer(mini, &caller, request, true).await,
        _ => rest::answer(mini, &caller, request, &parts).await,
    }
}

/// The caller, or the 401 or 403.
fn admitted(mini: &MiniExecutor, request: &Request) -> Result<Caller, Response> {
    let mut authorization = request.header("authorization");
    if mini.is("token-in-query-taken") && authorization.is_none() {
        authorization = request.query.strip_prefix("access_token=").map(|token| format!("Bearer {token}"));
    }
    if mini.is("bearer-in-log") {
        mini.write(&format!("came with {authorization:?}"));
    }
    if mini.is("query-needs-no-bearer") && request.path == "/query" && authorization.is_none() {
        authorization = Some(format!("Bearer {}", mini.issuer.token_for("alice")));
    }
    if mini.is("unknown-before-bearer") && request.path.starts_with("/never") {
        return Err(problem(404, "there is nothing here", &json!({})));
    }
    mini.issuer.check(mini.wrong, authorization.as_deref()).map_err(|status| {
        let status = if mini.is("no-bearer-is-403") && authorization.is_none() { 403 } else { status };
        let place = format!("{}/.well-known/oauth-protected-resource{}", mini.base, request.path);
        let reason = if status == 403 && !mini.is("missing-scope-unsaid") {
            "error=\"insufficient_scope\", "
        } else {
            ""
        };
        let mut response = problem(status, "a valid bearer token is needed", &json!({}));
        let challenge = if mini.is("metadata-unsaid") {
            "Bearer".to_owned()
        } else {
            format!("Bearer {reason}resource_metadata=\"{place}\"")
        };
        if !mini.is("no-challenge") {
            response.headers.push(("WWW-Authenticate", challenge));
        }
        response
    })
}

fn open_calls(mini: &MiniExecutor, request: &Request, parts: &[&str]) -> Option<Response> {
    match (request.method.as_str(), parts) {
        ("GET", ["health"]) if mini.is("health-needs-bearer") => None,
        ("GET", ["health"]) => Some(json_response(200, &json!({"status": "ok"}))),
        ("POST", ["token"]) => {
            let form = String::from_utf8_lossy(&request.body).into_owned();
            let name = form.split('&').find_map(|pair| pair.strip_prefix("username=")).unwrap_or_default();
            Some(json_response(200, &json!({"access_token": mini.issuer.token_for(name)})))
        }
        ("POST", ["mint"]) => {
            let order: Value = serde_json::from_slice(&request.body).unwrap();
            Some(json_response(200, &json!({"access_token": mini.issuer.sign(&order["claims"])})))
        }
        ("GET", [".well-known", "oauth-protected-resource", path @ ..]) => {
            let issuer =
                if mini.is("metadata-names-another") { "https://elsewhere.test" } else { &mini.issuer.name };
            Some(json_response(
                200,
                &json!({"resource": format!("{}/{}", mini.base, path.join("/")), "authorization_servers": [issuer]}),
            ))
        }
        _ => None,
    }
}
