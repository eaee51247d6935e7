//! How long to wait before the next attempt.

use std::time::Duration;

use awc::http::header::{self, HeaderMap};

use crate::{Limits, TurnError};

/// The wait after attempt `attempt` failed with `err` and the server did not say how long to wait, if it said anything at all.
pub(crate) fn untold(limits: &Limits, err: &TurnError, attempt: u32, random: u64) -> Duration {
    let gone = matches!(err, TurnError::Unreachable { .. });
    let base = if gone { limits.reconnect_base } else { limits.backoff_base };
    backoff(base, attempt, limits.max_wait, random)
}

/// The wait before attempt `attempt + 1`: `base` doubled for each attempt made, at most `cap`, of which `random` (any 64 bits)
/// takes off up to a half so that clients that failed together do not come back together.
fn backoff(base: Duration, attempt: u32, cap: Duration, random: u64) -> Duration {
    let factor = 1u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    let whole = base.saturating_mul(factor).min(cap);
    whole / 2 + share(whole / 2, random)
}

/// What a server asked for, a little longer, so that all who were told the same do not come back in the same instant.
pub(crate) fn told(wait: Duration, random: u64) -> Duration {
    wait + share(wait / 8 + Duration::from_millis(20), random)
}

fn share(whole: Duration, random: u64) -> Duration {
    // The top 16 bits are as random as the rest and keep the product small.
    whole * u32::from((random >> 48) as u16) / u32::from(u16::MAX)
}

/// The wait that a response asks for: `retry-after-ms`, else `Retry-After` in seconds or as a date, which is read against
/// the response's own `Date`, so that clocks need not agree.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|value| value.parse::<u32>().ok()) {
        return Some(Duration::from_millis(millis.into()));
    }
    let value = text(header::RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = httpdate::parse_http_date(value).ok()?;
    let now = httpdate::parse_http_date(text(header::DATE.as_str())?).ok()?;
    Some(until.duration_since(now).unwrap_or_default())
}

/// 64 random bits, for jitter and for ids that a server left out. Zero, which is as good as no jitter, if the system has none.
pub(crate) fn random() -> u64 {
    getrandom::u64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use awc::http::header::{HeaderName, HeaderValue};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn backoff_doubles_up_to_its_cap_and_keeps_at_least_half() {
        let most = |attempt| backoff(SECOND, attempt, SECOND * 10, u64::MAX);
        assert_eq!([1, 2, 3, 4, 5, 40].map(most), [1, 2, 4, 8, 10, 10].map(Duration::from_secs));
        assert_eq!(backoff(SECOND, 1, SECOND * 10, 0), SECOND / 2);
    }

    #[test]
    fn who_waits_for_a_model_that_is_gone_learns_it_within_a_second() {
        let limits = Limits::default();
        let gone = TurnError::Unreachable { reason: "no connection", attempts: 1 };
        let waits: Duration =
            (1..limits.max_attempts).map(|attempt| untold(&limits, &gone, attempt, u64::MAX)).sum();
        assert_eq!(waits, Duration::from_millis(700));
        let busy = TurnError::TimedOut(crate::Limit::Total);
        assert_eq!(untold(&limits, &busy, 1, u64::MAX), limits.backoff_base);
    }

    #[test]
    fn told_wait_is_never_shortened() {
        assert_eq!(told(SECOND, 0), SECOND);
        assert!(told(SECOND, u64::MAX) > SECOND);
    }

    fn asked(pairs: &[(&'static str, &'static str)]) -> Option<Duration> {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        retry_after(&pairs.collect())
    }

    #[test]
    fn retry_after_is_read_in_all_its_forms() {
        assert_eq!(asked(&[("retry-after", "2")]), Some(SECOND * 2));
        assert_eq!(asked(&[("retry-after", "0.5")]), Some(SECOND / 2));
        assert_eq!(asked(&[("retry-after", "9"), ("retry-after-ms", "1500")]), Some(SECOND * 3 / 2));
        let dates =
            [("retry-after", "Tue, 01 Dec 2026 10:00:07 GMT"), ("date", "Tue, 01 Dec 2026 10:00:00 GMT")];
        assert_eq!(asked(&dates), Some(SECOND * 7));
    }

    #[test]
    fn retry_after_that_says_nothing_is_ignored() {
        assert_eq!(asked(&[]), None);
        for odd in ["", "-1", "soon", "NaN", "inf", "1e300", "Tue, 01 Dec 2026 10:00:07 GMT"] {
            assert_eq!(asked(&[("retry-after", odd)]), None, "{odd}");
        }
    }
}
