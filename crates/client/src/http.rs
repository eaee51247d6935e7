//! The HTTP client beneath: connections, and one exchange with limits.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use awc::error::PayloadError;
use awc::http::header::{self, HeaderMap};
use awc::http::{Method, StatusCode};
use awc::{ClientRequest, Connector};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};

use crate::{Base, Bearer, CallError, TransportError};

/// A body as it arrives.
pub(crate) type Body = Pin<Box<dyn Stream<Item = Result<Bytes, PayloadError>>>>;

/// The connections of one thread, shared by the clients that are made from it.
///
/// No redirect is followed, so that a bearer goes to no host but the base's. Nothing is decompressed.
#[derive(Clone)]
pub struct Http {
    inner: awc::Client,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Http")
    }
}

impl Http {
    /// Connections that trust the public certificate authorities.
    ///
    /// Installs the process's TLS provider unless there is one already.
    pub fn new() -> Self {
        Self::build(None)
    }

    /// Connections that trust what `tls` trusts, such as a company's own authority.
    pub fn with_tls(tls: Arc<rustls::ClientConfig>) -> Self {
        Self::build(Some(tls))
    }

    fn build(tls: Option<Arc<rustls::ClientConfig>>) -> Self {
        // An error says that there is a provider already, which is as good.
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        // Every open stream holds a connection, and a load test opens thousands; 0 is no limit.
        let mut connector = Connector::new().limit(0).timeout(Duration::from_secs(10));
        if let Some(tls) = tls {
            connector = connector.rustls_0_23(tls);
        }
        let inner = awc::Client::builder()
            .connector(connector)
            .disable_timeout()
            .disable_redirects()
            .add_default_header((header::USER_AGENT, concat!("ask-client/", env!("CARGO_PKG_VERSION"))))
            .finish();
        Self { inner }
    }

    /// A request to the resource at `segments`.
    pub(crate) fn request(
        &self,
        method: Method,
        base: &Base,
        segments: &[&str],
        bearer: Option<&Bearer>,
    ) -> ClientRequest {
        let mut request = self.inner.request(method, base.url(segments)).no_decompress();
        if let Some(address) = base.address() {
            request = request.address(address);
        }
        if let Some(bearer) = bearer {
            request = request.insert_header((header::AUTHORIZATION, bearer.header()));
        }
        request.insert_header((header::ACCEPT_ENCODING, "identity"))
    }
}

impl Default for Http {
    fn default() -> Self {
        Self::new()
    }
}

/// The head of an answer, and its body to be read.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

/// Sends a request and waits for the answer's head.
pub(crate) async fn exchange(request: ClientRequest, body: Bytes) -> Result<Answer, CallError> {
    let response = request.send_body(body).await.map_err(|err| CallError::from_send(&err))?;
    Ok(Answer { status: response.status(), headers: response.headers().clone(), body: Box::pin(response) })
}

/// Reads a body to its end; its being whole is for the reader of the text to judge.
pub(crate) async fn read_all(mut body: Body, limit: usize) -> Result<Bytes, CallError> {
    let mut whole = BytesMut::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|err| CallError::Lost(TransportError::new(err)))?;
        if whole.len() + chunk.len() > limit {
            return Err(CallError::TooLarge { limit });
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.freeze())
}

/// `Retry-After` in seconds; the form with a date is not used by the contract's services.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}
