//! Authorization codes: what a browser brings back from the sign-in page, redeemed once, by whoever has the verifier.

use std::collections::HashMap;

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::BASE64URL_NOPAD;

use super::grants::{GrantError, secret};
use super::person::Person;

/// How long a code can be redeemed, in seconds. A browser brings it at once.
const LIVES_S: i64 = 60;
/// The most codes waiting at once.
const MAX_CODES: usize = 1000;

/// Codes that wait to be redeemed.
#[derive(Debug, Default)]
pub(crate) struct Codes(HashMap<String, Waiting>);

#[derive(Debug)]
struct Waiting {
    person: &'static Person,
    asked: Asked,
    expires_at: i64,
}

/// What the client asked for at the sign-in page.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) client_id: String,
    /// As it came: it must come again with the code.
    pub(crate) redirect_uri: String,
    /// The S256 challenge of RFC 7636.
    pub(crate) challenge: Challenge,
    /// Whether it wants to know who signed in.
    pub(crate) openid: bool,
    /// What it wants to find in the id token.
    pub(crate) nonce: Option<String>,
}

/// The hash of a verifier, in the form of RFC 7636.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Challenge(String);

impl Challenge {
    /// Reads a challenge: 32 bytes in base64url without padding.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
        (bytes.len() == 32).then(|| Self(text.to_owned()))
    }

    /// Whether this is the verifier's hash. A verifier is 43 to 128 characters that no URL would escape.
    fn is_of(&self, verifier: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        (43..=128).contains(&verifier.len())
            && verifier.bytes().all(plain)
            && BASE64URL_NOPAD.encode(digest(&SHA256, verifier.as_bytes()).as_ref()) == self.0
    }
}

/// What a client brings to the token endpoint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Redemption<'a> {
    pub(crate) code: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) redirect_uri: &'a str,
    pub(crate) verifier: &'a str,
}

impl Codes {
    /// A code for a person who signed in.
    pub(crate) fn issue(
        &mut self,
        person: &'static Person,
        asked: Asked,
        now: i64,
    ) -> Result<String, GrantError> {
        self.0.retain(|_, waiting| waiting.expires_at > now);
        if self.0.len() >= MAX_CODES {
            return Err(GrantError::TemporarilyUnavailable);
        }
        let code = secret()?;
        self.0.insert(code.clone(), Waiting { person, asked, expires_at: now.saturating_add(LIVES_S) });
        Ok(code)
    }

    /// Redeems a code. It is spent by the attempt, also by one that fails.
    pub(crate) fn redeem(
        &mut self,
        redemption: Redemption<'_>,
        now: i64,
    ) -> Result<(&'static Person, Asked), GrantError> {
        let waiting = self.0.remove(redemption.code).ok_or(GrantError::InvalidGrant)?;
        let asked = waiting.asked;
        let good = waiting.expires_at > now
            && asked.client_id == redemption.client_id
            && asked.redirect_uri == redemption.redirect_uri
            && asked.challenge.is_of(redemption.verifier);
        if good { Ok((waiting.person, asked)) } else { Err(GrantError::InvalidGrant) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::person::find;
    use super::*;

    /// The pair of RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    fn asked() -> Asked {
        Asked {
            client_id: "page".to_owned(),
            redirect_uri: "http://127.0.0.1:1/".to_owned(),
            challenge: Challenge::read(CHALLENGE).unwrap(),
            openid: true,
            nonce: None,
        }
    }

    fn redeem(change: impl FnOnce(&mut Redemption<'_>), at: i64) -> Result<&'static str, GrantError> {
        let mut codes = Codes::default();
        let code = codes.issue(find("alice").unwrap(), asked(), 100).unwrap();
        let mut redemption = Redemption {
            code: &code,
            client_id: "page",
            redirect_uri: "http://127.0.0.1:1/",
            verifier: VERIFIER,
        };
        change(&mut redemption);
        let first = codes.redeem(redemption, at).map(|(person, _)| person.username);
        let again = Redemption { code: &code, ..redemption };
        assert_eq!(codes.redeem(again, at).unwrap_err(), GrantError::InvalidGrant, "spent by the attempt");
        first
    }

    #[test]
    fn a_code_is_redeemed_once_by_whoever_has_the_verifier() {
        assert_eq!(redeem(|_| (), 159), Ok("alice"));
        assert_eq!(redeem(|_| (), 160), Err(GrantError::InvalidGrant), "a minute later");
        assert_eq!(redeem(|it| it.client_id = "other", 100), Err(GrantError::InvalidGrant));
        assert_eq!(redeem(|it| it.redirect_uri = "http://127.0.0.1:1", 100), Err(GrantError::InvalidGrant));
        for verifier in ["", CHALLENGE, "short", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXK"] {
            assert_eq!(redeem(|it| it.verifier = verifier, 100), Err(GrantError::InvalidGrant), "{verifier}");
        }
    }

    #[test]
    fn a_challenge_is_a_whole_hash() {
        assert!(Challenge::read(CHALLENGE).is_some());
        for bad in ["", "E9Mel", VERIFIER.get(..42).unwrap(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM="]
        {
            assert!(Challenge::read(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn codes_stay_bounded() {
        let mut codes = Codes::default();
        let person = find("bob").unwrap();
        for _ in 0..MAX_CODES {
            codes.issue(person, asked(), 100).unwrap();
        }
        assert_eq!(codes.issue(person, asked(), 100).unwrap_err(), GrantError::TemporarilyUnavailable);
        assert!(codes.issue(person, asked(), 200).is_ok(), "those of before are gone by then");
    }
}
