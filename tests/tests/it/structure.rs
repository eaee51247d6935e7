//! The workspace is built as `docs/architecture.md` says.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test says by failing"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Which crates of the house each may use, outside of its tests.
const ALLOWED: &[(&str, &[&str])] = &[
    ("ask-contract", &[]),
    ("ask-core", &["ask-contract"]),
    ("ask-auth", &[]),
    ("ask-llm", &[]),
    ("ask-mcp", &[]),
    ("ask-agent", &["ask-contract", "ask-core", "ask-llm", "ask-mcp"]),
    ("ask-service", &["ask-agent", "ask-auth", "ask-contract", "ask-core", "ask-llm", "ask-mcp"]),
    ("ask-client", &["ask-contract"]),
    ("ask-signin", &[]),
    ("ask-cli", &["ask-client", "ask-contract", "ask-signin"]),
    ("ask-slack", &["ask-client", "ask-contract", "ask-signin"]),
    ("ask-loadgen", &["ask-client", "ask-contract"]),
    ("ask-executor", &["ask-auth"]),
    ("ask-console", &[]),
    ("ask-corpus", &[]),
    ("ask-devstack", &["ask-console"]),
    ("ask-conformance", &[]),
    ("ask-tests", &[]),
];

/// Outside crates that only some of the house may use, outside of its tests.
const RESERVED: [(&str, &[&str]); 5] = [
    ("actix", &["ask-service"]),
    (
        "actix-web",
        &["ask-service", "ask-executor", "ask-console", "ask-devstack", "ask-loadgen", "ask-slack"],
    ),
    ("jsonwebtoken", &["ask-auth", "ask-devstack"]),
    ("rusqlite", &["ask-executor", "ask-devstack"]),
    ("rmcp", &["ask-executor"]),
];

/// What the two crates at the bottom must never know.
const NOT_AT_THE_BOTTOM: [&str; 6] = ["tokio", "actix", "actix-rt", "actix-web", "awc", "futures-util"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Each crate's dependencies outside of its tests.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let cargo = std::env::var_os("CARGO").expect("run by cargo");
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let used = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap().iter();
        all.filter(|dependency| dependency["kind"] != "dev").map(name).collect::<Vec<_>>()
    };
    metadata["packages"].as_array().unwrap().iter().map(|package| (name(package), used(package))).collect()
}

#[test]
fn no_crate_reaches_where_it_must_not() {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    for (package, used) in dependencies() {
        let may = allowed
            .get(package.as_str())
            .unwrap_or_else(|| panic!("{package} has no place in the house yet"));
        for dependency in used.iter().filter(|name| name.starts_with("ask-")) {
            assert!(may.contains(&dependency.as_str()), "{package} must not use {dependency}");
        }
        for (reserved, owners) in RESERVED {
            let uses = used.iter().any(|name| name == reserved);
            assert!(!uses || owners.contains(&package.as_str()), "{package} must not use {reserved}");
        }
        if ["ask-contract", "ask-core"].contains(&package.as_str()) {
            let known = used.iter().find(|name| NOT_AT_THE_BOTTOM.contains(&name.as_str()));
            assert_eq!(known, None, "{package} is at the bottom");
        }
    }
}

#[test]
fn the_architecture_page_names_every_crate_and_only_those() {
    let page = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let packages = dependencies();
    for package in packages.keys() {
        assert!(page.contains(&format!("`{package}`")), "{package} is not on the page");
    }
    let fences = page.split("```").step_by(2).collect::<String>();
    for word in fences.split('`').skip(1).step_by(2).filter(|word| word.starts_with("ask-")) {
        assert!(packages.contains_key(word), "{word} is no crate");
    }
}

#[test]
fn actors_are_used_by_the_actors_module_alone_and_no_send_is_dropped() {
    for path in sources(&root().join("crates/service/src")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let shown = path.display();
        if !path.components().any(|part| part.as_os_str() == "actors") {
            assert!(!text.contains("use actix::"), "{shown} uses actors");
        }
        assert!(!text.contains("drop(addr.send("), "{shown} drops a send");
        assert!(!text.contains("actix_web::Result"), "{shown} uses an error that shows its text");
    }
}

#[test]
fn every_file_says_what_it_is() {
    for folder in ["crates", "conformance", "tests"] {
        for path in sources(&root().join(folder)) {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.starts_with("//!"), "{} does not begin with what it is", path.display());
        }
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn every_problem_code_has_its_page() {
    let openapi = std::fs::read_to_string(root().join("ask.openapi.json")).unwrap();
    let openapi: Value = serde_json::from_str(&openapi).unwrap();
    let codes = openapi.pointer("/components/schemas/Problem/properties/code").unwrap();
    let words: Vec<&str> =
        codes["enum"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert!(words.len() > 5, "{codes}");
    for word in words {
        let page = root().join("docs/errors").join(format!("{word}.md"));
        assert!(page.is_file(), "docs/errors/{word}.md is missing");
    }
}
