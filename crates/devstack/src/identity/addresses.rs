//! Where an issuer's routes are.

use super::issuer::Settings;

/// The addresses of an issuer, which are known before it has keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    tenant_url: String,
}

impl Addresses {
    /// The addresses of an issuer reached at `base`: scheme, host and port, without a slash at the end.
    pub fn new(base: &str, settings: &Settings) -> Self {
        Self { tenant_url: format!("{base}/{}", settings.tenant) }
    }

    /// The `iss` claim.
    pub fn url(&self) -> String {
        self.under("/v2.0")
    }

    /// Where the keys are published.
    pub fn jwks_url(&self) -> String {
        self.under("/discovery/v2.0/keys")
    }

    /// Where a browser goes to sign in, and comes back from with a code.
    pub fn authorize_url(&self) -> String {
        self.under("/oauth2/v2.0/authorize")
    }

    /// Where grants are exchanged for tokens.
    pub fn token_url(&self) -> String {
        self.under("/oauth2/v2.0/token")
    }

    /// Where a device asks for a code.
    pub fn device_code_url(&self) -> String {
        self.under("/oauth2/v2.0/devicecode")
    }

    /// Where a person types that code in.
    pub fn verification_url(&self) -> String {
        self.under("/device")
    }

    /// Where tokens are made to order.
    pub fn mint_url(&self) -> String {
        self.under("/admin/mint")
    }

    fn under(&self, path: &str) -> String {
        format!("{}{path}", self.tenant_url)
    }
}
