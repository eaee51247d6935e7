//! Who calls: what the executor keeps of a verified token, and what a request says about itself.

use ask_auth::{Identity, Owner};

use crate::access::{Rights, Rules};

/// A verified caller.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The id that audit lines name.
    pub oid: String,
    /// Whose calls are counted together.
    pub owner: Owner,
    /// The roles that the token carries.
    pub roles: Vec<String>,
}

impl Caller {
    /// What this caller may see.
    pub fn rights(&self, rules: &Rules) -> Rights {
        rules.rights(&self.roles)
    }
}

impl From<&Identity> for Caller {
    fn from(identity: &Identity) -> Self {
        Self { oid: identity.oid.clone(), owner: identity.owner.clone(), roles: identity.roles.clone() }
    }
}

/// What a request says about itself, for the audit line alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// `mcp` or `rest`.
    pub surface: &'static str,
    /// The `X-Request-Id` header.
    pub request_id: Option<String>,
    /// The trace id of the `traceparent` header.
    pub trace_id: Option<String>,
}

impl Origin {
    /// Takes the ids from two headers' values. What is no plain id is left out, so that no header can write a line of its
    /// own making.
    pub fn new(surface: &'static str, request_id: Option<&str>, traceparent: Option<&str>) -> Self {
        let plain = |text: &&str| {
            !text.is_empty()
                && text.len() <= 128
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
        };
        let trace = traceparent
            .and_then(|header| header.split('-').nth(1))
            .filter(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        Self {
            surface,
            request_id: request_id.filter(plain).map(str::to_owned),
            trace_id: trace.map(str::to_owned),
        }
    }
}
