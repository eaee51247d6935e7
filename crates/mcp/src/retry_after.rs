//! How long a server asks to wait, from its `Retry-After` header.

use std::time::{Duration, SystemTime};

use awc::http::header::{self, HeaderMap};

/// Longest wait that is believed: a day.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Reads `Retry-After` as seconds or as an HTTP date.
///
/// A date is counted from the response's own `Date`, so that clocks that differ do not matter, and
/// from our clock when the server sends none.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        let seconds = text.parse().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds).min(LONGEST));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let now = headers
        .get(header::DATE)
        .and_then(|date| date.to_str().ok())
        .and_then(|date| httpdate::parse_http_date(date).ok())
        .unwrap_or_else(|| SystemTime::from(time::OffsetDateTime::now_utc()));
    Some(until.duration_since(now).unwrap_or_default().min(LONGEST))
}

#[cfg(test)]
mod tests {
    use awc::http::header::HeaderValue;

    use super::*;

    fn read(value: &str, date: Option<&str>) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(header::RETRY_AFTER, HeaderValue::from_str(value).unwrap());
        if let Some(date) = date {
            headers.insert(header::DATE, HeaderValue::from_str(date).unwrap());
        }
        retry_after(&headers)
    }

    #[test]
    fn seconds_and_dates_are_read() {
        assert_eq!(read("7", None), Some(Duration::from_secs(7)));
        let now = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        let in_a_minute = "Sun, 06 Nov 1994 08:50:37 GMT";
        assert_eq!(read(in_a_minute, now), Some(Duration::from_secs(60)));
        // The same moment in the two obsolete forms that a recipient must still accept.
        for old in ["Sunday, 06-Nov-94 08:50:37 GMT", "Sun Nov  6 08:50:37 1994"] {
            assert_eq!(read(old, now), Some(Duration::from_secs(60)), "{old}");
        }
    }

    #[test]
    fn a_date_in_the_past_is_no_wait_and_a_far_one_is_capped() {
        assert_eq!(read("Sun, 06 Nov 1994 08:49:37 GMT", None), Some(Duration::ZERO));
        assert_eq!(read("99999999999999999999999", None), Some(LONGEST));
    }

    #[test]
    fn nonsense_is_no_wait_at_all() {
        for text in ["", "-1", "1.5", "soon", "+3"] {
            assert_eq!(read(text, None), None, "{text:?}");
        }
    }
}
