//! A fake ask service on a raw socket, and the binary run against it.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "each test binary uses a part of this"
)]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use ask_contract::{
    Accepted, Answer, AnswerPath, AskRequest, AskState, AskStatus, Branch, BranchId, BranchRole, BranchState,
    CancelReceipt, Conversation, ConversationId, Done, ErrorKind, Event, EventBody, EventType, Failure,
    Headline, HeadlineValue, Milestone, Outcome, PathDetail, Phase, Problem, ProblemCode, Provenance,
    ResultTable, Speed, Step, Ticket, TicketId, Timestamp,
};
use serde_json::{Value, json};

/// What the service does with each ask.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// The terminal of each ask, in order; the last one serves for further asks.
    pub endings: Vec<EventBody>,
    /// Emit nothing after this many events until the ask is cancelled.
    pub hold_after: Option<usize>,
    /// Break the first connection off after this many events.
    pub cut_after: Option<usize>,
    /// Take a cancel and never end the ask.
    pub deaf: bool,
    /// Answer requests whose path ends in this with this problem.
    pub refuse: Option<(&'static str, Problem)>,
    /// Raw frames to send before the rest.
    pub before: String,
    /// Answer the events route with 204.
    pub nothing_more: bool,
}

impl Script {
    pub fn ending(ending: EventBody) -> Self {
        Self { endings: vec![ending], ..Self::default() }
    }
}

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
}

#[derive(Default)]
struct State {
    requests: Vec<Request>,
    asks: Vec<AskRequest>,
    cancelled: bool,
    streams: usize,
}

struct Shared {
    script: Script,
    state: Mutex<State>,
    changed: Condvar,
}

/// The fake service; it also is an issuer, at `/token`.
pub struct Service {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

impl Service {
    pub fn start(script: Script) -> Self {
        Self::start_with(script, None)
    }

    /// The same behind TLS; with the certificate to trust, as PEM.
    pub fn start_tls(script: Script) -> (Self, String) {
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let tls = rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        (Self::start_with(script, Some(Arc::new(tls))), made.cert.pem())
    }

    fn start_with(script: Script, tls: Option<Arc<rustls::ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { script, state: Mutex::default(), changed: Condvar::new() });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (shared, tls, stream) = (Arc::clone(&serving), tls.clone(), stream.unwrap());
                thread::spawn(move || match tls {
                    None => shared.serve(stream),
                    Some(tls) => {
                        let session = rustls::ServerConnection::new(tls).unwrap();
                        shared.serve(rustls::StreamOwned::new(session, stream));
                    }
                });
            }
        });
        Self { address, shared }
    }

    /// The binary, set up for this service; nothing of the environment reaches it.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = bare(args);
        command
            .env("ASK_BASE_URL", format!("http://{}/gw/ask", self.address))
            .env("ASK_TOKEN_URL", format!("http://{}/token", self.address))
            .env("ASK_TOKEN", "to.ke.n");
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }

    /// A conversation of these lines, from a pipe.
    pub fn chat(&self, lines: &str) -> Ran {
        let mut child = self.command(&["chat"]).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        Ran::from(child.wait_with_output().unwrap())
    }

    pub fn requests(&self) -> Vec<Request> {
        self.shared.state().requests.clone()
    }

    pub fn asks(&self) -> Vec<AskRequest> {
        self.shared.state().asks.clone()
    }

    pub fn cancelled(&self) -> bool {
        self.shared.state().cancelled
    }

    /// Waits until a request's path ends so.
    pub fn wait_for(&self, end: &str) {
        let held = |state: &mut State| !state.requests.iter().any(|request| request.path.ends_with(end));
        let state = self.shared.state();
        let (_state, waited) =
            self.shared.changed.wait_timeout_while(state, Duration::from_secs(10), held).unwrap();
        assert!(!waited.timed_out(), "no request to {end}");
    }
}

/// The binary without a service or a token.
pub fn bare(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ask"));
    command.args(args).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The issuer that the service names, where nobody listens.
pub const NOBODY: &str = "http://127.0.0.1:1/issuer";

/// A home of its own, removed at the end.
#[derive(Debug)]
pub struct Home(pub PathBuf);

impl Home {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ask-verbs-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// What a run of the binary left.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Sends a signal to a child by its id.
pub fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn serve(&self, mut stream: impl Connection) {
        let Some(request) = read_request(&mut stream) else { return };
        self.state().requests.push(request.clone());
        self.changed.notify_all();
        let answer = self.answer(&request);
        match answer {
            Some(bytes) => drop(stream.write_all(&bytes)),
            None => drop(self.stream(&mut stream, &request)),
        }
        stream.close();
    }

    /// A whole answer, or none for the event stream.
    fn answer(&self, request: &Request) -> Option<Vec<u8>> {
        let path = request.path.strip_prefix("/gw/ask").unwrap_or(&request.path);
        if let Some((end, problem)) = &self.script.refuse
            && path.ends_with(end)
        {
            return Some(json_answer(problem.status, problem));
        }
        let expires_at = Timestamp::from_unix_ms(1_790_000_000_000);
        let conversation_id = ConversationId::new("c1");
        Some(match (request.method.as_str(), path) {
            ("GET", "/.well-known/oauth-protected-resource/gw/ask") => {
                let resource = format!("http://{}/gw/ask", request.header("host").unwrap());
                json_answer(200, &json!({"resource": resource, "authorization_servers": [NOBODY]}))
            }
            ("POST", "/token") if request.body.contains("username=mallory") => json_answer(
                400,
                &json!({"error": "invalid_grant", "error_description": "no such\u{1b} person"}),
            ),
            ("POST", "/token") => {
                json_answer(200, &json!({"access_token": "issued.for.you", "token_type": "Bearer"}))
            }
            ("POST", "/v1/conversations") => json_answer(201, &Conversation { conversation_id, expires_at }),
            ("POST", path) if path.ends_with("/asks") => {
                let mut state = self.state();
                state.asks.push(serde_json::from_str(&request.body).unwrap());
                let turn = u32::try_from(state.asks.len()).unwrap();
                let ticket = TicketId::new(format!("t{turn}"));
                json_answer(202, &Ticket { ticket, conversation_id, turn, seq: 0, expires_at })
            }
            ("POST", path) if path.ends_with("/cancel") => {
                self.state().cancelled = true;
                self.changed.notify_all();
                json_answer(202, &CancelReceipt { ticket: TicketId::new("t1"), finished: true })
            }
            ("GET", path) if path.ends_with("/events") && self.script.nothing_more => {
                b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()
            }
            ("GET", path) if path.ends_with("/events") => return None,
            ("GET", path) if path.starts_with("/v1/asks/") => {
                let log = self.log(path.trim_start_matches("/v1/asks/"));
                let running = self.script.hold_after.is_some();
                let find = |wanted: fn(EventType) -> bool| {
                    log.iter().find(|event| !running && wanted(event.body.event_type())).cloned()
                };
                json_answer(
                    200,
                    &AskState {
                        ticket: TicketId::new("t1"),
                        conversation_id,
                        status: if running { AskStatus::Running } else { AskStatus::Finished },
                        seq: log.len() as u64,
                        terminal: find(EventType::is_terminal),
                        done: find(|kind| kind == EventType::Done),
                    },
                )
            }
            _ => json_answer(404, &Problem::new(ProblemCode::NotFound)),
        })
    }

    fn log(&self, ticket: &str) -> Vec<Event> {
        let turn: usize = ticket.trim_start_matches('t').parse().unwrap();
        let ending = self.script.endings.get(turn - 1).or(self.script.endings.last());
        run(ticket, ending.cloned().unwrap_or_else(cancelled))
    }

    fn stream(&self, stream: &mut impl Connection, request: &Request) -> std::io::Result<()> {
        let ticket = request.path.rsplit('/').nth(1).unwrap();
        let after: u64 = request.header("last-event-id").map_or(0, |id| id.parse().unwrap());
        let first = {
            let mut state = self.state();
            state.streams += 1;
            state.streams == 1
        };
        stream.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        send_chunk(stream, &self.script.before)?;
        let mut log = self.log(ticket);
        let mut index = 0;
        while let Some(event) = log.get(index).cloned() {
            if first && self.script.cut_after == Some(index) {
                return Ok(());
            }
            if self.script.hold_after == Some(index) {
                self.wait_for_cancel(stream);
                log = run(ticket, cancelled());
                log.drain(index..log.len() - 3);
                for (place, event) in log.iter_mut().enumerate() {
                    event.seq = place as u64 + 1;
                }
            } else if event.seq > after {
                send_chunk(stream, &frame(&event))?;
            }
            if self.script.hold_after == Some(index) {
                for event in &log[index..] {
                    send_chunk(stream, &frame(event))?;
                }
                break;
            }
            index += 1;
        }
        stream.write_all(b"0\r\n\r\n")
    }

    fn wait_for_cancel(&self, stream: &mut impl Connection) {
        let deaf = self.script.deaf;
        let waiting = |state: &mut State| deaf || !state.cancelled;
        let wait = Duration::from_secs(20);
        let (state, waited) = self.changed.wait_timeout_while(self.state(), wait, waiting).unwrap();
        drop(state);
        if waited.timed_out() {
            stream.close();
        }
    }
}

/// A byte stream, with or without TLS.
trait Connection: Read + Write {
    fn close(&mut self);
}

impl Connection for TcpStream {
    fn close(&mut self) {
        drop(self.shutdown(Shutdown::Both));
    }
}

impl Connection for rustls::StreamOwned<rustls::ServerConnection, TcpStream> {
    fn close(&mut self) {
        self.conn.send_close_notify();
        drop(self.flush());
        self.sock.close();
    }
}

fn read_request(stream: &mut impl Connection) -> Option<Request> {
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

fn json_answer(status: u16, body: &impl serde::Serialize) -> Vec<u8> {
    let body = serde_json::to_string(body).unwrap();
    let head = "content-type: application/json\r\nconnection: close";
    format!("HTTP/1.1 {status} X\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn send_chunk(stream: &mut impl Connection, text: &str) -> std::io::Result<()> {
    if text.is_empty() {
        Ok(())
    } else {
        stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
    }
}

pub fn frame(event: &Event) -> String {
    let data = serde_json::to_string(event).unwrap();
    format!("id: {}\nevent: {}\ndata: {data}\n\n", event.seq, event.body.event_type().as_str())
}

/// A whole run of eight events that ends so.
pub fn run(ticket: &str, ending: EventBody) -> Vec<Event> {
    let branch_id = BranchId::new("b1");
    let branch = |state| {
        EventBody::Branch(Branch {
            branch_id: branch_id.clone(),
            state,
            role: BranchRole::Supervisor,
            source: None,
        })
    };
    let milestone = |phase, subject: Option<&str>, source: Option<&str>| {
        EventBody::Milestone(Milestone {
            branch_id: branch_id.clone(),
            phase,
            subject: subject.map(str::to_owned),
            source: source.map(str::to_owned),
        })
    };
    let outcome = match ending.event_type() {
        EventType::Answer => Outcome::Answer,
        EventType::Abstention => Outcome::Abstention,
        EventType::Refusal => Outcome::Refusal,
        EventType::Accepted
        | EventType::Branch
        | EventType::Step
        | EventType::Milestone
        | EventType::Error
        | EventType::Done => Outcome::Error,
    };
    let args = json!({"sql": "select 1"}).as_object().unwrap().clone();
    let step = Step {
        branch_id: branch_id.clone(),
        tool: "warehouse__run_query".to_owned(),
        args,
        ms: 12,
        is_error: false,
    };
    let bodies = vec![
        EventBody::Accepted(Accepted {
            question: "Which team is fastest?".to_owned(),
            turn: 1,
            contract_version: "1".to_owned(),
        }),
        branch(BranchState::Opened),
        milestone(Phase::Grounding, Some("Resolution Time"), None),
        milestone(Phase::Querying, None, Some("support")),
        EventBody::Step(step),
        branch(BranchState::Closed),
        ending,
        EventBody::Done(Done {
            outcome,
            hops: 3,
            steps: 1,
            tokens_in: 10,
            tokens_out: 5,
            cache_read_tokens: 7,
            cache_write_tokens: 2,
            ms: 2149,
            model: "demo-analyst".to_owned(),
            effort: "high".to_owned(),
            degraded: Vec::new(),
        }),
    ];
    let event = |(index, body)| Event {
        seq: index as u64 + 1,
        ticket: TicketId::new(ticket),
        conversation_id: ConversationId::new("c1"),
        ts: Timestamp::from_unix_ms(1_790_000_000_000),
        body,
    };
    bodies.into_iter().enumerate().map(event).collect()
}

pub fn cancelled() -> EventBody {
    EventBody::Error(Failure { kind: ErrorKind::Cancelled, detail: "cancelled by the asker".to_owned() })
}

/// An answer with everything in it.
pub fn answer() -> Answer {
    Answer {
        text: "Billing resolves tickets fastest.".to_owned(),
        path: AnswerPath { speed: Speed::Full, detail: PathDetail::Warehouse },
        provenance: vec![Provenance {
            term: "Resolution Time".to_owned(),
            statement: "Time to resolve, without waiting on the customer.".to_owned(),
            source: "support.ResolutionTime".to_owned(),
            kind: "glossary_term".to_owned(),
        }],
        sources: vec!["support".to_owned()],
        tables: vec!["support.tickets".to_owned()],
        sql: vec!["SELECT team, AVG(resolution_minutes) FROM support.tickets GROUP BY team".to_owned()],
        caveats: vec!["Tickets before 2024 lack a team.".to_owned()],
        result: Some(ResultTable {
            columns: vec!["team".to_owned(), "avg_minutes".to_owned()],
            rows: vec![vec![json!("Billing"), json!(41.5)], vec![json!("Frontline"), json!(1203)]],
            truncated: true,
        }),
        headline: Some(Headline {
            value: HeadlineValue::Text("Billing".to_owned()),
            unit: None,
            label: "Fastest team".to_owned(),
        }),
        divergence: None,
    }
}

pub fn answered() -> Script {
    Script::ending(EventBody::Answer(Box::new(answer())))
}

/// The events of a `--json` run.
pub fn lines(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
