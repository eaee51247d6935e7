//! Plausible usage figures: about four characters a token, and a prompt cache that remembers prefixes.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use serde::{Deserialize, Serialize};

/// Tokens of one turn, all four counted apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Figures {
    /// Input that came from no cache and went into none.
    pub input: usize,
    /// Output.
    pub output: usize,
    /// Input read from the cache.
    pub cache_read: usize,
    /// Input written to the cache.
    pub cache_write: usize,
}

/// A prompt as a row of blocks, in the order in which prefixes are cached.
#[derive(Debug, Default)]
pub(super) struct Prompt {
    hasher: DefaultHasher,
    chars: usize,
    boundaries: Vec<Boundary>,
}

/// The end of one block.
#[derive(Debug, Clone, Copy)]
struct Boundary {
    /// Of all that comes before.
    hash: u64,
    /// Of all that comes before.
    chars: usize,
    /// Whether the caller set a cache breakpoint here.
    marked: bool,
}

impl Prompt {
    /// Adds a block, as its text on the wire without the mark.
    pub(super) fn push(&mut self, block: &str, marked: bool) {
        block.hash(&mut self.hasher);
        self.chars += block.chars().count();
        self.boundaries.push(Boundary { hash: self.hasher.finish(), chars: self.chars, marked });
    }

    /// How many breakpoints there are.
    pub(super) fn marks(&self) -> usize {
        self.boundaries.iter().filter(|boundary| boundary.marked).count()
    }
}

/// The prefixes that a provider would hold for one session.
#[derive(Debug, Default)]
pub(super) struct Cache(HashSet<u64>);

/// A breakpoint finds what was cached at most this many blocks before it.
const LOOK_BACK: usize = 20;
/// More prefixes than a test or a demonstration writes.
const MOST: usize = 100_000;

impl Cache {
    /// The input figures of a prompt whose caller says what to cache.
    pub(super) fn by_breakpoints(&mut self, prompt: &Prompt) -> Figures {
        let marks = prompt.boundaries.iter().enumerate().filter(|(_, boundary)| boundary.marked);
        let (mut read, mut written, mut hashes) = (0, 0, Vec::new());
        for (at, mark) in marks {
            let before = prompt.boundaries.iter().take(at + 1).rev().take(LOOK_BACK + 1);
            let known =
                before.filter(|boundary| self.0.contains(&boundary.hash)).map(|boundary| boundary.chars);
            read = read.max(known.max().unwrap_or_default());
            written = mark.chars;
            hashes.push(mark.hash);
        }
        self.remember(hashes);
        Figures {
            input: tokens(prompt.chars - written),
            output: 0,
            cache_read: tokens(read),
            cache_write: tokens(written.saturating_sub(read)),
        }
    }

    /// The input figures of a prompt whose provider caches by itself, without a charge for writing.
    pub(super) fn by_itself(&mut self, prompt: &Prompt) -> Figures {
        let known = prompt.boundaries.iter().rev().find(|boundary| self.0.contains(&boundary.hash));
        let read = known.map_or(0, |boundary| boundary.chars);
        self.remember(prompt.boundaries.iter().map(|boundary| boundary.hash));
        Figures { input: tokens(prompt.chars - read), output: 0, cache_read: tokens(read), cache_write: 0 }
    }

    fn remember(&mut self, hashes: impl IntoIterator<Item = u64>) {
        if self.0.len() > MOST {
            self.0.clear();
        }
        self.0.extend(hashes);
    }
}

/// About four characters a token.
pub(super) fn tokens(chars: usize) -> usize {
    chars.div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(blocks: &[(&str, bool)]) -> Prompt {
        let mut prompt = Prompt::default();
        for (block, marked) in blocks {
            prompt.push(block, *marked);
        }
        prompt
    }

    #[test]
    fn prefix_is_written_once_and_read_after_that() {
        let mut cache = Cache::default();
        let first = cache.by_breakpoints(&prompt(&[("12345678", true), ("1234", true), ("12", false)]));
        assert_eq!(first, Figures { input: 1, output: 0, cache_read: 0, cache_write: 3 });
        let longer = prompt(&[("12345678", true), ("1234", false), ("12", false), ("123456", true)]);
        assert_eq!(
            cache.by_breakpoints(&longer),
            Figures { input: 0, output: 0, cache_read: 3, cache_write: 2 }
        );
        let other = prompt(&[("12345678", true), ("abcd", true)]);
        assert_eq!(
            cache.by_breakpoints(&other),
            Figures { input: 0, output: 0, cache_read: 2, cache_write: 1 }
        );
    }

    #[test]
    fn nothing_is_cached_without_a_breakpoint() {
        let mut cache = Cache::default();
        for _ in 0..2 {
            assert_eq!(
                cache.by_breakpoints(&prompt(&[("12345678", false)])),
                Figures { input: 2, ..Figures::default() }
            );
        }
    }

    #[test]
    fn breakpoint_looks_back_only_so_far() {
        let mut cache = Cache::default();
        cache.by_breakpoints(&prompt(&[("12345678", true)]));
        let mut blocks = vec![("12345678", false)];
        blocks.extend([("1234", false); LOOK_BACK]);
        blocks.push(("1234", true));
        assert_eq!(cache.by_breakpoints(&prompt(&blocks)).cache_read, 0);
    }

    #[test]
    fn provider_that_caches_by_itself_reads_the_longest_known_prefix() {
        let mut cache = Cache::default();
        assert_eq!(cache.by_itself(&prompt(&[("1234", false)])), Figures { input: 1, ..Figures::default() });
        let read = cache.by_itself(&prompt(&[("1234", false), ("12345678", false)]));
        assert_eq!(read, Figures { input: 2, output: 0, cache_read: 1, cache_write: 0 });
    }
}
