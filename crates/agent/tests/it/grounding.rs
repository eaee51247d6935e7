//! The look-ups before the first model turn, and what the model is shown.

use ask_contract::Phase;
use ask_core::ticket::Terminal;
use ask_llm::Message;
use serde_json::Value;

use crate::world::{World, concludes, gives_up, queries, task};

#[tokio::test(start_paused = true)]
async fn look_ups_come_first_each_a_step_with_its_milestone() {
    let world = World::new(vec![gives_up()]);
    world.run(task("What does Resolution Time mean?")).await.unwrap();
    let tools: Vec<String> = world.steps().into_iter().map(|step| step.tool).collect();
    assert_eq!(
        tools,
        [
            "warehouse__list_sources",
            "warehouse__list_tables",
            "catalog__search_metadata",
            "catalog__get_entity_details",
            "warehouse__describe_table",
            "catalog__get_entity_details",
        ]
    );
    let milestones = world.milestones();
    assert_eq!(milestones.len(), tools.len());
    assert_eq!(milestones[2].phase, Phase::Grounding);
    assert_eq!(milestones[2].subject.as_deref(), Some("resolution time"));
    assert_eq!(milestones[3].subject.as_deref(), Some("Resolution Time"));
    assert!(world.steps().iter().all(|step| step.ms == 1), "the executor's own figure");
}

#[tokio::test(start_paused = true)]
async fn the_model_is_shown_the_look_ups_and_then_the_question() {
    let world = World::new(vec![gives_up()]);
    world.run(task("What does Resolution Time mean?")).await.unwrap();
    let sent = world.sent.borrow();
    let Message::User { parts } = &sent[0].messages[0] else { panic!("no user message") };
    assert_eq!(parts[1], "What does Resolution Time mean?");
    let lines: Vec<Value> = parts[0]
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 6);
    assert!(parts[0].starts_with("<grounding>") && parts[0].ends_with("</grounding>"));
    assert_eq!(
        sent[0].tools,
        [
            "catalog__get_entity_details",
            "catalog__search_metadata",
            "warehouse__describe_table",
            "warehouse__list_sources",
            "warehouse__list_tables",
            "warehouse__run_query",
            "conclude",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn grounding_can_be_switched_off() {
    let world = World::new(vec![gives_up()]);
    world
        .run(ask_agent::BranchTask { grounding: None, ..task("What does Resolution Time mean?") })
        .await
        .unwrap();
    assert!(world.steps().is_empty());
    let sent = world.sent.borrow();
    assert_eq!(sent[0].messages, [Message::User { parts: vec!["What does Resolution Time mean?".into()] }]);
}

#[tokio::test(start_paused = true)]
async fn without_context_the_catalog_is_neither_asked_nor_offered() {
    let world = World::new(vec![
        queries("SELECT team FROM support.tickets"),
        concludes("x", &["Support.ResolutionTime"]),
    ]);
    let without =
        ask_agent::BranchTask { with_catalog: false, ..task("Which support team resolves tickets fastest?") };
    let Terminal::Answer(answer) = world.ends(without).await else { panic!("no answer") };
    assert!(answer.provenance.is_empty() && answer.caveats.is_empty());
    assert!(world.steps().iter().all(|step| step.tool.starts_with("warehouse__")));
    assert!(world.sent.borrow()[0].tools.iter().all(|tool| !tool.starts_with("catalog__")));
    assert!(world.called.borrow().contains(&"describe_table".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn querying_is_told_in_the_catalogs_words() {
    let world = World::new(vec![queries("SELECT AVG(resolution_minutes) FROM support.tickets"), gives_up()]);
    world.run(task("How long is Resolution Time?")).await.unwrap();
    let querying =
        world.milestones().into_iter().find(|milestone| milestone.phase == Phase::Querying).unwrap();
    assert_eq!(querying.subject.as_deref(), Some("Resolution Time"));
    assert_eq!(querying.source.as_deref(), Some("support"));
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_remembered_whole_each_call_with_its_result() {
    let world = World::new(vec![queries("SELECT team FROM support.tickets"), concludes("Billing.", &[])]);
    let report = world.run(task("Which team?")).await.unwrap();
    let shape: Vec<&str> = report
        .transcript
        .iter()
        .map(|message| match message {
            Message::User { .. } => "user",
            Message::Assistant(_) => "assistant",
            Message::Results(results) => {
                assert_eq!(results.len(), 1);
                "results"
            }
        })
        .collect();
    assert_eq!(shape, ["user", "assistant", "results", "assistant", "results"]);
    let world = World::new(vec![gives_up()]);
    let next = ask_agent::BranchTask { history: report.transcript.clone(), ..task("And that team?") };
    let follow_up = world.run(next).await.unwrap();
    assert!(
        world.sent.borrow()[0].messages.starts_with(&report.transcript),
        "earlier turns are resent in full"
    );
    assert_eq!(follow_up.transcript.len(), 3, "and are not remembered twice");
}
