//! A tool server on a raw socket that plays a script, and remembers what it was sent.

use std::{cell::RefCell, rc::Rc, time::Duration};

use ask_mcp::{Client, ClientLimits, Limits, ServerConfig, Session, Version};
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Notify,
};

/// One request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) verb: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(key, _)| key == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} was sent twice");
        value
    }

    /// The JSON-RPC method, or the HTTP verb of a request without a body.
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or(&self.verb)
    }

    pub(crate) fn id(&self) -> &Value {
        &self.body["id"]
    }
}

/// One thing that the server does on a connection.
pub(crate) enum Step {
    Write(Vec<u8>),
    Pause(Duration),
    /// Waits until the client closes the connection.
    AwaitClose,
    /// Writes this piece for ever, until the client closes the connection.
    Flood(Vec<u8>),
    /// Closes in an orderly way.
    Close,
    /// Closes with a reset.
    Reset,
}

pub(crate) type Reply = Vec<Step>;

/// What the server knows afterwards.
#[derive(Default)]
struct State {
    seen: Vec<Seen>,
    connections: usize,
    /// Connections that the client closed while a reply was due.
    closed_by_client: usize,
    /// Connections that the script closed in an orderly way.
    closed_by_server: usize,
}

/// A running server.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) url: String,
    state: Rc<RefCell<State>>,
    changed: Rc<Notify>,
}

impl Peer {
    pub(crate) async fn start(script: impl Fn(&Seen) -> Reply + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peer = Self {
            url: format!("http://{}/mcp", listener.local_addr().unwrap()),
            state: Rc::default(),
            changed: Rc::default(),
        };
        let (server, script) = (peer.clone(), Rc::new(script));
        actix_rt::spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                socket.set_nodelay(true).unwrap();
                server.state.borrow_mut().connections += 1;
                let (server, script) = (server.clone(), Rc::clone(&script));
                actix_rt::spawn(async move { server.serve(socket, &*script).await });
            }
        });
        peer
    }

    async fn serve(&self, mut socket: TcpStream, script: &dyn Fn(&Seen) -> Reply) {
        let mut buffer = Vec::new();
        while let Some(seen) = read_request(&mut socket, &mut buffer).await {
            let steps = script(&seen);
            self.state.borrow_mut().seen.push(seen);
            self.changed.notify_waiters();
            for step in steps {
                let open = match step {
                    Step::Write(bytes) => socket.write_all(&bytes).await.is_ok(),
                    Step::Pause(time) => {
                        tokio::time::sleep(time).await;
                        true
                    }
                    Step::AwaitClose => {
                        while matches!(socket.read(&mut [0; 64]).await, Ok(1..)) {}
                        false
                    }
                    Step::Flood(piece) => {
                        while socket.write_all(&piece).await.is_ok() {}
                        false
                    }
                    Step::Close => {
                        socket.shutdown().await.ok();
                        self.state.borrow_mut().closed_by_server += 1;
                        self.changed.notify_waiters();
                        return;
                    }
                    Step::Reset => {
                        socket.set_zero_linger().unwrap();
                        return;
                    }
                };
                if !open {
                    self.state.borrow_mut().closed_by_client += 1;
                    self.changed.notify_waiters();
                    return;
                }
            }
        }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.borrow().seen.clone()
    }

    pub(crate) fn methods(&self) -> Vec<String> {
        let state = self.state.borrow();
        state.seen.iter().map(|s| s.method().to_owned()).collect()
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        self.methods().iter().filter(|m| *m == method).count()
    }

    pub(crate) fn connections(&self) -> usize {
        self.state.borrow().connections
    }

    pub(crate) fn closed_by_client(&self) -> usize {
        self.state.borrow().closed_by_client
    }

    pub(crate) fn closed_by_server(&self) -> usize {
        self.state.borrow().closed_by_server
    }

    /// Waits until the server has seen something.
    pub(crate) async fn until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let wait = async {
            loop {
                let changed = self.changed.notified();
                if condition(self) {
                    return;
                }
                changed.await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(5), wait).await;
        assert!(waited.is_ok(), "waited in vain: {what}");
    }

    /// A configuration with limits that let a test end soon.
    pub(crate) fn config(&self) -> ServerConfig {
        let mut config = ServerConfig::new("warehouse", &self.url);
        config.limits = Limits {
            handshake: Duration::from_secs(5),
            probe: Duration::from_millis(200),
            call: Duration::from_secs(5),
            list: Duration::from_secs(5),
            min_retry: Duration::from_millis(10),
            max_reply_bytes: 1024 * 1024,
            ..Limits::default()
        };
        config
    }

    pub(crate) async fn session(&self) -> Session {
        self.session_with(&self.config()).await
    }

    pub(crate) async fn session_with(&self, config: &ServerConfig) -> Session {
        client().connect(config, None, None).await.unwrap()
    }
}

pub(crate) fn client() -> Client {
    Client::new(ClientLimits::default())
}

pub(crate) fn no_args() -> Map<String, Value> {
    Map::new()
}

async fn read_request(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Seen> {
    loop {
        if let Some(end) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8(buffer[..end].to_vec()).unwrap();
            let mut lines = head.split("\r\n");
            let verb = lines.next().unwrap().split(' ').next().unwrap().to_owned();
            let headers: Vec<(String, String)> = lines
                .map(|line| line.split_once(": ").unwrap())
                .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
                .collect();
            let length = headers
                .iter()
                .find(|(name, _)| name == "content-length")
                .map_or(0, |(_, value)| value.parse().unwrap());
            let body_end = end + 4 + length;
            if buffer.len() >= body_end {
                let body = serde_json::from_slice(&buffer[end + 4..body_end]);
                buffer.drain(..body_end);
                return Some(Seen { verb, headers, body: body.unwrap_or(Value::Null) });
            }
        }
        let mut chunk = [0; 8192];
        match socket.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => buffer.extend_from_slice(&chunk[..count]),
        }
    }
}

pub(crate) fn write(text: impl AsRef<[u8]>) -> Step {
    Step::Write(text.as_ref().to_vec())
}

/// A whole response with a body of known length.
pub(crate) fn response(status: u16, headers: &str, body: &str) -> Reply {
    let length = body.len();
    vec![write(format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n{body}"))]
}

pub(crate) fn json_reply(body: &Value) -> Reply {
    response(200, "content-type: application/json\r\n", &body.to_string())
}

/// A JSON-RPC result for a request.
pub(crate) fn result(request: &Seen, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request.id(), "result": result})
}

pub(crate) fn rpc_error(request: &Seen, code: i64, data: &Value) -> Value {
    let error = json!({"code": code, "message": "no", "data": data});
    json!({"jsonrpc": "2.0", "id": request.id(), "error": error})
}

pub(crate) fn text_result(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

pub(crate) const SSE_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
pub(crate) const SSE_END: &str = "0\r\n\r\n";

pub(crate) fn chunk(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

pub(crate) fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

/// A whole event stream.
pub(crate) fn sse(text: &str) -> Reply {
    vec![write(SSE_HEAD), Step::Write(chunk(text)), write(SSE_END)]
}

/// The handshake of a server that begins with `initialize`; everything else is the script's.
pub(crate) fn old(
    version: Version,
    session_id: Option<&'static str>,
    script: impl Fn(&Seen) -> Reply + 'static,
) -> impl Fn(&Seen) -> Reply + 'static {
    move |request| match request.method() {
        "server/discover" => response(400, "", "no such method"),
        "initialize" => {
            let body = json!({"protocolVersion": version.as_str(), "capabilities": {"tools": {}},
                "serverInfo": {"name": "peer", "version": "1"}});
            let session = session_id.map_or(String::new(), |id| format!("mcp-session-id: {id}\r\n"));
            let headers = format!("content-type: application/json\r\n{session}");
            response(200, &headers, &result(request, &body).to_string())
        }
        "notifications/initialized" => response(202, "", ""),
        _ => script(request),
    }
}

/// The handshake of a server of 2026-07-28.
pub(crate) fn new(script: impl Fn(&Seen) -> Reply + 'static) -> impl Fn(&Seen) -> Reply + 'static {
    move |request| match request.method() {
        "server/discover" => json_reply(&result(
            request,
            &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
        )),
        _ => script(request),
    }
}
