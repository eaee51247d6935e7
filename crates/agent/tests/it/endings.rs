//! How runs end, by what ran and what was concluded.

use std::rc::Rc;
use std::time::Duration;

use ask_agent::{Report, ToolFailure};
use ask_contract::{ErrorKind, PathDetail, RefusalKind, Speed};
use ask_core::ticket::Terminal;
use ask_llm::{Message, Stop, TurnError};
use serde_json::json;

use crate::world::{Says, World, concludes, gives_up, queries, task, tool_error, usual_tools};

const SQL: &str = "SELECT team, AVG(resolution_minutes) FROM support.tickets GROUP BY team";

#[tokio::test(start_paused = true)]
async fn a_query_and_a_conclusion_make_an_answer_in_two_turns() {
    let world = World::new(vec![queries(SQL), concludes("Billing is fastest.", &["Support.ResolutionTime"])]);
    let Terminal::Answer(answer) = world.ends(task("Which support team resolves tickets fastest?")).await
    else {
        panic!("no answer")
    };
    assert_eq!((answer.path.speed, answer.path.detail), (Speed::Full, PathDetail::Warehouse));
    assert_eq!(answer.sql, [SQL]);
    assert_eq!(answer.provenance[0].statement, "Minutes of our own work, waiting excluded.");
    assert_eq!(answer.caveats, ["Old tickets lack it.", "A gap in May."]);
    assert_eq!(answer.result.unwrap().rows, [vec![json!("Billing"), json!(41.5)]]);
    assert_eq!(world.sent.borrow().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_meaning_is_answered_from_the_catalog_in_one_turn() {
    let world = World::new(vec![concludes("It is our own work.", &["Support.ResolutionTime"])]);
    let Terminal::Answer(answer) = world.ends(task("What does Resolution Time mean?")).await else {
        panic!("no answer")
    };
    assert_eq!((answer.path.speed, answer.path.detail), (Speed::Fast, PathDetail::Catalog));
    assert!(answer.sql.is_empty());
}

#[tokio::test(start_paused = true)]
async fn giving_up_is_an_abstention_with_the_terms_tried() {
    let world = World::new(vec![gives_up()]);
    let question = "What is our customer satisfaction score for support?";
    let Terminal::Abstention(abstention) = world.ends(task(question)).await else { panic!("no abstention") };
    assert_eq!(abstention.searched_terms, ["customer satisfaction score", "support"]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_ends_the_run_without_another_model_call() {
    for (code, what) in [
        ("access", RefusalKind::Access),
        ("guard", RefusalKind::Guard),
        ("rate_limit", RefusalKind::RateLimit),
    ] {
        let refuses = Rc::new(move |tool: &str, args: &_| match tool {
            "run_query" => Ok(tool_error(code, "the tool's own words")),
            _ => usual_tools(tool, args),
        });
        let world = World::with_tools(vec![queries(SQL)], refuses);
        let Terminal::Refusal(refusal) = world.ends(task("Which team?")).await else { panic!("no refusal") };
        assert_eq!((refusal.what, refusal.detail.as_str()), (what, "the tool's own words"));
        assert_eq!(refusal.source.as_deref(), Some("support"));
        let step = world.steps().into_iter().find(|step| step.tool == "warehouse__run_query").unwrap();
        assert!(step.is_error);
        assert_eq!(step.args["sql"], SQL, "a refused call's arguments are kept");
    }
}

#[tokio::test(start_paused = true)]
async fn an_invalid_statement_goes_back_and_may_be_corrected() {
    let invalid = Rc::new(|tool: &str, args: &serde_json::Map<String, serde_json::Value>| match tool {
        "run_query" if args["sql"] == "SELEC" => Ok(tool_error("invalid", "does not parse")),
        _ => usual_tools(tool, args),
    });
    let world = World::with_tools(vec![queries("SELEC"), queries(SQL), concludes("Billing.", &[])], invalid);
    let Terminal::Answer(answer) = world.ends(task("Which team?")).await else { panic!("no answer") };
    assert_eq!(answer.sql, [SQL], "only statements that ran");
    let sent = world.sent.borrow();
    let Some(Message::Results(results)) = sent[1].messages.last() else { panic!("no results") };
    assert!(results[0].is_error && results[0].text.contains("does not parse"));
}

#[tokio::test(start_paused = true)]
async fn a_refused_look_up_closes_its_source_and_the_run_goes_on() {
    let closed = || {
        Rc::new(|tool: &str, args: &_| match tool {
            "list_tables" => Ok(tool_error("access", "no role on sales")),
            _ => usual_tools(tool, args),
        })
    };
    let world = World::with_tools(vec![queries(SQL), concludes("Billing.", &[])], closed());
    assert!(matches!(world.ends(task("Which team?")).await, Terminal::Answer(_)));
    let first = world.sent.borrow()[0].messages[0].clone();
    let Message::User { parts } = first else { panic!("no user message") };
    assert!(parts[0].contains("Closed to this person: \"no role on sales\""), "{}", parts[0]);
    let world = World::with_tools(vec![gives_up()], closed());
    let Terminal::Refusal(refusal) = world.ends(task("Which team?")).await else { panic!("no refusal") };
    assert_eq!(refusal.detail, "no role on sales");
}

#[tokio::test(start_paused = true)]
async fn http_failures_of_a_tool_server_are_told_apart() {
    for (status, expected) in
        [(401, None), (502, None), (403, Some(RefusalKind::Access)), (429, Some(RefusalKind::RateLimit))]
    {
        let fails = Rc::new(move |tool: &str, args: &_| match tool {
            "run_query" => Err(ToolFailure::Status { server: "warehouse".into(), status, retry_after: None }),
            _ => usual_tools(tool, args),
        });
        let world = World::with_tools(vec![queries(SQL)], fails);
        match (world.ends(task("Which team?")).await, expected) {
            (Terminal::Refusal(refusal), Some(what)) => assert_eq!(refusal.what, what),
            (Terminal::Error(failure), None) => assert_eq!(failure.kind, ErrorKind::Transport),
            (other, _) => panic!("{status}: {other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_wait_is_waited_once_and_a_long_one_is_not() {
    for (wait, again, refused) in [(2, 1, false), (2, 2, true), (60, 1, true)] {
        let left = Rc::new(std::cell::Cell::new(again));
        let busy = Rc::new(move |tool: &str, args: &_| {
            if tool == "run_query" && left.get() > 0 {
                left.set(left.get() - 1);
                let retry_after = Some(Duration::from_secs(wait));
                return Err(ToolFailure::Status { server: "warehouse".into(), status: 429, retry_after });
            }
            usual_tools(tool, args)
        });
        let world = World::with_tools(vec![queries(SQL), concludes("Billing.", &[])], busy);
        let refusal = matches!(world.ends(task("Which team?")).await, Terminal::Refusal(_));
        assert_eq!(refusal, refused, "{wait} s, {again} times");
        assert_eq!(world.steps().iter().filter(|step| step.tool == "warehouse__run_query").count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_model_fails_at_is_an_error_of_the_model() {
    for says in [
        Says::Fails(TurnError::Truncated),
        Says::Stops(Stop::MaxTokens),
        Says::Stops(Stop::ContextFull),
        Says::Stops(Stop::Refusal),
        Says::Stops(Stop::ContentFilter),
        Says::Stops(Stop::Unknown),
    ] {
        let world = World::new(vec![queries(SQL), says]);
        let Terminal::Error(failure) = world.ends(task("Which team?")).await else { panic!("no error") };
        assert_eq!(failure.kind, ErrorKind::Model);
    }
}

#[tokio::test(start_paused = true)]
async fn a_paused_turn_goes_on_and_plain_text_ends_it() {
    let world = World::new(vec![queries(SQL), Says::Stops(Stop::Pause), Says::Text("Billing it is.")]);
    let Terminal::Answer(answer) = world.ends(task("Which team?")).await else { panic!("no answer") };
    assert_eq!(answer.text, "Billing it is.");
    assert!(answer.provenance.is_empty(), "plain text concludes nothing");
}

#[tokio::test(start_paused = true)]
async fn every_hop_is_counted_before_and_after() {
    let world = World::new(vec![queries(SQL), concludes("Billing.", &[])]);
    world.run(task("Which team?")).await.unwrap();
    let told = world.told.borrow();
    assert_eq!(told.iter().filter(|report| **report == Report::HopBegan).count(), 2);
    assert_eq!(told.iter().filter(|report| matches!(report, Report::HopEnded { .. })).count(), 2);
}
