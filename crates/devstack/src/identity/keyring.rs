//! The issuer's keys over time: the one that signs, and the one before it that is still published.

use std::sync::Arc;

use serde_json::{Value, json};

use super::signing::{KeyError, SigningKey};

/// The keys in use.
#[derive(Debug)]
pub(crate) struct Keyring {
    current: Arc<SigningKey>,
    previous: Option<Arc<SigningKey>>,
}

impl Keyring {
    /// A ring with one new key.
    pub(crate) fn generate() -> Result<Self, KeyError> {
        Ok(Self { current: Arc::new(SigningKey::generate()?), previous: None })
    }

    /// Puts a new key in charge. The one before stays published until the next rotation, so that tokens it signed keep
    /// working, unless `withdraw` is set.
    pub(crate) fn rotate(&mut self, key: SigningKey, withdraw: bool) {
        let before = std::mem::replace(&mut self.current, Arc::new(key));
        self.previous = (!withdraw).then_some(before);
    }

    /// The key that signs.
    pub(crate) fn current(&self) -> Arc<SigningKey> {
        Arc::clone(&self.current)
    }

    /// The key document.
    pub(crate) fn document(&self) -> Value {
        let keys: Vec<Value> = self.previous.iter().chain([&self.current]).map(|key| key.jwk()).collect();
        json!({ "keys": keys })
    }
}
