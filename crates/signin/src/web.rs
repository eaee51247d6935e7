//! Requests to a provider: small answers, in time, without redirects.

use std::sync::Arc;
use std::time::Duration;

use awc::error::PayloadError;
use serde::de::DeserializeOwned;

use crate::address::Address;

/// How long a provider may take for one answer.
const WITHIN: Duration = Duration::from_secs(10);
/// The largest answer that is read. Tokens with many groups are some 10 KiB.
const ANSWER_BYTES: usize = 256 << 10;

/// Connections to providers. No redirect is followed, so that a secret goes to no other place than the one named.
#[derive(Clone)]
pub struct Web {
    client: awc::Client,
}

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// No connection came about, or it broke.
    #[error("can't reach {address}: {told}")]
    Unreachable {
        /// Where it was to go.
        address: Address,
        /// What the HTTP client says.
        told: String,
    },
    /// It took too long.
    #[error("{address} does not answer within {WITHIN:?}")]
    TimedOut {
        /// Who does not answer.
        address: Address,
    },
    /// More came than is read.
    #[error("{address} answers with more than {ANSWER_BYTES} bytes")]
    TooLarge {
        /// Who answers so.
        address: Address,
    },
}

impl std::fmt::Debug for Web {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Web")
    }
}

impl Web {
    /// Connections that trust what `tls` trusts, else the public certificate authorities.
    pub fn new(tls: Option<Arc<rustls::ClientConfig>>) -> Self {
        let mut connector = awc::Connector::new().timeout(WITHIN);
        if let Some(tls) = tls {
            connector = connector.rustls_0_23(tls);
        }
        let client = awc::Client::builder()
            .connector(connector)
            .disable_timeout()
            .disable_redirects()
            .add_default_header(("user-agent", concat!("ask/", env!("CARGO_PKG_VERSION"))))
            .add_default_header(("accept", "application/json"))
            .finish();
        Self { client }
    }

    /// Reads a document.
    ///
    /// # Errors
    ///
    /// When there is no whole answer within its limits of time and size.
    pub async fn get(&self, address: &Address) -> Result<Answer, WebError> {
        let request = self.client.get(address.as_str());
        self.exchange(address, request, None).await
    }

    /// Posts a form.
    ///
    /// # Errors
    ///
    /// As [`Web::get`].
    pub async fn post(&self, address: &Address, form: &[(&str, &str)]) -> Result<Answer, WebError> {
        let request = self.client.post(address.as_str());
        self.exchange(address, request, Some(form)).await
    }

    async fn exchange(
        &self,
        address: &Address,
        mut request: awc::ClientRequest,
        form: Option<&[(&str, &str)]>,
    ) -> Result<Answer, WebError> {
        if let Some(socket) = address.socket() {
            request = request.address(socket);
        }
        let unreachable = |told: String| WebError::Unreachable { address: address.clone(), told };
        let exchange = async {
            let sent = match form {
                Some(form) => request.send_form(&form).await,
                None => request.send().await,
            };
            let mut answer = sent.map_err(|err| unreachable(err.to_string()))?;
            let body = answer.body().limit(ANSWER_BYTES).await.map_err(|err| {
                if matches!(err, PayloadError::Overflow) {
                    WebError::TooLarge { address: address.clone() }
                } else {
                    unreachable(err.to_string())
                }
            })?;
            Ok(Answer { status: answer.status().as_u16(), body: body.to_vec() })
        };
        tokio::time::timeout(WITHIN, exchange)
            .await
            .unwrap_or_else(|_elapsed| Err(WebError::TimedOut { address: address.clone() }))
    }
}

impl Answer {
    /// Whether the status says that it went well.
    pub const fn is_success(&self) -> bool {
        self.status >= 200 && self.status < 300
    }

    /// The body as JSON of this shape. One that was cut short is no JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }
}
