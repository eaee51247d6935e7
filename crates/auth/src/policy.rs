//! What a token must be to count: the issuer, the audience, the scope, and the limits.

use std::time::Duration;

use url::Url;

/// Where Entra has the scope: `scp` for a person's token, `roles` for an application's own.
const DEFAULT_SCOPE_CLAIMS: &str = "scp,roles";
/// Where Entra has the roles.
const DEFAULT_ROLE_CLAIMS: &str = "roles";
/// Claims with a meaning of their own, in which a caller may put what they like or which every token has: read as scope
/// or roles, they would let in whoever has the right name.
const OTHER_CLAIMS: [&str; 22] = [
    "iss",
    "aud",
    "exp",
    "nbf",
    "iat",
    "jti",
    "sub",
    "oid",
    "tid",
    "cnf",
    "nonce",
    "azp",
    "appid",
    "client_id",
    "name",
    "given_name",
    "family_name",
    "nickname",
    "preferred_username",
    "upn",
    "unique_name",
    "email",
];

/// The rules that a [`Verifier`](crate::Verifier) applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The one accepted value of `iss`, compared to the byte.
    pub issuer: String,
    /// The values of which one must be the `aud` claim, or a member of it. One resource has several names where an issuer
    /// changes how it spells them: Entra's tokens of version 1 name `api://...`, those of version 2 the client's GUID.
    pub audiences: Vec<String>,
    /// The word that must be in one of `scope_claims`.
    pub required_scope: String,
    /// The claims in which `required_scope` is looked for: `scp` and `roles`, as Entra has it, unless told otherwise.
    pub scope_claims: Vec<String>,
    /// The claims that list the caller's roles: `roles` unless told otherwise.
    pub role_claims: Vec<String>,
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
    /// A policy with the default claims and limits, and the keys where [`derive_jwks_url`] says. `audiences` is one, or
    /// several between commas.
    pub fn new(
        issuer: impl Into<String>,
        audiences: impl AsRef<str>,
        required_scope: impl Into<String>,
    ) -> Self {
        let issuer = issuer.into();
        Self {
            jwks_url: derive_jwks_url(&issuer),
            issuer,
            audiences: listed(audiences.as_ref()),
            required_scope: required_scope.into(),
            scope_claims: listed(DEFAULT_SCOPE_CLAIMS),
            role_claims: listed(DEFAULT_ROLE_CLAIMS),
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

    /// The same policy with the scope in other claims: one, or several between commas. A provider that keeps to RFC 9068
    /// sends `scope`.
    #[must_use]
    pub fn with_scope_claims(mut self, names: &str) -> Self {
        self.scope_claims = listed(names);
        self
    }

    /// The same policy with the roles in other claims: one, or several between commas.
    #[must_use]
    pub fn with_role_claims(mut self, names: &str) -> Self {
        self.role_claims = listed(names);
        self
    }

    /// The audience to name where one must be named: the first.
    pub fn audience(&self) -> &str {
        self.audiences.first().map_or("", String::as_str)
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
        if self.audiences.is_empty() || self.audiences.iter().any(|audience| audience.trim().is_empty()) {
            return Err(PolicyError::Audience);
        }
        if self.required_scope.is_empty() || self.required_scope.contains(char::is_whitespace) {
            return Err(PolicyError::Scope);
        }
        if !are_claims(&self.scope_claims) {
            return Err(PolicyError::ScopeClaims);
        }
        if !are_claims(&self.role_claims) {
            return Err(PolicyError::RoleClaims);
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
    /// `audiences` is empty, or one of them is blank.
    #[error("the token audience is blank")]
    Audience,
    /// `required_scope` is blank or holds more than one word.
    #[error("the required scope is not one word")]
    Scope,
    /// `scope_claims` is empty, or names a claim that can hold no scope.
    #[error("the claims of the scope are not names of claims that can hold one")]
    ScopeClaims,
    /// `role_claims` is empty, or names a claim that can hold no roles.
    #[error("the claims of the roles are not names of claims that can hold them")]
    RoleClaims,
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

/// The items of a list between commas, without blanks around them.
fn listed(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

/// Whether each can be the name of a claim that holds words, and there is one at all.
fn are_claims(names: &[String]) -> bool {
    !names.is_empty()
        && names.iter().all(|name| !name.trim().is_empty() && !OTHER_CLAIMS.contains(&name.as_str()))
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
    fn lists_are_read_between_commas() {
        let policy = Policy::new("https://login.example/t/v2.0", " api://x , 0f3c ,", "access_as_user");
        assert_eq!(policy.audiences, ["api://x", "0f3c"]);
        assert_eq!(policy.audience(), "api://x");
        assert_eq!((policy.scope_claims.len(), policy.role_claims.len()), (2, 1));
        let policy = policy.with_scope_claims("scope, scp").with_role_claims("https://x.example/roles");
        assert_eq!(policy.scope_claims, ["scope", "scp"]);
        assert_eq!(policy.role_claims, ["https://x.example/roles"]);
        assert_eq!(policy.validate(), Ok(()));
    }

    #[test]
    fn a_policy_that_would_match_silence_is_refused() {
        let good = Policy::new("https://login.example/t/v2.0", "api://x", "access_as_user");
        assert_eq!(good.validate(), Ok(()));
        assert_eq!(Policy { issuer: String::new(), ..good.clone() }.validate(), Err(PolicyError::Issuer));
        for audiences in ["", " ", ",", " , "] {
            let policy = Policy::new("https://login.example/t/v2.0", audiences, "access_as_user");
            assert_eq!(policy.validate(), Err(PolicyError::Audience), "{audiences:?}");
        }
        for claims in ["", ",", "scp,sub", "name", "aud"] {
            assert_eq!(
                good.clone().with_scope_claims(claims).validate(),
                Err(PolicyError::ScopeClaims),
                "{claims:?}"
            );
            assert_eq!(
                good.clone().with_role_claims(claims).validate(),
                Err(PolicyError::RoleClaims),
                "{claims:?}"
            );
        }
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
