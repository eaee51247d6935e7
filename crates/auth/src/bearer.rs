//! The caller's token, kept so that it cannot be printed by accident.

use std::fmt;
use std::sync::Arc;

/// A bearer token: the secret that lets a run act as its caller.
///
/// Clones share one allocation, which is freed with the last of them. Neither `Debug` nor any other trait shows the
/// token or its length; [`Bearer::expose`] is the only way to it, so that every use can be found by that name.
#[derive(Clone)]
pub struct Bearer(Arc<str>);

impl Bearer {
    /// Wraps a token, without the scheme in front of it.
    pub fn new(token: impl Into<Arc<str>>) -> Self {
        Self(token.into())
    }

    /// The token itself, for the `Authorization` header of a call made as this caller.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Bearer(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::Bearer;

    #[test]
    fn debug_shows_nothing_of_the_token() {
        let shown = format!("{:?}", Bearer::new("eyJ.secret.sig"));
        assert_eq!(shown, "Bearer(..)");
    }
}
