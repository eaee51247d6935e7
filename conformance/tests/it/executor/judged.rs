//! The right executor passes every check; each faulty one fails the check that is named for its fault.

use std::collections::BTreeSet;
use std::path::Path;

use ask_conformance::{CheckResult, Status, executor};
use clap::Parser as _;
use futures_util::StreamExt as _;

use super::faults::FAULTS;
use super::mini::{self, MiniExecutor};
use crate::judged::locally;

/// The command line that points the harness at a mini-executor.
pub(super) fn arguments(mini: &MiniExecutor) -> Vec<String> {
    let base = &mini.base;
    let pairs = [
        ("--base", base.clone()),
        ("--token-url", format!("{base}/token")),
        ("--mint-url", format!("{base}/mint")),
        ("--executor-audit", mini.log().display().to_string()),
        ("--max-rows", mini::MAX_ROWS.to_string()),
        ("--sql-timeout", mini::TIMEOUT_S.to_string()),
        ("--rate-calls", mini::RATE_CALLS.to_string()),
        ("--too-large", (mini::MAX_BODY * 2).to_string()),
        ("--check-timeout", "20".to_owned()),
        (
            "--many-rows-sql",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000) SELECT i FROM n"
                .to_owned(),
        ),
    ];
    let pairs = pairs.into_iter().flat_map(|(name, value)| [name.to_owned(), value]);
    std::iter::once("ask-executor-conformance".to_owned()).chain(pairs).collect()
}

async fn judge(fault: Option<&'static str>, only: &[&str]) -> Vec<CheckResult> {
    let mini = MiniExecutor::start(fault).await;
    let mut options = executor::Options::parse_from(arguments(&mini));
    options.running.only = only.iter().map(|&part| part.to_owned()).collect();
    let report = executor::run(&options, &mut |_line| {}).await.unwrap();
    report.targets.into_iter().flat_map(|target| target.results).collect()
}

#[test]
fn right_executor_passes_every_check() {
    let results = locally(judge(None, &[]));
    let failed: Vec<_> =
        results.iter().filter(|result| result.status != Status::Passed).map(CheckResult::line).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(results.len(), executor::list(&[]).len());
    assert!(results.len() >= 24);
}

#[test]
fn each_faulty_executor_fails_the_check_that_names_its_fault() {
    let escaped: Vec<_> = locally(
        futures_util::stream::iter(FAULTS)
            .map(|fault| async move {
                let results = judge(Some(fault.name), &[fault.check]).await;
                match results.iter().find(|result| result.id == fault.check) {
                    Some(result) if result.status == Status::Failed => {
                        println!("{:32} {}", fault.name, result.line());
                        let unfit = result.detail.starts_with("could not be exercised")
                            || result.detail.starts_with("no verdict");
                        unfit.then(|| format!("{}: {}", fault.name, result.line()))
                    }
                    Some(result) => Some(format!("{}: {}", fault.name, result.line())),
                    None => Some(format!("{}: there is no check {}", fault.name, fault.check)),
                }
            })
            .buffer_unordered(8)
            .filter_map(std::future::ready)
            .collect(),
    );
    assert!(escaped.is_empty(), "{} escaped:\n{}", escaped.len(), escaped.join("\n"));
}

#[test]
fn every_check_is_named_by_a_fault() {
    let named: BTreeSet<_> = FAULTS.iter().map(|fault| fault.check).collect();
    let unnamed: Vec<_> =
        executor::list(&[]).into_iter().map(|(id, _)| id).filter(|id| !named.contains(id)).collect();
    assert!(unnamed.is_empty(), "no fault tries {unnamed:?}");
}

/// The sources of the files in a folder of this test.
fn sources(folder: &str) -> String {
    std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(folder))
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect()
}

#[test]
fn every_switch_is_a_fault_and_every_fault_a_switch() {
    let own = sources("executor/mini");
    let switches: BTreeSet<_> =
        own.split(".is(\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let names: BTreeSet<_> = FAULTS.iter().map(|fault| fault.name).collect();
    // Keywords of a statement are asked for by the same word, in capitals.
    let unlisted: Vec<_> =
        switches.iter().filter(|name| !names.contains(*name) && name.contains('-')).collect();
    assert!(unlisted.is_empty(), "switches that no fault turns on: {unlisted:?}");
    let all = own + &sources("mini");
    let dead: Vec<_> = names.iter().filter(|name| !all.contains(&format!(".is(\"{name}\")"))).collect();
    assert!(dead.is_empty(), "faults without a switch: {dead:?}");
}

#[test]
fn every_fault_and_every_check_is_in_the_documentation() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/conformance.md")).unwrap();
    let page = page.split_once("## The executor's own contract").unwrap().1;
    let faults = FAULTS.iter().map(|fault| format!("| {} | `{}` |", fault.wrong, fault.check));
    let checks = executor::list(&[]).into_iter().map(|(id, title)| format!("| `{id}` | {title} |"));
    let missing: Vec<_> = faults.chain(checks).filter(|row| !page.contains(row)).collect();
    assert!(missing.is_empty(), "docs/conformance.md lacks:\n{}", missing.join("\n"));
}
