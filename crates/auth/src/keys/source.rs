//! The port through which keys come in.

use bytes::Bytes;
use futures_util::future::LocalBoxFuture;

/// Where a JWKS document comes from.
///
/// A source lives on the thread that fetches, so neither it nor its future needs to be `Send`. It is asked for one
/// document at a time and its future is dropped when it takes too long.
pub trait KeySource: 'static {
    /// Fetches the document as it is now.
    ///
    /// # Errors
    ///
    /// Anything that kept the whole document from arriving. The keys known so far stay in use.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the fetch up and nothing else.
    fn fetch(&self) -> LocalBoxFuture<'_, Result<Bytes, FetchError>>;
}

/// Why the keys could not be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// No answer's head arrived: refused, reset, unresolved, or TLS failed.
    #[error("the issuer cannot be reached")]
    Unreachable,
    /// An answer other than 200. Redirects are among these: they are not followed.
    #[error("the issuer answered with status {0}")]
    Status(u16),
    /// The body is larger than any key set is.
    #[error("the key document is too large")]
    TooLarge,
    /// The body broke off.
    #[error("the key document broke off")]
    Interrupted,
    /// The whole took too long.
    #[error("the issuer took too long")]
    TimedOut,
    /// The document is no JWKS, or holds no key that can be used.
    #[error("the key document holds no usable key")]
    NoKeys,
}
