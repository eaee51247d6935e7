//! The mini-service's issuer: ES256 tokens for three people, and any claims signed on request.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
};
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;

use super::Wrong;

const AUDIENCE: &str = "api://data-agent-service";

pub(crate) struct Issuer {
    key: EcdsaKeyPair,
    pub(crate) name: String,
    /// Only a faulty service remembers tokens by their signature.
    by_signature: RefCell<HashMap<String, Value>>,
}

/// Who calls.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) owner: String,
    pub(crate) oid: String,
    pub(crate) sub: String,
    pub(crate) roles: Vec<String>,
    pub(crate) bearer: String,
}

pub(crate) fn now() -> i64 {
    time::OffsetDateTime::now_utc().unix_timestamp()
}

impl Issuer {
    pub(crate) fn new(base: &str) -> Self {
        Self {
            key: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap(),
            name: format!("{base}/tenant/v2.0"),
            by_signature: RefCell::default(),
        }
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        let header = BASE64URL_NOPAD.encode(json!({"alg": "ES256", "kid": "1"}).to_string().as_bytes());
        let payload = BASE64URL_NOPAD.encode(claims.to_string().as_bytes());
        let signed = format!("{header}.{payload}");
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", BASE64URL_NOPAD.encode(signature.as_ref()))
    }

    pub(crate) fn token_for(&self, name: &str) -> String {
        let roles: &[&str] = match name {
            "alice" => &["analyst"],
            "carol" => &["finance"],
            _ => &[],
        };
        self.sign(&json!({
            "iss": self.name, "aud": AUDIENCE, "sub": format!("sub-{name}"), "oid": format!("oid-of-{name}"),
            "tid": "tenant", "scp": "access_as_user", "roles": roles, "name": name,
            "iat": now(), "nbf": now(), "exp": now() + 3600,
        }))
    }

    /// The caller, or 401 or 403.
    pub(crate) fn check(&self, wrong: Wrong, authorization: Option<&str>) -> Result<Caller, u16> {
        let (scheme, token) = authorization.and_then(|value| value.split_once(' ')).ok_or(401_u16)?;
        let scheme_fits = if wrong.is("scheme-case-matters") {
            scheme == "Bearer"
        } else {
            scheme.eq_ignore_ascii_case("bearer")
        };
        if !scheme_fits && !wrong.is("any-scheme-taken") {
            return Err(401);
        }
        let claims = self.claims(wrong, token.trim()).ok_or(401_u16)?;
        let text = |name: &str| claims[name].as_str().unwrap_or_default().to_owned();
        if text("aud") != AUDIENCE && !wrong.is("audience-unchecked") {
            return Err(401);
        }
        if text("iss") != self.name && !wrong.is("issuer-unchecked") {
            return Err(401);
        }
        let expiry = claims["exp"].as_i64().ok_or(401_u16)?;
        if expiry < now() && !wrong.is("expiry-unchecked") {
            return Err(401);
        }
        if !text("scp").split(' ').any(|scope| scope == "access_as_user") && !wrong.is("scope-unchecked") {
            return Err(if wrong.is("missing-scope-is-401") { 401 } else { 403 });
        }
        let person = if wrong.is("owner-by-name") { text("name") } else { text("oid") };
        let roles = claims["roles"].as_array().cloned().unwrap_or_default();
        Ok(Caller {
            owner: format!("{} {person}", text("iss")),
            oid: text("oid"),
            sub: text("sub"),
            roles: roles.iter().filter_map(|role| role.as_str().map(str::to_owned)).collect(),
            bearer: token.trim().to_owned(),
        })
    }

    fn claims(&self, wrong: Wrong, token: &str) -> Option<Value> {
        let parts: Vec<_> = token.split('.').collect();
        let [header, payload, signature] = parts.as_slice() else { return None };
        let json = |part: &str| -> Option<Value> {
            serde_json::from_slice(&BASE64URL_NOPAD.decode(part.as_bytes()).ok()?).ok()
        };
        let claims = json(payload)?;
        if wrong.is("alg-none-taken") && json(header)?["alg"] == "none" {
            return Some(claims);
        }
        let raw = BASE64URL_NOPAD.decode(signature.as_bytes()).ok()?;
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.key.public_key().as_ref());
        let genuine = public.verify(format!("{header}.{payload}").as_bytes(), &raw).is_ok();
        if wrong.is("remembers-by-signature") {
            if genuine {
                self.by_signature.borrow_mut().insert((*signature).to_owned(), claims.clone());
            }
            return self.by_signature.borrow().get(*signature).cloned();
        }
        (genuine || (wrong.is("signature-unchecked") && !raw.is_empty())).then_some(claims)
    }
}
