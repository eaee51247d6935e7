//! The program itself: settings, address, audit lines on its output, silence about content, and a quick end.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::fixture::{Folder, write};
use crate::issuer::Issuer;

fn command(folder: &Path, issuer: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ask-executor"));
    command
        .env_clear()
        .env("DAS_ENTRA_ISSUER", issuer)
        .args(["--port", "0", "--config"])
        .arg(folder.join("executor.json"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Reads the program's log up to the line with its address.
fn address(log: &mut impl BufRead) -> String {
    loop {
        let mut line = String::new();
        assert!(log.read_line(&mut line).unwrap() > 0, "the program ended before it listened");
        if let Some(rest) = line.strip_prefix("ask-executor listens on ") {
            return rest.split_whitespace().next().unwrap().to_owned();
        }
    }
}

fn terminate(child: &Child) {
    let ended = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(ended.success());
}

async fn query(url: &str, token: &str, sql: &str) -> Value {
    let client = awc::Client::builder().timeout(Duration::from_secs(15)).finish();
    let mut response = client
        .post(format!("{url}/query"))
        .insert_header(("authorization", format!("Bearer {token}")))
        .send_json(&json!({"sql": sql}))
        .await
        .unwrap();
    response.json().await.unwrap()
}

#[actix_web::test]
async fn it_serves_audits_and_ends_in_time_and_logs_no_content() {
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let folder = Folder::new();
    write(folder.path());
    let issuer = Issuer::start();
    let mut child = command(folder.path(), issuer.url()).env("RUST_LOG", "trace").spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let url = address(&mut log);
    // The log is read all the while, so that the program never waits for room in it.
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        log.read_to_string(&mut text).unwrap();
        text
    });
    let token = issuer.token("carol", &["finance"]);
    let result =
        query(&url, &token, "SELECT email, 'literal-canary' AS x FROM support.agents ORDER BY id LIMIT 1")
            .await;
    assert_eq!(result["rows"], json!([["canary-ann@desk.test", "literal-canary"]]));
    query(&url, &token, "SELECT nowt_canary FROM support.agents").await;
    let client = awc::Client::new();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "run_query", "arguments": {"sql": "SELECT word, 'literal-canary' FROM support.secret"}}});
    let mut response = client
        .post(format!("{url}/warehouse/mcp"))
        .insert_header(("authorization", format!("Bearer {token}")))
        .insert_header(("accept", "application/json, text/event-stream"))
        .send_json(&call)
        .await
        .unwrap();
    let answer: Value = serde_json::from_slice(&response.body().await.unwrap()).unwrap();
    assert!(answer.to_string().contains("canary-word"), "{answer}");

    terminate(&child);
    let begun = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    let audit = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = audit
        .lines()
        .map(|line| serde_json::from_str(line.strip_prefix("audit ").unwrap()).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!((&lines[0]["ms"], &lines[0]["oid"]), (&result["ms"], &json!("carol")));
    let log = reader.join().unwrap();
    for text in [&log, &audit] {
        assert!(!text.contains("canary") && !text.contains(token.rsplit('.').next().unwrap()), "{text}");
    }
}

#[actix_web::test]
async fn it_ends_in_time_with_a_statement_running() {
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let folder = Folder::new();
    write(folder.path());
    let issuer = Issuer::start();
    let mut child = command(folder.path(), issuer.url()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let url = address(&mut log);
    let token = issuer.token("carol", &["finance"]);
    query(&url, &token, "SELECT 1").await;
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let client = awc::Client::builder().timeout(Duration::from_secs(15)).finish();
    let running = client
        .post(format!("{url}/query"))
        .insert_header(("authorization", format!("Bearer {token}")))
        .send_json(&json!({"sql": endless}));
    crate::stack::background(running);
    // Sent, and as good as begun, when a later request on a connection of its own has been answered.
    tokio::task::yield_now().await;
    query(&url, &token, "SELECT 1").await;
    terminate(&child);
    let begun = Instant::now();
    let ended = actix_web::web::block(move || child.wait().unwrap()).await.unwrap();
    assert!(ended.success() && begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn a_bad_setting_or_file_stops_the_start_with_one_line() {
    let folder = Folder::new();
    write(folder.path());
    let refused = |name: &str, value: &str| {
        let output = command(folder.path(), "http://127.0.0.1:9/t/v2.0").env(name, value).output().unwrap();
        assert!(!output.status.success(), "{name}");
        String::from_utf8(output.stderr).unwrap()
    };
    for (name, value) in
        [("DAS_SQL_MAX_ROWS", "lots"), ("DAS_RATE_CALLS", "-1"), ("DAS_ENTRA_ISSUER", "nonsense")]
    {
        let said = refused(name, value);
        assert!(said.lines().count() == 1 && said.contains(name), "{said}");
    }
    let rules = json!({"roles": {"r": {"sources": {"support": {"withheld": ["support.agents.mail"]}}}}});
    std::fs::write(folder.path().join("access.json"), rules.to_string()).unwrap();
    let said = refused("X", "x");
    assert!(said.lines().count() == 1 && said.contains("support.agents.mail"), "{said}");
    std::fs::remove_file(folder.path().join("support.db")).unwrap();
    let said = refused("X", "x");
    assert!(said.lines().count() == 1 && said.contains("support.db"), "{said}");
}
