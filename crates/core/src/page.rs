//! Pages of a caller's conversations: the newest first, and a cursor that stays right when some of them go.

use std::fmt;
use std::str::FromStr;

use ask_contract::{ConversationId, Timestamp};

/// Conversations of a page, unless the caller says otherwise.
pub const DEFAULT_LIMIT: usize = 50;

/// The most conversations of a page.
pub const MOST: usize = 100;

/// A conversation's place among its owner's. Those that were opened later are greater.
///
/// It names a place and not a conversation, so the page behind it is the same whether or not that one is still there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    created_ms: i64,
    id: ConversationId,
}

/// The text names no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be the `next` of a page")]
pub struct NoPlace;

impl Place {
    /// The place of a conversation that was opened then.
    pub const fn new(created_at: Timestamp, id: ConversationId) -> Self {
        Self { created_ms: created_at.unix_ms(), id }
    }

    /// The conversation that has or had it.
    pub const fn id(&self) -> &ConversationId {
        &self.id
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.created_ms, self.id)
    }
}

impl FromStr for Place {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<Self, NoPlace> {
        // Wherever this is narrower than the pattern in the OpenAPI file, the file promises too much.
        let (created_ms, id) = text.split_once('.').ok_or(NoPlace)?;
        let plain = |text: &str| {
            (1..=128).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        if !plain(id) || !plain(created_ms) {
            return Err(NoPlace);
        }
        Ok(Self {
            created_ms: created_ms.parse().map_err(|_no_number| NoPlace)?,
            id: ConversationId::new(id),
        })
    }
}

/// A page out of places that come the greatest first, and the place to go on behind when there are more.
pub fn page(places: impl Iterator<Item = Place>, limit: usize) -> (Vec<Place>, Option<Place>) {
    let mut found: Vec<Place> = places.take(limit.saturating_add(1)).collect();
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).cloned();
    (found, next)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn place(ms: i64, id: &str) -> Place {
        Place::new(Timestamp::from_unix_ms(ms), ConversationId::new(id))
    }

    #[test]
    fn a_place_reads_back_from_its_text_and_nothing_else_does() {
        let one = place(1_790_000_000_000, "c_abc7");
        assert_eq!(one.to_string().parse(), Ok(one));
        // The ends of what the pattern in the OpenAPI file lets through.
        let longest = format!("999999999999999999.{}", "_".repeat(128));
        assert!(longest.parse::<Place>().is_ok() && "0._".parse::<Place>().is_ok());
        for text in
            ["", ".", "1", "1.", ".c_a", "x.c_a", "-1.c_a", "1.c a", "1.c_a.b", "99999999999999999999.c_a"]
        {
            assert_eq!(text.parse::<Place>(), Err(NoPlace), "{text}");
        }
    }

    #[test]
    fn pages_hold_each_that_stays_once_whatever_goes_in_between() {
        for limit in 1..8 {
            let mut there: BTreeSet<Place> =
                (0..20).map(|number| place(number / 3, &format!("c_{number:02}"))).collect();
            let all = there.clone();
            let mut seen = Vec::new();
            let mut after: Option<Place> = None;
            loop {
                let rest = there.iter().rev().filter(|one| after.as_ref().is_none_or(|after| *one < after));
                let (found, next) = page(rest.cloned(), limit);
                assert!(found.len() <= limit);
                seen.extend(found);
                // The one that the cursor names goes.
                if let Some(next) = &next {
                    there.remove(next);
                }
                after = next;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(seen, all.into_iter().rev().collect::<Vec<_>>(), "limit {limit}");
        }
    }
}
