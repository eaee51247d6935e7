//! Whatever happens in whatever order, a ticket's log keeps the contract's rules.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a test says by failing"
)]

use std::collections::HashSet;
use std::sync::Arc;

use ask_contract::{
    Abstention, Answer, AnswerPath, BranchId, BranchRole, BranchState, ConversationId, ErrorKind, Event,
    EventBody, EventType, Failure, Milestone, PathDetail, Phase, Refusal, RefusalKind, Speed, Step, TicketId,
    Timestamp,
};
use ask_core::ticket::{HopUsage, Log, Progress, Terminal, TicketLife, TicketSpec};
use proptest::prelude::*;

const TTL_MS: i64 = 1_500;
const QUESTION: &str = "Which support team resolves tickets fastest?";

/// Something that happens to a ticket.
#[derive(Debug, Clone)]
enum Happening {
    Opened(u8, bool),
    Closed(u8),
    Stepped(u8),
    Told(u8),
    Hop,
    Used(u64),
    Ended(u8),
    Cancelled,
    /// The actor dies: its guard ends the log.
    Panicked,
    /// Time passes, and with it perhaps the ticket's life.
    Waited(i64),
    /// A reader begins after this many events seen, with this budget.
    Subscribed(u64, usize),
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let one = prop_oneof![
        3 => (0..4_u8, any::<bool>()).prop_map(|(branch, source)| Happening::Opened(branch, source)),
        2 => (0..4_u8).prop_map(Happening::Closed),
        12 => (0..4_u8).prop_map(Happening::Stepped),
        6 => (0..4_u8).prop_map(Happening::Told),
        1 => Just(Happening::Hop),
        1 => (0..1000_u64).prop_map(Happening::Used),
        1 => (0..4_u8).prop_map(Happening::Ended),
        1 => Just(Happening::Cancelled),
        1 => Just(Happening::Panicked),
        2 => (0..3_000_i64).prop_map(Happening::Waited),
        4 => (0..40_u64, 1..4000_usize).prop_map(|(seen, budget)| Happening::Subscribed(seen, budget)),
    ];
    prop::collection::vec(one, 0..80)
}

fn branch(number: u8) -> BranchId {
    BranchId::new(format!("x{number}"))
}

fn terminal(number: u8) -> Terminal {
    match number {
        0 => Terminal::Answer(Box::new(Answer {
            text: format!("You asked {QUESTION} and it is Billing."),
            path: AnswerPath { speed: Speed::Full, detail: PathDetail::Warehouse },
            provenance: vec![],
            sources: vec![],
            tables: vec![],
            sql: vec![format!("SELECT '{}'", QUESTION.to_uppercase())],
            caveats: vec![],
            result: None,
            headline: None,
            divergence: None,
        })),
        1 => {
            Terminal::Abstention(Abstention { text: "nothing".into(), searched_terms: vec![QUESTION.into()] })
        }
        2 => Terminal::Refusal(Refusal { what: RefusalKind::Access, detail: QUESTION.into(), source: None }),
        _ => Terminal::Error(Failure { kind: ErrorKind::Model, detail: QUESTION.replace(' ', "\n") }),
    }
}

fn life(max_events: usize) -> TicketLife {
    let spec = TicketSpec {
        ticket: TicketId::new("t_1"),
        conversation_id: ConversationId::new("c_1"),
        question: QUESTION.into(),
        turn: 1,
        model: "model".into(),
        effort: "high".into(),
        max_events,
    };
    TicketLife::accept(spec, Timestamp::from_unix_ms(1_000))
}

/// Everything after `seen`, read in pieces of `budget`.
fn read_all(log: &Log, mut seen: u64, budget: usize) -> (Vec<u8>, u64) {
    let mut bytes = Vec::new();
    loop {
        let batch = log.read(seen, budget);
        if batch.bytes.is_empty() {
            return (bytes, seen);
        }
        assert!(batch.seen > seen, "a batch with bytes moves the cursor");
        bytes.extend_from_slice(&batch.bytes);
        seen = batch.seen;
    }
}

fn events(bytes: &[u8]) -> Vec<Event> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.split_terminator("\n\n")
        .map(|frame| {
            let lines: Vec<&str> = frame.split('\n').collect();
            let [id, name, data] = lines.as_slice() else { panic!("three lines a frame: {frame:?}") };
            let event: Event = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(id.strip_prefix("id: ").unwrap().parse(), Ok(event.seq));
            assert_eq!(name.strip_prefix("event: ").unwrap(), event.body.event_type().as_str());
            event
        })
        .collect()
}

/// The rules, on the log as it stands.
fn check(log: &Log, steps_emitted: u64, max_events: usize, ended: bool) {
    let (bytes, _) = read_all(log, 0, 64 * 1024);
    let events = events(&bytes);
    let types: Vec<EventType> = events.iter().map(|event| event.body.event_type()).collect();
    assert_eq!(types.first(), Some(&EventType::Accepted));
    assert_eq!(types.iter().filter(|name| **name == EventType::Accepted).count(), 1);
    assert!(events.windows(2).all(|pair| pair[0].seq < pair[1].seq), "seq rises");
    let retained_steps = types.iter().filter(|name| **name == EventType::Step).count() as u64;
    let latest = log.latest();
    let missing = latest - events.len() as u64;
    assert_eq!(missing, steps_emitted - retained_steps, "a gap is only ever dropped steps");
    assert!(missing == 0 || events.len() >= max_events, "nothing is dropped before the log is full");
    assert!(retained_steps == 0 || events.len() <= max_events, "steps are dropped once it is");

    let mut open: HashSet<BranchId> = HashSet::new();
    for event in &events {
        match &event.body {
            EventBody::Branch(branch) => match branch.state {
                BranchState::Opened => assert!(open.insert(branch.branch_id.clone()), "opened once"),
                BranchState::Closed => assert!(open.remove(&branch.branch_id), "closed while open"),
            },
            EventBody::Step(step) => assert!(open.contains(&step.branch_id)),
            EventBody::Milestone(milestone) => assert!(open.contains(&milestone.branch_id)),
            _ => {}
        }
    }
    let terminals = types.iter().filter(|name| name.is_terminal()).count();
    let dones = types.iter().filter(|name| **name == EventType::Done).count();
    assert_eq!((terminals, dones), if ended { (1, 1) } else { (0, 0) });
    assert_eq!(log.is_done(), ended);
    if ended {
        assert!(open.is_empty(), "branches are closed at the end");
        assert_eq!(types.last(), Some(&EventType::Done));
        assert!(types[types.len() - 2].is_terminal());
        let Some(EventBody::Done(done)) = events.last().map(|event| &event.body) else { unreachable!() };
        assert_eq!(done.steps, steps_emitted);
        assert_eq!(Some(done.outcome), log.outcome());
        let stands = log.snapshot();
        assert_eq!(serde_json::from_slice::<Event>(&stands.done.unwrap()).unwrap(), *events.last().unwrap());
        assert_eq!(
            serde_json::from_slice::<Event>(&stands.terminal.unwrap()).unwrap(),
            events[events.len() - 2]
        );
    }
    let after_accepted =
        String::from_utf8(bytes).unwrap().to_lowercase().replace(|c: char| !c.is_alphanumeric(), "");
    let folded = QUESTION.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "");
    assert_eq!(after_accepted.matches(&folded).count(), 1, "the question stands in accepted alone");
}

proptest! {
    #[test]
    fn every_interleaving_keeps_the_rules(happenings in happenings(), max_events in 1..40_usize) {
        let mut life = life(max_events);
        let log: Arc<Log> = Arc::clone(life.log());
        let (mut steps, mut ended, mut readers) = (0, false, Vec::new());
        let mut ended_at = None;
        let mut now = 1_000;
        for happening in happenings {
            now += 7;
            let at = Timestamp::from_unix_ms(now);
            let before = log.latest();
            let taken = match happening {
                Happening::Opened(number, source) => life.emit(Progress::BranchOpened {
                    branch_id: branch(number),
                    role: if source { BranchRole::Source } else { BranchRole::Supervisor },
                    source: source.then(|| "support".to_owned()),
                }, at),
                Happening::Closed(number) => life.emit(Progress::BranchClosed { branch_id: branch(number) }, at),
                Happening::Stepped(number) => {
                    let mut args = serde_json::Map::new();
                    args.insert("sql".into(), format!("-- {QUESTION}").into());
                    let taken = life.emit(Progress::Step(Step {
                        branch_id: branch(number), tool: "w__q".into(), args, ms: 1, is_error: false,
                    }), at);
                    steps += u64::from(taken.is_ok());
                    taken
                }
                Happening::Told(number) => life.emit(Progress::Milestone(Milestone {
                    branch_id: branch(number), phase: Phase::Querying, subject: Some(QUESTION.into()), source: None,
                }), at),
                Happening::Hop => { life.count_hop(); Ok(()) }
                Happening::Used(tokens) => {
                    life.count_usage(HopUsage { tokens_in: tokens, ..HopUsage::default() }, &["effort"]);
                    Ok(())
                }
                Happening::Ended(number) => life.end(terminal(number), at),
                Happening::Cancelled => life.fail(ErrorKind::Cancelled, "cancelled", at),
                Happening::Panicked => life.fail(ErrorKind::Internal, "lost", at),
                Happening::Waited(ms) => { now += ms; Ok(()) }
                Happening::Subscribed(seen, budget) => { readers.push((seen, budget, Vec::new(), seen)); Ok(()) }
            };
            if ended || taken.is_err() {
                prop_assert_eq!(log.latest(), before, "what is not taken leaves no trace");
            }
            ended = ended || life.outcome().is_some();
            if ended {
                ended_at.get_or_insert(at);
            }
            // A running ticket never expires; an ended one does so a fixed time after its end, whatever came later.
            prop_assert_eq!(life.expires_at(TTL_MS), ended_at.map(|at: Timestamp| at.plus_ms(TTL_MS)));
            // Readers follow live, in pieces of their own.
            for (_, budget, got, seen) in &mut readers {
                let (bytes, now_seen) = read_all(&log, *seen, *budget);
                got.extend(bytes);
                *seen = now_seen;
            }
            check(&log, steps, max_events, ended);
        }
        // A reader that followed live has every event that a replay from its place has, byte for byte, and maybe
        // steps that were dropped since.
        for (from, budget, got, _) in &readers {
            let (replayed, _) = read_all(&log, *from, *budget);
            let live: Vec<&[u8]> = frames(got);
            prop_assert!(frames(&replayed).iter().all(|frame| live.contains(frame)));
        }
    }

    #[test]
    fn a_reader_without_drops_sees_the_same_bytes_live_and_replayed(count in 1..60_usize, budget in 1..3000_usize) {
        let mut life = life(1_000);
        let log = Arc::clone(life.log());
        let (mut live, mut seen) = (Vec::new(), 0);
        let opened = Progress::BranchOpened { branch_id: branch(1), role: BranchRole::Supervisor, source: None };
        life.emit(opened, Timestamp::from_unix_ms(2_000)).unwrap();
        for _ in 0..count {
            let told = Milestone { branch_id: branch(1), phase: Phase::Grounding, subject: None, source: None };
            life.emit(Progress::Milestone(told), Timestamp::from_unix_ms(3_000)).unwrap();
            let (bytes, now_seen) = read_all(&log, seen, budget);
            live.extend(bytes);
            seen = now_seen;
        }
        life.end(terminal(0), Timestamp::from_unix_ms(4_000)).unwrap();
        let (bytes, _) = read_all(&log, seen, budget);
        live.extend(bytes);
        for from in 0..=log.latest() {
            let (replayed, at) = read_all(&log, from, budget);
            prop_assert!(live.ends_with(&replayed));
            prop_assert_eq!(at, log.latest());
            prop_assert!(log.read(at, budget).over);
        }
        prop_assert_eq!(read_all(&log, 0, budget).0, live);
    }
}

fn frames(bytes: &[u8]) -> Vec<&[u8]> {
    let mut frames = Vec::new();
    let mut start = 0;
    for at in 0..bytes.len().saturating_sub(1) {
        if &bytes[at..at + 2] == b"\n\n" {
            frames.push(&bytes[start..at + 2]);
            start = at + 2;
        }
    }
    frames
}
