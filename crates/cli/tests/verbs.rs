//! The verbs beside asking and looking: chat from a pipe, who is signed in, the doctor, completions, the manual page.

#[cfg(test)]
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use ask_contract::{EventBody, Refusal, RefusalKind};
use support::{Home, NOBODY, Ran, Script, Service, answered, bare};

/// `{"name":"Carol","sub":"s1","iss":"https://id.example","exp":32503680000}`, which nobody signed.
const TOKEN: &str = "e30.eyJuYW1lIjoiQ2Fyb2wiLCJzdWIiOiJzMSIsImlzcyI6Imh0dHBzOi8vaWQuZXhhbXBsZSIsImV4cCI6MzI1MDM2ODAwMDB9.c2ln";

#[test]
fn a_chat_asks_each_line_in_one_conversation() {
    let service = Service::start(answered());
    let ran = service.chat("first?\n\n/sql\nsecond?\n/quit\nnever?\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let questions: Vec<_> = service.asks().into_iter().map(|ask| ask.question).collect();
    assert_eq!(questions, ["first?", "second?"]);
    assert_eq!(ran.stdout.matches("Fastest team: Billing\n").count(), 2);
    assert_eq!(ran.stdout.matches("SELECT team").count(), 1, "shown from /sql on");
    let opened = service.requests().into_iter().filter(|request| request.path.ends_with("/conversations"));
    assert_eq!(opened.count(), 1);
}

#[test]
fn a_new_conversation_begins_where_the_person_says_so() {
    let service = Service::start(answered());
    service.chat("first?\n/new\nsecond?\n");
    let opened = service.requests().into_iter().filter(|request| request.path.ends_with("/conversations"));
    assert_eq!(opened.count(), 2);
}

#[test]
fn a_script_hears_how_its_last_question_ended() {
    let refusal = Refusal { what: RefusalKind::Access, detail: "no".to_owned(), source: None };
    let service = Service::start(Script::ending(EventBody::Refusal(refusal)));
    assert_eq!(service.chat("first?\n").code, Some(4));
}

#[test]
fn a_deadline_is_the_services_to_keep() {
    let service = Service::start(answered());
    assert_eq!(service.run(&["--deadline", "30", "How many?"]).code, Some(0));
    assert_eq!(service.asks()[0].deadline_s, Some(30));
}

#[test]
fn who_is_signed_in_is_told_without_the_token() {
    let ran = Ran::from(bare(&["whoami"]).env("ASK_TOKEN", TOKEN).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("Carol, until 3000-01-01 00:00 UTC, in "), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("; issuer https://id.example\n") && !ran.stdout.contains("eyJ"));
    let ran = Ran::from(bare(&["whoami", "--json"]).env("ASK_TOKEN", TOKEN).output().unwrap());
    let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((told["subject"].as_str(), told["expires_at"].as_i64()), (Some("s1"), Some(32_503_680_000)));
}

#[test]
fn nobody_is_signed_in_at_first() {
    for args in [["whoami"].as_slice(), &["chat"], &["status", "t1"]] {
        let ran = Ran::from(bare(args).output().unwrap());
        assert!(ran.code == Some(7) && ran.stderr.contains("`ask login`"), "{ran:?}");
    }
    let home = Home::new("nobody");
    let ran = Ran::from(bare(&["logout"]).env("HOME", &home.0).output().unwrap());
    assert!(ran.code == Some(0) && ran.stderr.contains("Nobody was signed in"), "{ran:?}");
}

#[test]
fn the_service_may_say_where_to_sign_in_and_the_person_comes_first() {
    let service = Service::start(answered());
    let home = Home::new("where");
    let login = |args: &[&str]| {
        let args = [&["login"], args].concat();
        Ran::from(service.command(&args).env("HOME", &home.0).output().unwrap())
    };
    let ran = login(&[]);
    let told = format!("can't reach {NOBODY}/.well-known/openid-configuration");
    assert!(ran.code == Some(7) && ran.stderr.contains(&told), "{ran:?}");
    let ran = login(&["--issuer", "http://127.0.0.1:1/other"]);
    assert!(ran.code == Some(7) && ran.stderr.contains("http://127.0.0.1:1/other/"), "{ran:?}");
}

#[test]
fn a_sign_in_that_others_can_read_is_not_used() {
    let home = Home::new("open");
    let place = home.0.join(".local/state/ask");
    fs::create_dir_all(&place).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    let file = place.join("7d2aab7bb7a1dde1a2c98bd5e0c8bd4c.json");
    fs::write(&file, "{}").unwrap();
    let ran = Ran::from(bare(&["whoami"]).env("HOME", &home.0).output().unwrap());
    assert_eq!(ran.code, Some(7), "{ran:?}");
}

#[test]
fn the_doctor_says_what_is_missing_and_how_to_mend_it() {
    let ran = Ran::from(bare(&["doctor", "--base", "http://127.0.0.1:1"]).output().unwrap());
    assert_eq!(ran.code, Some(7), "{ran:?}");
    for told in [
        "missing  service",
        "`ask serve`",
        "missing  issuer",
        "--issuer URL",
        "missing  sign-in",
        "`ask login`",
    ] {
        assert!(ran.stdout.contains(told), "{told}\nis not in\n{}", ran.stdout);
    }
    assert!(ran.stdout.lines().all(|line| line.starts_with("ok ") || line.starts_with("missing ")));
}

#[test]
fn the_service_is_not_started_without_settings() {
    let ran = Ran::from(bare(&["serve"]).output().unwrap());
    assert!(
        ran.code == Some(2) && ran.stderr.contains("--env-file") && ran.stderr.contains("--sample"),
        "{ran:?}"
    );
}

#[test]
fn every_shell_gets_its_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = Ran::from(bare(&["completions", shell]).output().unwrap());
        assert!(
            ran.code == Some(0) && ran.stdout.contains("whoami") && ran.stdout.contains("deadline"),
            "{shell}"
        );
    }
}

#[test]
fn the_manual_page_has_every_verb_and_the_exit_codes() {
    let ran = Ran::from(bare(&["man"]).output().unwrap());
    assert!(ran.code == Some(0) && ran.stdout.starts_with(".ie"), "{}", ran.stdout);
    for part in [
        "fBask login",
        "fBask doctor",
        "fBask completions SHELL",
        "\\-\\-scope",
        "\\-\\-deadline",
        "Exit codes",
        "ASK_BASE_URL",
    ] {
        assert!(ran.stdout.contains(part), "{part}");
    }
}
