//! Moments as a person reads them.

use time::OffsetDateTime;
use time::macros::format_description;

/// A moment in seconds since 1970 and how far off it is from `now`: `2026-12-01 10:32 UTC, in 59 min`.
pub(super) fn until(at: i64, now: i64) -> String {
    let clock = format_description!("[year]-[month]-[day] [hour]:[minute] UTC");
    let text = OffsetDateTime::from_unix_timestamp(at).ok().and_then(|at| at.format(clock).ok());
    let Some(text) = text else { return "a time out of range".to_owned() };
    let left = at.saturating_sub(now);
    if left > 0 {
        format!("{text}, in {}", span(left))
    } else {
        format!("{text}, {} ago", span(left.saturating_neg()))
    }
}

/// A span of seconds in its largest unit.
pub(super) fn span(seconds: i64) -> String {
    match seconds {
        ..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_says_when_and_how_far_off() {
        assert_eq!(until(1_796_121_120, 1_796_117_580), "2026-12-01 10:32 UTC, in 59 min");
        assert_eq!(until(1_796_121_120, 1_796_121_120), "2026-12-01 10:32 UTC, 0 s ago");
        assert_eq!(until(1_796_121_120, 1_796_121_180), "2026-12-01 10:32 UTC, 60 s ago");
        assert_eq!(until(i64::MAX, 0), "a time out of range");
        assert_eq!([119, 120, 7200, 172_800].map(span), ["119 s", "2 min", "2 h", "2 days"]);
    }
}
