//! What is remembered of tokens that verified, so that the next look at one costs a hash and not a signature.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::claims::Claims;

/// Locks that calls of different tokens spread over.
const SHARDS: usize = 16;
/// Tokens per half of a shard: 16 x 2 x 512 = 16,384 in all, some 10 MiB at the very most.
const HALF: usize = 512;

/// The SHA-256 of a token. The token itself is not kept: a caller's secret lives no longer than the caller's run.
pub(crate) type Digest = [u8; 32];

/// Claims whose signature held, under the keys of one generation.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) claims: Arc<Claims>,
    pub(crate) generation: u64,
}

/// A bounded map from token to claims. Only tokens that the issuer signed get in, so a stranger cannot fill it.
///
/// Each shard has a young and an old half. A full young half becomes the old one and the old one is forgotten; a hit
/// in the old half moves to the young one. That forgets about the least recently used at constant cost.
pub(crate) struct Memory {
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Default)]
struct Shard {
    young: HashMap<Digest, Known>,
    old: HashMap<Digest, Known>,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()) }
    }

    /// What is known of a token under the keys of this generation. What was known under others is forgotten: its key
    /// may be gone, and checking once more costs less than finding out which.
    pub(crate) fn get(&self, digest: &Digest, generation: u64) -> Option<Arc<Claims>> {
        let mut shard = self.shard(digest)?.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = shard.young.get(digest) {
            if known.generation == generation {
                return Some(Arc::clone(&known.claims));
            }
            shard.young.remove(digest);
            return None;
        }
        let known = shard.old.remove(digest).filter(|known| known.generation == generation)?;
        let claims = Arc::clone(&known.claims);
        shard.insert(*digest, known);
        Some(claims)
    }

    /// Remembers a token that verified.
    pub(crate) fn insert(&self, digest: Digest, known: Known) {
        if let Some(shard) = self.shard(&digest) {
            shard.lock().unwrap_or_else(PoisonError::into_inner).insert(digest, known);
        }
    }

    /// Forgets a token, because it expired.
    pub(crate) fn forget(&self, digest: &Digest) {
        if let Some(shard) = self.shard(digest) {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.young.remove(digest);
            shard.old.remove(digest);
        }
    }

    fn shard(&self, digest: &Digest) -> Option<&Mutex<Shard>> {
        let [first, ..] = digest;
        self.shards.get(usize::from(*first) % SHARDS)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.shards
            .iter()
            .map(|shard| shard.lock().unwrap())
            .map(|shard| shard.young.len() + shard.old.len())
            .sum()
    }
}

impl Shard {
    fn insert(&mut self, digest: Digest, known: Known) {
        if self.young.len() >= HALF {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(digest, known);
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Memory(..)")
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::digest;

    use super::*;
    use crate::claims;
    use crate::policy::Policy;

    fn known(generation: u64) -> Known {
        let policy = Policy::new("https://i.example/t/v2.0", "api://a", "s");
        let payload =
            br#"{"iss":"https://i.example/t/v2.0","aud":"api://a","sub":"s","exp":2000,"iat":1000}"#;
        Known { claims: Arc::new(claims::read(payload, &policy, 1_500_000).unwrap()), generation }
    }

    fn digest(number: usize) -> Digest {
        digest::digest(&digest::SHA256, &number.to_le_bytes()).as_ref().try_into().unwrap()
    }

    #[test]
    fn a_token_is_known_under_the_keys_it_was_checked_with_alone() {
        let memory = Memory::new();
        memory.insert(digest(1), known(1));
        assert!(memory.get(&digest(1), 1).is_some());
        assert!(memory.get(&digest(2), 1).is_none());
        assert!(memory.get(&digest(1), 2).is_none());
        assert!(memory.get(&digest(1), 1).is_none(), "forgotten, not hidden");
        memory.insert(digest(3), known(1));
        memory.forget(&digest(3));
        assert_eq!(memory.len(), 0);
    }

    #[test]
    fn memory_stays_bounded_and_keeps_what_is_in_use() {
        let memory = Memory::new();
        let entry = known(1);
        memory.insert(digest(0), entry.clone());
        for number in 1..100_000 {
            memory.insert(digest(number), entry.clone());
            assert!(memory.get(&digest(0), 1).is_some(), "lost after {number}");
        }
        assert!(memory.len() <= SHARDS * 2 * HALF, "{} entries", memory.len());
    }
}
