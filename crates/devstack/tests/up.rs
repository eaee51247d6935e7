//! The stack as one, with stand-ins for its programs: how it comes up, what it tells, and that nothing of it stays behind.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says by panicking that it failed, in its set-up too"
)]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Serves `/health` on the port that the real program would, and prints what it was told.
const EXECUTOR: &str = r#"#!/bin/sh
echo "executor of $DAS_ENTRA_ISSUER with ${DAS_LLM_API_KEY:-no key}: $1 $2"
exec "$(dirname "$0")/ask-devstack" identity --port "$4"
"#;
const SERVICE: &str = r#"#!/bin/sh
echo "service of $DAS_ENTRA_ISSUER with model $DAS_LLM_PROTOCOL $DAS_MODEL and $DAS_SOURCES"
exec "$(dirname "$0")/ask-devstack" identity --port "$DAS_ASK_PORT"
"#;
const BROKEN: &str = "#!/bin/sh\necho the settings are wrong >&2\nexit 3\n";
const STUBBORN: &str = r#"#!/bin/sh
trap '' TERM
me="$(dirname "$0")/ask-devstack"
"$me" bound $$ "$me" identity --port "$DAS_ASK_PORT" &
while :; do wait; done
"#;

/// Folders with this project's executable and programs beside it. Made once, before anything is started: a file that is
/// being written when another thread forks could not be run.
static HOUSES: LazyLock<Houses> = LazyLock::new(|| {
    let root = fresh_dir("houses");
    let house = |name: &str, service: &str| {
        let dir = root.join(name);
        fs::create_dir_all(&dir).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_ask-devstack"), dir.join("ask-devstack")).unwrap();
        for (program, text) in [("ask-executor", EXECUTOR), ("ask-service", service)] {
            let path = dir.join(program);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        dir.join("ask-devstack")
    };
    Houses {
        sound: house("sound", SERVICE),
        broken: house("broken", BROKEN),
        stubborn: house("stubborn", STUBBORN),
    }
});

struct Houses {
    sound: PathBuf,
    broken: PathBuf,
    stubborn: PathBuf,
}

fn fresh_dir(name: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}-{number}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    dir
}

/// A run folder, and the stack that is up in it; both gone when this is dropped.
struct Stack {
    dir: PathBuf,
    process: Option<Child>,
}

impl Stack {
    fn folder() -> Self {
        Self { dir: fresh_dir("run"), process: None }
    }

    fn command(&self, launcher: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(launcher);
        command.arg("--run-dir").arg(&self.dir).args(args);
        for name in ["DAS_LLM_BASE_URL", "DAS_LLM_API_KEY", "DAS_MODEL", "RUST_LOG"] {
            command.env_remove(name);
        }
        command
    }

    fn up(launcher: &Path) -> Self {
        let mut stack = Self::folder();
        let mut command = stack.command(launcher, &["up", "--port", &free_port().to_string()]);
        stack.process = Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        until("the state file", || stack.dir.join("stack.json").exists() || stack.ended().is_some());
        stack
    }

    fn run(&self, launcher: &Path, command: &[&str]) -> Output {
        self.command(launcher, &[&["run", "--"], command].concat()).output().unwrap()
    }

    fn state(&self) -> Value {
        serde_json::from_slice(&fs::read(self.dir.join("stack.json")).unwrap()).unwrap()
    }

    fn ended(&self) -> Option<()> {
        let pid = self.process.as_ref()?.id();
        (!is_alive(&Value::from(pid))).then_some(())
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self.process.as_ref().unwrap()), signal).unwrap();
    }

    fn finish(&mut self) -> (Option<i32>, String) {
        let mut process = self.process.take().unwrap();
        let status = process.wait().unwrap();
        let mut said = String::new();
        process.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (status.code(), said)
    }

    fn logs_of_runs(&self) -> usize {
        let entries = fs::read_dir(&self.dir).unwrap();
        entries
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("logs-"))
            .count()
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _gone = process.kill();
            let _status = process.wait();
        }
        let _kept = fs::remove_dir_all(&self.dir);
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn is_alive(pid: &Value) -> bool {
    // The letter behind the name is the state; a zombie is gone but for its parent's last look.
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.trim_start().starts_with('Z'))
}

fn is_open(url: &Value) -> bool {
    std::net::TcpStream::connect(url.as_str().unwrap().strip_prefix("http://").unwrap()).is_ok()
}

/// The whole answer to a GET, headers included.
fn get(url: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut socket = std::net::TcpStream::connect(host).unwrap();
    write!(socket, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..4000 {
        if holds() {
            return;
        }
        sleep(Duration::from_millis(5));
    }
    panic!("waited in vain for {what}");
}

fn all_gone(state: &Value) -> bool {
    !is_alive(&state["executor"]["pid"]) && !is_alive(&state["service"]["pid"])
}

#[test]
fn a_stack_comes_up_tells_where_it_is_and_goes_without_a_trace() {
    let mut stack = Stack::up(&HOUSES.sound);
    let state = stack.state();
    assert_eq!(state["default_user"], "carol");
    assert_eq!(state["scope"], "api://data-agent-service/access_as_user");
    for url in ["/base_url", "/executor/url", "/model/base_url"] {
        assert!(is_open(state.pointer(url).unwrap()), "{url}");
    }
    let page = get(state["console_url"].as_str().unwrap());
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("js/main.js"), "{page}");
    let told = get(&format!("{}config.json", state["console_url"].as_str().unwrap()));
    assert!(told.contains(state["issuer"].as_str().unwrap()) && told.contains(r#""ask":"/ask""#), "{told}");
    let mounted = get(&state["console_url"].as_str().unwrap().replace("console/", "ask/health"));
    assert!(mounted.contains(r#"{"status":"ok"}"#), "{mounted}");
    let log = fs::read_to_string(state["service"]["log"].as_str().unwrap()).unwrap();
    let issuer = state["issuer"].as_str().unwrap();
    assert!(
        log.starts_with(&format!("service of {issuer} with model anthropic demo-analyst and [{{")),
        "{log}"
    );
    let log = fs::read_to_string(state["executor"]["log"].as_str().unwrap()).unwrap();
    let config = stack.dir.join("data/executor.json");
    assert!(
        log.starts_with(&format!("executor of {issuer} with no key: --config {}", config.display())),
        "{log}"
    );
    let status = stack.command(&HOUSES.sound, &["status"]).output().unwrap();
    assert!(String::from_utf8(status.stdout).unwrap().contains(state["base_url"].as_str().unwrap()));

    stack.signal(Signal::TERM);
    let (code, said) = stack.finish();
    assert_eq!(code, Some(0), "{said}");
    for told in ["console_url", "base_url", "issuer", "token_url"] {
        assert!(said.contains(state[told].as_str().unwrap()), "{told}: {said}");
    }
    assert!(all_gone(&state));
    assert!(!stack.dir.join("stack.json").exists());
    assert_eq!(stack.command(&HOUSES.sound, &["status"]).output().unwrap().status.code(), Some(1));
}

#[test]
fn a_stack_that_is_killed_takes_its_children_with_it() {
    let mut stack = Stack::up(&HOUSES.sound);
    let state = stack.state();
    assert!(is_alive(&state["executor"]["pid"]) && is_alive(&state["service"]["pid"]));
    stack.signal(Signal::KILL);
    let (code, _said) = stack.finish();
    assert_eq!(code, None);
    until("the children's end", || all_gone(&state));
}

#[test]
fn a_second_stack_is_not_started_beside_the_first() {
    let stack = Stack::up(&HOUSES.sound);
    let second = stack.command(&HOUSES.sound, &["up", "--port", "0"]).output().unwrap();
    let said = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(
        said.contains("up already") && said.contains(stack.state()["base_url"].as_str().unwrap()),
        "{said}"
    );
    assert!(is_open(&stack.state()["base_url"]));
}

#[test]
fn a_stack_ends_when_a_part_of_it_does() {
    let mut stack = Stack::up(&HOUSES.sound);
    let state = stack.state();
    let executor = i32::try_from(state["executor"]["pid"].as_i64().unwrap()).unwrap();
    kill_process(Pid::from_raw(executor).unwrap(), Signal::KILL).unwrap();
    let (code, said) = stack.finish();
    assert_eq!(code, Some(1));
    assert!(said.contains("ask-executor ended"), "{said}");
    assert!(all_gone(&state));
}

#[test]
fn a_part_that_does_not_come_up_is_named_with_its_last_words() {
    let mut stack = Stack::up(&HOUSES.broken);
    let (code, said) = stack.finish();
    assert_eq!(code, Some(1));
    assert!(
        said.contains("ask-service ended while it came up") && said.contains("the settings are wrong"),
        "{said}"
    );
    assert!(!stack.dir.join("stack.json").exists());
}

#[test]
fn a_part_that_ignores_the_request_to_end_is_killed() {
    let mut stack = Stack::up(&HOUSES.stubborn);
    let state = stack.state();
    stack.signal(Signal::INT);
    let (code, said) = stack.finish();
    assert_eq!(code, Some(0), "{said}");
    assert!(all_gone(&state));
}

#[test]
fn a_command_runs_with_a_stack_of_its_own() {
    let folder = Stack::folder();
    let script = "echo $ASK_BASE_URL $ASK_ISSUER $ASK_TOKEN_URL $ASK_MINT_URL $ASK_MODEL_CONTROL $ASK_SERVICE_LOG; exit 7";
    let output = folder.run(&HOUSES.sound, &["sh", "-c", script]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(7), "{said}");
    let words: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(words.len(), 6, "{said}");
    assert_eq!(words[1].replace("/v2.0", "/oauth2/v2.0/token"), words[2]);
    until("the end of the service", || !is_open(&Value::from(words[0])));
    assert!(!Path::new(words[5]).exists());
    assert_eq!(folder.logs_of_runs(), 0);
    assert!(!folder.dir.join("stack.json").exists());
}

#[test]
fn a_command_uses_the_stack_that_is_up() {
    let stack = Stack::up(&HOUSES.sound);
    let base_url = stack.state()["base_url"].as_str().unwrap().to_owned();
    let output = stack.run(&HOUSES.sound, &["sh", "-c", "echo $ASK_BASE_URL"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), base_url);
    assert!(is_open(&stack.state()["base_url"]), "it stays up");
}

#[test]
fn a_state_file_left_behind_is_not_believed() {
    let mut stack = Stack::up(&HOUSES.sound);
    let left = fs::read(stack.dir.join("stack.json")).unwrap();
    stack.signal(Signal::KILL);
    stack.finish();
    fs::write(stack.dir.join("stack.json"), left).unwrap();
    let old = stack.state();
    until("the children's end", || all_gone(&old));
    let output = stack.run(&HOUSES.sound, &["sh", "-c", "echo $ASK_BASE_URL"]);
    assert!(output.status.success());
    assert_ne!(String::from_utf8(output.stdout).unwrap().trim(), old["base_url"]);
}

#[test]
fn signals_reach_the_command_and_its_end_is_ours() {
    let folder = Stack::folder();
    for (signal, script, code) in [
        (Signal::TERM, "sleep 60 & trap 'kill $!; exit 9' TERM; echo ready; wait", 9),
        (Signal::INT, "trap 'exit 130' INT; echo ready; while :; do sleep 0.05; done", 130),
        (Signal::TERM, "echo ready; exec sleep 60", 128 + 15),
    ] {
        let mut command = folder.command(&HOUSES.sound, &["run", "--", "sh", "-c", script]);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = [0; 6];
        process.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        kill_process(Pid::from_child(&process), signal).unwrap();
        let status = process.wait().unwrap();
        assert_eq!((status.code(), status.signal()), (Some(code), None), "{script}");
    }
}

#[test]
fn a_command_that_is_not_there_is_127() {
    let folder = Stack::folder();
    let output = folder.run(&HOUSES.sound, &["no-such-command-here"]);
    assert_eq!(output.status.code(), Some(127));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot run no-such-command-here"));
}
