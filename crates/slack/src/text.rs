//! Text of others in Slack: three signs that mean something there, and lengths that it does not take.

/// The longest text of a section, in characters.
pub const SECTION: usize = 3000;
/// The longest header, in characters.
pub const HEADER: usize = 150;

/// Text that Slack shows as it is: no mention, no link, no channel (`&`, `<` and `>` are its only control signs), and no
/// control character.
pub fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '\n' => shown.push('\n'),
            other if other.is_control() => shown.push(' '),
            other => shown.push(other),
        }
    }
    shown
}

/// [`plain`] text in which Slack's formatting signs stand for themselves, by a sign of no width before each.
pub fn unformatted(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for sign in plain(text).chars() {
        if matches!(sign, '*' | '_' | '~' | '`') {
            shown.push('\u{200b}');
        }
        shown.push(sign);
    }
    shown
}

/// At most `limit` characters of a text that is escaped already, with a sign that there was more; never half an entity.
pub fn shortened(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(limit.saturating_sub(1)).collect();
    if let Some(at) = kept.rfind('&')
        && !kept.get(at..).unwrap_or_default().contains(';')
    {
        kept.truncate(at);
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_peer_sent_mentions_or_links() {
        assert_eq!(
            plain("<!channel> <@U1> <https://x|y> a&b"),
            "&lt;!channel&gt; &lt;@U1&gt; &lt;https://x|y&gt; a&amp;b"
        );
        assert_eq!(plain("a\u{7}b\r\nc\u{1b}[0m"), "a b \nc [0m");
        assert_eq!(unformatted("*b* `c`"), "\u{200b}*b\u{200b}* \u{200b}`c\u{200b}`");
    }

    #[test]
    fn a_long_text_is_cut_between_signs() {
        assert_eq!(shortened("abc", 3), "abc");
        assert_eq!(shortened("abcd", 3), "ab…");
        assert_eq!(shortened("a&amp;b", 4), "a…");
        assert_eq!(shortened("a&amp;bcd", 7), "a&amp;…");
        assert_eq!(shortened("üüüü", 3), "üü…");
        for limit in 1..40 {
            let cut = shortened(&plain(&"<&>".repeat(20)), limit);
            assert!(cut.chars().count() <= limit, "{limit}");
            assert!(cut.rsplit_once('&').is_none_or(|(_, rest)| rest.contains(';')), "{cut}");
        }
    }
}
