//! One published key with the one algorithm it may be used for, and the set of them.

use std::collections::BTreeMap;

use data_encoding::BASE64URL_NOPAD;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

/// The most keys read from one document. Issuers publish two to twelve.
const MAX_KEYS: usize = 64;

/// The keys that an issuer publishes, by key id.
#[derive(Debug, Default)]
pub(crate) struct KeySet {
    keys: BTreeMap<String, Key>,
}

/// A public key. Its algorithm comes from the key itself; what a token says is only compared with it.
#[derive(Debug)]
pub(crate) struct Key {
    algorithm: Algorithm,
    name: &'static str,
    decoding: DecodingKey,
    /// The key's own parts, to see whether a document brings anything new.
    material: (String, String),
}

/// The members of a JWK that are looked at.
#[derive(Deserialize)]
struct Jwk {
    kid: String,
    kty: String,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
    d: Option<String>,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

impl KeySet {
    /// Reads a JWKS document. A key that cannot be used is left out and does not spoil the others.
    ///
    /// None when the document is no JWKS or has no usable key at all: an issuer without keys cannot issue, so such an
    /// answer is a fault of its server, and is no reason to turn every caller away.
    pub(crate) fn read(document: &[u8]) -> Option<Self> {
        let document: Document = serde_json::from_slice(document).ok()?;
        let mut keys = BTreeMap::new();
        for value in document.keys.into_iter().take(MAX_KEYS) {
            let Ok(jwk) = serde_json::from_value::<Jwk>(value) else { continue };
            if let Some((kid, key)) = Key::from_jwk(jwk) {
                // The first of two keys with one id stays, so that appending to the document replaces nothing.
                keys.entry(kid).or_insert(key);
            }
        }
        if keys.is_empty() { None } else { Some(Self { keys }) }
    }

    /// The key with this id.
    pub(crate) fn find(&self, kid: &str) -> Option<&Key> {
        self.keys.get(kid)
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether both hold the same ids with the same keys for the same algorithms.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        self.keys.len() == other.keys.len()
            && self.keys.iter().all(|(kid, key)| {
                other.find(kid).is_some_and(|found| found.name == key.name && found.material == key.material)
            })
    }
}

impl Key {
    fn from_jwk(jwk: Jwk) -> Option<(String, Self)> {
        let for_signatures = jwk.usage.as_deref().is_none_or(|usage| usage == "sig")
            && jwk.key_ops.as_ref().is_none_or(|ops| ops.iter().any(|op| op == "verify"));
        // A set that shows a key's private part has given that key away.
        if !for_signatures || jwk.d.is_some() || jwk.kid.is_empty() {
            return None;
        }
        let (name, algorithm, shape) = algorithm(&jwk.kty, jwk.crv.as_deref(), jwk.alg.as_deref())?;
        let (decoding, material) = match shape {
            Shape::Curve { bytes } => {
                let (x, y) = (jwk.x?, jwk.y?);
                if decoded_len(&x)? != bytes || decoded_len(&y)? != bytes {
                    return None;
                }
                (DecodingKey::from_ec_components(&x, &y).ok()?, (x, y))
            }
            Shape::Edwards => {
                let x = jwk.x?;
                if decoded_len(&x)? != 32 {
                    return None;
                }
                (DecodingKey::from_ed_components(&x).ok()?, (x, String::new()))
            }
            Shape::Modulus => {
                let (modulus, exponent) = (jwk.n?, jwk.e?);
                // 2048 to 8192 bits: shorter ones can be broken, longer ones cost every check dearly.
                if !(256..=1024).contains(&decoded_len(&modulus)?) || decoded_len(&exponent)? > 4 {
                    return None;
                }
                (DecodingKey::from_rsa_components(&modulus, &exponent).ok()?, (modulus, exponent))
            }
        };
        Some((jwk.kid, Self { algorithm, name, decoding, material }))
    }

    /// The algorithm's name as it stands in a token's header.
    pub(crate) fn algorithm(&self) -> &'static str {
        self.name
    }

    /// Whether `signature`, encoded, is this key's over `signed`.
    pub(crate) fn signed(&self, signed: &str, signature: &str) -> bool {
        jsonwebtoken::crypto::verify(signature, signed.as_bytes(), &self.decoding, self.algorithm)
            .unwrap_or(false)
    }
}

/// What a public key is made of.
#[derive(Clone, Copy)]
enum Shape {
    /// RSA: modulus and exponent.
    Modulus,
    /// A point on a NIST curve, each coordinate of this length.
    Curve { bytes: usize },
    /// A point on Ed25519.
    Edwards,
}

/// The one algorithm of a key, from its type and curve, and for RSA from `alg`. An RSA key without `alg` is for RS256:
/// Entra's keys say nothing and sign so.
fn algorithm(kty: &str, crv: Option<&str>, alg: Option<&str>) -> Option<(&'static str, Algorithm, Shape)> {
    Some(match (kty, crv, alg) {
        ("RSA", None, None | Some("RS256")) => ("RS256", Algorithm::RS256, Shape::Modulus),
        ("RSA", None, Some("RS384")) => ("RS384", Algorithm::RS384, Shape::Modulus),
        ("RSA", None, Some("RS512")) => ("RS512", Algorithm::RS512, Shape::Modulus),
        ("RSA", None, Some("PS256")) => ("PS256", Algorithm::PS256, Shape::Modulus),
        ("RSA", None, Some("PS384")) => ("PS384", Algorithm::PS384, Shape::Modulus),
        ("RSA", None, Some("PS512")) => ("PS512", Algorithm::PS512, Shape::Modulus),
        ("EC", Some("P-256"), None | Some("ES256")) => {
            ("ES256", Algorithm::ES256, Shape::Curve { bytes: 32 })
        }
        ("EC", Some("P-384"), None | Some("ES384")) => {
            ("ES384", Algorithm::ES384, Shape::Curve { bytes: 48 })
        }
        ("OKP", Some("Ed25519"), None | Some("EdDSA" | "Ed25519")) => {
            ("EdDSA", Algorithm::EdDSA, Shape::Edwards)
        }
        _other => return None,
    })
}

fn decoded_len(text: &str) -> Option<usize> {
    BASE64URL_NOPAD.decode(text.as_bytes()).ok().map(|bytes| bytes.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(keys: &Value) -> Option<Vec<String>> {
        let set = KeySet::read(json!({ "keys": keys }).to_string().as_bytes())?;
        Some(set.keys.iter().map(|(kid, key)| format!("{kid}:{}", key.name)).collect())
    }

    fn b64(bytes: usize) -> String {
        BASE64URL_NOPAD.encode(&vec![0x81; bytes])
    }

    #[test]
    fn each_key_has_the_one_algorithm_of_its_type() {
        let n = b64(256);
        let keys = json!([
            { "kid": "r", "kty": "RSA", "n": n, "e": "AQAB", "x5c": ["..."], "issuer": "x" },
            { "kid": "r5", "kty": "RSA", "n": n, "e": "AQAB", "use": "sig", "alg": "RS512" },
            { "kid": "p", "kty": "RSA", "n": n, "e": "AQAB", "alg": "PS256", "key_ops": ["verify"] },
            { "kid": "e", "kty": "EC", "crv": "P-256", "x": b64(32), "y": b64(32) },
            { "kid": "e3", "kty": "EC", "crv": "P-384", "x": b64(48), "y": b64(48), "alg": "ES384" },
            { "kid": "o", "kty": "OKP", "crv": "Ed25519", "x": b64(32) },
        ]);
        assert_eq!(
            read(&keys).unwrap(),
            ["e:ES256", "e3:ES384", "o:EdDSA", "p:PS256", "r:RS256", "r5:RS512"].map(String::from)
        );
    }

    #[test]
    fn an_unusable_key_is_left_out_and_spoils_no_other() {
        let n = b64(256);
        let good = json!({ "kid": "good", "kty": "RSA", "n": n, "e": "AQAB" });
        for bad in [
            json!({ "kid": "k", "kty": "oct", "k": "c2VjcmV0", "alg": "HS256" }),
            json!({ "kid": "k", "kty": "RSA", "n": n, "e": "AQAB", "alg": "HS256" }),
            json!({ "kid": "k", "kty": "RSA", "n": n, "e": "AQAB", "alg": "none" }),
            json!({ "kid": "k", "kty": "RSA", "n": n, "e": "AQAB", "alg": "RSA-OAEP" }),
            json!({ "kid": "k", "kty": "RSA", "n": n, "e": "AQAB", "alg": "ES256" }),
            json!({ "kid": "k", "kty": "RSA", "n": n, "e": "AQAB", "use": "enc" }),
            json!({ "kid": "k", "kty": "RSA", "n": n, "e": "AQAB", "key_ops": ["encrypt"] }),
            json!({ "kid": "k", "kty": "RSA", "n": n, "e": "AQAB", "d": "AQAB" }),
            json!({ "kid": "k", "kty": "RSA", "n": b64(128), "e": "AQAB" }),
            json!({ "kid": "k", "kty": "RSA", "n": b64(1025), "e": "AQAB" }),
            json!({ "kid": "k", "kty": "RSA", "n": n, "e": b64(9) }),
            json!({ "kid": "k", "kty": "RSA", "n": "not base64!", "e": "AQAB" }),
            json!({ "kid": "k", "kty": "RSA", "e": "AQAB" }),
            json!({ "kid": "", "kty": "RSA", "n": n, "e": "AQAB" }),
            json!({ "kty": "RSA", "n": n, "e": "AQAB" }),
            json!({ "kid": 7, "kty": "RSA", "n": n, "e": "AQAB" }),
            json!({ "kid": "k", "kty": "EC", "crv": "P-256", "x": b64(31), "y": b64(32) }),
            json!({ "kid": "k", "kty": "EC", "crv": "P-256", "x": b64(32), "y": b64(32), "alg": "ES384" }),
            json!({ "kid": "k", "kty": "EC", "crv": "P-521", "x": b64(66), "y": b64(66) }),
            json!({ "kid": "k", "kty": "EC", "crv": "secp256k1", "x": b64(32), "y": b64(32) }),
            json!({ "kid": "k", "kty": "OKP", "crv": "X25519", "x": b64(32) }),
            json!({ "kid": "k", "kty": "OKP", "crv": "Ed25519", "x": b64(31) }),
            json!("not an object"),
            json!(null),
        ] {
            assert_eq!(read(&json!([bad, good])), Some(vec!["good:RS256".to_owned()]), "{bad}");
            assert_eq!(read(&json!([bad])), None, "{bad}");
        }
    }

    #[test]
    fn the_first_of_two_keys_with_one_id_stays() {
        let first = json!({ "kid": "k", "kty": "RSA", "n": b64(256), "e": "AQAB" });
        let second = json!({ "kid": "k", "kty": "EC", "crv": "P-256", "x": b64(32), "y": b64(32) });
        assert_eq!(read(&json!([first, second])), Some(vec!["k:RS256".to_owned()]));
    }

    #[test]
    fn what_is_no_key_document_is_none() {
        for text in
            ["", "{", "[]", "{}", "null", "<html>", r#"{"keys":{}}"#, r#"{"keys":[]}"#, r#"{"keys":[]"#]
        {
            assert!(KeySet::read(text.as_bytes()).is_none(), "{text}");
        }
    }
}
