//! The checks, each over many thousand schedules.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ask_contract::{
    BranchId, ConversationId, Done, ErrorKind, Event, EventBody, Failure, Outcome, Step, TicketId, Timestamp,
};
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use shuttle::sync::{Arc, Mutex};
use shuttle::{check_pct, check_random, future, thread};
use tokio::sync::watch;

use crate::follower::Follower;
use crate::frame::encode;
use crate::idempotency::{Idempotency, Kept};
use crate::log::Log;
use crate::stand_ins::{Clock, FetchError, KeySource, Owner};
use crate::store::KeyStore;

/// Schedules of each kind and check.
const SCHEDULES: usize = 5_000;

/// At random, and by the algorithm that finds bugs of a small depth with a known probability.
fn check(test: impl Fn() + Send + Sync + Clone + 'static) {
    check_random(test.clone(), SCHEDULES);
    check_pct(test, SCHEDULES, 3);
}

fn event(seq: u64, body: EventBody) -> (u64, EventBody, Bytes) {
    let event = Event {
        seq,
        ticket: TicketId::new("t"),
        conversation_id: ConversationId::new("c"),
        ts: Timestamp::from_unix_ms(0),
        body,
    };
    let frame = encode(&event);
    (seq, event.body, frame)
}

fn step() -> EventBody {
    EventBody::Step(Step {
        branch_id: BranchId::new("b1"),
        tool: "w__q".to_owned(),
        args: serde_json::Map::new(),
        ms: 1,
        is_error: false,
    })
}

fn ending(kind: ErrorKind) -> EventBody {
    EventBody::Error(Failure { kind, detail: String::new() })
}

fn done(outcome: Outcome) -> EventBody {
    let done = serde_json::json!({"outcome": outcome, "hops": 0, "steps": 0, "tokens_in": 0, "tokens_out": 0,
        "cache_read_tokens": 0, "cache_write_tokens": 0, "ms": 0, "model": "m", "effort": "high"});
    EventBody::Done(serde_json::from_value::<Done>(done).unwrap())
}

fn seqs(bytes: &[u8]) -> Vec<u64> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().filter_map(|line| line.strip_prefix("id: ")).map(|seq| seq.parse().unwrap()).collect()
}

/// Subscribe against append: a reader that begins at any moment sees every event once, in order, and its end.
#[test]
fn a_reader_misses_nothing_whenever_it_begins() {
    check(|| {
        let log = Arc::new(Log::new(100));
        let (wake, woken) = watch::channel(0);
        let writer = {
            let log = Arc::clone(&log);
            thread::spawn(move || {
                let bodies = [step(), step(), step(), ending(ErrorKind::Model), done(Outcome::Error)];
                for (seq, body) in (1..).zip(bodies) {
                    let (seq, body, frame) = event(seq, body);
                    log.append(seq, &body, frame);
                    wake.send_replace(seq);
                }
            })
        };
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let mut follower = Follower::new(Arc::clone(&log), woken.clone(), 0);
                thread::spawn(move || {
                    let mut seen = Vec::new();
                    loop {
                        let batch = follower.read(100);
                        seen.extend(seqs(&batch.bytes));
                        if batch.over {
                            return seen;
                        }
                        if batch.bytes.is_empty() {
                            future::block_on(follower.appended());
                        }
                    }
                })
            })
            .collect();
        writer.join().unwrap();
        for reader in readers {
            assert_eq!(reader.join().unwrap(), [1, 2, 3, 4, 5]);
        }
    });
}

/// Steps that are dropped while it reads cost a reader those steps and nothing else.
#[test]
fn dropped_steps_are_the_only_gap() {
    check(|| {
        let log = Arc::new(Log::new(3));
        let writer = {
            let log = Arc::clone(&log);
            thread::spawn(move || {
                let bodies = [step(), step(), step(), step(), ending(ErrorKind::Model), done(Outcome::Error)];
                for (seq, body) in (1..).zip(bodies) {
                    let (seq, body, frame) = event(seq, body);
                    log.append(seq, &body, frame);
                }
            })
        };
        let (mut seen, mut all) = (0, Vec::new());
        loop {
            let batch = log.read(seen, 1);
            seen = batch.seen;
            all.extend(seqs(&batch.bytes));
            if batch.over {
                break;
            }
            thread::yield_now();
        }
        writer.join().unwrap();
        assert!(all.is_sorted_by(|one, next| one < next), "{all:?}");
        assert!(all.ends_with(&[5, 6]), "{all:?}");
    });
}

/// Cancel against finish: whoever comes first, there is one ending, and a snapshot never shows half of it.
#[test]
fn one_ending_wins() {
    check(|| {
        // The ticket's own mailbox puts the two in a row; what they meet is a log that has ended or not.
        let log = Arc::new(Log::new(100));
        let turn = Arc::new(Mutex::new(1_u64));
        let end = |kind| {
            let (log, turn) = (Arc::clone(&log), Arc::clone(&turn));
            thread::spawn(move || {
                let mut seq = turn.lock().unwrap();
                if log.is_done() {
                    return false;
                }
                for body in [ending(kind), done(Outcome::Error)] {
                    let (number, body, frame) = event(*seq, body);
                    log.append(number, &body, frame);
                    *seq += 1;
                }
                true
            })
        };
        let (cancel, finish) = (end(ErrorKind::Cancelled), end(ErrorKind::Model));
        let watcher = {
            let log = Arc::clone(&log);
            thread::spawn(move || {
                let snapshot = log.snapshot();
                assert!(snapshot.done.is_none() || snapshot.terminal.is_some());
            })
        };
        let winners = usize::from(cancel.join().unwrap()) + usize::from(finish.join().unwrap());
        watcher.join().unwrap();
        assert_eq!(winners, 1);
        assert_eq!(seqs(&log.read(0, 1 << 20).bytes), [1, 2]);
    });
}

/// Idempotency: however the same request is sent at once, its work is done once, and everybody gets that answer.
#[test]
fn the_same_request_is_done_once() {
    check(|| {
        let answers = Arc::new(Idempotency::default());
        let made = Arc::new(AtomicUsize::new(0));
        let kept: Arc<Mutex<Vec<Kept>>> = Arc::default();
        let senders: Vec<_> = (0..3)
            .map(|_| {
                let (answers, made, kept) = (Arc::clone(&answers), Arc::clone(&made), Arc::clone(&kept));
                thread::spawn(move || {
                    future::block_on(answers.once(&Owner("a"), "key".to_owned(), [1; 32], |keep| {
                        kept.lock().unwrap().push(keep);
                        let number = made.fetch_add(1, Ordering::SeqCst);
                        async move {
                            future::yield_now().await;
                            Ok::<_, ()>(Bytes::from(number.to_string()))
                        }
                    }))
                    .unwrap()
                    .unwrap()
                })
            })
            .collect();
        let all: Vec<_> = senders.into_iter().map(|sender| sender.join().unwrap()).collect();
        assert_eq!(made.load(Ordering::SeqCst), 1);
        assert!(all.iter().all(|once| once.body == "0"), "{all:?}");
        assert_eq!(all.iter().filter(|once| !once.replayed).count(), 1);
    });
}

/// A request whose work fails is tried again by who waited, and still done once at most.
#[test]
fn a_failure_is_not_kept_for_those_who_waited() {
    check(|| {
        let answers = Arc::new(Idempotency::default());
        let tries = Arc::new(AtomicUsize::new(0));
        let kept: Arc<Mutex<Vec<Kept>>> = Arc::default();
        let senders: Vec<_> = (0..3)
            .map(|_| {
                let (answers, tries, kept) = (Arc::clone(&answers), Arc::clone(&tries), Arc::clone(&kept));
                thread::spawn(move || {
                    future::block_on(answers.once(&Owner("a"), "key".to_owned(), [1; 32], |keep| {
                        let fails = tries.fetch_add(1, Ordering::SeqCst) == 0;
                        if !fails {
                            kept.lock().unwrap().push(keep);
                        }
                        async move {
                            future::yield_now().await;
                            if fails { Err(()) } else { Ok(Bytes::from_static(b"made")) }
                        }
                    }))
                    .unwrap()
                })
            })
            .collect();
        let all: Vec<_> = senders.into_iter().map(|sender| sender.join().unwrap()).collect();
        assert_eq!(all.iter().filter(|one| one.is_err()).count(), 1, "{all:?}");
        assert_eq!(tries.load(Ordering::SeqCst), 2);
        assert_eq!(kept.lock().unwrap().len(), 1);
    });
}

struct Issuer {
    fetches: Arc<AtomicUsize>,
    rotated: Arc<AtomicBool>,
}

impl KeySource for Issuer {
    fn fetch(&self) -> LocalBoxFuture<'_, Result<Bytes, FetchError>> {
        self.fetches.fetch_add(1, Ordering::SeqCst);
        // A fetch that began before the rotation brings what was there then, however long it takes.
        let document = if self.rotated.load(Ordering::SeqCst) { "old,new" } else { "old" };
        async move {
            future::yield_now().await;
            Ok(Bytes::from_static(document.as_bytes()))
        }
        .boxed_local()
    }
}

/// JWKS refresh: callers with a rotated key and strangers at once: the key is found, and nobody causes more than one fetch.
#[test]
fn a_rotated_key_is_found_by_everyone_who_waits_for_it() {
    check(|| {
        let fetches = Arc::new(AtomicUsize::new(0));
        let rotated = Arc::new(AtomicBool::new(false));
        let issuer = Issuer { fetches: Arc::clone(&fetches), rotated: Arc::clone(&rotated) };
        let clock = Clock::default();
        let store = Arc::new(KeyStore::start(clock, std::time::Duration::from_secs(1), move || issuer).unwrap());
        thread::yield_now();
        rotated.store(true, Ordering::SeqCst);
        let callers: Vec<_> = ["new", "stranger", "new"]
            .into_iter()
            .map(|kid| {
                let store = Arc::clone(&store);
                thread::spawn(move || (kid, future::block_on(store.await_key(kid)).is_some()))
            })
            .collect();
        for caller in callers {
            let (kid, found) = caller.join().unwrap();
            assert_eq!(found, kid == "new", "{kid}");
        }
        assert!(fetches.load(Ordering::SeqCst) <= 2, "one at the start, one for the missing key");
    });
}
