//! Replays the corpora of `fuzz/` in ordinary tests, each input as it is and in some hundred broken forms.
//!
//! The fuzzer finds inputs; this keeps every build from forgetting them. It is for tests alone.

use std::path::{Path, PathBuf};

/// Broken forms of each input.
const FORMS: usize = 300;

/// Runs `check` on every input of the corpus `name`, and on broken forms of it, which are the same in every run.
///
/// # Panics
///
/// When the corpus is not there or is empty, and whenever `check` does.
#[expect(clippy::panic, reason = "a test says by failing")]
pub fn replay(name: &str, check: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no corpus in {}", folder.display());
    for (number, file) in files.iter().enumerate() {
        let Ok(input) = std::fs::read(file) else { panic!("{} can't be read", file.display()) };
        check(&input);
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15 ^ (number as u64 + 1));
        for _ in 0..FORMS {
            check(&dice.broken(&input));
        }
    }
}

/// A small generator of numbers (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (most.max(1) as u64)).unwrap_or_default()
    }

    /// The input with one to four things done to it that break readers.
    fn broken(&mut self, input: &[u8]) -> Vec<u8> {
        const PIECES: [&[u8]; 14] = [
            b"\n",
            b"\r",
            b"\r\n\r\n",
            b"\0",
            b"\"",
            b"\\u0000",
            b"{",
            b"]",
            b"-1",
            b"1e999",
            b"18446744073709551616",
            b"null",
            b"\xff\xfe",
            "\u{2028}".as_bytes(),
        ];
        let mut bytes = input.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            match self.below(5) {
                0 => bytes.truncate(at),
                1 => {
                    let end = (at + 1 + self.below(16)).min(bytes.len());
                    drop(bytes.drain(at.min(end)..end));
                }
                2 => {
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte ^= 1 << self.below(8);
                    }
                }
                3 => {
                    let end = (at + 1 + self.below(64)).min(bytes.len());
                    let again = bytes.get(at..end).unwrap_or_default().to_vec();
                    drop(bytes.splice(at..at, again));
                }
                _ => {
                    let piece = PIECES.get(self.below(PIECES.len())).copied().unwrap_or_default();
                    drop(bytes.splice(at..at, piece.iter().copied()));
                }
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_forms_differ_and_are_the_same_each_time() {
        let forms = |seed| {
            let mut dice = Dice(seed);
            (0..100).map(|_| dice.broken(b"{\"a\": [1, 2]}")).collect::<Vec<_>>()
        };
        assert_eq!(forms(7), forms(7));
        let different: std::collections::HashSet<_> = forms(7).into_iter().collect();
        assert!(different.len() > 60, "{}", different.len());
    }
}
