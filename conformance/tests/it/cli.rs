//! The binary: options, lines, reports and exit codes.

use std::process::{Command, Output};

use serde_json::Value;

use crate::judged::{arguments, locally};
use crate::mini::Mini;

/// Runs the binary against a mini-service with more arguments.
fn judged(fault: Option<&'static str>, more: &[&str]) -> Output {
    locally(async {
        let mini = Mini::start(fault).await;
        let mut arguments: Vec<String> = arguments(&mini).into_iter().skip(1).collect();
        arguments.retain(|argument| argument != "--behaviour");
        let base = mini.base.clone();
        arguments.extend(more.iter().map(|argument| argument.replace("{base}", &base)));
        let run = tokio::task::spawn_blocking(move || {
            Command::new(env!("CARGO_BIN_EXE_ask-conformance")).args(arguments).output().unwrap()
        });
        run.await.unwrap()
    })
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_pass_is_exit_code_zero_and_says_so() {
    let output = judged(None, &["--only", "identity.health", "--only", "behaviour."]);
    let text = stdout(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("ok   identity.health"), "{text}");
    assert!(text.contains("skip behaviour.refusal"), "{text}");
    assert!(text.ends_with("1/1 contract checks passed, 4 skipped\n"), "{text}");
}

#[test]
fn a_failure_is_exit_code_one_and_says_why() {
    let output = judged(Some("health-lacks-contract"), &["--only", "identity.health"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("FAIL identity.health"), "{text}");
    assert!(text.ends_with("0/1 contract checks passed, 0 skipped\n"), "{text}");
}

#[test]
fn via_gateway_runs_everything_again() {
    let output = judged(None, &["--only", "identity.health", "--via-gateway", "{base}/"]);
    let text = stdout(&output);
    assert_eq!(text.matches("ok   identity.health").count(), 2, "{text}");
    assert_eq!(text.matches("1/1 contract checks passed").count(), 2, "{text}");
}

#[test]
fn nothing_chosen_is_no_pass() {
    let output = judged(None, &["--only", "no-such-check"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn what_cannot_be_exercised_counts_as_failed() {
    let output = judged(None, &["--only", "peers.step-ms", "--executor-audit", "/nowhere/executor.log"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("could not be exercised"), "{text}");
}

#[test]
fn reports_are_written_for_programs() {
    let directory = std::env::temp_dir().join(format!("ask-conformance-reports-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let (json, junit) = (directory.join("report.json"), directory.join("report.xml"));
    let output = judged(
        None,
        &["--only", "stream.model", "--json", json.to_str().unwrap(), "--junit", junit.to_str().unwrap()],
    );
    assert!(output.status.success(), "{}", stdout(&output));
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(report["passed"], true);
    assert_eq!(report["targets"][0]["models"][0], "mini-model");
    assert_eq!(report["targets"][0]["checks"][0]["status"], "ok");
    let xml = std::fs::read_to_string(junit).unwrap();
    assert!(xml.contains("tests=\"1\" failures=\"0\" skipped=\"0\""), "{xml}");
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn the_list_needs_no_service() {
    let output = Command::new(env!("CARGO_BIN_EXE_ask-conformance")).arg("--list").output().unwrap();
    assert!(output.status.success());
    assert!(stdout(&output).lines().count() >= 64);
}

#[test]
fn no_line_shows_a_bearer() {
    let output = judged(Some("bearer-in-log"), &["--only", "identity.", "--only", "peers.log-bearer"]);
    let text = stdout(&output);
    assert!(text.contains("FAIL peers.log-bearer"), "{text}");
    assert!(!text.contains("eyJ"), "{text}");
}
