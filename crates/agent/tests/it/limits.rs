//! A run ends within its limits, whatever the model does.

use std::time::Duration;

use ask_agent::{BranchTask, Ceilings, Stopped};
use ask_contract::ErrorKind;
use ask_core::ticket::Terminal;
use ask_llm::Message;
use serde_json::json;

use crate::world::{Says, World, concludes, gives_up, queries, task};

const SQL: &str = "SELECT team FROM support.tickets";

#[tokio::test(start_paused = true)]
async fn a_model_that_never_ends_meets_the_ceiling_on_turns() {
    let world = World::new((0..20).map(|_| queries(SQL)).collect());
    let Terminal::Error(failure) = world.ends(task("Which team?")).await else { panic!("no error") };
    assert_eq!(failure.kind, ErrorKind::MaxSteps);
    assert_eq!(world.sent.borrow().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_calls_in_one_turn_is_not_made() {
    let flood = (0..10_000).map(|_| ("warehouse__run_query", json!({"sql": SQL}))).collect();
    let world = World::new(vec![Says::Calls(flood)]);
    let Terminal::Error(failure) = world.ends(task("Which team?")).await else { panic!("no error") };
    assert_eq!(failure.kind, ErrorKind::MaxSteps);
    assert!(!world.called.borrow().contains(&"run_query".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_hangs_meets_the_ceiling_on_time() {
    let world = World::new(vec![Says::Hangs]);
    let limited =
        BranchTask { ceilings: Ceilings { model_turns: 6, total: Duration::from_secs(5) }, ..task("Which?") };
    let Terminal::Error(failure) = world.ends(limited).await else { panic!("no error") };
    assert_eq!(
        (failure.kind, failure.detail.as_str()),
        (ErrorKind::MaxSteps, "the run took longer than its limit of 5 s")
    );
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_turn_take_the_time_of_one() {
    let calls = || Says::Calls((0..8).map(|_| ("warehouse__run_query", json!({"sql": SQL}))).collect());
    let mut world = World::new(vec![calls(), concludes("x", &[])]);
    world.call_time = Duration::from_secs(1);
    let begun = tokio::time::Instant::now();
    world.run(BranchTask { grounding: None, ..task("Which team?") }).await.unwrap();
    // One second for the eight, one for the table's caveats.
    assert_eq!(begun.elapsed().as_secs(), 2);
}

#[tokio::test(start_paused = true)]
async fn only_offered_tools_are_called() {
    let world = World::new(vec![
        Says::Calls(vec![
            ("warehouse__drop_table", json!({})),
            ("run_query", json!({"sql": SQL})),
            ("catalog__run_query", json!({"sql": SQL})),
            ("evil__run_query", json!({"sql": SQL})),
        ]),
        gives_up(),
    ]);
    assert!(matches!(world.ends(task("Which team?")).await, Terminal::Abstention(_)));
    assert!(!world.called.borrow().contains(&"run_query".to_owned()));
    let sent = world.sent.borrow();
    let Some(Message::Results(results)) = sent[1].messages.last() else { panic!("no results") };
    assert_eq!(results.len(), 4);
    assert!(results.iter().all(|result| result.is_error));
}

#[tokio::test(start_paused = true)]
async fn an_unusable_conclusion_goes_back_to_the_model() {
    let unusable = Says::Calls(vec![("conclude", json!({"kind": "perhaps", "text": "x"}))]);
    let world = World::new(vec![unusable, gives_up()]);
    assert!(matches!(world.ends(task("Which team?")).await, Terminal::Abstention(_)));
    assert_eq!(world.sent.borrow().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_ticket_that_ended_stops_the_branch_wherever_it_is() {
    let count = {
        let world = World::new(vec![queries(SQL), concludes("x", &[])]);
        world.run(task("Which team?")).await.unwrap();
        world.told.borrow().len()
    };
    for after in 0..count {
        let world = World::new(vec![queries(SQL), concludes("x", &[])]);
        world.stop_after.set(Some(after));
        assert_eq!(world.run(task("Which team?")).await.err(), Some(Stopped), "after {after} reports");
        assert_eq!(world.told.borrow().len(), after);
    }
}
