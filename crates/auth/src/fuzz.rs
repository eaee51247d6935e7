//! What must hold of any `Authorization` header and any claims; for the fuzzer and its corpora.

use crate::authorization::bearer_token;
use crate::clock::Clock;
use crate::{Policy, claims, token};

/// A header is a token of three parts or nothing, and its claims are taken only from the issuer for the audience.
pub fn authorization(input: &[u8]) {
    let Ok(token) = bearer_token(Some(input), 4096) else { return };
    assert!(token.len() <= 4096 && token.split('.').count() == 3);
    let Ok(unverified) = token::split(token) else { return };
    claims(&unverified.payload);
}

/// Claims are taken only from the issuer for the audience.
pub fn claims(input: &[u8]) {
    let policy = Policy::new("https://issuer.example/v2.0", "api://ask", "access");
    if claims::read(input, &policy, Clock::system().now()).is_ok() {
        let text = String::from_utf8_lossy(input);
        assert!(
            text.contains("issuer.example") || text.contains("\\u"),
            "another issuer's claims were taken"
        );
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_the_fuzzer_found_stays_right() {
        ask_corpus::replay("auth_authorization", super::authorization);
        ask_corpus::replay("auth_claims", super::claims);
    }
}
