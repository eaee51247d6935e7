//! What a token claims, checked for type and value.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};

use crate::clock::{Millis, millis};
use crate::denied::Cause;
use crate::identity::{Owner, Subject};
use crate::named;
use crate::policy::Policy;
use crate::token::{Presence, not_null};
use crate::words::Words;

/// The longest id taken from a token. Entra's are 36 to 43 characters; an id ends up in keys and audit lines.
const MAX_ID_BYTES: usize = 256;

/// Claims that hold under a policy, once their signature does.
#[derive(Debug, Clone)]
pub(crate) struct Claims {
    pub(crate) owner: Owner,
    pub(crate) roles: Vec<String>,
    pub(crate) scopes: Vec<String>,
    /// Whether the required scope is in one of its claims, to the letter.
    pub(crate) has_scope: bool,
    pub(crate) life: Life,
}

/// The span in which a token counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Life {
    not_before: Millis,
    /// Seconds since 1970, as in the token.
    pub(crate) expires_at: i64,
    leeway: Millis,
}

impl Life {
    /// Whether the token counts at this time.
    pub(crate) fn check(self, now: Millis) -> Result<(), Cause> {
        if now >= self.expires_at.saturating_mul(1000).saturating_add(self.leeway) {
            return Err(Cause::Expired);
        }
        if now.saturating_add(self.leeway) < self.not_before {
            return Err(Cause::NotYetValid);
        }
        Ok(())
    }
}

/// The claims that are looked at. A member that comes twice, or with another type, fails the whole.
#[derive(Deserialize)]
struct Raw {
    iss: String,
    aud: Words,
    exp: Seconds,
    #[serde(default, deserialize_with = "not_null")]
    nbf: Option<Seconds>,
    #[serde(default, deserialize_with = "not_null")]
    iat: Option<Seconds>,
    #[serde(default, deserialize_with = "not_null")]
    sub: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    oid: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    tid: Option<String>,
    #[serde(default)]
    cnf: Presence,
}

/// Reads the payload of a token and holds it against the policy. Does not check the scope: only a caller whose
/// signature holds may learn that theirs is missing.
pub(crate) fn read(payload: &[u8], policy: &Policy, now: Millis) -> Result<Claims, Cause> {
    let raw: Raw = serde_json::from_slice(payload).map_err(|_shape| Cause::BadClaims)?;
    if raw.iss != policy.issuer {
        return Err(Cause::WrongIssuer);
    }
    if !raw.aud.audiences().iter().any(|audience| policy.audiences.contains(audience)) {
        return Err(Cause::WrongAudience);
    }
    // A token bound to a key of its sender (RFC 7800, DPoP) is worth nothing without the proof, which is not checked here.
    if raw.cnf.0 {
        return Err(Cause::SenderConstrained);
    }
    let life = life(&raw, policy, now)?;
    let owner = owner(raw.iss, raw.tid, raw.oid, raw.sub)?;
    let named = named::read(payload, policy)?;
    Ok(Claims { owner, roles: named.roles, scopes: named.scopes, has_scope: named.has_scope, life })
}

fn life(raw: &Raw, policy: &Policy, now: Millis) -> Result<Life, Cause> {
    let leeway = millis(policy.leeway);
    let expires_at = raw.exp.0;
    // A token issued in the future was not issued.
    let not_before = raw.nbf.map_or(0, |at| at.0).max(raw.iat.map_or(0, |at| at.0)).saturating_mul(1000);
    let life = Life { not_before, expires_at, leeway };
    life.check(now)?;
    let begins = raw.iat.or(raw.nbf).map_or(now, |at| at.0.saturating_mul(1000)).min(now);
    let longest = millis(policy.max_lifetime).saturating_add(leeway);
    if expires_at.saturating_mul(1000).saturating_sub(begins) > longest {
        return Err(Cause::LivesTooLong);
    }
    Ok(life)
}

fn owner(
    issuer: String,
    tenant: Option<String>,
    oid: Option<String>,
    sub: Option<String>,
) -> Result<Owner, Cause> {
    let is_id =
        |id: &String| !id.trim().is_empty() && id.len() <= MAX_ID_BYTES && !id.contains(char::is_control);
    if ![&tenant, &oid, &sub].into_iter().flatten().all(is_id) {
        return Err(Cause::BadClaims);
    }
    let subject = match (oid, sub) {
        (Some(oid), _) => Subject::Object(oid),
        (None, Some(sub)) => Subject::Subject(sub),
        (None, None) => return Err(Cause::NoSubject),
    };
    Ok(Owner::new(issuer, tenant, subject))
}

/// A `NumericDate`: a JSON number of seconds since 1970, its fraction dropped. Nothing else, however much it looks like one.
#[derive(Clone, Copy)]
struct Seconds(i64);

/// The year 9999, past which a date is no date.
const LAST_SECOND: i64 = 253_402_300_799;

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SecondsVisitor;
        impl Visitor<'_> for SecondsVisitor {
            type Value = Seconds;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number of seconds since 1970")
            }
            fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<Seconds, E> {
                if (0..=LAST_SECOND).contains(&seconds) {
                    Ok(Seconds(seconds))
                } else {
                    Err(E::custom("no date"))
                }
            }
            fn visit_u64<E: de::Error>(self, seconds: u64) -> Result<Seconds, E> {
                self.visit_i64(i64::try_from(seconds).unwrap_or(i64::MAX))
            }
            #[expect(
                clippy::cast_possible_truncation,
                reason = "checked to be in range; the fraction is meant to go"
            )]
            fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<Seconds, E> {
                if (0.0..=253_402_300_799.0).contains(&seconds) {
                    self.visit_i64(seconds as i64)
                } else {
                    Err(E::custom("no date"))
                }
            }
        }
        deserializer.deserialize_any(SecondsVisitor)
    }
}
