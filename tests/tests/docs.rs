//! The documents say what the code says: settings, options, exit codes, errors, links.
//!
//! `ask` must have been built before (`cargo build --workspace --bins`, which `make test` does).

#![expect(clippy::unwrap_used, clippy::panic, clippy::string_slice, reason = "a test says by failing")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|err| panic!("{}: {err}", path.display()))
}

/// The files below a folder whose names end so.
fn files(folder: impl AsRef<Path>, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join(folder)).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
    found
}

/// The code that reads settings.
fn settings_code() -> String {
    let mut paths = files("crates/service/src/settings", "rs");
    paths.extend(["crates/executor/src/settings.rs", "crates/executor/src/main.rs"].map(PathBuf::from));
    paths.iter().map(read).collect()
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
    let code = settings_in(&settings_code());
    let documented = settings_in(&read("docs/operations.md"));
    let missing: Vec<&String> = code.difference(&documented).collect();
    let invented: Vec<&String> = documented.difference(&code).collect();
    assert!(missing.is_empty() && invented.is_empty(), "missing {missing:?}, invented {invented:?}");
}

#[test]
fn every_setting_that_other_pages_name_is_there() {
    let code = settings_in(&settings_code());
    for page in pages() {
        let named = settings_in(&read(&page));
        let invented: Vec<&String> = named.difference(&code).collect();
        assert!(invented.is_empty(), "{} names {invented:?}", page.display());
    }
}

/// What a number in the code or in a table is: `25_000`, `25,000`, `64 * 1024`.
fn number(text: &str) -> Option<u64> {
    text.split('*').map(|factor| factor.trim().replace(['_', ','], "").parse::<u64>().ok()).product()
}

#[test]
fn the_executors_defaults_in_the_table_are_those_of_the_code() {
    // The service's tables are made from its code, which a test of its own holds them to.
    let code = read("crates/executor/src/settings.rs");
    let page = read("docs/operations.md");
    let mut compared = 0;
    for row in page.lines().filter(|line| line.starts_with("| `DAS_")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`');
        let in_code = code.match_indices(&format!("\"{name}\", ")).find_map(|(at, found)| {
            let rest = &code[at + found.len()..];
            number(rest.split([')', ',']).next()?)
        });
        if let (Some(documented), Some(in_code)) = (number(cells[2]), in_code) {
            assert_eq!(documented, in_code, "{name}");
            compared += 1;
        }
    }
    assert!(compared >= 4, "only {compared} defaults were compared");
}

#[test]
fn every_secret_may_come_from_a_file_and_the_page_says_which_do() {
    let code = settings_code();
    let secrets: BTreeSet<&str> = code
        .split("secret(\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .filter(|name| name.starts_with("DAS_"))
        .collect();
    let page = read("docs/operations.md");
    let documented: BTreeSet<&str> = page
        .lines()
        .filter(|line| line.starts_with("| `DAS_") && line.contains("secret;"))
        .filter_map(|line| line.split('`').nth(1))
        .collect();
    assert_eq!(secrets, documented);
}

fn pages() -> Vec<PathBuf> {
    let mut all = files("docs", "md");
    all.extend(["README.md", "CHANGELOG.md"].map(|name| root().join(name)));
    all
}

/// The anchors of a page: its headings as GitHub names them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        fenced ^= line.starts_with("```");
        if let Some(heading) = line.strip_prefix('#').filter(|_| !fenced) {
            let heading = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
            found.insert(kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect());
        }
    }
    found
}

#[test]
fn every_link_leads_somewhere() {
    let all = pages();
    assert!(all.len() > 20);
    for page in all {
        let text = read(&page);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") {
                continue;
            }
            let (path, anchor) =
                target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
            let full = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            assert!(full.exists(), "{} links to {target}", page.display());
            if let Some(anchor) = anchor {
                assert!(anchors(&read(&full)).contains(anchor), "{} links to {target}", page.display());
            }
        }
    }
}

#[test]
fn every_example_in_json_is_json() {
    for page in pages() {
        let text = read(&page);
        for example in text.split("\n```json\n").skip(1).filter_map(|rest| rest.split("\n```").next()) {
            let read: Result<Value, _> = serde_json::from_str(example);
            assert!(read.is_ok(), "{}: {read:?} in {example}", page.display());
        }
    }
}

/// The help of `ask`, or of one of its verbs.
fn help(verb: Option<&str>) -> String {
    let this = std::env::current_exe().unwrap();
    let ask = this.parent().and_then(Path::parent).unwrap().join("ask");
    assert!(ask.is_file(), "ask is not built: run `cargo build --workspace --bins`");
    String::from_utf8(Command::new(ask).args(verb).arg("--help").output().unwrap().stdout).unwrap()
}

#[test]
fn exit_codes_on_the_page_are_those_of_the_help() {
    let help = help(None);
    let told = help.split("Exit codes:").nth(1).unwrap();
    // A line is `    0  an answer`, and may hold a second code behind a semicolon.
    let told: BTreeSet<u8> = told
        .lines()
        .filter(|line| line.starts_with("    "))
        .flat_map(|line| line.split("; "))
        .filter_map(|part| part.split_whitespace().next()?.parse().ok())
        .collect();
    let page = read("docs/cli.md");
    let table = page.split("## Exit codes").nth(1).unwrap();
    let listed: BTreeSet<u8> =
        table.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse().ok()).collect();
    assert_eq!(listed, told);
    assert!(told.contains(&0) && told.len() > 5, "{told:?}");
}

/// The long options in a text, without those that are only said to be known from elsewhere.
fn options_in(text: &str) -> BTreeSet<&str> {
    let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    text.match_indices("--")
        .filter(|(at, _)| text[..*at].ends_with([' ', '`', '|', '(']))
        .map(|(at, _)| {
            let rest = &text[at..];
            &rest[..rest.find(|letter: char| !is_name(letter)).unwrap_or(rest.len())]
        })
        .filter(|option| option.len() > 3 && !option.starts_with("---"))
        .collect()
}

#[test]
fn options_on_the_page_are_those_of_the_help() {
    let own = help(None);
    let commands = own.split("Commands:").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
    let verbs: BTreeSet<&str> = commands.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let helps: Vec<String> = verbs.iter().map(|verb| help(Some(verb))).chain([own.clone()]).collect();
    let offered: BTreeSet<&str> = helps.iter().flat_map(|help| options_in(help)).collect();
    let page = read("docs/cli.md");
    assert_eq!(options_in(&page), offered);
    for verb in verbs.iter().filter(|verb| **verb != "help") {
        assert!(page.contains(&format!("| `ask {verb}")), "{verb} has no row");
    }
}

#[test]
fn every_problem_code_has_its_page() {
    let openapi: Value = serde_json::from_str(&read("ask.openapi.json")).unwrap();
    let codes: BTreeSet<String> =
        codes_of(&openapi["components"]["schemas"]["Problem"]["properties"]["code"]);
    assert!(codes.len() > 10, "{codes:?}");
    let table: BTreeMap<String, String> = read("docs/errors/README.md")
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains(".md)"))
        .filter_map(|line| Some((line.split('`').nth(1)?.to_owned(), line.split(' ').nth(1)?.to_owned())))
        .collect();
    assert_eq!(table.keys().collect::<BTreeSet<_>>(), codes.iter().collect());
    for code in &codes {
        let page = read(format!("docs/errors/{code}.md"));
        let example = page.split("\n```json\n").nth(1).and_then(|rest| rest.split("\n```").next()).unwrap();
        let example: Value = serde_json::from_str(example).unwrap();
        assert_eq!(example["code"], code.as_str());
        assert_eq!(example["type"], format!("urn:ask:problem:{code}"));
        assert_eq!(example["status"].to_string(), table[code], "{code}");
        assert!(page.contains(&format!("Status {}.", table[code])), "{code}");
    }
}

/// The words that a schema of a string enumeration allows.
fn codes_of(schema: &Value) -> BTreeSet<String> {
    let listed = schema["enum"]
        .as_array()
        .into_iter()
        .flatten()
        .chain(schema["oneOf"].as_array().into_iter().flatten().map(|one| &one["const"]));
    listed.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[test]
fn every_kind_of_error_is_explained() {
    let schema: Value = serde_json::from_str(&read("events.schema.json")).unwrap();
    let kinds = codes_of(&schema["$defs"]["error"]["properties"]["kind"]);
    assert_eq!(kinds.len(), 5, "{kinds:?}");
    let page = anchors(&read("docs/errors/run-errors.md"));
    assert!(kinds.iter().all(|kind| page.contains(kind)), "{kinds:?}");
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
