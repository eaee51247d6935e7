//! What a token says of itself, for people to read. Nothing is decided by it.

use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Who a token is about, as it says itself; nobody has checked it. All text is a peer's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// A name that people know the caller by.
    pub name: Option<String>,
    /// The id that the provider knows the caller by.
    pub subject: Option<String>,
    /// Who issued the token.
    #[serde(skip)]
    pub issuer: Option<String>,
    /// When it expires, in seconds since 1970.
    #[serde(skip)]
    pub expires_at: Option<i64>,
}

impl Claims {
    /// Reads a token's payload; `None` where it is not a JWT.
    pub fn of(token: &str) -> Option<Self> {
        let mut parts = token.split('.');
        let (_header, payload, _signature) = (parts.next()?, parts.next()?, parts.next()?);
        let payload = BASE64URL_NOPAD.decode(payload.trim_end_matches('=').as_bytes()).ok()?;
        let claims: Map<String, Value> = serde_json::from_slice(&payload).ok()?;
        let text =
            |names: &[&str]| names.iter().find_map(|name| claims.get(*name)?.as_str()).map(str::to_owned);
        Some(Self {
            name: text(&["preferred_username", "upn", "email", "unique_name", "name"]),
            subject: text(&["oid", "sub"]),
            issuer: text(&["iss"]),
            #[expect(clippy::cast_possible_truncation, reason = "a date out of range is shown as such")]
            expires_at: claims.get("exp").and_then(Value::as_f64).map(|seconds| seconds as i64),
        })
    }

    /// These claims, with `other`'s where there are none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            name: self.name.or(other.name),
            subject: self.subject.or(other.subject),
            issuer: self.issuer.or(other.issuer),
            expires_at: self.expires_at.or(other.expires_at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(payload: &str) -> String {
        format!("e30.{}.x", BASE64URL_NOPAD.encode(payload.as_bytes()))
    }

    #[test]
    fn a_token_tells_who_it_is_about_or_nothing() {
        let claims = Claims::of(&token(
            r#"{"sub":"s","oid":"o","name":"Carol","preferred_username":"carol@x","iss":"https://i","exp":9.5}"#,
        ));
        let claims = claims.unwrap();
        assert_eq!((claims.name.as_deref(), claims.subject.as_deref()), (Some("carol@x"), Some("o")));
        assert_eq!((claims.issuer.as_deref(), claims.expires_at), (Some("https://i"), Some(9)));
        assert_eq!(Claims::of(&token(r#"{"sub":7,"name":["x"]}"#)), Some(Claims::default()));
        for opaque in ["", "opaque", "a.b", "a.!.c", "a.e30", &token("[]"), &token("no")] {
            assert_eq!(Claims::of(opaque), None, "{opaque}");
        }
    }
}
