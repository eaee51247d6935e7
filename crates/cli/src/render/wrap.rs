//! Breaks prose between words, where a terminal would break it anywhere.

use console::measure_text_width;

/// The narrowest that text is broken for; on less, the terminal may do as it likes.
const NARROWEST: usize = 20;

/// The lines of `text`, none wider than `width` unless one word is. Further lines of a broken one stand as far in as the
/// first. A line of a table drawn in text is left whole.
pub(crate) fn lines(text: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width.filter(|width| *width >= NARROWEST) else {
        return text.lines().map(str::to_owned).collect();
    };
    let mut lines = Vec::new();
    for line in text.lines() {
        if measure_text_width(line) <= width || line.trim_start().starts_with('|') {
            lines.push(line.to_owned());
        } else {
            break_up(line, width, &mut lines);
        }
    }
    lines
}

fn break_up(line: &str, width: usize, lines: &mut Vec<String>) {
    let words = line.trim_start();
    let indent = line.strip_suffix(words).unwrap_or_default();
    let hanging = if words.starts_with(['-', '*', '!']) { "  " } else { "" };
    let mut current = indent.to_owned();
    let mut empty = true;
    for word in words.split(' ') {
        if !empty && measure_text_width(&current) + 1 + measure_text_width(word) > width {
            lines.push(std::mem::replace(&mut current, format!("{indent}{hanging}")));
            empty = true;
        }
        if !empty {
            current.push(' ');
        }
        current.push_str(word);
        empty = false;
    }
    lines.push(current);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        let text = "one two three four five six seven\n\n  - eight nine ten eleven twelve thirteen\n| a | table | is | left | whole |";
        assert_eq!(
            lines(text, Some(20)),
            [
                "one two three four",
                "five six seven",
                "",
                "  - eight nine ten",
                "    eleven twelve",
                "    thirteen",
                "| a | table | is | left | whole |"
            ]
        );
        assert_eq!(lines(text, None).len(), 4);
    }

    #[test]
    fn a_long_word_stays_whole_and_wide_characters_count_twice() {
        let url = "x".repeat(50);
        assert_eq!(lines(&format!("see {url} there"), Some(20)), ["see", &url, "there"]);
        assert_eq!(lines("技術支援技術支 技術支援", Some(20)), ["技術支援技術支", "技術支援"]);
        assert_eq!(lines("\u{1b}[1mone two three four\u{1b}[0m", Some(20)).len(), 1, "style has no width");
    }
}
