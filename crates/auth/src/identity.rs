//! Who a verified token says is calling.

use std::sync::Arc;

use time::OffsetDateTime;

use crate::bearer::Bearer;

/// A verified caller.
#[derive(Debug, Clone)]
pub struct Identity {
    /// What conversations and tickets belong to. Equal for every token of one person, different for any two people.
    pub owner: Owner,
    /// The `oid` claim, else `sub`: the pseudonymous id that audit lines name.
    pub oid: String,
    /// The words of the policy's role claims, in the token's order.
    pub roles: Vec<String>,
    /// The words of the policy's scope claims, but for those that hold roles, in the token's order.
    pub scopes: Vec<String>,
    /// When the token expires, without leeway.
    pub expires_at: OffsetDateTime,
    /// The token itself, for calls made as this caller. Not remembered by the verifier.
    pub bearer: Bearer,
}

/// The key of ownership: an issuer's tenant and a subject in it. Never a name or a mail address, which can be reassigned.
///
/// Clones share one allocation; equality and hash are over the parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner(Arc<Parts>);

#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Parts {
    issuer: String,
    tenant: Option<String>,
    subject: Subject,
}

/// What names the subject. The claim it came from is a part of it: a `sub` that spells another one's `oid` is no match.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// The `oid` claim: one person or service in the tenant, the same for every application.
    Object(String),
    /// The `sub` claim, of an issuer that sends no `oid`.
    Subject(String),
}

impl Subject {
    /// The id alone.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Object(id) | Self::Subject(id) => id,
        }
    }
}

impl Owner {
    /// Names an owner by its parts.
    pub fn new(issuer: impl Into<String>, tenant: Option<String>, subject: Subject) -> Self {
        Self(Arc::new(Parts { issuer: issuer.into(), tenant, subject }))
    }

    /// The `iss` claim.
    pub fn issuer(&self) -> &str {
        &self.0.issuer
    }

    /// The `tid` claim, where the issuer sends one.
    pub fn tenant(&self) -> Option<&str> {
        self.0.tenant.as_deref()
    }

    /// The subject within the tenant.
    pub fn subject(&self) -> &Subject {
        &self.0.subject
    }
}
