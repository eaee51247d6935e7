//! Tokens that are not as they should be, for those who must show that they refuse them.

use serde::Deserialize;
use serde_json::{Map, Value};

/// How an access token of the token endpoint differs from a good one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shape {
    /// Another audience: form field `x_aud`.
    pub audience: Option<String>,
    /// Other scopes: form field `x_scp`; empty for a token without `scp`.
    pub scopes: Option<String>,
    /// Another lifetime in seconds: form field `x_expires_in`; negative for a token that expired so long ago.
    pub expires_in: Option<i64>,
}

/// A token made to order: the body of `POST /<tenant>/admin/mint`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mint {
    /// Whose good token to begin with. Carol's, when nobody is named.
    pub username: Option<String>,
    /// Claims to set; null takes one out.
    #[serde(default)]
    pub claims: Map<String, Value>,
    /// Header members to set; null takes one out.
    #[serde(default)]
    pub header: Map<String, Value>,
    /// Which key signs.
    #[serde(default)]
    pub key: SigningChoice,
}

/// Which key signs a token made to order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SigningChoice {
    /// The one that signs all others.
    #[default]
    Current,
    /// One that was never published, under its own id.
    Unpublished,
    /// One that was never published, under the id of the current one: a forgery.
    Forged,
}
