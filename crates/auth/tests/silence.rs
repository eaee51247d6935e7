//! What reaches the log: causes, and nothing that came in a token.
//!
//! In a process of its own, because it listens to everything that the process logs, the fetching thread included.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says by panicking that it failed, in its set-up too"
)]

#[expect(dead_code, reason = "shared with the other tests, which use all of it")]
#[path = "verify/issuer.rs"]
mod issuer;

use std::fmt::Write as _;
use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

use issuer::{OTHER_RSA, RSA, World, claims_with, header};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn no_part_of_a_token_reaches_the_log_at_any_level() {
    let lines = Lines::default();
    tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).with_writer(lines.clone()).init();
    let world = World::with(&[("k1", &RSA)]).await;
    let canary = "canary-7f3e";
    let named = claims_with("name", json!(canary)).to_string();
    let tokens = [
        RSA.token(&header("RS256", "k1").to_string(), &named),
        OTHER_RSA.token(&header("RS256", "k1").to_string(), &named),
        RSA.token(&header("RS256", canary).to_string(), &named),
        RSA.token(&header(canary, "k1").to_string(), &named),
        RSA.token(&header("RS256", "k1").to_string(), &claims_with("aud", json!(canary)).to_string()),
        RSA.token(&header("RS256", "k1").to_string(), &claims_with("scp", json!(canary)).to_string()),
        RSA.token(&header("RS256", "k1").to_string(), &format!("{canary} is no JSON")),
        format!("{canary}.a.b"),
    ];
    let mut shown = String::new();
    for token in &tokens {
        write!(shown, "{:?}", world.verify(token).await).unwrap();
    }
    let logged = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    for cause in
        ["bad_signature", "unknown_key", "wrong_algorithm", "wrong_audience", "no_scope", "bad_claims"]
    {
        assert!(logged.contains(cause), "{cause}: {logged}");
    }
    shown.push_str(&logged);
    assert!(!shown.contains(canary), "{shown}");
    for token in &tokens {
        for part in token.split('.').filter(|part| part.len() > 8) {
            assert!(!shown.contains(part), "{shown}");
        }
    }
}
