//! A scripted HTTP peer on a raw socket, which can break off anywhere.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "each test binary uses a part of this"
)]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use ask_client::{Base, Bearer, Client, Http, Limits, Received, StreamError};
use ask_contract::TicketId;

/// A request as it arrived.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub fn last_event_id(&self) -> usize {
        self.header("last-event-id").map_or(0, |id| id.parse().unwrap())
    }
}

/// What to do with a connection once a request has come.
#[derive(Debug, Clone)]
pub enum Act {
    Send(Vec<u8>),
    Wait(Duration),
    /// Hold the connection until the client closes it.
    Hold,
}

/// A peer that answers each request by a script and closes the connection after it.
pub struct Peer {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
    released: Receiver<()>,
}

impl Peer {
    /// Listens; `script` gets the number of the request, from 0, and the request.
    pub fn start(script: impl Fn(usize, &Request) -> Vec<Act> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, script) = (Arc::clone(&seen), Arc::new(script));
        let (release, released) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (log, script, release) = (Arc::clone(&log), Arc::clone(&script), release.clone());
                thread::spawn(move || serve(stream.unwrap(), &log, &*script, &release));
            }
        });
        Self { address, seen, released }
    }

    /// Waits until the client has closed a held connection.
    pub fn wait_for_release(&self) {
        self.released.recv_timeout(Duration::from_secs(5)).expect("the connection stays open");
    }

    pub fn requests(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }

    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn client(&self) -> Client {
        self.client_with(quick())
    }

    pub fn client_with(&self, limits: Limits) -> Client {
        client(&self.base(), limits)
    }
}

pub fn client(base: &str, limits: Limits) -> Client {
    Client::with(Http::new(), Base::parse(base).unwrap(), Bearer::new("to.ke.n").unwrap(), limits)
}

/// Limits for tests: the same rules, in milliseconds.
pub fn quick() -> Limits {
    Limits {
        first_pause: Duration::from_millis(1),
        longest_pause: Duration::from_millis(4),
        healthy_after: Duration::from_secs(60),
        ..Limits::default()
    }
}

fn serve(
    mut stream: TcpStream,
    log: &Mutex<Vec<Request>>,
    script: &(dyn Fn(usize, &Request) -> Vec<Act> + Send + Sync),
    release: &Sender<()>,
) {
    stream.set_nodelay(true).unwrap();
    let Some(request) = read_request(&stream) else { return };
    let number = {
        let mut log = log.lock().unwrap();
        log.push(request.clone());
        log.len() - 1
    };
    for act in script(number, &request) {
        match act {
            Act::Send(bytes) => {
                if stream.write_all(&bytes).is_err() {
                    return;
                }
            }
            Act::Wait(time) => thread::sleep(time),
            Act::Hold => {
                let mut rest = Vec::new();
                drop(stream.read_to_end(&mut rest));
                release.send(()).unwrap_or_default();
            }
        }
    }
    drop(stream.shutdown(Shutdown::Both));
}

fn read_request(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let mut request =
        Request { method: words.next()?.to_owned(), path: words.next()?.to_owned(), ..Request::default() };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        request.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    request.body = String::from_utf8(body).unwrap();
    Some(request)
}

/// A whole answer with a length.
pub fn answer(status: &str, content_type: &str, body: &str) -> Vec<u8> {
    answer_with(status, &format!("content-type: {content_type}\r\n"), body)
}

pub fn answer_with(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
        .into_bytes()
}

/// The head of an event stream.
pub fn stream_head() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
        .to_vec()
}

/// One chunk of an event stream.
pub fn chunk(body: &str) -> Vec<u8> {
    if body.is_empty() { Vec::new() } else { format!("{:x}\r\n{body}\r\n", body.len()).into_bytes() }
}

/// A whole event stream that ends in order.
pub fn stream(body: &str) -> Vec<u8> {
    [stream_head(), chunk(body), b"0\r\n\r\n".to_vec()].concat()
}

/// The envelope of event `seq` of ticket `t1`, then `members`.
pub fn event(seq: usize, kind: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(
        r#"{{"seq":{seq},"ticket":"t1","conversation_id":"c1","ts":"2026-01-31T09:30:00.000Z","type":"{kind}"{comma}{members}}}"#
    )
}

pub fn frame(seq: usize, kind: &str, members: &str) -> String {
    format!("id: {seq}\nevent: {kind}\ndata: {}\n\n", event(seq, kind, members))
}

pub const STEP: &str =
    r#""branch_id":"b1","tool":"warehouse__run_query","args":{"sql":"select 1"},"ms":3,"is_error":false"#;

pub fn done(seq: usize, steps: u64) -> String {
    let members = format!(
        r#""outcome":"abstention","hops":1,"steps":{steps},"tokens_in":1,"tokens_out":1,"cache_read_tokens":0,"cache_write_tokens":0,"ms":12,"model":"m","effort":"high""#
    );
    frame(seq, "done", &members)
}

/// A run of eight events, one of them of a type that nobody knows yet.
pub fn log() -> Vec<String> {
    vec![
        frame(1, "accepted", r#""question":"Wie viele Fälle?","turn":1,"contract_version":"1""#),
        frame(2, "branch", r#""branch_id":"b1","state":"opened","role":"supervisor","source":null"#),
        frame(3, "milestone", r#""branch_id":"b1","phase":"grounding","subject":"Fälle","source":null"#),
        frame(4, "step", STEP),
        frame(5, "applause", r#""volume":11"#),
        frame(6, "branch", r#""branch_id":"b1","state":"closed","role":"supervisor","source":null"#),
        frame(7, "abstention", r#""text":"nothing","searched_terms":["a"]"#),
        done(8, 1),
    ]
}

/// The frames of [`log`] that come after the one that the request names.
pub fn rest(request: &Request) -> String {
    log().split_off(request.last_event_id()).concat()
}

/// All events of ticket `t1`, and how the stream ended.
pub async fn read(client: &Client) -> (Vec<Received>, Result<(), StreamError>) {
    let mut stream = client.events(&TicketId::new("t1"));
    let mut received = Vec::new();
    loop {
        match stream.next().await {
            Ok(Some(event)) => received.push(event),
            Ok(None) => return (received, Ok(())),
            Err(err) => return (received, Err(err)),
        }
    }
}

pub fn seqs(received: &[Received]) -> Vec<u64> {
    received.iter().map(|event| event.seq).collect()
}
