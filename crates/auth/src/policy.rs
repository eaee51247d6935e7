//! What a token must be to count: the issuer, the audience, the scope, and the limits.

use std::time::Duration;

use url::Url;

/// The rules that a [`Verifier`](crate::Verifier) applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The one accepted value of `iss`, compared to the byte.
    pub issuer: String,
    /// The value that must be the `aud` claim, or one of its members.
    pub audience: String,
    /// The word that must be in `scp` or in `roles`.
    pub required_scope: String,
    /// Where the issuer publishes its keys.
    pub jwks_url: String,
    /// How far the issuer's clock and ours may differ. 10 s: hosts that follow a time server are within one second of
    /// each other, and every second here is one more in which an expired token still works.
    pub leeway: Duration,
    /// The longest token looked at, in bytes. 16 KiB: an Entra token with the most groups it can list is about 10 KiB.
    pub max_token_bytes: usize,
    /// The longest life of a token, from `iat` (else `nbf`, else now) to `exp`. 24 h: the longest that Entra lets a
    /// tenant configure, so a longer one was not made by a rule that anybody chose.
    pub max_lifetime: Duration,
}

impl Policy {
    /// A policy with the default limits, and the keys where [`derive_jwks_url`] says.
    pub fn new(
        issuer: impl Into<String>,
        audience: impl Into<String>,
        required_scope: impl Into<String>,
    ) -> Self {
        let issuer = issuer.into();
        Self {
            jwks_url: derive_jwks_url(&issuer),
            issuer,
            audience: audience.into(),
            required_scope: required_scope.into(),
            leeway: Duration::from_secs(10),
            max_token_bytes: 16 * 1024,
            max_lifetime: Duration::from_secs(24 * 60 * 60),
        }
    }

    /// The same policy with the keys at another address.
    #[must_use]
    pub fn with_jwks_url(mut self, url: impl Into<String>) -> Self {
        self.jwks_url = url.into();
        self
    }

    /// Checks the policy itself, so that a bad setting stops the start and not the first caller.
    ///
    /// # Errors
    ///
    /// The first field that cannot be right: an empty one would match tokens that say nothing.
    pub fn validate(&self) -> Result<(), PolicyError> {
        if !is_http_url(&self.issuer) {
            return Err(PolicyError::Issuer);
        }
        if self.audience.trim().is_empty() {
            return Err(PolicyError::Audience);
        }
        if self.required_scope.is_empty() || self.required_scope.contains(char::is_whitespace) {
            return Err(PolicyError::Scope);
        }
        if !is_http_url(&self.jwks_url) {
            return Err(PolicyError::JwksUrl);
        }
        Ok(())
    }
}

/// A policy that no token could rightly meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// `issuer` is not an absolute http or https URL.
    #[error("the token issuer is not an http or https URL")]
    Issuer,
    /// `audience` is blank.
    #[error("the token audience is blank")]
    Audience,
    /// `required_scope` is blank or holds more than one word.
    #[error("the required scope is not one word")]
    Scope,
    /// `jwks_url` is not an absolute http or https URL.
    #[error("the address of the keys is not an http or https URL")]
    JwksUrl,
}

/// The address of an issuer's keys by Entra's rule: the issuer less `/v2.0`, plus `/discovery/v2.0/keys`.
pub fn derive_jwks_url(issuer: &str) -> String {
    let base = issuer.trim_end_matches('/');
    let base = base.strip_suffix("/v2.0").unwrap_or(base);
    format!("{base}/discovery/v2.0/keys")
}

fn is_http_url(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_where_the_issuer_says() {
        for (issuer, expected) in [
            ("https://login.example/t1/v2.0", "https://login.example/t1/discovery/v2.0/keys"),
            ("https://login.example/t1/v2.0/", "https://login.example/t1/discovery/v2.0/keys"),
            ("http://127.0.0.1:8090/t1", "http://127.0.0.1:8090/t1/discovery/v2.0/keys"),
        ] {
            assert_eq!(derive_jwks_url(issuer), expected);
        }
    }

    #[test]
    fn a_policy_that_would_match_silence_is_refused() {
        let good = Policy::new("https://login.example/t/v2.0", "api://x", "access_as_user");
        assert_eq!(good.validate(), Ok(()));
        assert_eq!(Policy { issuer: String::new(), ..good.clone() }.validate(), Err(PolicyError::Issuer));
        assert_eq!(Policy { audience: " ".into(), ..good.clone() }.validate(), Err(PolicyError::Audience));
        assert_eq!(
            Policy { required_scope: String::new(), ..good.clone() }.validate(),
            Err(PolicyError::Scope)
        );
        assert_eq!(
            Policy { required_scope: "a b".into(), ..good.clone() }.validate(),
            Err(PolicyError::Scope)
        );
        assert_eq!(good.with_jwks_url("file:///etc/keys").validate(), Err(PolicyError::JwksUrl));
    }
}
