//! From an `Authorization` header to a caller.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest;
use time::OffsetDateTime;

use crate::authorization::bearer_token;
use crate::bearer::Bearer;
use crate::claims::{self, Claims};
use crate::clock::Clock;
use crate::denied::{Cause, Denied};
use crate::identity::Identity;
use crate::keys::{HttpKeySource, KeySource, KeyStore};
use crate::memory::{Digest, Known, Memory};
use crate::policy::{Policy, PolicyError};
use crate::token;

/// The longest that one fetch of the keys may take, connecting included.
const FETCH_LIMIT: Duration = Duration::from_secs(5);

/// Verifies bearer tokens. Clones share everything; any number of threads may verify at once.
///
/// A token that verified is remembered by its hash until it expires or the issuer's keys change, so that the calls
/// that follow cost microseconds. A key that the issuer withdraws thereby takes its tokens with it, at the next fetch.
/// Denials are not remembered.
#[derive(Debug, Clone)]
pub struct Verifier {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    policy: Policy,
    clock: Clock,
    keys: KeyStore,
    memory: Memory,
}

/// A verifier about to start.
#[derive(Debug, Clone)]
pub struct VerifierBuilder {
    policy: Policy,
    clock: Clock,
    fetch_limit: Duration,
}

/// Why a verifier cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The policy could match no token, or any.
    #[error("the token policy cannot be used")]
    Policy(#[source] PolicyError),
    /// The system gives no thread for fetching keys.
    #[error("no thread for fetching keys")]
    Thread(#[source] std::io::Error),
}

impl Verifier {
    /// Starts a verifier that fetches its keys over HTTP, on the machine's clock.
    ///
    /// Returns at once: an issuer that is down at start is asked again until it answers, and until then every caller is
    /// unauthenticated.
    ///
    /// # Errors
    ///
    /// A policy that cannot be used, or no thread.
    pub fn start(policy: Policy) -> Result<Self, StartError> {
        Self::builder(policy).start()
    }

    /// A verifier with other parts than the usual ones.
    pub fn builder(policy: Policy) -> VerifierBuilder {
        VerifierBuilder { policy, clock: Clock::system(), fetch_limit: FETCH_LIMIT }
    }

    /// Verifies the value of the `Authorization` header. Where a request may carry several, use [`Verifier::verify_sole`].
    ///
    /// Waits only when the token's key is unknown and the keys may be fetched for it, and then for one or two fetches.
    ///
    /// # Errors
    ///
    /// [`Denied::Unauthenticated`] for every cause but one; [`Denied::MissingScope`] for a token that verifies without
    /// the required scope.
    ///
    /// # Cancel safety
    ///
    /// May be dropped at any time; nothing is lost but the answer.
    pub async fn verify(&self, authorization: Option<&[u8]>) -> Result<Arc<Identity>, Denied> {
        self.check(authorization).await.map(Arc::new).map_err(|cause| {
            tracing::debug!(auth.cause = cause.as_str(), "a caller was turned away");
            cause.public()
        })
    }

    /// Verifies all `Authorization` values of a request, of which there must be exactly one: a proxy and this service
    /// might otherwise believe different ones.
    ///
    /// # Errors
    ///
    /// As [`Verifier::verify`].
    ///
    /// # Cancel safety
    ///
    /// As [`Verifier::verify`].
    pub async fn verify_sole<'a>(
        &self,
        authorizations: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Arc<Identity>, Denied> {
        let mut values = authorizations.into_iter();
        let first = values.next();
        if values.next().is_some() {
            tracing::debug!(auth.cause = Cause::ManyHeaders.as_str(), "a caller was turned away");
            return Err(Cause::ManyHeaders.public());
        }
        drop(values);
        self.verify(first).await
    }

    /// The policy in force.
    pub fn policy(&self) -> &Policy {
        &self.inner.policy
    }

    /// Whether any keys are known yet. Until then nobody is authenticated.
    pub fn has_keys(&self) -> bool {
        self.inner.keys.snapshot().generation > 0
    }

    async fn check(&self, authorization: Option<&[u8]>) -> Result<Identity, Cause> {
        let Inner { policy, clock, keys, memory } = &*self.inner;
        let now = clock.now();
        keys.refresh_if_old(now);
        let token = bearer_token(authorization, policy.max_token_bytes)?;
        let digest = sha256(token);
        let mut snapshot = keys.snapshot();
        if let Some(claims) = memory.get(&digest, snapshot.generation) {
            return match claims.life.check(now) {
                Ok(()) => Ok(identity(&claims, token)),
                Err(cause) => {
                    memory.forget(&digest);
                    Err(cause)
                }
            };
        }
        // The claims come first because they cost nothing: a token that says itself that it is none of ours is worth
        // neither a signature check nor a fetch.
        let parts = token::split(token)?;
        let claims = claims::read(&parts.payload, policy, now)?;
        if snapshot.keys.find(&parts.kid).is_none() {
            snapshot = keys.await_key(&parts.kid).await.ok_or(Cause::UnknownKey)?;
        }
        let key = snapshot.keys.find(&parts.kid).ok_or(Cause::UnknownKey)?;
        if key.algorithm() != parts.alg {
            return Err(Cause::WrongAlgorithm);
        }
        if !key.signed(parts.signed, parts.signature) {
            return Err(Cause::BadSignature);
        }
        if !claims.has_scope {
            return Err(Cause::NoScope);
        }
        let identity = identity(&claims, token);
        memory.insert(digest, Known { claims: Arc::new(claims), generation: snapshot.generation });
        Ok(identity)
    }
}

impl VerifierBuilder {
    /// Reads the time from this clock.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Gives one fetch of the keys this long. 5 s by default.
    #[must_use]
    pub fn fetch_limit(mut self, limit: Duration) -> Self {
        self.fetch_limit = limit;
        self
    }

    /// Starts with keys from the policy's address.
    ///
    /// # Errors
    ///
    /// A policy that cannot be used, or no thread.
    pub fn start(self) -> Result<Verifier, StartError> {
        let url = self.policy.jwks_url.clone();
        self.start_with(move || HttpKeySource::new(url))
    }

    /// Starts with keys from another source, which is created on the thread that fetches.
    ///
    /// # Errors
    ///
    /// A policy that cannot be used, or no thread.
    pub fn start_with<S: KeySource>(
        self,
        source: impl FnOnce() -> S + Send + 'static,
    ) -> Result<Verifier, StartError> {
        self.policy.validate().map_err(StartError::Policy)?;
        let keys =
            KeyStore::start(self.clock.clone(), self.fetch_limit, source).map_err(StartError::Thread)?;
        Ok(Verifier {
            inner: Arc::new(Inner { policy: self.policy, clock: self.clock, keys, memory: Memory::new() }),
        })
    }
}

fn identity(claims: &Claims, token: &str) -> Identity {
    Identity {
        owner: claims.owner.clone(),
        oid: claims.owner.subject().as_str().to_owned(),
        roles: claims.roles.clone(),
        scopes: claims.scopes.clone(),
        expires_at: OffsetDateTime::from_unix_timestamp(claims.life.expires_at)
            .unwrap_or(OffsetDateTime::UNIX_EPOCH),
        bearer: Bearer::new(token),
    }
}

fn sha256(token: &str) -> Digest {
    let mut out = Digest::default();
    let digest = digest::digest(&digest::SHA256, token.as_bytes());
    for (to, from) in out.iter_mut().zip(digest.as_ref()) {
        *to = *from;
    }
    out
}
