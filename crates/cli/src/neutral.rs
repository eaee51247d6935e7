//! Makes text that a peer sent harmless to a terminal and to a reader's eye.

use std::borrow::Cow;
use std::fmt::Write as _;

/// What stands for a character that was taken out.
const MARK: char = '\u{FFFD}';

/// Text of one or more lines: every control character but line feed and tab, and every character that is invisible and
/// changes how others are shown or read, becomes U+FFFD. CRLF becomes LF.
pub(crate) fn block(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    let unified = text.replace("\r\n", "\n");
    Cow::Owned(unified.chars().map(|char| if is_harmful(char) { MARK } else { char }).collect())
}

/// Text for one line: as [`block`], and line feeds and tabs become spaces.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    let text = block(text);
    if text.contains(['\n', '\t']) { Cow::Owned(text.replace(['\n', '\t'], " ")) } else { text }
}

/// JSON text for one line: the same document, with harmful characters written as escapes.
pub(crate) fn json(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|char| is_harmful(char) || matches!(char, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        if matches!(char, '\n' | '\r' | '\t') {
            // Valid JSON has these between values alone.
            safe.push(' ');
        } else if is_harmful(char) {
            for unit in char.encode_utf16(&mut [0; 2]) {
                // Writing to a string can't fail.
                write!(safe, "\\u{unit:04x}").unwrap_or_default();
            }
        } else {
            safe.push(char);
        }
    }
    Cow::Owned(safe)
}

/// A word to be pasted into a shell: quoted unless it is plainly harmless.
pub(crate) fn shell_word(text: &str) -> String {
    let text = line(text);
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Controls, bidirectional controls, and what is invisible yet changes or carries text.
const fn is_harmful(char: char) -> bool {
    matches!(char,
        '\0'..='\u{8}' | '\u{B}'..='\u{1F}' | '\u{7F}'..='\u{9F}'
        // Arabic letter mark, left-to-right and right-to-left marks, embeddings, overrides, isolates.
        | '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
        // Line and paragraph separators, deprecated formatting, byte order mark, annotations.
        | '\u{2028}' | '\u{2029}' | '\u{206A}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}'
        // Zero-width space and invisible operators; the joiners stay, since scripts and emoji need them.
        | '\u{200B}' | '\u{2060}'..='\u{2064}'
        // Tags, which can smuggle a whole hidden text.
        | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_text_stays_as_it_is() {
        for text in ["", "Müller\tzahlt 5 €\nzweite Zeile", "नमस्ते", "👩‍👩‍👧", "עברית"]
        {
            assert!(matches!(block(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn escapes_and_controls_lose_their_force() {
        assert_eq!(block("\u{1b}[2J\u{1b}]0;title\u{7}"), "\u{FFFD}[2J\u{FFFD}]0;title\u{FFFD}");
        assert_eq!(block("a\u{9b}31mb\u{7f}"), "a\u{FFFD}31mb\u{FFFD}");
        assert_eq!(block("one\r\ntwo\rthree"), "one\ntwo\u{FFFD}three");
    }

    #[test]
    fn bidirectional_and_hidden_text_loses_its_force() {
        assert_eq!(block("user\u{202E}nimda"), "user\u{FFFD}nimda");
        assert_eq!(block("a\u{2066}b\u{200F}c\u{E0041}d\u{2028}e"), "a\u{FFFD}b\u{FFFD}c\u{FFFD}d\u{FFFD}e");
    }

    #[test]
    fn one_line_stays_one_line() {
        assert_eq!(line("a\r\nb\tc\u{85}d"), "a b c\u{FFFD}d");
    }

    #[test]
    fn json_stays_the_same_document() {
        let raw = "{\"a\":\n \"x\u{202E}y\u{7f}\u{9b}\u{2028}\u{E0041}\",\t\"b\": \"\\u001b[0m\"}";
        let safe = json(raw);
        assert!(safe.is_ascii() && !safe.contains(['\n', '\t', '\u{7f}']));
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&safe), value(raw));
        assert!(matches!(json("{\"a\":\"é\"}"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_word_for_the_shell_runs_nothing() {
        assert_eq!(shell_word("c_01-Ab.9"), "c_01-Ab.9");
        assert_eq!(shell_word("x; rm -rf ~"), "'x; rm -rf ~'");
        assert_eq!(shell_word("it's\n$(id)"), r"'it'\''s $(id)'");
        assert_eq!(shell_word("--token"), "'--token'");
    }
}
