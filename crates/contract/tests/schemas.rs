//! The published schema files are those of the types, and what the types write is valid by them.

#![expect(clippy::unwrap_used, reason = "a test says by failing")]

use std::path::Path;

use ask_contract::{
    Abstention, Accepted, Answer, AnswerPath, Branch, BranchId, BranchRole, BranchState, ConversationId,
    Done, ErrorKind, Event, EventBody, EventType, Failure, Headline, HeadlineValue, Milestone, Outcome,
    PathDetail, Phase, Provenance, Refusal, RefusalKind, ResultTable, Speed, Step, TicketId, Timestamp,
};
use serde_json::{Value, json};

fn committed(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn committed_files_equal_the_types() {
    let fix = "run `cargo run -p ask-contract --example write_schemas`";
    assert_eq!(committed("ask.openapi.json"), ask_contract::openapi(), "{fix}");
    assert_eq!(committed("events.schema.json"), ask_contract::events_schema(), "{fix}");
}

fn event(body: EventBody) -> Event {
    Event {
        seq: 7,
        ticket: TicketId::new("t"),
        conversation_id: ConversationId::new("c"),
        ts: Timestamp::from_unix_ms(1_790_000_000_000),
        body,
    }
}

fn one_of_each() -> Vec<Event> {
    let branch_id = BranchId::new("b1");
    vec![
        event(EventBody::Accepted(Accepted {
            question: "How many?".into(),
            turn: 1,
            contract_version: "1".into(),
        })),
        event(EventBody::Branch(Branch {
            branch_id: branch_id.clone(),
            state: BranchState::Opened,
            role: BranchRole::Supervisor,
            source: None,
        })),
        event(EventBody::Step(Step {
            branch_id: branch_id.clone(),
            tool: "warehouse__run_query".into(),
            args: json!({"sql": "SELECT 1"}).as_object().unwrap().clone(),
            ms: 3,
            is_error: false,
        })),
        event(EventBody::Milestone(Milestone {
            branch_id,
            phase: Phase::Querying,
            subject: Some("Resolution Time".into()),
            source: Some("support".into()),
        })),
        event(EventBody::Answer(Box::new(Answer {
            text: "Billing".into(),
            path: AnswerPath { speed: Speed::Full, detail: PathDetail::Warehouse },
            provenance: vec![Provenance {
                term: "Resolution Time".into(),
                statement: "Minutes".into(),
                source: "Support.ResolutionTime".into(),
                kind: "glossary_term".into(),
            }],
            sources: vec!["support".into()],
            tables: vec!["support.tickets".into()],
            sql: vec!["SELECT 1".into()],
            caveats: vec![],
            result: Some(ResultTable {
                columns: vec!["n".into()],
                rows: vec![vec![json!(1)]],
                truncated: false,
            }),
            headline: Some(Headline {
                value: HeadlineValue::Number(4.into()),
                unit: Some("minutes".into()),
                label: "average".into(),
            }),
            divergence: None,
        }))),
        event(EventBody::Abstention(Abstention { text: "No".into(), searched_terms: vec!["csat".into()] })),
        event(EventBody::Refusal(Refusal {
            what: RefusalKind::RateLimit,
            detail: "slow down".into(),
            source: None,
        })),
        event(EventBody::Error(Failure { kind: ErrorKind::MaxSteps, detail: "16 steps".into() })),
        event(EventBody::Done(Done {
            outcome: Outcome::Answer,
            hops: 2,
            steps: 5,
            tokens_in: 1,
            tokens_out: 2,
            cache_read_tokens: 3,
            cache_write_tokens: 4,
            ms: 5,
            model: "m".into(),
            effort: "high".into(),
            degraded: vec![],
        })),
    ]
}

#[test]
fn every_event_is_valid_by_the_schema_and_reads_back() {
    let validator = jsonschema::validator_for(&ask_contract::events_schema()).unwrap();
    let events = one_of_each();
    assert_eq!(events.iter().map(|event| event.body.event_type()).collect::<Vec<_>>(), EventType::ALL);
    for event in events {
        let value = serde_json::to_value(&event).unwrap();
        assert!(
            validator.is_valid(&value),
            "{value}: {:?}",
            validator.validate(&value).map_err(|err| err.to_string())
        );
        assert_eq!(serde_json::from_value::<Event>(value).unwrap(), event);
    }
}

#[test]
fn the_schema_refuses_what_the_contract_does_not_allow() {
    let validator = jsonschema::validator_for(&ask_contract::events_schema()).unwrap();
    for event in one_of_each() {
        let good = serde_json::to_value(&event).unwrap();
        for member in ["seq", "ticket", "conversation_id", "ts", "type"] {
            let mut bad = good.clone();
            bad.as_object_mut().unwrap().remove(member);
            assert!(!validator.is_valid(&bad), "without {member}: {bad}");
        }
        let mut bad = good.clone();
        bad["seq"] = json!(0);
        assert!(!validator.is_valid(&bad), "seq 0: {bad}");
    }
}

#[test]
fn the_envelope_comes_first_in_what_is_written() {
    let text = serde_json::to_string(&one_of_each()[0]).unwrap();
    assert!(text.starts_with(r#"{"seq":7,"ticket":"t","conversation_id":"c","ts":""#), "{text}");
}
