//! What the page is told about its deployment: the service's mount, the issuer, and how to sign in there.

use serde::Serialize;
use url::Url;

/// The deployment, served as `config.json` beside the page. It holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Config {
    /// Where the ask service is mounted: a path of the page's own origin, as `/ask`.
    pub ask: String,
    /// The issuer, whose discovery document tells where to sign in.
    pub issuer: String,
    /// The page's own name at the issuer, a public client that may use code flow with PKCE.
    pub client_id: String,
    /// The scope to ask for.
    pub scope: String,
    /// Questions to offer to somebody who has none yet.
    pub examples: Vec<String>,
    /// Further origins that the page may call, when the issuer's token endpoint is at another than its own.
    #[serde(skip)]
    pub connect: Vec<String>,
}

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// An address that a browser can't call.
    #[error("`{0}` is no http or https address")]
    Address(String),
    /// A mount that is not on the page's own origin.
    #[error("`{0}` is no path that begins with one slash")]
    Mount(String),
}

impl Config {
    /// The origins that the page calls beside its own.
    pub(crate) fn origins(&self) -> Result<Vec<String>, ConfigError> {
        let mut origins = Vec::new();
        for address in std::iter::once(&self.issuer).chain(&self.connect) {
            let wrong = || ConfigError::Address(address.clone());
            let url = Url::parse(address).map_err(|_no_url| wrong())?;
            if !matches!(url.scheme(), "http" | "https") {
                return Err(wrong());
            }
            let origin = url.origin().ascii_serialization();
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        Ok(origins)
    }

    /// Checks that the service is on the page's own origin.
    pub(crate) fn check_mount(&self) -> Result<(), ConfigError> {
        let own = self.ask.starts_with('/') && !self.ask.starts_with("//") && !self.ask.contains('\\');
        if own { Ok(()) } else { Err(ConfigError::Mount(self.ask.clone())) }
    }
}
