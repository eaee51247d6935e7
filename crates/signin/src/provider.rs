//! An identity provider: where its endpoints are, by its own discovery document.

use serde::Deserialize;

use crate::address::{Address, InvalidAddress};
use crate::web::{Web, WebError};

/// What a person's client needs of a provider.
#[derive(Debug, Clone)]
pub struct Provider {
    /// Where grants become tokens.
    pub token: Address,
    /// Where a device asks for a code, if the provider signs devices in.
    pub device: Option<Address>,
    /// Where a token is given back, if the provider takes it.
    pub revocation: Option<Address>,
}

/// Why nobody can sign in there.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The issuer's own address can't be used.
    #[error("the issuer can't be used")]
    Issuer(#[source] InvalidAddress),
    /// The discovery document was not had.
    #[error("the provider's discovery document can't be had")]
    Web(#[source] WebError),
    /// Something else answered.
    #[error("{address} answered {status} instead of a discovery document")]
    NoDocument {
        /// Where the document should be.
        address: Address,
        /// What came.
        status: u16,
    },
    /// The document speaks for somebody else.
    #[error("the discovery document is that of the issuer {named:?}; give that one")]
    OtherIssuer {
        /// Whom it speaks for; a peer's text.
        named: String,
    },
    /// An endpoint to which no secret may go.
    #[error("the provider's {endpoint} can't be used")]
    Endpoint {
        /// Its name in the document.
        endpoint: &'static str,
        /// Why not.
        #[source]
        reason: InvalidAddress,
    },
    /// An issuer over TLS sends secrets into the clear.
    #[error("the provider's {endpoint} is not https although the issuer is")]
    Downgrade {
        /// Its name in the document.
        endpoint: &'static str,
    },
}

/// The members of the discovery document that matter here.
#[derive(Deserialize)]
struct Document {
    issuer: String,
    token_endpoint: String,
    device_authorization_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
}

impl Provider {
    /// Reads the provider's discovery document.
    ///
    /// # Errors
    ///
    /// When there is none at the issuer, when it is another issuer's, or when secrets may not go where it says.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only reads.
    pub async fn discover(web: &Web, issuer: &str) -> Result<Self, ProviderError> {
        let issuer = Address::parse(issuer).map_err(ProviderError::Issuer)?;
        let root = issuer.as_str().trim_end_matches('/');
        let address = Address::parse(&format!("{root}/.well-known/openid-configuration"))
            .map_err(ProviderError::Issuer)?;
        let answer = web.get(&address).await.map_err(ProviderError::Web)?;
        let document = if answer.is_success() { answer.json::<Document>() } else { None };
        let document = document.ok_or(ProviderError::NoDocument { address, status: answer.status })?;
        if !speaks_for(&document.issuer, root) {
            return Err(ProviderError::OtherIssuer { named: document.issuer });
        }
        let endpoint = |endpoint, text: &str| {
            let address =
                Address::parse(text).map_err(|reason| ProviderError::Endpoint { endpoint, reason })?;
            if issuer.is_https() && !address.is_https() {
                return Err(ProviderError::Downgrade { endpoint });
            }
            Ok(address)
        };
        let optional = |name, text: Option<String>| text.map(|text| endpoint(name, &text)).transpose();
        Ok(Self {
            token: endpoint("token_endpoint", &document.token_endpoint)?,
            device: optional("device_authorization_endpoint", document.device_authorization_endpoint)?,
            revocation: optional("revocation_endpoint", document.revocation_endpoint)?,
        })
    }
}

/// Whether a document that names this issuer is the one of the issuer that was asked, a slash at the end more or less.
///
/// Entra's addresses for any tenant name a template of the issuer; `organizations` and its like then stand for the tenant.
fn speaks_for(named: &str, asked: &str) -> bool {
    let named = named.trim_end_matches('/');
    named == asked
        || ["common", "organizations", "consumers"]
            .iter()
            .any(|any| named.replace("{tenantid}", any) == asked)
            && named.contains("{tenantid}")
}

#[cfg(test)]
mod tests {
    use super::speaks_for;

    #[test]
    fn a_document_speaks_for_its_own_issuer_alone() {
        let any = "https://login.microsoftonline.com/{tenantid}/v2.0";
        assert!(speaks_for("https://id.example", "https://id.example"));
        assert!(speaks_for("https://id.example/", "https://id.example"));
        assert!(speaks_for(any, "https://login.microsoftonline.com/organizations/v2.0"));
        assert!(!speaks_for(any, "https://login.microsoftonline.com/evil/v2.0"));
        assert!(!speaks_for(any, "https://evil.example/organizations/v2.0"));
        assert!(!speaks_for("https://evil.example", "https://id.example"));
        assert!(!speaks_for("https://id.example/t2", "https://id.example/t1"));
    }
}
