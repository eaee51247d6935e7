//! The claims whose names the policy decides: where the scope is, and where the roles are.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{self, IgnoredAny, MapAccess, Visitor};

use crate::denied::Cause;
use crate::policy::Policy;
use crate::words::Words;

/// The most roles or scopes taken from a token.
const MAX_WORDS: usize = 256;

/// What those claims say.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) roles: Vec<String>,
    /// Without those of the claims that hold roles too.
    pub(crate) scopes: Vec<String>,
    pub(crate) has_scope: bool,
}

/// Reads them from the payload of a token. One that comes twice, or with another type than text or an array of texts,
/// fails the whole.
pub(crate) fn read(payload: &[u8], policy: &Policy) -> Result<Named, Cause> {
    let mut reader = serde_json::Deserializer::from_slice(payload);
    let found = reader.deserialize_map(Wanted(policy)).map_err(|_shape| Cause::BadClaims)?;
    let words = |names: &[String], but: &[String]| {
        let names = names.iter().filter(|name| !but.contains(name));
        let words = names.filter_map(|name| found.get(name)).flatten().cloned().collect::<Vec<_>>();
        if words.len() > MAX_WORDS { Err(Cause::BadClaims) } else { Ok(words) }
    };
    let roles = words(&policy.role_claims, &[])?;
    let scopes = words(&policy.scope_claims, &policy.role_claims)?;
    let has_scope = words(&policy.scope_claims, &[])?.contains(&policy.required_scope);
    Ok(Named { roles, scopes, has_scope })
}

struct Wanted<'a>(&'a Policy);

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = BTreeMap<String, Vec<String>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of claims")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Policy { scope_claims, role_claims, .. } = self.0;
        let mut found = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            if scope_claims.contains(&name) || role_claims.contains(&name) {
                let words = map.next_value::<Words>()?.into_words();
                if found.insert(name, words).is_some() {
                    return Err(de::Error::custom("a claim comes twice"));
                }
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}
