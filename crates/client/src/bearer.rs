//! The caller's token, which no debug output shows.

use std::fmt;
use std::rc::Rc;

/// A bearer token: visible ASCII without spaces, so that it fits a header as it is.
#[derive(Clone, PartialEq, Eq)]
pub struct Bearer(Rc<str>);

/// The text can't be a bearer token. Says nothing of the text, since that may be a secret all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a bearer token: empty, or with characters that no token has")]
pub struct InvalidBearer;

impl Bearer {
    /// Takes a token; white space around it, such as a file's last line end, is dropped.
    ///
    /// # Errors
    ///
    /// [`InvalidBearer`] when nothing is left, or what is left has other than visible ASCII characters.
    pub fn new(text: &str) -> Result<Self, InvalidBearer> {
        let token = text.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidBearer);
        }
        Ok(Self(token.into()))
    }

    /// The token itself, for a caller that reads what it says.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The value of the `Authorization` header.
    pub(crate) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bearer(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_shown() {
        let bearer = Bearer::new("eyJ.secret.sig\n").unwrap();
        assert_eq!(format!("{bearer:?}"), "Bearer(..)");
        assert_eq!(bearer.header(), "Bearer eyJ.secret.sig");
    }

    #[test]
    fn what_does_not_fit_a_header_is_refused() {
        for text in ["", " \n", "a b", "a\r\nX-Admin: 1", "é"] {
            assert_eq!(Bearer::new(text), Err(InvalidBearer), "{text:?}");
        }
    }
}
