//! A sign-in as it is kept between two runs.

use serde::{Deserialize, Serialize};

use ask_signin::Claims;
use ask_signin::Granted;
use ask_signin::Order;
use ask_signin::Secret;

/// The form of the file. One with another number is not read.
pub(super) const VERSION: u32 = 1;

/// How long before its end a token is exchanged, in seconds: a run uses the token it was asked with for up to five minutes.
const EARLY_S: i64 = 300;

/// A person's sign-in at one service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(super) version: u32,
    /// The service that the tokens are for; they are sent to no other.
    pub(super) service: String,
    pub(crate) issuer: String,
    client_id: String,
    scope: String,
    resource: Option<String>,
    audience: Option<String>,
    pub(crate) access_token: Secret,
    /// When the access token ends, in seconds since 1970, where that is known.
    pub(crate) expires_at: Option<i64>,
    /// How long it lived from its issue, in seconds.
    lifetime_s: Option<i64>,
    pub(crate) refresh_token: Option<Secret>,
    /// Who signed in, for people to read.
    pub(crate) who: Claims,
}

impl Kept {
    /// A new sign-in, granted now.
    pub(crate) fn new(service: String, issuer: String, order: Order, granted: &Granted, now: i64) -> Self {
        let Order { client_id, scope, resource, audience } = order;
        let mut kept = Self {
            version: VERSION,
            service,
            issuer,
            client_id,
            scope,
            resource,
            audience,
            access_token: granted.access_token.clone(),
            expires_at: None,
            lifetime_s: None,
            refresh_token: None,
            who: Claims::default(),
        };
        kept.take(granted, now);
        kept
    }

    /// Takes newer tokens. A provider that sends no new refresh token leaves the old one in force.
    pub(crate) fn take(&mut self, granted: &Granted, now: i64) {
        let access = Claims::of(granted.access_token.expose());
        let told = granted.id_token.as_ref().and_then(|token| Claims::of(token.expose()));
        self.access_token = granted.access_token.clone();
        self.expires_at = granted
            .expires_in
            .map(|seconds| now.saturating_add(seconds))
            .or_else(|| access.as_ref().and_then(|claims| claims.expires_at));
        self.lifetime_s = self.expires_at.map(|at| at.saturating_sub(now));
        if let Some(refresh) = &granted.refresh_token {
            self.refresh_token = Some(refresh.clone());
        }
        if let Some(who) = told.into_iter().chain(access).reduce(Claims::or) {
            self.who = who;
        }
    }

    /// What the client asks for when it asks for newer tokens.
    pub(crate) fn order(&self) -> Order {
        Order {
            client_id: self.client_id.clone(),
            scope: self.scope.clone(),
            resource: self.resource.clone(),
            audience: self.audience.clone(),
        }
    }

    /// Whether the access token is about to expire: within five minutes, or in the second half of a shorter life.
    pub(crate) fn is_due(&self, now: i64) -> bool {
        let early = self.lifetime_s.map_or(EARLY_S, |life| EARLY_S.min(life / 2));
        self.expires_at.is_some_and(|at| now >= at.saturating_sub(early))
    }

    /// Whether the access token has expired.
    pub(crate) fn is_over(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|at| now >= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(json: &str) -> Granted {
        serde_json::from_str(json).unwrap()
    }

    fn kept(json: &str) -> Kept {
        let order = Order { client_id: "c".into(), scope: "s".into(), resource: None, audience: None };
        Kept::new("http://h".into(), "https://i".into(), order, &granted(json), 1000)
    }

    #[test]
    fn a_token_is_due_before_it_expires() {
        let long = kept(r#"{"access_token":"a","expires_in":3600}"#);
        assert!(!long.is_due(1000) && !long.is_due(4299) && long.is_due(4300) && !long.is_over(4599));
        assert!(long.is_over(4600));
        let short = kept(r#"{"access_token":"a","expires_in":60}"#);
        assert!(!short.is_due(1029) && short.is_due(1030));
        let unknown = kept(r#"{"access_token":"a"}"#);
        assert!(!unknown.is_due(i64::MAX) && !unknown.is_over(i64::MAX));
    }

    #[test]
    fn newer_tokens_replace_older_ones_but_for_a_refresh_token_that_stays() {
        let mut kept = kept(r#"{"access_token":"a","refresh_token":"r1","expires_in":60}"#);
        kept.take(&granted(r#"{"access_token":"b","expires_in":90}"#), 2000);
        assert_eq!((kept.access_token.expose(), kept.expires_at), ("b", Some(2090)));
        assert_eq!(kept.refresh_token, Some(Secret::from("r1")));
        kept.take(&granted(r#"{"access_token":"c","refresh_token":"r2"}"#), 2000);
        assert_eq!((kept.refresh_token.clone(), kept.expires_at), (Some(Secret::from("r2")), None));
        assert!(!format!("{kept:?}").contains("r2"));
    }
}
