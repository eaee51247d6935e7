//! A text as the bare sequence of its letters and digits, with where in the text each came from.

use unicode_normalization::UnicodeNormalization as _;

/// A folded text: what two writings of the same words have in common.
#[derive(Debug, Default)]
pub(super) struct Folded {
    /// Letters and digits: decomposed, case-folded, without marks.
    pub(super) letters: Vec<char>,
    /// For each letter, the bytes of the text that it came from.
    pub(super) spans: Vec<(usize, usize)>,
    /// For each letter, whether something that is no letter stood before it.
    pub(super) starts_word: Vec<bool>,
}

impl Folded {
    /// Folds a text as it stands.
    pub(super) fn plain(text: &str) -> Self {
        let mut folded = Self::default();
        let mut after_gap = true;
        for (at, letter) in text.char_indices() {
            after_gap = folded.push(letter, (at, at + letter.len_utf8()), after_gap);
        }
        folded
    }

    /// Folds a text after undoing the escapes of JSON, URLs and HTML in it, nested backslashes included.
    pub(super) fn unescaped(text: &str) -> Self {
        let mut folded = Self::default();
        let mut after_gap = true;
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let (letter, len) = unescape(rest);
            after_gap = match letter {
                Some(letter) => folded.push(letter, (at, at + len), after_gap),
                None => true,
            };
            at += len;
        }
        folded
    }

    /// Adds what `letter` folds to; returns whether the next letter starts a word.
    fn push(&mut self, letter: char, span: (usize, usize), mut after_gap: bool) -> bool {
        if letter.is_ascii() {
            if !letter.is_ascii_alphanumeric() {
                return true;
            }
            self.add(letter.to_ascii_lowercase(), span, after_gap);
            return false;
        }
        let mut any = false;
        for part in std::iter::once(letter).nfkd() {
            for folded in part.to_uppercase().flat_map(char::to_lowercase) {
                // The upper-case forms of some letters decompose once more.
                for bare in std::iter::once(folded).nfkd().filter(|bare| is_letter(*bare)) {
                    self.add(bare, span, after_gap);
                    after_gap = false;
                    any = true;
                }
            }
        }
        if any { false } else { after_gap || !is_mark_or_invisible(letter) }
    }

    fn add(&mut self, letter: char, span: (usize, usize), starts_word: bool) {
        self.letters.push(letter);
        self.spans.push(span);
        self.starts_word.push(starts_word);
    }
}

fn is_letter(letter: char) -> bool {
    // The Hangul fillers are letters by name alone: they show nothing.
    letter.is_alphanumeric() && !matches!(letter, '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}')
}

fn is_mark_or_invisible(letter: char) -> bool {
    unicode_normalization::char::is_combining_mark(letter)
        || matches!(letter, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' | '\u{FE00}'..='\u{FE0F}')
}

/// The first letter of `rest`, unescaped, and how many bytes it takes; `None` for what is no letter.
fn unescape(rest: &str) -> (Option<char>, usize) {
    let first = rest.chars().next();
    let escaped = match first {
        Some('\\') => backslash(rest),
        Some('%') => percent(rest),
        Some('&') => entity(rest),
        _ => None,
    };
    escaped.unwrap_or_else(|| (first, first.map_or(1, char::len_utf8)))
}

fn backslash(rest: &str) -> Option<(Option<char>, usize)> {
    let slashes = rest.bytes().take_while(|byte| *byte == b'\\').count();
    let after = rest.get(slashes..)?;
    let kind = after.chars().next()?;
    match kind {
        'u' if after.get(1..2) == Some("{") => {
            let digits = after.get(2..)?.split('}').next()?;
            let letter = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
            Some((Some(letter), slashes + 3 + digits.len()))
        }
        'u' => {
            let unit = hex(after.get(1..5)?)?;
            let len = slashes + 5;
            if !(0xD800..0xDC00).contains(&unit) {
                return Some((char::from_u32(unit), len));
            }
            let more = rest.get(len..)?;
            let more_slashes = more.bytes().take_while(|byte| *byte == b'\\').count();
            let low = hex(more.get(more_slashes..)?.strip_prefix('u')?.get(..4)?)?;
            let letter = char::from_u32(0x10000 + ((unit - 0xD800) << 10) + low.checked_sub(0xDC00)?)?;
            Some((Some(letter), len + more_slashes + 5))
        }
        'U' => Some((char::from_u32(hex(after.get(1..9)?)?), slashes + 9)),
        'x' => Some((char::from_u32(hex(after.get(1..3)?)?), slashes + 3)),
        'n' | 'r' | 't' | 'b' | 'f' => Some((None, slashes + 1)),
        _ => Some((None, slashes)),
    }
}

fn percent(rest: &str) -> Option<(Option<char>, usize)> {
    let byte = |at: usize| -> Option<u8> {
        let digits = rest.get(at..at + 3)?.strip_prefix('%')?;
        u8::try_from(hex(digits)?).ok()
    };
    let lead = byte(0)?;
    let count = match lead {
        0x00..=0x7F => 1,
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        0x80..=0xBF | 0xF8..=0xFF => return None,
    };
    let bytes: Vec<u8> = (0..count).map(|at| byte(at * 3)).collect::<Option<_>>()?;
    let letter = std::str::from_utf8(&bytes).ok()?.chars().next()?;
    Some((Some(letter), count * 3))
}

fn entity(rest: &str) -> Option<(Option<char>, usize)> {
    let name =
        rest.get(1..)?.split(';').next().filter(|name| name.len() <= 10 && name.len() + 1 < rest.len())?;
    let letter = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => hex(digits)?,
                None => number.parse().ok()?,
            };
            Some(char::from_u32(code)?)
        }
        None if matches!(name, "amp" | "lt" | "gt" | "quot" | "apos" | "nbsp") => None,
        None => return None,
    };
    Some((letter, name.len() + 2))
}

fn hex(digits: &str) -> Option<u32> {
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u32::from_str_radix(digits, 16).ok())
        .flatten()
}
