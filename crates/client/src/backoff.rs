//! How long to wait before the next attempt.

use std::time::Duration;

use crate::Limits;

/// The pause before attempt `failures` + 1 of a row, at least `hint`.
///
/// Between half of `first_pause * 2^failures` and all of it, up to `longest_pause`. A hint is a floor and gets up to a
/// quarter on top, so that clients that were told the same do not all come back in the same instant.
pub(crate) fn pause(limits: &Limits, failures: u32, hint: Duration, random: u32) -> Duration {
    let doubled = limits.first_pause.saturating_mul(1_u32.checked_shl(failures).unwrap_or(u32::MAX));
    let full = doubled.min(limits.longest_pause);
    let share = f64::from(random) / f64::from(u32::MAX);
    let own = full.div_f64(2.0) + full.div_f64(2.0).mul_f64(share);
    let hint = hint.min(limits.longest_hint);
    own.max(hint + hint.div_f64(4.0).mul_f64(share))
}

/// A random number for [`pause`]; without a source of randomness everybody waits the same.
pub(crate) fn jitter() -> u32 {
    getrandom::u32().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_HINT: Duration = Duration::ZERO;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let limits = Limits::default();
        let most: Vec<u128> =
            (0..8).map(|failures| pause(&limits, failures, NO_HINT, u32::MAX).as_millis()).collect();
        assert_eq!(most, [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
        assert_eq!(pause(&limits, u32::MAX, NO_HINT, u32::MAX), limits.longest_pause);
    }

    #[test]
    fn jitter_takes_away_half_at_most() {
        let limits = Limits::default();
        assert_eq!(pause(&limits, 2, NO_HINT, 0), Duration::from_millis(500));
        assert_eq!(pause(&limits, 2, NO_HINT, u32::MAX), Duration::from_secs(1));
    }

    #[test]
    fn a_hint_is_a_floor_with_a_ceiling() {
        let limits = Limits::default();
        assert_eq!(pause(&limits, 0, Duration::from_secs(3), 0), Duration::from_secs(3));
        assert_eq!(pause(&limits, 0, Duration::from_secs(3), u32::MAX), Duration::from_millis(3750));
        assert_eq!(pause(&limits, 0, Duration::from_secs(86_400), 0), limits.longest_hint);
        assert!(
            pause(&limits, 0, Duration::ZERO, 0) >= Duration::from_millis(125),
            "a hint of 0 is no hot loop"
        );
    }
}
