//! The keyed pseudonym under which a model provider knows a caller.

use std::fmt::Write as _;

use aws_lc_rs::hmac;

use crate::Secret;

/// A pseudonym of `caller`: 32 hexadecimal digits of HMAC-SHA256 under the deployment's own key.
///
/// Stable for one key, so that a provider can act on one abusive caller, and meaningless without it. It is domain-separated
/// from other uses of the same key.
pub(crate) fn pseudonym(key: &Secret, caller: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.expose().as_bytes());
    let mut context = hmac::Context::with_key(&key);
    context.update(b"llm-caller\0");
    context.update(caller.as_bytes());
    let mut text = String::with_capacity(32);
    for byte in context.sign().as_ref().iter().take(16) {
        // Writing to a String can't fail.
        write!(text, "{byte:02x}").unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pseudonym_is_stable_and_keyed() {
        let (one, two) = (Secret::new("one"), Secret::new("two"));
        assert_eq!(pseudonym(&one, "alice"), pseudonym(&one, "alice"));
        assert_ne!(pseudonym(&one, "alice"), pseudonym(&two, "alice"));
        assert_ne!(pseudonym(&one, "alice"), pseudonym(&one, "carol"));
        assert_eq!(pseudonym(&one, "alice").len(), 32);
        assert!(!pseudonym(&one, "alice").contains("alice"));
    }
}
