//! A secret that no debug output shows.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that opens a door: a token or a device code. It serialises as itself, for the one file that keeps it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The secret itself, for the request that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn debug_output_shows_nothing_of_it() {
        assert_eq!(format!("{:?}", Secret::from("hunter2")), "Secret(..)");
    }
}
