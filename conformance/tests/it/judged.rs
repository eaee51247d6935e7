//! The right service passes every check; each faulty one fails the check that is named for its fault.

use std::collections::BTreeSet;
use std::future::Future;

use ask_conformance::{CheckResult, Options, Status};
use clap::Parser as _;
use futures_util::StreamExt as _;

use crate::faults::FAULTS;
use crate::mini::{self, Mini};

/// Runs on one thread, with local tasks.
pub(crate) fn locally<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, work)
}

/// The command line that points the harness at a mini-service.
pub(crate) fn arguments(mini: &Mini) -> Vec<String> {
    let base = &mini.base;
    let pairs = [
        ("--base", base.clone()),
        ("--token-url", format!("{base}/token")),
        ("--mint-url", format!("{base}/mint")),
        ("--model-control", format!("{base}/control")),
        ("--executor-audit", mini.file("executor.log").display().to_string()),
        ("--service-log", mini.file("service.log").display().to_string()),
        ("--keep-alive", mini::KEEP_ALIVE.as_secs_f64().to_string()),
        ("--max-events", mini::MAX_EVENTS.to_string()),
        ("--max-steps", mini::MAX_HOPS.to_string()),
        ("--too-large", (mini::MAX_BODY * 2).to_string()),
        ("--slow-sql", mini::SLOW_SQL.to_owned()),
        ("--check-timeout", "8".to_owned()),
    ];
    let pairs = pairs.into_iter().flat_map(|(name, value)| [name.to_owned(), value]);
    std::iter::once("ask-conformance".to_owned()).chain(pairs).chain(["--behaviour".to_owned()]).collect()
}

async fn judge(fault: Option<&'static str>, only: &[&str]) -> Vec<CheckResult> {
    let mini = Mini::start(fault).await;
    let mut options = Options::parse_from(arguments(&mini));
    options.running.only = only.iter().map(|&part| part.to_owned()).collect();
    if !only.iter().any(|part| part.starts_with("schema.")) {
        // Compiling the schemas is most of a short run; the checks that need them say so.
        options.schemas = Some("/nowhere".to_owned());
    }
    let report = ask_conformance::run(&options, &mut |_line| {}).await.unwrap();
    report.targets.into_iter().flat_map(|target| target.results).collect()
}

/// Themes, each for a mini-service of its own, so that their waits overlap.
fn themes() -> Vec<&'static str> {
    let ids = ask_conformance::list(&[]);
    let themes: BTreeSet<&str> = ids.iter().filter_map(|(id, _)| id.split('.').next()).collect();
    ids.iter()
        .map(|(id, _)| *id)
        .filter(|id| matches!(id.split('.').next(), Some("live" | "cancel" | "expiry")))
        .chain(themes.into_iter().filter(|theme| !matches!(*theme, "live" | "cancel" | "expiry")))
        .collect()
}

#[test]
fn right_service_passes_every_check() {
    let results: Vec<_> = locally(
        futures_util::stream::iter(themes())
            .map(|theme| async move {
                let only = if theme.contains('.') { theme.to_owned() } else { format!("{theme}.") };
                judge(None, &[&only]).await
            })
            .buffer_unordered(8)
            .collect::<Vec<_>>(),
    );
    let results: Vec<_> = results.into_iter().flatten().collect();
    let failed: Vec<_> =
        results.iter().filter(|result| result.status != Status::Passed).map(CheckResult::line).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let ran: BTreeSet<_> = results.iter().map(|result| result.id).collect();
    let all: BTreeSet<_> = ask_conformance::list(&[]).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ran, all);
}

#[test]
fn a_service_without_the_additions_is_not_failed_for_them() {
    let (results, passed) = locally(async {
        let mini = Mini::start(None).await;
        mini.is_plain.set(true);
        let mut options = Options::parse_from(arguments(&mini));
        options.running.only = vec!["own.".to_owned(), "state.members".to_owned()];
        let report = ask_conformance::run(&options, &mut |_line| {}).await.unwrap();
        let passed = report.passed();
        (report.targets.into_iter().flat_map(|target| target.results).collect::<Vec<_>>(), passed)
    });
    let own: Vec<_> = results.iter().filter(|result| result.id.starts_with("own.")).collect();
    assert_eq!(own.len(), 14);
    for result in own {
        assert_eq!(
            (result.status, result.detail.as_str()),
            (Status::Skipped, "not offered"),
            "{}",
            result.id
        );
    }
    assert!(passed);
}

#[test]
fn each_faulty_service_fails_the_check_that_names_its_fault() {
    let escaped: Vec<_> = locally(
        futures_util::stream::iter(FAULTS)
            .map(|fault| async move {
                let results = judge(Some(fault.name), &[fault.check]).await;
                let named = results.iter().find(|result| result.id == fault.check);
                match named {
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
            .buffer_unordered(24)
            .filter_map(std::future::ready)
            .collect(),
    );
    assert!(escaped.is_empty(), "{} escaped:\n{}", escaped.len(), escaped.join("\n"));
}

#[test]
fn every_check_is_named_by_a_fault() {
    let named: BTreeSet<_> = FAULTS.iter().map(|fault| fault.check).collect();
    let unnamed: Vec<_> =
        ask_conformance::list(&[]).into_iter().map(|(id, _)| id).filter(|id| !named.contains(id)).collect();
    assert!(unnamed.is_empty(), "no fault tries {unnamed:?}");
}

#[test]
fn every_switch_is_a_fault_and_every_fault_a_switch() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mini");
    let sources: String = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    let switches: BTreeSet<_> =
        sources.split(".is(\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let names: BTreeSet<_> = FAULTS.iter().map(|fault| fault.name).collect();
    let unlisted: Vec<_> = switches.difference(&names).collect();
    assert!(unlisted.is_empty(), "switches that no fault turns on: {unlisted:?}");
    let dead: Vec<_> = names.iter().filter(|name| !sources.contains(&format!("\"{name}\""))).collect();
    assert!(dead.is_empty(), "faults without a switch: {dead:?}");
}

#[test]
fn every_fault_is_in_the_documentation() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/conformance.md")).unwrap();
    let missing: Vec<_> = FAULTS
        .iter()
        .map(|fault| format!("| {} | `{}` |", fault.wrong, fault.check))
        .filter(|row| !page.contains(row))
        .collect();
    assert!(missing.is_empty(), "docs/conformance.md lacks:\n{}", missing.join("\n"));
    let absent: Vec<_> = ask_conformance::list(&[])
        .into_iter()
        .map(|(id, _)| id)
        .filter(|id| !page.contains(&format!("`{id}`")))
        .collect();
    assert!(absent.is_empty(), "docs/conformance.md lacks {absent:?}");
}
