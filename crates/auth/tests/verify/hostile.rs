//! Whatever comes in, the answer is a denial and never a panic.

use std::sync::LazyLock;

use ask_auth::Denied;
use proptest::prelude::*;
use tokio::runtime::Runtime;

use crate::issuer::{RSA, World, b64};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap());
static WORLD: LazyLock<World> = LazyLock::new(|| RUNTIME.block_on(World::with(&[("k1", &RSA)])));
static GOOD: LazyLock<String> = LazyLock::new(|| format!("Bearer {}", RSA.good("k1")));

fn denied(value: &[u8]) -> bool {
    RUNTIME.block_on(WORLD.verifier.verify(Some(value))).map(drop) == Err(Denied::Unauthenticated)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_denied(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(denied(&bytes));
        prop_assert!(denied(&[b"Bearer ".as_slice(), &bytes].concat()));
    }

    #[test]
    fn any_json_in_a_signed_token_is_denied(header in "\\PC{0,60}", claims in "[\\{\\[\"a-z0-9:,.\\]\\}-]{0,80}") {
        let token = RSA.token(&header, &claims);
        prop_assert!(denied(format!("Bearer {token}").as_bytes()), "{}", token);
    }

    #[test]
    fn a_good_token_with_one_byte_changed_is_denied(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut bytes = GOOD.clone().into_bytes();
        let at = "Bearer ".len() + at.index(bytes.len() - "Bearer ".len());
        prop_assume!(bytes[at] != to);
        bytes[at] = to;
        // White space right behind the scheme is part of the scheme's own syntax, and leaves a broken token.
        prop_assert!(denied(&bytes));
    }

    #[test]
    fn parts_of_any_text_are_denied(parts in proptest::collection::vec("\\PC{0,30}", 1..5)) {
        let token = parts.iter().map(|part| b64(part.as_bytes())).collect::<Vec<_>>().join(".");
        let value = format!("Bearer {token}");
        prop_assert!(denied(value.as_bytes()));
    }
}
