//! A token taken apart, before anything in it is believed.

use data_encoding::BASE64URL_NOPAD;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use crate::denied::Cause;

/// The longest key id looked up. Issuers use 20 to 45 characters.
const MAX_KID_BYTES: usize = 256;

/// The parts of a token whose signature nobody has checked yet.
#[derive(Debug)]
pub(crate) struct Unverified<'a> {
    /// Header and payload with the dot between them: what the signature is over.
    pub(crate) signed: &'a str,
    /// The signature, still encoded.
    pub(crate) signature: &'a str,
    /// The decoded payload.
    pub(crate) payload: Vec<u8>,
    /// The key that the token says signed it.
    pub(crate) kid: String,
    /// The algorithm that the token says was used: compared with the key's own, never obeyed.
    pub(crate) alg: String,
}

/// The header members that are looked at. `jwk`, `jku`, `x5u` and `x5c` are not among them: a token does not get to say
/// where its key is.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: String,
    #[serde(default, deserialize_with = "not_null")]
    typ: Option<String>,
    // Each of these changes what the rest of the token means, so a reader that does not know it must not go on.
    #[serde(default)]
    crit: Presence,
    #[serde(default)]
    b64: Presence,
    #[serde(default)]
    enc: Presence,
    #[serde(default)]
    zip: Presence,
    #[serde(default)]
    cty: Presence,
}

/// Takes a token apart. `token` holds exactly two dots.
pub(crate) fn split(token: &str) -> Result<Unverified<'_>, Cause> {
    let (signed, signature) = token.rsplit_once('.').ok_or(Cause::NotAToken)?;
    let (header, payload) = signed.split_once('.').ok_or(Cause::NotAToken)?;
    let header = BASE64URL_NOPAD.decode(header.as_bytes()).map_err(|_encoding| Cause::BadHeader)?;
    let header: Header = serde_json::from_slice(&header).map_err(|_shape| Cause::BadHeader)?;
    if header.crit.0
        || header.b64.0
        || header.enc.0
        || header.zip.0
        || header.cty.0
        || !header.typ.as_deref().is_none_or(is_access_token_type)
    {
        return Err(Cause::UnsupportedHeader);
    }
    if header.kid.is_empty() || header.kid.len() > MAX_KID_BYTES {
        return Err(Cause::BadHeader);
    }
    let payload = BASE64URL_NOPAD.decode(payload.as_bytes()).map_err(|_encoding| Cause::BadClaims)?;
    Ok(Unverified { signed, signature, payload, kid: header.kid, alg: header.alg })
}

/// Tokens of other kinds (logout, `DPoP` proof, security event) are signed by the same keys and say so here (RFC 8725, 3.11).
fn is_access_token_type(typ: &str) -> bool {
    ["JWT", "at+jwt", "application/at+jwt"].iter().any(|known| typ.eq_ignore_ascii_case(known))
}

/// Whether a member is there at all, whatever its value.
#[derive(Default)]
pub(crate) struct Presence(pub(crate) bool);

impl<'de> Deserialize<'de> for Presence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_any| Self(true))
    }
}

/// Reads a member that may be absent but, when there, is not null.
pub(crate) fn not_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
