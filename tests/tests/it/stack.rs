//! Brings the sample stack up, asks it as a person does, and ends it by process id.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says by failing"
)]
#![expect(clippy::disallowed_methods, reason = "it waits for real processes, in real time")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The folder in which the build put the programs.
pub(crate) fn programs() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let folder = this.parent().and_then(Path::parent).unwrap().to_owned();
    for name in ["ask", "ask-service", "ask-executor", "ask-devstack"] {
        assert!(folder.join(name).is_file(), "{name} is not built: run `cargo build --workspace --bins`");
    }
    folder
}

/// A folder of this test's own.
pub(crate) fn own_folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ask-tests-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// What an ask came to.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Asked {
    /// The events, of an ask with `--json`.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The only event of a type, of an ask with `--json`.
    pub(crate) fn event(&self, name: &str) -> Value {
        let mut found = self.events().into_iter().filter(|event| event["type"] == name);
        let event = found.next().unwrap_or_else(|| panic!("no {name}: {self:?}"));
        assert!(found.next().is_none(), "one {name}: {self:?}");
        event
    }
}

/// Asks in a stack that lives for the command, as `make ask` does.
pub(crate) fn ask(settings: &[(&str, &str)], args: &[&str]) -> Asked {
    let programs = programs();
    let folder = own_folder("asking");
    let output = command(&programs.join("ask-devstack"), settings)
        .arg("run")
        .arg("--run-dir")
        .arg(&folder)
        .arg("--")
        .arg(programs.join("ask"))
        .args(args)
        .output()
        .unwrap();
    read(output)
}

fn command(program: &Path, settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("DAS_") || name.starts_with("ASK_") {
            command.env_remove(name);
        }
    }
    command.env("ASK_USER", "carol").env("NO_COLOR", "1").envs(settings.iter().copied()).stdin(Stdio::null());
    command
}

fn read(output: std::process::Output) -> Asked {
    Asked {
        code: output.status.code().expect("it ended by itself"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A stack that is up until this is dropped.
pub(crate) struct Stack {
    process: Child,
    pub(crate) state: Value,
}

impl Stack {
    /// Free ports are looked for before they are bound, and another test may be faster: then a stack is started again.
    pub(crate) fn up(name: &str, settings: &[(&str, &str)]) -> Self {
        let started = (0..4).find_map(|_| Self::start(name, settings));
        started.expect("the stack ended by itself, four times")
    }

    fn start(name: &str, settings: &[(&str, &str)]) -> Option<Self> {
        let folder = own_folder(name);
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut process = command(&programs().join("ask-devstack"), settings)
            .args(["up", "--port", &port.to_string(), "--run-dir"])
            .arg(&folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let state = folder.join("stack.json");
        let mut ended = false;
        wait(Duration::from_secs(60), "the stack is up", || {
            ended = process.try_wait().unwrap().is_some();
            ended || state.is_file()
        });
        if ended {
            return None;
        }
        let state = serde_json::from_str(&std::fs::read_to_string(state).unwrap()).unwrap();
        Some(Self { process, state })
    }

    fn text(&self, pointer: &str) -> &str {
        self.state
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("no {pointer}: {}", self.state))
    }

    pub(crate) fn base_url(&self) -> &str {
        self.text("/base_url")
    }

    pub(crate) fn service_pid(&self) -> u32 {
        self.state["service"]["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).unwrap()
    }

    pub(crate) fn service_log(&self) -> String {
        std::fs::read_to_string(self.text("/service/log")).unwrap()
    }

    pub(crate) fn executor_log(&self) -> String {
        std::fs::read_to_string(self.text("/executor/log")).unwrap()
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        PathBuf::from(self.text("/data_dir"))
    }

    /// Asks within this stack.
    pub(crate) fn ask(&self, args: &[&str]) -> Asked {
        let settings = [("ASK_BASE_URL", self.base_url()), ("ASK_TOKEN_URL", self.text("/token_url"))];
        read(command(&programs().join("ask"), &settings).args(args).output().unwrap())
    }

    /// A person's token.
    pub(crate) fn token(&self, user: &str) -> String {
        let form = format!(
            "grant_type=password&username={user}&client_id=ask-cli&scope=openid%20api://data-agent-service/access_as_user"
        );
        let headers = "Content-Type: application/x-www-form-urlencoded\r\n";
        let reply = call("POST", self.text("/token_url"), headers, &form);
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.json()["access_token"].as_str().unwrap().to_owned()
    }

    /// Calls the service as a person.
    pub(crate) fn call(&self, method: &str, path: &str, token: &str, body: &str) -> Reply {
        let headers = format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
        call(method, &format!("{}{path}", self.base_url()), &headers, body)
    }

    /// Opens a conversation and asks in it; the ticket.
    pub(crate) fn begin(&self, token: &str, question: &str) -> String {
        let conversation = self.call("POST", "/v1/conversations", token, "").json();
        let path = format!("/v1/conversations/{}/asks", conversation["conversation_id"].as_str().unwrap());
        let reply = self.call("POST", &path, token, &serde_json::json!({"question": question}).to_string());
        assert_eq!(reply.status, 202, "{}", reply.body);
        reply.json()["ticket"].as_str().unwrap().to_owned()
    }

    /// Opens a ticket's stream, to be read on.
    pub(crate) fn open_stream(&self, token: &str, ticket: &str) -> BufReader<TcpStream> {
        self.send(token, &format!("/v1/asks/{ticket}/events"))
    }

    /// Sends a GET whose answer is to be read later.
    pub(crate) fn send(&self, token: &str, path: &str) -> BufReader<TcpStream> {
        let mut stream = connect(self.base_url());
        let host = authority(self.base_url());
        let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        BufReader::new(stream)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        signal("TERM", self.process.id());
        self.process.wait().ok();
    }
}

/// Sends a signal to a process by its id.
pub(crate) fn signal(name: &str, pid: u32) {
    Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap();
}

/// Waits until something is so.
pub(crate) fn wait(limit: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// An HTTP answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|err| panic!("{err}: {self:?}"))
    }
}

/// One call on a connection of its own.
pub(crate) fn call(method: &str, url: &str, headers: &str, body: &str) -> Reply {
    let mut stream = connect(url);
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    let (host, length) = (authority(url), body.len());
    let request = format!(
        "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let head = read_head(&mut reader);
    let status =
        head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{head}"));
    let mut body = Vec::new();
    if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        while let Some(chunk) = read_chunk(&mut reader) {
            body.extend(chunk);
        }
    } else {
        reader.read_to_end(&mut body).unwrap();
    }
    Reply { status, head, body: String::from_utf8(body).unwrap() }
}

/// The status line and headers.
pub(crate) fn read_head(reader: &mut BufReader<TcpStream>) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "the head is cut off: {head:?}");
    }
    head
}

/// The next chunk of a chunked body; `None` after the last. A body that is cut off fails the test.
pub(crate) fn read_chunk(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut size = String::new();
    assert!(reader.read_line(&mut size).unwrap() > 0, "the body is cut off");
    let size = usize::from_str_radix(size.trim(), 16).unwrap();
    let mut chunk = vec![0; size + 2];
    reader.read_exact(&mut chunk).expect("the chunk is whole");
    chunk.truncate(size);
    (size > 0).then_some(chunk)
}

fn authority(url: &str) -> &str {
    url.strip_prefix("http://").and_then(|rest| rest.split('/').next()).unwrap()
}

fn connect(url: &str) -> TcpStream {
    let stream = TcpStream::connect(authority(url)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}
