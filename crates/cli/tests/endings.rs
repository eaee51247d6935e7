//! The binary's words and exit codes for each ending.

#[cfg(test)]
mod support;

use ask_contract::{Abstention, ErrorKind, EventBody, Failure, Problem, ProblemCode, Refusal, RefusalKind};
use support::{Script, Service, answer, answered, lines};

const Q: &str = "Which team is fastest?";

#[test]
fn an_answer_goes_to_standard_output_whole() {
    let service = Service::start(answered());
    let ran = service.run(&["--sql", Q]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        ran.stdout,
        "Fastest team: Billing\n\n\
         Billing resolves tickets fastest.\n\n\
         team       avg_minutes\n\
         ───────────────────────\n\
         Billing           41.5\n\
         Frontline       1203\n\
         There are more rows than the service returned.\n\n\
         Definitions\n  Resolution Time: Time to resolve, without waiting on the customer. (support.ResolutionTime)\n\n\
         SQL\n  SELECT team, AVG(resolution_minutes) FROM support.tickets GROUP BY team\n\n\
         Caveats\n  ! Tickets before 2024 lack a team.\n\n\
         Path: full / warehouse; sources support; tables support.tickets\n"
    );
    for told in [
        "] Looking up “Resolution Time” in the catalog\n",
        "] Asking support\n",
        "Took 2.1 s, 3 model calls, 1 step, demo-analyst (high).\n",
        "Follow up with: ask --conversation c1 QUESTION\n",
    ] {
        assert!(ran.stderr.contains(told), "{told}\nis not in\n{}", ran.stderr);
    }
    assert!(!ran.stderr.contains("run_query"), "steps are for those who ask for them");
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'));
    let paths: Vec<_> = service.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(
        paths,
        ["/gw/ask/v1/conversations", "/gw/ask/v1/conversations/c1/asks", "/gw/ask/v1/asks/t1/events"]
    );
}

#[test]
fn an_abstention_goes_to_standard_error() {
    let ending = Abstention {
        text: "The catalog has nothing on customer satisfaction.".to_owned(),
        searched_terms: vec!["customer satisfaction".to_owned(), "csat".to_owned()],
    };
    let ran = Service::start(Script::ending(EventBody::Abstention(ending))).run(&[Q]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""));
    assert!(ran.stderr.contains("No answer: The catalog has nothing on customer satisfaction.\n"));
    assert!(ran.stderr.contains("Searched the catalog for “customer satisfaction”, “csat”.\n"));
}

#[test]
fn a_refusal_is_no_empty_result() {
    let ending = Refusal {
        what: RefusalKind::Access,
        detail: "You have no role on this source.".to_owned(),
        source: Some("support".to_owned()),
    };
    let ran = Service::start(Script::ending(EventBody::Refusal(ending))).run(&[Q]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""));
    assert!(
        ran.stderr.contains("Refused by support: you may not see this.\nYou have no role on this source.\n")
    );
    assert!(ran.stderr.contains("the question was not answered"));
}

#[test]
fn an_error_says_what_failed() {
    let ending = Failure { kind: ErrorKind::Model, detail: "no answer in time".to_owned() };
    let ran = Service::start(Script::ending(EventBody::Error(ending))).run(&[Q]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(5), ""));
    assert!(ran.stderr.contains("Failed: the model failed.\nno answer in time\n"));
}

#[test]
fn an_ask_cancelled_elsewhere_is_told_as_such() {
    let ran = Service::start(Script::ending(support::cancelled())).run(&[Q]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(6), ""));
    assert!(ran.stderr.contains("Cancelled.\n"));
}

#[test]
fn json_prints_every_event_as_received_and_nothing_else() {
    let mut script = answered();
    let more = r#"{"type":"applause","seq":0,"x":1}"#;
    script.before = format!("event: applause\ndata: {more}\n\n");
    let ran = Service::start(script).run(&["--json", Q]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let kinds: Vec<_> =
        lines(&ran.stdout).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["accepted", "branch", "milestone", "milestone", "step", "branch", "answer", "done"]);

    let ending = Refusal { what: RefusalKind::Guard, detail: "no".to_owned(), source: None };
    let ran = Service::start(Script::ending(EventBody::Refusal(ending))).run(&["--json", Q]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(4), ""));
    assert_eq!(lines(&ran.stdout)[6]["what"], "guard");
}

#[test]
fn layouts_differ_and_caveats_are_always_told() {
    let csv = Service::start(answered()).run(&["--format", "csv", Q]);
    assert_eq!(csv.stdout, "team,avg_minutes\nBilling,41.5\nFrontline,1203\n");
    assert!(csv.stderr.contains("! Tickets before 2024 lack a team.\n"));
    let json = Service::start(answered()).run(&["--format", "json", Q]);
    assert_eq!(lines(&json.stdout)[0]["caveats"][0], "Tickets before 2024 lack a team.");
    let markdown = Service::start(answered()).run(&["--format", "markdown", Q]);
    assert!(markdown.stdout.contains("### Caveats\n\n- Tickets before 2024 lack a team.\n"));
    let text = Service::start(answered()).run(&["--rows", "1", Q]);
    assert!(!text.stdout.contains("SELECT") && text.stdout.contains("! Tickets before 2024"));
    assert!(text.stdout.contains("1 of 2 rows shown") && !text.stdout.contains("Frontline"));
}

#[test]
fn a_trace_shows_the_work() {
    let ran = Service::start(answered()).run(&["--trace", Q]);
    assert!(ran.stderr.contains("12 ms  warehouse__run_query  {\"sql\":\"select 1\"}\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("tokens: 10 in, 5 out, 7 read from cache, 2 written to cache\n"));
    assert!(!ran.stdout.contains("run_query"));
}

#[test]
fn quiet_leaves_the_answer_alone() {
    let ran = Service::start(answered()).run(&["-q", Q]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.starts_with("Fastest team"));
}

#[test]
fn colour_is_for_those_who_ask_or_look() {
    let service = Service::start(answered());
    let ran = service.run(&["--color", "always", Q]);
    assert!(ran.stdout.starts_with("\u{1b}[1mFastest team: Billing\u{1b}[0m\n"));
    assert!(ran.stdout.contains("\u{1b}[33m! Tickets"));
}

#[test]
fn nothing_a_peer_sent_steers_the_terminal() {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202E}x\u{2028}y\r";
    let mut answer = answer();
    answer.text = evil.to_owned();
    answer.caveats = vec![evil.to_owned()];
    answer.result.as_mut().unwrap().rows[0][0] = evil.into();
    let harmless = |text: &str| {
        text.chars()
            .all(|char| char == '\n' || !char.is_control() && !matches!(char, '\u{202E}' | '\u{2028}'))
    };
    for args in [
        vec![Q],
        vec!["--json", Q],
        vec!["--format", "csv", Q],
        vec!["--format", "json", Q],
        vec!["--format", "markdown", "--trace", Q],
    ] {
        let ran = Service::start(Script::ending(EventBody::Answer(Box::new(answer.clone())))).run(&args);
        assert_eq!(ran.code, Some(0));
        assert!(harmless(&ran.stdout) && harmless(&ran.stderr), "{args:?}: {ran:?}");
        if args.contains(&"--json") {
            assert_eq!(lines(&ran.stdout)[6]["text"], evil, "the document is the same");
        }
    }
    for ending in [
        EventBody::Abstention(Abstention { text: evil.to_owned(), searched_terms: vec![evil.to_owned()] }),
        EventBody::Refusal(Refusal {
            what: RefusalKind::Guard,
            detail: evil.to_owned(),
            source: Some(evil.to_owned()),
        }),
        EventBody::Error(Failure { kind: ErrorKind::Internal, detail: evil.to_owned() }),
    ] {
        let ran = Service::start(Script::ending(ending)).run(&[Q]);
        assert!(harmless(&ran.stderr), "{ran:?}");
    }
    let problem = Problem::new(ProblemCode::InvalidRequest).with_detail(evil);
    let ran = Service::start(Script { refuse: Some(("/asks", problem)), ..answered() }).run(&[Q]);
    assert!(ran.code == Some(2) && harmless(&ran.stderr), "{ran:?}");
}
