//! The binary: options, lines, reports and exit codes.

use std::process::{Command, Output};

use serde_json::Value;

use super::judged::arguments;
use super::mini::MiniExecutor;
use crate::judged::locally;

const BINARY: &str = env!("CARGO_BIN_EXE_ask-executor-conformance");

/// Runs the binary against a mini-executor with more arguments.
fn judged(fault: Option<&'static str>, more: &[&str]) -> Output {
    locally(async {
        let mini = MiniExecutor::start(fault).await;
        let mut arguments: Vec<String> = arguments(&mini).into_iter().skip(1).collect();
        arguments.extend(more.iter().map(|&argument| argument.to_owned()));
        let run = tokio::task::spawn_blocking(move || Command::new(BINARY).args(arguments).output().unwrap());
        run.await.unwrap()
    })
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_pass_and_a_failure_have_their_lines_and_exit_codes() {
    let passed = judged(None, &["--only", "rows."]);
    let text = stdout(&passed);
    assert!(passed.status.success() && text.contains("ok   rows.ceiling"), "{text}");
    assert!(text.ends_with("6/6 executor checks passed, 0 skipped\n"), "{text}");
    let failed = judged(Some("ceiling-unsaid"), &["--only", "rows."]);
    let text = stdout(&failed);
    assert_eq!(failed.status.code(), Some(1), "{text}");
    assert!(text.contains("FAIL rows.ceiling"), "{text}");
    assert!(text.ends_with("5/6 executor checks passed, 0 skipped\n"), "{text}");
}

#[test]
fn what_cannot_be_exercised_counts_as_failed() {
    let output = judged(None, &["--only", "audit.ms", "--executor-audit", "/nowhere/executor.log"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("could not be exercised"), "{text}");
}

#[test]
fn reports_are_written_for_programs() {
    let directory = std::env::temp_dir().join(format!("ask-executor-reports-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let (json, junit) = (directory.join("report.json"), directory.join("report.xml"));
    let output = judged(
        None,
        &["--only", "listing.", "--json", json.to_str().unwrap(), "--junit", junit.to_str().unwrap()],
    );
    assert!(output.status.success(), "{}", stdout(&output));
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(report["targets"][0]["contract"], "executor");
    assert_eq!(report["targets"][0]["checks"][0]["status"], "ok");
    let xml = std::fs::read_to_string(junit).unwrap();
    assert!(xml.contains("executor contract") && xml.contains("failures=\"0\""), "{xml}");
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn the_list_needs_no_executor_and_no_line_shows_a_bearer() {
    let output = Command::new(BINARY).arg("--list").output().unwrap();
    assert!(output.status.success());
    assert!(stdout(&output).lines().count() >= 24);
    let text = stdout(&judged(Some("bearer-in-log"), &["--only", "identity.", "--only", "audit.no-bearer"]));
    assert!(text.contains("FAIL audit.no-bearer") && !text.contains("eyJ"), "{text}");
}

#[test]
fn a_corpus_of_ones_own_is_used() {
    let path = std::env::temp_dir().join(format!("ask-executor-corpus-{}.json", std::process::id()));
    let corpus = r#"{"refused":[{"group":"writes","code":"guard","says":["DROP"],"sql":"DROP TABLE {table}"}],
        "allowed":["SELECT 1"],"roads":[],"beside":[]}"#;
    std::fs::write(&path, corpus).unwrap();
    let output = judged(None, &["--only", "guard.", "--corpus", path.to_str().unwrap()]);
    let text = stdout(&output);
    assert!(text.contains("1 statements over both surfaces") && text.contains("ok   guard.writes"), "{text}");
    assert!(text.contains("could not be exercised: the corpus has no group engine"), "{text}");
    std::fs::remove_file(path).unwrap();
}
