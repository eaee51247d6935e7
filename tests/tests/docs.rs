//! The documents say what the code says: settings, exit codes, links.

#![expect(clippy::unwrap_used, clippy::panic, clippy::string_slice, reason = "a test says by failing")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|err| panic!("{}: {err}", path.display()))
}

/// Every name of a setting in a text.
fn settings_in(text: &str) -> BTreeSet<String> {
    let is_name = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    text.match_indices("DAS_")
        .filter(|(at, _)| !text[..*at].ends_with(is_name))
        .map(|(at, _)| text[at..].chars().take_while(|letter| is_name(*letter)).collect::<String>())
        .filter(|name| name.len() > 4 && !name.ends_with('_'))
        .map(|name| name.strip_suffix("_FILE").map_or(name.clone(), str::to_owned))
        .collect()
}

#[test]
fn every_setting_is_documented_and_no_other_is() {
    let code: BTreeSet<String> = [
        "crates/service/src/settings/mod.rs",
        "crates/service/src/settings/servers.rs",
        "crates/executor/src/settings.rs",
        "crates/executor/src/main.rs",
    ]
    .iter()
    .flat_map(|path| settings_in(&read(path)))
    .collect();
    let documented = settings_in(&read("docs/operations.md"));
    let missing: Vec<&String> = code.difference(&documented).collect();
    let invented: Vec<&String> = documented.difference(&code).collect();
    assert!(missing.is_empty() && invented.is_empty(), "missing {missing:?}, invented {invented:?}");
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

#[test]
fn every_link_leads_somewhere() {
    let mut all = pages(&root().join("docs"));
    all.extend([root().join("README.md"), root().join("CHANGELOG.md")]);
    assert!(all.len() > 20);
    for page in all {
        let text = std::fs::read_to_string(&page).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap_or_default();
            if path.is_empty() || path.contains("://") {
                continue;
            }
            let full = page.parent().unwrap().join(path);
            assert!(full.exists(), "{} links to {target}", page.display());
        }
    }
}

#[test]
fn exit_codes_on_the_page_are_those_of_the_help() {
    let this = std::env::current_exe().unwrap();
    let ask = this.parent().and_then(Path::parent).unwrap().join("ask");
    assert!(ask.is_file(), "ask is not built: run `cargo build --workspace --bins`");
    let help = String::from_utf8(Command::new(ask).arg("--help").output().unwrap().stdout).unwrap();
    let told = help.split("Exit codes:").nth(1).unwrap();
    let page = read("docs/cli.md");
    let table = page.split("## Exit codes").nth(1).unwrap();
    let codes: Vec<&str> =
        table.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next()).collect();
    let codes: Vec<&str> = codes.into_iter().filter(|code| code.parse::<u8>().is_ok()).collect();
    assert_eq!(codes.len(), 9);
    for code in codes {
        assert!(told.split_whitespace().any(|word| word == code), "{code} is not in the help");
    }
}

#[test]
fn every_command_of_the_parity_page_names_a_test_that_is_there() {
    let page = read("docs/parity.md");
    let sources: String = ["tests/tests/it", "tests/tests"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(root().join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let commands: Vec<&str> = page.split('`').filter(|piece| piece.starts_with("cargo test ")).collect();
    assert!(commands.len() > 10);
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        for pair in words.windows(2) {
            if let ["-p", package] = pair {
                let folder = package.trim_start_matches("ask-");
                let known = [format!("crates/{folder}"), folder.to_owned()];
                assert!(known.iter().any(|path| root().join(path).join("Cargo.toml").is_file()), "{command}");
            }
        }
        if let Some(at) = words.iter().position(|word| *word == "it")
            && let Some(filter) = words.get(at + 1)
        {
            let module = root().join("tests/tests/it").join(format!("{filter}.rs")).is_file();
            assert!(
                module || sources.contains(&format!("fn {filter}")) || sources.contains(*filter),
                "{command}"
            );
        }
    }
    for script in page.split('`').filter(|piece| piece.starts_with("scripts/")) {
        let path = script.split(' ').next().unwrap();
        assert!(root().join(path).is_file(), "{script}");
    }
}
