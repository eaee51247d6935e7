//! Conversations that are forgotten: at rest, in mid-run, and while others ask, cancel and read.

use std::time::Duration;

use ask_auth::{Bearer, Subject};
use ask_contract::{Feedback, FeedbackReason, Outcome, Rating};
use ask_core::clock::SystemClock;
use futures_util::FutureExt as _;
use serde_json::json;

use super::parts::RunParts;
use super::*;

/// A house whose runs go on until they are stopped, or end by themselves after some turns of the runtime.
fn house(settings: &[(&str, &str)], turns: Option<usize>) -> House {
    let needed = [
        ("DAS_ENTRA_ISSUER", "http://127.0.0.1:9/t/v2.0"),
        ("DAS_APIM_BASE", "http://127.0.0.1:9"),
        ("DAS_LLM_BASE_URL", "http://127.0.0.1:9"),
        ("DAS_MODEL", "none"),
        ("DAS_ASK_ARBITERS", "2"),
    ];
    let settings = Settings::read(&needed.iter().chain(settings).copied().collect()).unwrap();
    let (audit, _writer) = Audit::start(b"key", std::io::sink()).unwrap();
    let clock = Arc::new(SystemClock);
    let mint = IdMint::new(b"key", clock.now());
    let house = House::new(settings, clock, mint, audit, Telemetry::silent());
    for arbiter in house.arbiters.iter() {
        arbiter.spawn_fn(move || {
            RunParts::replace_here(move |_, _, _| {
                async move {
                    for _ in 0..turns.unwrap_or(usize::MAX) {
                        tokio::task::yield_now().await;
                    }
                    Err(ask_agent::Stopped)
                }
                .boxed_local()
            });
        });
    }
    house
}

fn caller(name: &str) -> Arc<Identity> {
    Arc::new(Identity {
        owner: Owner::new("http://127.0.0.1:9/t/v2.0", None, Subject::Object(name.to_owned())),
        oid: name.to_owned(),
        roles: Vec::new(),
        scopes: Vec::new(),
        expires_at: time::OffsetDateTime::UNIX_EPOCH,
        bearer: Bearer::new("token"),
    })
}

fn open(house: &House, caller: &Identity) -> ConversationId {
    house.open_conversation(&caller.owner, None).unwrap().conversation_id
}

async fn ask(
    house: &House,
    conversation: &ConversationId,
    caller: &Arc<Identity>,
) -> Result<TicketId, Refused> {
    let request = serde_json::from_value(json!({"question": "How many are there?"})).unwrap();
    let origin = Arc::new(house.telemetry().origin(None, None));
    house.ask(conversation, Arc::clone(caller), request, None, origin).await.map(|ticket| ticket.ticket)
}

fn here(house: &House, ticket: &TicketId, caller: &Identity) -> TicketHandle {
    match house.find(ticket, &caller.owner) {
        Found::Here(handle) => handle,
        other @ (Found::Expired | Found::Lost | Found::Nowhere) => panic!("{other:?}"),
    }
}

/// What a reader of the ticket gets to see from now on, to its end.
async fn read_to_end(ticket: TicketHandle) -> String {
    let mut follower = ticket.follow(0);
    let mut read = Vec::new();
    loop {
        let batch = follower.read(1 << 20);
        read.extend_from_slice(&batch.bytes);
        if batch.over {
            return String::from_utf8(read).unwrap();
        }
        tokio::time::timeout(Duration::from_secs(10), follower.appended()).await.expect("the ticket ends");
    }
}

#[actix_rt::test]
async fn a_forgotten_conversation_ends_its_run_its_streams_and_every_look_up() {
    let house = house(&[("DAS_ASK_MAX_CONVERSATIONS", "1"), ("DAS_ASK_MAX_RUNNING", "1")], None);
    let (alice, bob) = (caller("alice"), caller("bob"));
    let conversation = open(&house, &alice);
    let first = ask(&house, &conversation, &alice).await.unwrap();
    here(&house, &first, &alice).cancel().await;
    let second = ask(&house, &conversation, &alice).await.unwrap();
    let state = house.conversation(&conversation, &alice.owner).unwrap();
    assert_eq!((state.turns, state.running.as_ref()), (2, Some(&second)));
    let stream = read_to_end(here(&house, &second, &alice));
    let kept = here(&house, &second, &alice);

    assert!(matches!(house.forget(&conversation, &bob.owner).await, Err(Refused::NotFound)));
    assert!(house.conversation(&conversation, &alice.owner).is_ok());
    let (text, forgotten) = tokio::join!(stream, house.forget(&conversation, &alice.owner));
    forgotten.unwrap();

    // All of it is so at once, with nothing to wait for.
    assert_eq!(kept.outcome(), Some(Outcome::Error));
    for ticket in [&first, &second] {
        assert!(matches!(house.find(ticket, &alice.owner), Found::Nowhere), "forgotten, and not expired");
    }
    assert!(matches!(house.conversation(&conversation, &alice.owner), Err(Refused::NotFound)));
    assert!(matches!(house.forget(&conversation, &alice.owner).await, Err(Refused::NotFound)));
    assert!(matches!(ask(&house, &conversation, &alice).await, Err(Refused::NotFound)));
    assert!(house.shared.directory.is_empty() && house.shared.quota.holds_nothing());
    assert!(text.contains("\"kind\":\"cancelled\"") && text.matches("event: done").count() == 1, "{text}");
    // What is left over can be asked of, and nothing comes of it.
    kept.cancel().await;
    assert_eq!(kept.rate("x".to_owned(), Feedback { rating: Rating::Up, reason: None }).await, None);
    // The only place there is is free.
    let next = open(&house, &alice);
    ask(&house, &next, &alice).await.unwrap();
}

#[actix_rt::test]
async fn who_forgets_has_asked_as_often() {
    let house = house(&[("DAS_ASK_RATE_ASKS", "2")], None);
    let alice = caller("alice");
    for _ in 0..2 {
        let conversation = open(&house, &alice);
        ask(&house, &conversation, &alice).await.unwrap();
        house.forget(&conversation, &alice.owner).await.unwrap();
    }
    let conversation = open(&house, &alice);
    assert!(matches!(ask(&house, &conversation, &alice).await, Err(Refused::Quota(QuotaExceeded::Rate(_)))));
}

#[actix_rt::test]
async fn forgetting_under_load_leaves_nothing_and_no_ticket_without_its_ending() {
    for turns in [None, Some(1), Some(3), Some(20)] {
        let house = house(&[("DAS_ASK_RATE_ASKS", "1000000")], turns);
        let callers: Vec<_> = (0..3).map(|number| caller(&format!("caller-{number}"))).collect();
        let work = callers.iter().cycle().take(24).enumerate().map(|(number, caller)| {
            let (house, caller) = (house.clone(), Arc::clone(caller));
            async move {
                let conversation = open(&house, &caller);
                // Askers and a canceller, while the conversation is forgotten after some turns of the runtime.
                let asker = async {
                    let mut taken = Vec::new();
                    loop {
                        match ask(&house, &conversation, &caller).await {
                            Ok(ticket) => {
                                if let Found::Here(handle) = house.find(&ticket, &caller.owner) {
                                    if number % 2 == 0 {
                                        handle.cancel().await;
                                        assert!(handle.outcome().is_some());
                                    }
                                    taken.push((ticket, Some(handle)));
                                } else {
                                    taken.push((ticket, None));
                                }
                            }
                            Err(Refused::NotFound) => return taken,
                            Err(Refused::Running) => tokio::task::yield_now().await,
                            Err(other) => panic!("{other:?}"),
                        }
                    }
                };
                let forgetter = async {
                    for _ in 0..number * 7 {
                        tokio::task::yield_now().await;
                    }
                    let together = tokio::join!(
                        house.forget(&conversation, &caller.owner),
                        house.forget(&conversation, &caller.owner)
                    );
                    assert!(
                        matches!(together, (Ok(()), Err(Refused::NotFound))),
                        "one forgets: {together:?}"
                    );
                };
                let (mut taken, more, ()) =
                    tokio::join!(asker, async { ask(&house, &conversation, &caller).await.ok() }, forgetter);
                taken.extend(more.map(|ticket| (ticket, None)));
                for (ticket, handle) in taken {
                    assert!(matches!(house.find(&ticket, &caller.owner), Found::Nowhere), "{ticket}");
                    if let Some(handle) = handle {
                        let text = read_to_end(handle).await;
                        assert!(text.starts_with("id: 1\nevent: accepted\n"), "{text}");
                        assert_eq!(text.matches("event: done").count(), 1, "{text}");
                    }
                }
            }
        });
        futures_util::future::join_all(work).await;
        assert!(house.shared.directory.is_empty());
        assert!(house.shared.quota.holds_nothing());
        assert!(!house.is_busy());
        for caller in &callers {
            assert_eq!(house.conversations(&caller.owner, None, 100).conversations, []);
        }
    }
}

#[actix_rt::test]
async fn pages_hold_the_callers_own_the_newest_first() {
    let house = house(&[], None);
    let (alice, bob) = (caller("alice"), caller("bob"));
    assert_eq!(house.conversations(&alice.owner, None, 10).conversations, []);
    let mut hers: Vec<_> = (0..7).map(|_| open(&house, &alice)).collect();
    open(&house, &bob);
    let page = |after: Option<&str>| {
        let after = after.map(|text| text.parse().unwrap());
        house.conversations(&alice.owner, after.as_ref(), 3)
    };
    let first = page(None);
    let second = page(first.next.as_deref());
    // One that was shown goes; what follows is the same.
    house.forget(&second.conversations[2].conversation_id, &alice.owner).await.unwrap();
    let third = page(second.next.as_deref());
    assert_eq!(third.next, None);
    let mut shown: Vec<_> = [first, second, third].into_iter().flat_map(|page| page.conversations).collect();
    assert!(shown.windows(2).all(|two| two[0].created_at >= two[1].created_at));
    let mut ids: Vec<_> = shown.drain(..).map(|state| state.conversation_id).collect();
    ids.sort();
    hers.sort();
    assert_eq!(ids, hers);
}

#[actix_rt::test]
async fn the_latest_feedback_counts_and_only_a_change_is_taken_down() {
    let house = house(&[], None);
    let alice = caller("alice");
    let conversation = open(&house, &alice);
    let ticket = ask(&house, &conversation, &alice).await.unwrap();
    let handle = here(&house, &ticket, &alice);
    let up = Feedback { rating: Rating::Up, reason: None };
    let down = Feedback { rating: Rating::Down, reason: Some(FeedbackReason::Speed) };
    let rate = async |feedback| handle.rate("alice".to_owned(), feedback).await;
    assert_eq!(rate(up).await, Some(Rated::Running), "there is nothing to rate yet");
    handle.cancel().await;
    for feedback in [up, up, down, down, up, down, up, down, up, down] {
        assert_eq!(rate(feedback).await, Some(Rated::Taken));
    }
    assert_eq!(rate(up).await, Some(Rated::TooOften), "eight changes");
    assert_eq!(rate(down).await, Some(Rated::Taken), "what counts may be said again");
}

#[actix_rt::test]
async fn a_wait_is_over_with_the_ask_or_with_its_time() {
    let house = house(&[], None);
    let alice = caller("alice");
    let conversation = open(&house, &alice);
    let ticket = ask(&house, &conversation, &alice).await.unwrap();
    let handle = here(&house, &ticket, &alice);
    handle.ended(Duration::from_millis(20)).await;
    assert_eq!(handle.outcome(), None);
    let long = Duration::from_secs(30);
    let began = tokio::time::Instant::now();
    tokio::join!(handle.ended(long), handle.ended(long), async { house.close() });
    assert!(handle.outcome().is_some() && began.elapsed() < Duration::from_secs(10), "the shutdown ends it");
    handle.ended(long).await;
    assert!(began.elapsed() < Duration::from_secs(10));
}
