//! From where a reader goes on: `Last-Event-ID`, and its twin in the URL.

/// The last `seq` that a reader says it has seen; 0, which is the start, when it says nothing that names an event.
///
/// The header counts before the URL: a browser's `EventSource` keeps its URL for life and sends the header when it comes
/// back, so that the header is the newer of the two.
pub fn position(last_event_id: Option<&str>, after: Option<&str>) -> u64 {
    [last_event_id, after].into_iter().flatten().map(seq).find(|seq| *seq > 0).unwrap_or(0)
}

/// A plain number, else 0. One that does not fit is none that was ever emitted.
fn seq(text: &str) -> u64 {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().unwrap_or(0) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_counts_where_it_names_an_event_else_the_url_does() {
        for (header, url, expected) in [
            (None, None, 0),
            (Some("7"), None, 7),
            (None, Some("5"), 5),
            (Some("7"), Some("5"), 7),
            (Some("5"), Some("7"), 5),
            (Some("0"), Some("5"), 5),
            (Some("x"), Some("5"), 5),
            (Some(""), Some("5"), 5),
            (Some("7"), Some("x"), 7),
            (None, Some("-1"), 0),
            (None, Some("+1"), 0),
            (None, Some("99999999999999999999"), 0),
        ] {
            assert_eq!(position(header, url), expected, "{header:?} {url:?}");
        }
    }
}
