//! Tokens seen before: fast, and still no longer valid than they are.

use std::thread;
use std::time::Duration;

use ask_auth::{Denied, Verifier};

use crate::issuer::{RSA, World};

#[tokio::test]
async fn a_remembered_token_still_expires() {
    let world = World::with(&[("k1", &RSA)]).await;
    let token = RSA.good("k1");
    assert!(world.verify(&token).await.is_ok());
    world.advance(3600 + 9);
    assert!(world.verify(&token).await.is_ok(), "within the leeway");
    world.advance(1);
    assert_eq!(world.verify(&token).await.unwrap_err(), Denied::Unauthenticated);
    assert_eq!(world.verify(&token).await.unwrap_err(), Denied::Unauthenticated);
}

#[tokio::test]
async fn a_remembered_token_vouches_for_no_other() {
    let world = World::with(&[("k1", &RSA)]).await;
    let token = RSA.good("k1");
    assert!(world.verify(&token).await.is_ok());
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let last = if signature.ends_with('A') { "Q" } else { "A" };
    let changed = format!("{signed}.{}{last}", &signature[..signature.len() - 1]);
    assert_eq!(world.verify(&changed).await.unwrap_err(), Denied::Unauthenticated);
}

#[tokio::test]
async fn a_second_look_costs_microseconds() {
    let world = World::with(&[("k1", &RSA)]).await;
    let header = format!("Bearer {}", RSA.good("k1"));
    assert!(world.verifier.verify(Some(header.as_bytes())).await.is_ok());
    let mut best = Duration::MAX;
    for _ in 0..50 {
        let begun = tokio::time::Instant::now();
        for _ in 0..20 {
            assert!(world.verifier.verify(Some(header.as_bytes())).await.is_ok());
        }
        best = best.min(begun.elapsed() / 20);
    }
    println!("a remembered token: {best:?}");
    // A few microseconds when optimised; a build without optimisation gets some more.
    assert!(best < Duration::from_micros(60), "{best:?}");
}

#[tokio::test]
async fn any_thread_may_verify() {
    fn usable_anywhere<T: Clone + Send + Sync + 'static>(_: &T) {}
    let world = World::with(&[("k1", &RSA)]).await;
    usable_anywhere::<Verifier>(&world.verifier);
    let header = format!("Bearer {}", RSA.good("k1"));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                for _ in 0..50 {
                    assert!(runtime.block_on(world.verifier.verify(Some(header.as_bytes()))).is_ok());
                }
            });
        }
    });
}
