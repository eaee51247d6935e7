//! The keys over time: rotation, outage, floods of unknown keys.

use std::time::Duration;

use ask_auth::Denied;

use crate::issuer::{OTHER_RSA, RSA, Signer, World, until};

/// A token of a key that nobody published, right in everything else.
fn forged(number: usize) -> String {
    OTHER_RSA.good(&format!("unknown-{number}"))
}

#[tokio::test]
async fn a_new_key_is_fetched_when_its_first_token_comes() {
    let next = Signer::rsa("RS256");
    let world = World::with(&[("k1", &RSA)]).await;
    world.published.publish(&[("k1", &RSA), ("k2", &next)]);
    assert!(world.verify(&next.good("k2")).await.is_ok());
    assert!(world.verify(&RSA.good("k1")).await.is_ok());
    assert_eq!(world.published.fetches(), 2);
}

#[tokio::test]
async fn a_withdrawn_key_takes_its_remembered_tokens_with_it() {
    let next = Signer::rsa("RS256");
    let world = World::with(&[("k1", &RSA)]).await;
    let old = RSA.good("k1");
    assert!(world.verify(&old).await.is_ok());
    world.published.publish(&[("k2", &next)]);
    assert!(world.verify(&next.good("k2")).await.is_ok());
    assert_eq!(world.verify(&old).await.unwrap_err(), Denied::Unauthenticated);
}

#[tokio::test]
async fn a_key_exchanged_under_its_id_is_noticed_by_age() {
    let world = World::with(&[("k1", &RSA)]).await;
    let old = RSA.good("k1");
    assert!(world.verify(&old).await.is_ok());
    world.published.publish(&[("k1", &OTHER_RSA)]);
    world.advance(299);
    assert!(world.verify(&old).await.is_ok());
    assert_eq!(world.published.fetches(), 1);
    world.advance(1);
    // This caller only sets the fetch off; it does not wait for it.
    let _either = world.verify(&old).await;
    until("the refresh", || world.published.fetches() == 2).await;
    let mut refused = false;
    for _ in 0..10_000 {
        refused = world.verify(&old).await.is_err();
        if refused {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(refused);
    assert!(world.verify(&OTHER_RSA.good("k1")).await.is_ok());
}

#[tokio::test]
async fn stale_keys_serve_through_an_outage() {
    let world = World::with(&[("k1", &RSA)]).await;
    world.published.go_down();
    for round in 0..20 {
        world.advance(150);
        let token = RSA.good("k1");
        // The claims' own hour is over after 24 rounds.
        assert!(world.verify(&token).await.is_ok(), "round {round}");
    }
    until("a try at the issuer", || world.published.fetches() > 1).await;
    for garbage in
        ["", "<html>maintenance</html>", r#"{"keys":[]}"#, r#"{"keys":[{"kty":"oct","kid":"k1","k":"AA"}]}"#]
    {
        world.published.publish_text(garbage);
        let before = world.published.fetches();
        world.advance(31);
        assert!(world.verify(&RSA.good("k1")).await.is_ok());
        until("another try", || world.published.fetches() > before).await;
        assert!(world.verify(&RSA.good("k1")).await.is_ok());
    }
}

#[tokio::test]
async fn an_issuer_that_comes_up_late_is_found() {
    let world = World::starting(Duration::from_secs(5), |_| ());
    until("the first try", || world.published.fetches() > 0).await;
    let token = RSA.good("k1");
    assert_eq!(world.verify(&token).await.unwrap_err(), Denied::Unauthenticated);
    assert!(!world.verifier.has_keys());
    world.published.publish(&[("k1", &RSA)]);
    world.advance(31);
    assert!(world.verify(&token).await.is_ok());
    assert!(world.verifier.has_keys());
}

#[tokio::test]
async fn a_flood_of_unknown_keys_fetches_once_in_thirty_seconds() {
    let world = World::with(&[("k1", &RSA)]).await;
    for second in 0..90 {
        for number in 0..5 {
            let denied = world.verify(&forged(second * 5 + number)).await.unwrap_err();
            assert_eq!(denied, Denied::Unauthenticated);
        }
        world.advance(1);
    }
    // The first fetch, then one at 0, 30 and 60 seconds.
    assert_eq!(world.published.fetches(), 4);
}

#[tokio::test]
async fn a_flood_does_not_starve_a_rotation() {
    let next = Signer::rsa("RS256");
    let world = World::with(&[("k1", &RSA)]).await;
    let _denied = world.verify(&forged(0)).await.unwrap_err();
    world.published.publish(&[("k2", &next)]);
    let token = next.good("k2");
    let mut seen_after = None;
    for second in 0..60 {
        for number in 0..5 {
            let _denied = world.verify(&forged(second * 5 + number)).await.unwrap_err();
        }
        if world.verify(&token).await.is_ok() {
            seen_after = Some(second);
            break;
        }
        world.advance(1);
    }
    assert_eq!(seen_after, Some(30));
}

#[tokio::test]
async fn a_hanging_issuer_and_a_flood_slow_no_known_caller() {
    let world = World::with(&[("k1", &RSA)]).await;
    let token = RSA.good("k1");
    world.published.hold(true);
    let flood =
        futures_util::future::join_all(
            (0..600).map(|number| {
                let verifier = world.verifier.clone();
                async move {
                    verifier.verify(Some(format!("Bearer {}", forged(number)).as_bytes())).await.is_err()
                }
            }),
        );
    let known = async {
        until("the fetch that hangs", || world.published.fetches() == 2).await;
        world.advance(301);
        for _ in 0..100 {
            assert!(world.verify(&token).await.is_ok());
        }
        // Only now does the issuer answer, so no call above waited for it.
        assert_eq!(world.published.fetches(), 2);
        world.published.hold(false);
    };
    let (denied, ()) = tokio::join!(flood, known);
    assert!(denied.into_iter().all(|denied| denied));
}

#[tokio::test]
async fn callers_with_one_new_key_share_one_fetch() {
    let next = Signer::rsa("RS256");
    let world = World::with(&[("k1", &RSA)]).await;
    world.published.publish(&[("k1", &RSA), ("k2", &next)]);
    world.published.hold(true);
    let token = next.good("k2");
    let callers = futures_util::future::join_all((0..50).map(|_| world.verify(&token)));
    let release = async {
        until("the fetch", || world.published.fetches() == 2).await;
        world.published.hold(false);
    };
    let (verified, ()) = tokio::join!(callers, release);
    assert!(verified.into_iter().all(|result| result.is_ok()));
    assert_eq!(world.published.fetches(), 2);
}

#[tokio::test]
async fn a_caller_who_leaves_takes_no_fetch_with_it() {
    let next = Signer::rsa("RS256");
    let world = World::with(&[("k1", &RSA)]).await;
    world.published.publish(&[("k2", &next)]);
    world.published.hold(true);
    let token = next.good("k2");
    let left = tokio::time::timeout(Duration::from_millis(20), world.verify(&token)).await;
    assert!(left.is_err());
    until("the fetch", || world.published.fetches() == 2).await;
    world.published.hold(false);
    assert!(world.verify(&token).await.is_ok());
    assert_eq!(world.published.fetches(), 2);
}

#[tokio::test]
async fn a_fetch_that_hangs_is_given_up() {
    let world = World::starting(Duration::from_millis(50), |published| {
        published.publish(&[("k1", &RSA)]);
        published.hold(true);
    });
    assert_eq!(world.verify(&RSA.good("k1")).await.unwrap_err(), Denied::Unauthenticated);
    world.published.hold(false);
    world.advance(31);
    assert!(world.verify(&RSA.good("k1")).await.is_ok());
}

#[tokio::test]
async fn tokens_that_say_themselves_they_are_wrong_cause_no_fetch() {
    let world = World::with(&[("k1", &RSA)]).await;
    for (member, value) in [
        ("iss", serde_json::json!("https://evil.example")),
        ("aud", serde_json::json!("api://other")),
        ("exp", serde_json::json!(1)),
    ] {
        let claims = crate::issuer::claims_with(member, value).to_string();
        let token = OTHER_RSA.token(&crate::issuer::header("RS256", "unknown").to_string(), &claims);
        assert!(world.verify(&token).await.is_err());
    }
    assert_eq!(world.published.fetches(), 1);
}
