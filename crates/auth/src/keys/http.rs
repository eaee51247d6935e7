//! Keys fetched over HTTP.

use std::fmt;
use std::time::Duration;

use awc::http::StatusCode;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;

use super::source::{FetchError, KeySource};

/// The largest document read. Entra's, with a certificate chain for each of a dozen keys, is about 20 KiB.
const MAX_DOCUMENT_BYTES: usize = 256 * 1024;

/// A [`KeySource`] over HTTP or HTTPS: one GET, no redirect, a bounded body.
///
/// Must be created on the thread that uses it.
pub struct HttpKeySource {
    client: awc::Client,
    url: String,
}

impl HttpKeySource {
    /// A source for the document at `url`. Installs the process's TLS provider when nobody has yet.
    pub fn new(url: impl Into<String>) -> Self {
        // An error here says that one is installed already, which is what is wanted.
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let client = awc::Client::builder()
            .connector(awc::Connector::new().limit(1).timeout(Duration::from_secs(3)))
            .disable_redirects()
            .disable_timeout()
            .no_default_headers()
            .add_default_header(("user-agent", "ask-auth"))
            .finish();
        Self { client, url: url.into() }
    }
}

impl fmt::Debug for HttpKeySource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpKeySource").field("url", &self.url).finish_non_exhaustive()
    }
}

impl KeySource for HttpKeySource {
    fn fetch(&self) -> LocalBoxFuture<'_, Result<Bytes, FetchError>> {
        Box::pin(async move {
            let request = self
                .client
                .get(&self.url)
                .insert_header(("accept", "application/json"))
                .insert_header(("accept-encoding", "identity"))
                .no_decompress();
            let mut response = request.send().await.map_err(|_no_head| FetchError::Unreachable)?;
            if response.status() != StatusCode::OK {
                return Err(FetchError::Status(response.status().as_u16()));
            }
            let mut body = BytesMut::new();
            while let Some(chunk) = response.next().await {
                let chunk = chunk.map_err(|_broken| FetchError::Interrupted)?;
                if body.len().saturating_add(chunk.len()) > MAX_DOCUMENT_BYTES {
                    return Err(FetchError::TooLarge);
                }
                body.extend_from_slice(&chunk);
            }
            Ok(body.freeze())
        })
    }
}
