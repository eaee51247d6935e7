//! What the binary sends, whom it asks as, and what it does when that fails.

#[cfg(test)]
mod support;

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use ask_contract::{Abstention, Effort, EventBody, Problem, ProblemCode};
use support::{Ran, Script, Service, answer, answered, bare};
use tokio::time::Instant;

const Q: &str = "Which team is fastest?";

#[test]
fn options_reach_the_service() {
    let service = Service::start(answered());
    let ran = service.run(&[
        "--no-context",
        "--model",
        "m1",
        "--effort",
        "low",
        "--conversation",
        "c9",
        "two",
        "words",
    ]);
    assert_eq!(ran.code, Some(0));
    let asks = service.asks();
    assert_eq!((asks[0].question.as_str(), asks[0].context), ("two words", false));
    assert_eq!((asks[0].model.as_deref(), asks[0].effort), (Some("m1"), Some(Effort::Low)));
    assert_eq!(service.requests()[0].path, "/gw/ask/v1/conversations/c9/asks");
}

#[test]
fn follow_ups_are_asked_in_the_same_conversation() {
    let service = Service::start(answered());
    let ran = service.run(&[Q, "--then", "And that team's average?", "--then", "And last year?"]);
    assert_eq!(ran.code, Some(0));
    let questions: Vec<_> = service.asks().into_iter().map(|ask| ask.question).collect();
    assert_eq!(questions, [Q, "And that team's average?", "And last year?"]);
    assert_eq!(ran.stdout.matches("Fastest team: Billing").count(), 3);
    assert_eq!(ran.stderr.matches("Follow up with").count(), 1);
}

#[test]
fn the_first_ending_that_is_no_answer_is_the_last() {
    let nothing = EventBody::Abstention(Abstention { text: "no".to_owned(), searched_terms: Vec::new() });
    let service = Service::start(Script {
        endings: vec![EventBody::Answer(Box::new(answer())), nothing],
        ..Script::default()
    });
    let ran = service.run(&[Q, "--then", "second", "--then", "third"]);
    assert_eq!((ran.code, service.asks().len()), (Some(3), 2));
}

#[test]
fn a_question_is_read_from_standard_input() {
    let service = Service::start(answered());
    let mut child = service.command(&["-"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all("How many\ntickets?\n".as_bytes()).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(service.asks()[0].question, "How many\ntickets?");
    assert_eq!(Service::start(answered()).run(&["-"]).code, Some(2));
}

#[test]
fn a_person_signs_in_at_the_development_issuer() {
    let service = Service::start(answered());
    assert_eq!(service.run(&["--user", "bob", Q]).code, Some(0), "the option wins over ASK_TOKEN");
    let requests = service.requests();
    assert_eq!(requests[0].path, "/token");
    assert_eq!(
        requests[0].body,
        "grant_type=password&username=bob&client_id=ask-cli&scope=openid+api%3A%2F%2Fdata-agent-service%2Faccess_as_user"
    );
    assert!(
        requests[1..].iter().all(|request| request.header("authorization") == Some("Bearer issued.for.you"))
    );
}

#[test]
fn a_sign_in_that_fails_says_why() {
    let service = Service::start(answered());
    let ran = service.run(&["--user", "mallory", Q]);
    assert_eq!(ran.code, Some(7));
    assert_eq!(
        ran.stderr,
        "ask: can't sign in as mallory: the issuer answered 400: no such\u{FFFD} person\n"
    );
    let ran = Ran::from(bare(&["--user", "alice", Q]).output().unwrap());
    assert!(ran.code == Some(7) && ran.stderr.contains("ASK_TOKEN_URL"), "{ran:?}");
    let ran = Ran::from(bare(&[Q]).output().unwrap());
    assert!(ran.code == Some(7) && ran.stderr.contains("nobody is signed in"), "{ran:?}");
}

#[test]
fn a_token_comes_from_a_file_too_and_is_never_shown() {
    let path = std::env::temp_dir().join(format!("ask-cli-token-{}", std::process::id()));
    std::fs::write(&path, "from.a.file\n").unwrap();
    let service = Service::start(answered());
    let ran = service.run(&["--token-file", path.to_str().unwrap(), "--trace", Q]);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(ran.code, Some(0));
    assert_eq!(service.requests()[0].header("authorization"), Some("Bearer from.a.file"));
    assert!(!ran.stderr.contains("from.a.file"));
    let help = service.run(&["--help"]);
    assert!(help.code == Some(0) && !help.stdout.contains("to.ke.n"));
    let ran = Ran::from(service.command(&["--user", "", Q]).env("ASK_TOKEN", "").output().unwrap());
    assert!(ran.code == Some(7) && ran.stderr.contains("nobody is signed in"), "{ran:?}");
    let bad = Ran::from(bare(&[Q]).env("ASK_TOKEN", "se cret").output().unwrap());
    assert!(bad.code == Some(7) && !bad.stderr.contains("se cret"), "{bad:?}");
}

#[test]
fn bad_usage_is_told_without_a_call() {
    for args in [vec![], vec!["  "], vec![Q, "--effort", "extreme"], vec![Q, "--then", ""], vec!["watch"]] {
        let service = Service::start(answered());
        let ran = service.run(&args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(service.requests().is_empty());
    }
}

#[test]
fn help_documents_the_exit_codes() {
    let ran = Ran::from(bare(&["--help"]).output().unwrap());
    for line in [
        "0  an answer",
        "2  bad usage",
        "3  an abstention",
        "4  a refusal",
        "5  an error",
        "6  cancelled",
        "7  ",
    ] {
        assert!(ran.stdout.contains(line), "{line}");
    }
}

#[test]
fn a_service_that_is_not_there_is_told_at_once() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let begin = Instant::now();
    let ran =
        Ran::from(bare(&["--base", &format!("http://{free}"), "--token", "a.b.c", Q]).output().unwrap());
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(7), ""));
    assert!(ran.stderr.contains(&format!("can't reach the service at http://{free}")), "{}", ran.stderr);
}

#[test]
fn a_service_behind_tls_is_trusted_through_its_authority_alone() {
    let (service, certificate) = Service::start_tls(Script { cut_after: Some(4), ..answered() });
    let path = std::env::temp_dir().join(format!("ask-cli-ca-{}.pem", std::process::id()));
    std::fs::write(&path, certificate).unwrap();
    let base = format!("https://localhost:{}/gw/ask", service.address.port());
    let trusted = service.run(&["--base", &base, "--ca-file", path.to_str().unwrap(), Q]);
    std::fs::remove_file(&path).unwrap();
    assert!(trusted.code == Some(0) && trusted.stdout.starts_with("Fastest team: Billing\n"), "{trusted:?}");
    let seen = service.requests().len();
    let distrusted = service.run(&["--base", &base, Q]);
    assert_eq!((distrusted.code, service.requests().len()), (Some(7), seen), "{distrusted:?}");
    let missing = service.run(&["--base", &base, "--ca-file", "/nonexistent", Q]);
    assert!(missing.code == Some(7) && missing.stderr.contains("/nonexistent"), "{missing:?}");
}

#[test]
fn problems_have_their_exit_codes() {
    for (code, exit, advice) in [
        (ProblemCode::Unauthenticated, 7, "Sign in again."),
        (ProblemCode::InsufficientScope, 7, "scope"),
        (ProblemCode::InvalidRequest, 2, "not valid"),
        (ProblemCode::AskRunning, 5, "ask cancel TICKET"),
        (ProblemCode::NotFound, 5, "expired"),
        (ProblemCode::TooManyRequests, 5, "429"),
    ] {
        let ran =
            Service::start(Script { refuse: Some(("/asks", Problem::new(code))), ..answered() }).run(&[Q]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(exit), ""), "{ran:?}");
        assert!(ran.stderr.contains(advice), "{}", ran.stderr);
    }
    let problem = Problem::new(ProblemCode::TicketExpired);
    let ran = Service::start(Script { refuse: Some(("/events", problem)), ..answered() }).run(&[Q]);
    assert_eq!(ran.code, Some(5));
}

#[test]
fn a_dropped_connection_goes_unnoticed_but_for_the_trace() {
    for cut_after in [0, 1, 4, 6, 7] {
        let service = Service::start(Script { cut_after: Some(cut_after), ..answered() });
        let ran = service.run(&["--trace", Q]);
        assert_eq!(ran.code, Some(0));
        assert_eq!(ran.stdout.matches("Fastest team: Billing").count(), 1, "cut after {cut_after}");
        assert_eq!(ran.stderr.matches("Asking support").count(), 1);
        assert!(ran.stderr.contains("connection: the stream ended early; attempt 1"), "{}", ran.stderr);
        assert!(
            ran.stderr.contains(&format!("connection: resumed after event {cut_after}\n")),
            "{}",
            ran.stderr
        );
    }
    let quiet = Service::start(Script { cut_after: Some(3), ..answered() }).run(&[Q]);
    assert!(!quiet.stderr.contains("connection"));
}

#[test]
fn a_stream_that_is_over_without_an_ending_asks_for_the_state() {
    let ran = Service::start(Script { nothing_more: true, ..answered() }).run(&[Q]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.starts_with("Fastest team: Billing\n"));
}

#[test]
fn an_ask_is_watched_looked_at_and_cancelled_by_its_ticket() {
    let service = Service::start(answered());
    let watched = service.run(&["watch", "t1"]);
    assert!(watched.code == Some(0) && watched.stdout.starts_with("Fastest team"), "{watched:?}");
    assert_eq!(service.run(&["watch", "t1", "--after", "7"]).code, Some(0));
    let status = service.run(&["status", "t1"]);
    assert_eq!((status.code, status.stdout.as_str()), (Some(0), "finished (answer); event 8\n"));
    let state = service.run(&["--json", "status", "t1"]);
    assert_eq!(support::lines(&state.stdout)[0]["done"]["type"], "done");
    let cancelled = service.run(&["cancel", "t1"]);
    assert_eq!((cancelled.code, cancelled.stdout.as_str()), (Some(0), "The ask is over.\n"));
    assert!(service.cancelled());
}

#[test]
fn starting_up_takes_no_time() {
    // A debug build on a busy machine; a release build takes a few milliseconds.
    let begin = Instant::now();
    assert_eq!(Ran::from(bare(&["--version"]).output().unwrap()).code, Some(0));
    assert!(begin.elapsed() < Duration::from_secs(2));
}
