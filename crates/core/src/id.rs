//! Identifiers that can't be guessed and that only their owner's service recognises.
//!
//! An identifier is 128 random bits, the epoch of the process that made it, and a MAC over both and over its owner under
//! the service's key. So the service tells an owner's expired or lost ticket (410) from anything else (404) without
//! keeping a word about it, and a stranger's look-up costs one hash and learns nothing.

use ask_contract::{ConversationId, TicketId, Timestamp};
use data_encoding::BASE32_NOPAD;
use hmac::{Hmac, Mac};
use sha2::Sha256;

const RANDOM_BYTES: usize = 16;
const EPOCH_BYTES: usize = 4;
const MAC_BYTES: usize = 10;
const ALL_BYTES: usize = RANDOM_BYTES + EPOCH_BYTES + MAC_BYTES;

/// The operating system gave no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("no random bytes from the operating system")]
pub struct NoRandomness(#[source] getrandom::Error);

/// A fresh key of 256 random bits.
///
/// # Errors
///
/// When the operating system gives no random bytes.
pub fn random_key() -> Result<[u8; 32], NoRandomness> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(NoRandomness)?;
    Ok(key)
}

/// Makes identifiers and tells its own from others.
#[derive(Clone)]
pub struct IdMint {
    keyed: Hmac<Sha256>,
    epoch: [u8; EPOCH_BYTES],
}

/// Which process of the service made an identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MadeBy {
    /// This one.
    This,
    /// Another one under the same key: what it named is lost.
    Another,
}

impl std::fmt::Debug for IdMint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IdMint")
    }
}

/// What an identifier names; keeps a ticket from passing for a conversation.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Conversation,
    Ticket,
}

impl Kind {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Conversation => "c_",
            Self::Ticket => "t_",
        }
    }
}

impl IdMint {
    /// A mint under `key` for a process that started at `started`. Two processes with the same key recognise each other's
    /// identifiers, and tell them apart by the second of their start.
    ///
    /// # Panics
    ///
    /// Never: HMAC takes keys of any length.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
    pub fn new(key: &[u8], started: Timestamp) -> Self {
        let epoch = u32::try_from(started.unix_ms() / 1000).unwrap_or(u32::MAX).to_be_bytes();
        Self { keyed: Hmac::new_from_slice(key).expect("HMAC takes keys of any length"), epoch }
    }

    /// A mint under a key of its own, which ends with the process.
    ///
    /// # Errors
    ///
    /// When the operating system gives no random bytes.
    pub fn with_random_key(started: Timestamp) -> Result<Self, NoRandomness> {
        random_key().map(|key| Self::new(&key, started))
    }

    /// A new conversation of `owner`.
    ///
    /// # Errors
    ///
    /// When the operating system gives no random bytes.
    pub fn conversation(&self, owner: &str) -> Result<ConversationId, NoRandomness> {
        self.make(Kind::Conversation, owner).map(ConversationId::new)
    }

    /// A new ticket of `owner`.
    ///
    /// # Errors
    ///
    /// When the operating system gives no random bytes.
    pub fn ticket(&self, owner: &str) -> Result<TicketId, NoRandomness> {
        self.make(Kind::Ticket, owner).map(TicketId::new)
    }

    /// Who made `ticket` for `owner`; `None` when it was not made for them, or not under this key.
    pub fn made_ticket_for(&self, ticket: &TicketId, owner: &str) -> Option<MadeBy> {
        let epoch = self.epoch_of(Kind::Ticket, ticket.as_str(), owner)?;
        Some(if epoch == self.epoch { MadeBy::This } else { MadeBy::Another })
    }

    fn make(&self, kind: Kind, owner: &str) -> Result<String, NoRandomness> {
        let mut random = [0; RANDOM_BYTES];
        getrandom::fill(&mut random).map_err(NoRandomness)?;
        let mac = self.mac(kind, &random, self.epoch, owner).finalize().into_bytes();
        let mut all = Vec::with_capacity(ALL_BYTES);
        all.extend_from_slice(&random);
        all.extend_from_slice(&self.epoch);
        all.extend(mac.into_iter().take(MAC_BYTES));
        let mut text = BASE32_NOPAD.encode(&all);
        text.make_ascii_lowercase();
        Ok(format!("{}{text}", kind.prefix()))
    }

    /// The epoch in an identifier whose MAC holds for `owner`.
    fn epoch_of(&self, kind: Kind, text: &str, owner: &str) -> Option<[u8; EPOCH_BYTES]> {
        let encoded = text.strip_prefix(kind.prefix())?;
        if encoded.len() != BASE32_NOPAD.encode_len(ALL_BYTES)
            || encoded.bytes().any(|b| b.is_ascii_uppercase())
        {
            return None;
        }
        let all = BASE32_NOPAD.decode(encoded.to_ascii_uppercase().as_bytes()).ok()?;
        let (random, rest) = all.split_first_chunk::<RANDOM_BYTES>()?;
        let (epoch, mac) = rest.split_first_chunk::<EPOCH_BYTES>()?;
        self.mac(kind, random, *epoch, owner).verify_truncated_left(mac).is_ok().then_some(*epoch)
    }

    fn mac(
        &self,
        kind: Kind,
        random: &[u8; RANDOM_BYTES],
        epoch: [u8; EPOCH_BYTES],
        owner: &str,
    ) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        mac.update(kind.prefix().as_bytes());
        mac.update(random);
        mac.update(&epoch);
        mac.update(owner.as_bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_unix_ms(1_790_000_000_000);

    #[test]
    fn an_identifier_is_recognised_for_its_owner_alone() {
        let mint = IdMint::new(b"key", START);
        let ticket = mint.ticket("alice").unwrap();
        assert_eq!(mint.made_ticket_for(&ticket, "alice"), Some(MadeBy::This));
        assert_eq!(mint.made_ticket_for(&ticket, "bob"), None);
        assert_eq!(IdMint::new(b"other", START).made_ticket_for(&ticket, "alice"), None);
        let conversation = mint.conversation("alice").unwrap();
        assert_eq!(mint.made_ticket_for(&TicketId::new(conversation.as_str()), "alice"), None);
    }

    #[test]
    fn another_process_under_the_same_key_knows_that_it_was_not_its_own() {
        let ticket = IdMint::new(b"key", START).ticket("alice").unwrap();
        let after = IdMint::new(b"key", START.plus_ms(1_000));
        assert_eq!(after.made_ticket_for(&ticket, "alice"), Some(MadeBy::Another));
        assert_eq!(after.made_ticket_for(&ticket, "bob"), None);
    }

    #[test]
    fn a_changed_character_is_not_recognised() {
        let mint = IdMint::new(b"key", START);
        let ticket = mint.ticket("alice").unwrap();
        for (at, was) in ticket.as_str().char_indices() {
            for now in ['a', 'b', '7', 'A', '!', 'ü'] {
                if now != was {
                    let mut changed: Vec<char> = ticket.as_str().chars().collect();
                    changed[at] = now;
                    let changed: String = changed.into_iter().collect();
                    assert_eq!(
                        mint.made_ticket_for(&TicketId::new(changed.clone()), "alice"),
                        None,
                        "{changed}"
                    );
                }
            }
        }
        for other in ["", "t_", "t_aaaa", &format!("{ticket}a"), &"t_".repeat(10_000)] {
            assert_eq!(mint.made_ticket_for(&TicketId::new(other), "alice"), None);
        }
    }

    #[test]
    fn identifiers_do_not_repeat_and_share_no_random_prefix() {
        let mint = IdMint::new(b"key", START);
        let made: std::collections::HashSet<String> =
            (0..2_000).map(|_| mint.ticket("alice").unwrap().as_str().chars().take(18).collect()).collect();
        assert_eq!(made.len(), 2_000);
    }
}
