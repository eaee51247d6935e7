//! An issuer for tests: keys, tokens of any shape, a published key document that counts who fetches it, and a clock.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use ask_auth::{Clock, Denied, FetchError, Identity, KeySource, Policy, Verifier};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256,
    RsaEncoding, RsaKeyPair,
};
use bytes::Bytes;
use data_encoding::BASE64URL_NOPAD;
use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};
use time::OffsetDateTime;
use tokio::sync::watch;

pub(crate) const ISSUER: &str = "https://login.example/tenant/v2.0";
pub(crate) const AUDIENCE: &str = "api://data-agent-service";
pub(crate) const SCOPE: &str = "access_as_user";
/// The second at which every test begins.
pub(crate) const NOW: i64 = 1_800_000_000;

/// A signing key.
pub(crate) enum Signer {
    Rsa(RsaKeyPair, &'static str),
    Ec(EcdsaKeyPair, &'static str),
    Ed(Ed25519KeyPair),
}

pub(crate) static RSA: LazyLock<Signer> = LazyLock::new(|| Signer::rsa("RS256"));
pub(crate) static OTHER_RSA: LazyLock<Signer> = LazyLock::new(|| Signer::rsa("RS256"));

impl Signer {
    pub(crate) fn rsa(alg: &'static str) -> Self {
        Self::Rsa(RsaKeyPair::generate(KeySize::Rsa2048).unwrap(), alg)
    }

    pub(crate) fn ec(alg: &'static str) -> Self {
        let signing: &'static EcdsaSigningAlgorithm =
            if alg == "ES256" { &ECDSA_P256_SHA256_FIXED_SIGNING } else { &ECDSA_P384_SHA384_FIXED_SIGNING };
        Self::Ec(EcdsaKeyPair::generate(signing).unwrap(), alg)
    }

    pub(crate) fn ed() -> Self {
        Self::Ed(Ed25519KeyPair::generate().unwrap())
    }

    pub(crate) fn alg(&self) -> &'static str {
        match self {
            Self::Rsa(_, alg) | Self::Ec(_, alg) => alg,
            Self::Ed(_) => "EdDSA",
        }
    }

    pub(crate) fn jwk(&self, kid: &str) -> Value {
        match self {
            Self::Rsa(pair, alg) => {
                let public = pair.public_key();
                json!({ "kid": kid, "kty": "RSA", "use": "sig", "alg": alg,
                    "n": b64(public.modulus().big_endian_without_leading_zero()),
                    "e": b64(public.exponent().big_endian_without_leading_zero()) })
            }
            Self::Ec(pair, alg) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(if *alg == "ES256" { 32 } else { 48 });
                let crv = if *alg == "ES256" { "P-256" } else { "P-384" };
                json!({ "kid": kid, "kty": "EC", "crv": crv, "x": b64(x), "y": b64(y) })
            }
            Self::Ed(pair) => {
                json!({ "kid": kid, "kty": "OKP", "crv": "Ed25519", "x": b64(pair.public_key().as_ref()) })
            }
        }
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(pair, alg) => {
                let encoding: &'static dyn RsaEncoding = match *alg {
                    "RS384" => &RSA_PKCS1_SHA384,
                    "RS512" => &RSA_PKCS1_SHA512,
                    "PS256" => &RSA_PSS_SHA256,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(encoding, &random, message, &mut signature).unwrap();
                signature
            }
            Self::Ec(pair, _) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Ed(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }

    /// A token of exactly this text, signed.
    pub(crate) fn token(&self, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", b64(header.as_bytes()), b64(claims.as_bytes()));
        format!("{signed}.{}", b64(&self.sign(signed.as_bytes())))
    }

    /// A token that is right in everything.
    pub(crate) fn good(&self, kid: &str) -> String {
        self.token(&header(self.alg(), kid).to_string(), &claims().to_string())
    }
}

pub(crate) fn b64(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}

pub(crate) fn header(alg: &str, kid: &str) -> Value {
    json!({ "typ": "JWT", "alg": alg, "kid": kid })
}

pub(crate) fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "subject-1", "oid": "0d9c7f5e-object", "tid": "tenant-1",
        "preferred_username": "carol@sample.example", "name": "Carol", "roles": ["finance"],
        "scp": "openid access_as_user", "iat": NOW, "nbf": NOW, "exp": NOW + 3600, "ver": "2.0",
    })
}

/// Claims with one member set, or taken out by null.
pub(crate) fn claims_with(member: &str, value: Value) -> Value {
    let mut claims = claims();
    let members = claims.as_object_mut().unwrap();
    if value.is_null() {
        members.remove(member);
    } else {
        members.insert(member.to_owned(), value);
    }
    claims
}

/// The issuer's side of the wire, shared with the source that the verifier fetches through.
pub(crate) struct Published {
    /// The document, or none while the issuer is down.
    document: Mutex<Result<Bytes, FetchError>>,
    begun: AtomicUsize,
    /// While true, fetches hang.
    held: watch::Sender<bool>,
}

struct PublishedSource(Arc<Published>);

impl KeySource for PublishedSource {
    fn fetch(&self) -> LocalBoxFuture<'_, Result<Bytes, FetchError>> {
        Box::pin(async {
            self.0.begun.fetch_add(1, Ordering::SeqCst);
            let mut held = self.0.held.subscribe();
            held.wait_for(|held| !held).await.map_err(|_gone| FetchError::Unreachable)?;
            self.0.document.lock().unwrap().clone()
        })
    }
}

impl Published {
    pub(crate) fn publish(&self, keys: &[(&str, &Signer)]) {
        let keys: Vec<Value> = keys.iter().map(|(kid, signer)| signer.jwk(kid)).collect();
        self.publish_text(&json!({ "keys": keys }).to_string());
    }

    pub(crate) fn publish_text(&self, text: &str) {
        *self.document.lock().unwrap() = Ok(Bytes::copy_from_slice(text.as_bytes()));
    }

    pub(crate) fn go_down(&self) {
        *self.document.lock().unwrap() = Err(FetchError::Unreachable);
    }

    pub(crate) fn hold(&self, hold: bool) {
        self.held.send_replace(hold);
    }

    pub(crate) fn fetches(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }
}

/// A verifier, the issuer it trusts and the clock it reads.
pub(crate) struct World {
    pub(crate) verifier: Verifier,
    pub(crate) published: Arc<Published>,
    millis: Arc<AtomicI64>,
}

impl World {
    /// A world whose issuer publishes these keys, which the verifier has already fetched once.
    pub(crate) async fn with(keys: &[(&str, &Signer)]) -> Self {
        Self::under(Policy::new(ISSUER, AUDIENCE, SCOPE), keys).await
    }

    /// The same under another policy.
    pub(crate) async fn under(policy: Policy, keys: &[(&str, &Signer)]) -> Self {
        let world = Self::starting_under(policy, Duration::from_secs(5), |published| published.publish(keys));
        until("the first keys", || world.verifier.has_keys()).await;
        world
    }

    /// A world that has only just begun.
    pub(crate) fn starting(fetch_limit: Duration, set_up: impl FnOnce(&Published)) -> Self {
        Self::starting_under(Policy::new(ISSUER, AUDIENCE, SCOPE), fetch_limit, set_up)
    }

    fn starting_under(policy: Policy, fetch_limit: Duration, set_up: impl FnOnce(&Published)) -> Self {
        let published = Arc::new(Published {
            document: Mutex::new(Err(FetchError::Unreachable)),
            begun: AtomicUsize::new(0),
            held: watch::Sender::new(false),
        });
        set_up(&published);
        let millis = Arc::new(AtomicI64::new(NOW * 1000));
        let clock = Clock::from_fn({
            let millis = Arc::clone(&millis);
            move || {
                OffsetDateTime::from_unix_timestamp_nanos(
                    i128::from(millis.load(Ordering::SeqCst)) * 1_000_000,
                )
                .unwrap()
            }
        });
        let source = Arc::clone(&published);
        let verifier = Verifier::builder(policy)
            .clock(clock)
            .fetch_limit(fetch_limit)
            .start_with(move || PublishedSource(source))
            .unwrap();
        Self { verifier, published, millis }
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.millis.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    pub(crate) async fn verify(&self, token: &str) -> Result<Arc<Identity>, Denied> {
        self.verifier.verify(Some(format!("Bearer {token}").as_bytes())).await
    }
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(Duration::from_secs(10), async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("waited in vain for {what}"));
}
