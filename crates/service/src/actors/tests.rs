//! The ticket's actor in each of its states, with every message, and what is left when it dies.

use std::time::Duration;

use ask_agent::Report;
use ask_auth::Subject;
use ask_contract::{BranchId, BranchRole, ConversationId, Failure, Outcome, TicketId};
use ask_core::clock::SystemClock;
use ask_core::ticket::{Log, Progress, Rejected, Terminal, TicketLife, TicketSpec};

use actix::{Actor as _, Addr};

use super::ticket::{Asker, Cancel, Emit, End, RunLost, ShutDown, Ticket};
use super::*;

const QUESTION: &str = "Which support team resolves tickets fastest?";

fn shared() -> Arc<Shared> {
    let settings = [
        ("DAS_ENTRA_ISSUER", "http://127.0.0.1:9/t/v2.0"),
        ("DAS_APIM_BASE", "http://127.0.0.1:9"),
        ("DAS_LLM_BASE_URL", "http://127.0.0.1:9"),
        ("DAS_MODEL", "none"),
    ];
    let settings = Settings::read(&settings.into_iter().collect()).unwrap();
    let quota = Arc::new(Quota::new(settings.quotas));
    let (audit, _writer) = Audit::start(b"key", std::io::sink()).unwrap();
    let directory = Directory::default();
    Arc::new(Shared {
        settings,
        clock: Arc::new(SystemClock),
        mint: IdMint::new(b"key", ask_contract::Timestamp::from_unix_ms(0)),
        directory,
        quota,
        audit,
        telemetry: Telemetry::silent(),
    })
}

fn owner() -> Owner {
    Owner::new("http://127.0.0.1:9/t/v2.0", None, Subject::Object("someone".to_owned()))
}

/// A ticket that has only just been accepted.
fn accepted(shared: &Arc<Shared>) -> Ticket {
    let spec = TicketSpec {
        ticket: TicketId::new("t_1"),
        conversation_id: ConversationId::new("c_1"),
        question: QUESTION.to_owned(),
        turn: 1,
        model: "none".to_owned(),
        effort: "high".to_owned(),
        max_events: 100,
    };
    let life = TicketLife::accept(spec, shared.clock.now());
    let running = shared.quota.take(&owner(), Resource::Running).unwrap();
    let retained = shared.quota.take(&owner(), Resource::Ticket).unwrap();
    let span =
        crate::telemetry::AskSpan::begin(&shared.telemetry, Arc::new(shared.telemetry.origin(None, None)));
    let asker = Asker { oid: "someone".to_owned(), span };
    Ticket::new(Arc::clone(shared), life, asker, &owner(), running, retained, None)
}

/// A ticket that runs, its log and its address.
fn ticket(shared: &Arc<Shared>) -> (Addr<Ticket>, Arc<Log>) {
    let ticket = accepted(shared);
    let log = ticket.log();
    let addr = ticket.start();
    (addr, log)
}

fn opened(branch: &str) -> Progress {
    Progress::BranchOpened { branch_id: BranchId::new(branch), role: BranchRole::Supervisor, source: None }
}

fn failed() -> Terminal {
    Terminal::Error(Failure { kind: ask_contract::ErrorKind::Model, detail: "x".to_owned() })
}

fn text(log: &Log) -> String {
    String::from_utf8(log.read(0, 1 << 20).bytes.to_vec()).unwrap()
}

/// The kind of error in the log's ending, if it has one, and that there is exactly one terminal and one `done`.
fn ending(log: &Log) -> Option<String> {
    let text = text(log);
    assert_eq!(text.matches("event: error").count(), usize::from(log.is_done()));
    assert_eq!(text.matches("event: done").count(), usize::from(log.is_done()));
    assert_eq!(text.matches(QUESTION).count(), 1);
    let kind = text.split("\"kind\":\"").nth(1)?.split('"').next()?;
    Some(kind.to_owned())
}

#[actix_rt::test]
async fn every_way_to_end_leaves_one_ending_and_later_ones_change_nothing() {
    for (first, kind) in [(0, "model"), (1, "cancelled"), (2, "internal"), (3, "internal")] {
        let shared = shared();
        let (addr, log) = ticket(&shared);
        assert_eq!(ending(&log), None);
        for way in [first, 0, 1, 2, 3] {
            match way {
                0 => addr.send(End(failed())).await.unwrap(),
                1 => addr.send(Cancel).await.unwrap(),
                2 => addr.send(RunLost).await.unwrap(),
                _ => addr.send(ShutDown).await.unwrap(),
            }
            assert_eq!(ending(&log).as_deref(), Some(kind), "first {first}, then {way}");
        }
        let late = addr.send(Emit(Report::Progress(opened("x2")))).await.unwrap();
        assert_eq!(late, Err(Rejected::Ended));
        assert_eq!(
            addr.send(Emit(Report::HopBegan)).await.unwrap(),
            Err(Rejected::Ended),
            "no model call is made"
        );
        assert_eq!(log.outcome(), Some(Outcome::Error));
    }
}

#[actix_rt::test]
async fn the_places_of_a_run_are_free_at_its_end_and_the_tickets_own_at_its_expiry() {
    let shared = shared();
    let (addr, log) = ticket(&shared);
    addr.send(Cancel).await.unwrap();
    assert!(log.is_done());
    let limit = shared.settings.quotas.running;
    let held: Vec<_> = (0..limit).map(|_| shared.quota.take(&owner(), Resource::Running)).collect();
    assert!(held.iter().all(Result::is_ok), "the run's place is free");
}

#[actix_rt::test]
async fn whoever_sees_the_ending_finds_the_runs_place_free() {
    for dies in [false, true].repeat(100) {
        let shared = shared();
        let ticket = accepted(&shared);
        let (log, quota) = (ticket.log(), Arc::clone(&shared.quota));
        let seen = std::thread::spawn(move || {
            while !log.is_done() {
                std::hint::spin_loop();
            }
            quota.running()
        });
        if dies {
            drop(ticket);
        } else {
            ticket.start().send(End(failed())).await.unwrap();
        }
        assert_eq!(seen.join().unwrap(), 0, "dies: {dies}");
    }
}

#[test]
fn a_ticket_whose_actor_dies_is_ended_by_its_writer() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let system = actix_rt::System::new();
    let shared = shared();
    system.block_on(async {
        let arbiter = Arbiter::new();
        let handle = Arc::clone(&shared);
        arbiter.spawn(async move {
            let (addr, log) = ticket(&handle);
            sender.send((addr, log)).unwrap();
        });
        let (addr, log) = receiver.recv().unwrap();
        assert!(!log.is_done());
        arbiter.stop();
        arbiter.join().unwrap();
        assert_eq!(ending(&log).as_deref(), Some("internal"));
        assert!(!addr.connected());
    });
}

#[actix_rt::test]
async fn a_reader_is_woken_by_every_event_and_misses_none() {
    let shared = shared();
    let ticket = accepted(&shared);
    let (log, wake) = (ticket.log(), ticket.wake());
    let addr = ticket.start();
    let handle = TicketHandle::new(owner(), ConversationId::new("c_1"), addr.clone(), Arc::clone(&log), wake);
    let mut follower = handle.follow(0);
    let mut read = follower.read(1).bytes.to_vec();
    for number in 0..50 {
        let emit = addr.send(Emit(Report::Progress(opened(&format!("x{number}")))));
        // Both at once: the event may come before the wait begins, or after.
        let ((), emitted) = tokio::join!(follower.appended(), emit);
        emitted.unwrap().unwrap();
        read.extend_from_slice(&follower.read(1).bytes);
    }
    addr.send(Cancel).await.unwrap();
    loop {
        let batch = follower.read(1 << 20);
        read.extend_from_slice(&batch.bytes);
        if batch.over {
            break;
        }
        tokio::time::timeout(Duration::from_secs(5), follower.appended()).await.unwrap();
    }
    assert_eq!(String::from_utf8(read).unwrap(), text(&log));
}
