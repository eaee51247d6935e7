//! Where the caller's token comes from, and the next one when it is no longer taken.

use std::error::Error;
use std::fmt;
use std::rc::Rc;

use futures_util::future::{LocalBoxFuture, ready};

use crate::Bearer;

/// Gives out the caller's tokens.
///
/// The client asks before every call and before every connection of a stream, so that a token can be renewed while an ask
/// runs. A source keeps its own time limits; the client's do not count for it.
pub trait TokenSource {
    /// The token to send now.
    ///
    /// # Cancel safety
    ///
    /// The returned future may be dropped at any time: the person left. Work that must not be lost is the source's to keep.
    fn current(&self) -> LocalBoxFuture<'_, Result<Bearer, NoToken>>;

    /// A token in place of one that the service answered with 401; `None` where there is no other.
    ///
    /// # Cancel safety
    ///
    /// As [`TokenSource::current`].
    fn renew<'a>(&'a self, refused: &'a Bearer) -> LocalBoxFuture<'a, Result<Option<Bearer>, NoToken>>;
}

/// A caller's credentials: one token for good, or a source of them. Cheap to clone.
#[derive(Clone)]
pub struct Credentials(Rc<dyn TokenSource>);

impl Credentials {
    /// Credentials that come from `source`.
    pub fn new(source: Rc<dyn TokenSource>) -> Self {
        Self(source)
    }

    pub(crate) async fn current(&self) -> Result<Bearer, NoToken> {
        self.0.current().await
    }

    pub(crate) async fn renew(&self, refused: &Bearer) -> Result<Option<Bearer>, NoToken> {
        self.0.renew(refused).await
    }
}

impl From<Bearer> for Credentials {
    fn from(bearer: Bearer) -> Self {
        Self(Rc::new(bearer))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(..)")
    }
}

/// A token that stays as it is.
impl TokenSource for Bearer {
    fn current(&self) -> LocalBoxFuture<'_, Result<Bearer, NoToken>> {
        Box::pin(ready(Ok(self.clone())))
    }

    fn renew<'a>(&'a self, _refused: &'a Bearer) -> LocalBoxFuture<'a, Result<Option<Bearer>, NoToken>> {
        Box::pin(ready(Ok(None)))
    }
}

/// There is no token to call with.
#[derive(Debug, thiserror::Error)]
#[error("no token to call with")]
pub struct NoToken(#[source] Box<dyn Error + Send + Sync>);

impl NoToken {
    /// For this reason.
    pub fn new(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(reason.into())
    }
}
