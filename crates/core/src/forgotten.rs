//! Which tickets were forgotten on request, so that they answer like any that never were.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher as _, RandomState};

use ask_contract::TicketId;

/// The tickets that were forgotten last, as numbers that lead back to nothing.
///
/// An identifier tells its owner's service that it was once given out, also when nothing is kept about it. A ticket that
/// was to be forgotten must not be told apart like that, so a hash of it under a key of this process is kept: 8 bytes,
/// for as many tickets as it has room for. Beyond those the oldest are let go, and count as expired again, to their owner
/// alone.
#[derive(Debug)]
pub struct Forgotten {
    room: usize,
    keyed: RandomState,
    known: HashSet<u64>,
    order: VecDeque<u64>,
}

impl Forgotten {
    /// Room for so many tickets.
    pub fn new(room: usize) -> Self {
        Self { room, keyed: RandomState::new(), known: HashSet::new(), order: VecDeque::new() }
    }

    /// Keeps in mind that this one was forgotten.
    pub fn add(&mut self, ticket: &TicketId) {
        let hash = self.hash(ticket);
        if !self.known.insert(hash) {
            return;
        }
        self.order.push_back(hash);
        if self.order.len() > self.room
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// Whether it was forgotten.
    pub fn has(&self, ticket: &TicketId) -> bool {
        self.known.contains(&self.hash(ticket))
    }

    fn hash(&self, ticket: &TicketId) -> u64 {
        self.keyed.hash_one(ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_known_and_nothing_else_is() {
        let mut forgotten = Forgotten::new(100);
        let ticket = |number: usize| TicketId::new(format!("t_{number}"));
        for number in 0..150 {
            forgotten.add(&ticket(number));
            forgotten.add(&ticket(number));
        }
        for number in 0..200 {
            assert_eq!(forgotten.has(&ticket(number)), (50..150).contains(&number), "{number}");
        }
        assert_eq!((forgotten.known.len(), forgotten.order.len()), (100, 100));
    }
}
