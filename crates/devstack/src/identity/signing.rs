//! One RSA key of the issuer: what it publishes and what it signs.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Map, Value, json};

/// Why a key could not be made or used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No key could be generated.
    #[error("no signing key could be generated")]
    Generate,
    /// The key would not sign.
    #[error("the signing key does not sign")]
    Sign,
}

/// An RSA key of 2048 bits that signs with RS256.
pub(crate) struct SigningKey {
    pair: RsaKeyPair,
    kid: String,
}

impl SigningKey {
    /// Makes a new key. Takes some 100 ms of CPU time.
    pub(crate) fn generate() -> Result<Self, KeyError> {
        let pair = RsaKeyPair::generate(KeySize::Rsa2048).map_err(|_opaque| KeyError::Generate)?;
        let (n, exponent) = components(&pair);
        // The thumbprint of RFC 7638: the members that make the key, in this order.
        let thumbprint = digest(&SHA256, format!(r#"{{"e":"{exponent}","kty":"RSA","n":"{n}"}}"#).as_bytes());
        let kid = BASE64URL_NOPAD.encode(thumbprint.as_ref());
        Ok(Self { pair, kid })
    }

    /// The key's id: its thumbprint.
    pub(crate) fn kid(&self) -> &str {
        &self.kid
    }

    /// The public half, as it stands in the key document.
    pub(crate) fn jwk(&self) -> Value {
        let (n, exponent) = components(&self.pair);
        json!({ "kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.kid, "n": n, "e": exponent })
    }

    /// Signs a token. The header gets this key's `alg`, `kid` and `typ` where `header` does not set them itself.
    pub(crate) fn sign(
        &self,
        header: &Map<String, Value>,
        claims: &Map<String, Value>,
    ) -> Result<String, KeyError> {
        let mut all = Map::new();
        all.insert("typ".to_owned(), "JWT".into());
        all.insert("alg".to_owned(), "RS256".into());
        all.insert("kid".to_owned(), self.kid.clone().into());
        merge(&mut all, header);
        let encode = |part: &Map<String, Value>| {
            BASE64URL_NOPAD.encode(Value::Object(part.clone()).to_string().as_bytes())
        };
        let message = format!("{}.{}", encode(&all), encode(claims));
        let mut signature = vec![0; self.pair.public_modulus_len()];
        self.pair
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message.as_bytes(), &mut signature)
            .map_err(|_opaque| KeyError::Sign)?;
        Ok(format!("{message}.{}", BASE64URL_NOPAD.encode(&signature)))
    }
}

/// Sets each member of `changes`, and takes those out that are null there.
pub(crate) fn merge(members: &mut Map<String, Value>, changes: &Map<String, Value>) {
    for (name, value) in changes {
        if value.is_null() {
            members.remove(name);
        } else {
            members.insert(name.clone(), value.clone());
        }
    }
}

fn components(pair: &RsaKeyPair) -> (String, String) {
    let public = pair.public_key();
    (
        BASE64URL_NOPAD.encode(public.modulus().big_endian_without_leading_zero()),
        BASE64URL_NOPAD.encode(public.exponent().big_endian_without_leading_zero()),
    )
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SigningKey").field("kid", &self.kid).finish_non_exhaustive()
    }
}
