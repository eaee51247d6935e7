//! What the issuer says and signs, without any HTTP.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use super::addresses::Addresses;
use super::clock::Clock;
use super::keyring::Keyring;
use super::person::{DEFAULT_PERSON, DOMAIN, Person, find};
use super::shape::{Mint, Shape, SigningChoice};
use super::signing::{KeyError, SigningKey, merge};

/// What the issuer is set up with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The tenant, a part of every address and the `tid` claim.
    pub tenant: String,
    /// The `aud` claim of access tokens.
    pub audience: String,
    /// The `scp` claim of access tokens.
    pub scope: String,
    /// How long access tokens live, in seconds.
    pub lifetime_s: i64,
    /// How long a device code can be redeemed, in seconds.
    pub device_code_s: i64,
    /// How long a client waits between two polls for a device code, in seconds.
    pub poll_interval_s: i64,
    /// Where the time comes from.
    pub clock: Clock,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tenant: "5a3b1e60-7e4a-4d00-8000-a5c0de000001".to_owned(),
            audience: "api://data-agent-service".to_owned(),
            scope: "access_as_user".to_owned(),
            lifetime_s: 3600,
            device_code_s: 900,
            poll_interval_s: 5,
            clock: Clock::system(),
        }
    }
}

/// Why the issuer gives no token.
#[derive(Debug, thiserror::Error)]
pub enum IssuerError {
    /// Nobody here has this name.
    #[error("nobody has this name")]
    UnknownPerson,
    /// A key could not be made or used.
    #[error("no token could be signed")]
    Key(#[source] KeyError),
}

/// An issuer of tokens at one address.
#[derive(Debug)]
pub struct Issuer {
    addresses: Addresses,
    settings: Settings,
    keys: Mutex<Keyring>,
}

impl Issuer {
    /// An issuer with one new key, reached at `base` as [`Addresses::new`] has it.
    ///
    /// # Errors
    ///
    /// When no key can be generated.
    pub fn new(base: &str, settings: Settings) -> Result<Self, KeyError> {
        let addresses = Addresses::new(base, &settings);
        Ok(Self { addresses, settings, keys: Mutex::new(Keyring::generate()?) })
    }

    /// What it was set up with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Where it is reached.
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// The scope that a client asks for.
    pub fn full_scope(&self) -> String {
        format!("{}/{}", self.settings.audience, self.settings.scope)
    }

    /// The discovery document.
    pub fn discovery(&self) -> Value {
        json!({
            "issuer": self.addresses.url(),
            "jwks_uri": self.addresses.jwks_url(),
            "token_endpoint": self.addresses.token_url(),
            "device_authorization_endpoint": self.addresses.device_code_url(),
            "authorization_endpoint": self.addresses.authorize_url(),
            "authorization_response_iss_parameter_supported": true,
            "code_challenge_methods_supported": ["S256"],
            "grant_types_supported": [
                "authorization_code", "password", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code",
            ],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "token_endpoint_auth_methods_supported": ["none"],
            "subject_types_supported": ["pairwise"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["openid", "profile", "offline_access", self.full_scope()],
            "claims_supported": ["iss", "aud", "sub", "oid", "tid", "name", "preferred_username", "roles", "scp", "ver"],
        })
    }

    /// The key document.
    pub fn key_document(&self) -> Value {
        self.keys().document()
    }

    /// Puts a new key in charge and returns its id. The one before stays published until the next rotation, unless
    /// `withdraw` is set.
    ///
    /// # Errors
    ///
    /// When no key can be generated; the old ones then stay.
    pub fn rotate(&self, withdraw: bool) -> Result<String, KeyError> {
        // Made before the lock is taken, since it takes a while.
        let key = SigningKey::generate()?;
        let kid = key.kid().to_owned();
        self.keys().rotate(key, withdraw);
        Ok(kid)
    }

    /// An access token for a person.
    ///
    /// # Errors
    ///
    /// When the key does not sign.
    pub fn access_token(&self, person: &Person, shape: &Shape) -> Result<String, KeyError> {
        let claims = self.access_claims(person, shape);
        let key = self.keys().current();
        key.sign(&Map::new(), &claims)
    }

    /// A token that tells a client who signed in, and opens no door. It repeats the client's `nonce`, if there was one.
    ///
    /// # Errors
    ///
    /// When the key does not sign.
    pub fn id_token(
        &self,
        person: &Person,
        client_id: &str,
        nonce: Option<&str>,
    ) -> Result<String, KeyError> {
        let mut claims = self.common_claims(person, self.settings.lifetime_s);
        claims.insert("aud".to_owned(), client_id.into());
        if let Some(nonce) = nonce {
            claims.insert("nonce".to_owned(), nonce.into());
        }
        let key = self.keys().current();
        key.sign(&Map::new(), &claims)
    }

    /// A token made to order.
    ///
    /// # Errors
    ///
    /// An unknown person, or no key to sign with.
    pub fn mint(&self, order: &Mint) -> Result<String, IssuerError> {
        let name = order.username.as_deref().unwrap_or(DEFAULT_PERSON);
        let person = find(name).ok_or(IssuerError::UnknownPerson)?;
        let mut claims = self.access_claims(person, &Shape::default());
        merge(&mut claims, &order.claims);
        let current = self.keys().current();
        let signed = match order.key {
            SigningChoice::Current => current.sign(&order.header, &claims),
            SigningChoice::Unpublished => {
                SigningKey::generate().and_then(|stranger| stranger.sign(&order.header, &claims))
            }
            SigningChoice::Forged => {
                let mut header = Map::new();
                header.insert("kid".to_owned(), current.kid().into());
                merge(&mut header, &order.header);
                SigningKey::generate().and_then(|stranger| stranger.sign(&header, &claims))
            }
        };
        signed.map_err(IssuerError::Key)
    }

    fn access_claims(&self, person: &Person, shape: &Shape) -> Map<String, Value> {
        let mut claims = self.common_claims(person, shape.expires_in.unwrap_or(self.settings.lifetime_s));
        let audience = shape.audience.as_deref().unwrap_or(&self.settings.audience);
        claims.insert("aud".to_owned(), audience.into());
        let scopes = shape.scopes.as_deref().unwrap_or(&self.settings.scope);
        if !scopes.is_empty() {
            claims.insert("scp".to_owned(), scopes.into());
        }
        if !person.roles.is_empty() {
            claims.insert("roles".to_owned(), person.roles.into());
        }
        claims
    }

    fn common_claims(&self, person: &Person, expires_in: i64) -> Map<String, Value> {
        let now = self.settings.clock.now();
        let expires_at = now.saturating_add(expires_in);
        // A token that expired before now was issued before that.
        let issued_at =
            if expires_in > 0 { now } else { expires_at.saturating_sub(self.settings.lifetime_s) };
        let claims = json!({
            "iss": self.addresses.url(),
            "sub": person.sub,
            "oid": person.oid,
            "tid": self.settings.tenant,
            "name": person.name,
            "preferred_username": format!("{}@{DOMAIN}", person.username),
            "iat": issued_at,
            "nbf": issued_at,
            "exp": expires_at,
            "ver": "2.0",
        });
        match claims {
            Value::Object(members) => members,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Map::new()
            }
        }
    }

    fn keys(&self) -> MutexGuard<'_, Keyring> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
