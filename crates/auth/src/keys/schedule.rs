//! When to fetch: a pure rule over times, so that no flood, outage or clock step can bend it.

use std::time::Duration;

use crate::clock::{Millis, millis};

/// How old the keys grow before they are fetched again, so that a withdrawn key stops working without a restart.
const REFRESH_AGE: Duration = Duration::from_secs(300);
/// How often, at most, callers with unknown keys cause a fetch.
const MISS_FLOOR: Duration = Duration::from_secs(30);
/// How long after a failed refresh the next is tried, while older keys serve.
const RETRY: Duration = Duration::from_secs(30);
/// How long after the first failed fetch the next is tried when there are no keys at all; it doubles up to [`RETRY`].
const FIRST_RETRY: Duration = Duration::from_millis(250);

/// The state of fetching: at most one at a time, and for which causes the next may begin.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    in_flight: bool,
    /// When the last fetch ended, and whether it brought keys.
    last: Option<(Millis, bool)>,
    /// Whether any fetch ever brought keys.
    has_keys: bool,
    failures: u32,
    /// When a missing key last caused a fetch.
    last_miss: Option<Millis>,
    miss_wanted: bool,
}

/// What becomes of a caller whose key is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Miss {
    /// A fetch is on its way or about to begin; its result decides.
    Wait,
    /// Keys were fetched for a missing key a short while ago; the answer stands.
    TooSoon,
}

impl Schedule {
    /// Asks for a fetch because a key is missing.
    pub(crate) fn miss(&mut self, now: Millis) -> Miss {
        if self.in_flight || self.miss_wanted {
            return Miss::Wait;
        }
        if self.last_miss.is_none_or(|last| elapsed(last, now, millis(MISS_FLOOR))) {
            self.last_miss = Some(now);
            self.miss_wanted = true;
            return Miss::Wait;
        }
        Miss::TooSoon
    }

    /// Whether a fetch should begin now: wanted for a missing key, or due by age.
    pub(crate) fn due(&self, now: Millis) -> bool {
        !self.in_flight
            && (self.miss_wanted || self.last.is_none_or(|(last, _)| elapsed(last, now, self.interval())))
    }

    /// How long until a fetch falls due by age.
    pub(crate) fn until_due(&self, now: Millis) -> Duration {
        let left = self.last.map_or(0, |(last, _)| last.saturating_add(self.interval()).saturating_sub(now));
        Duration::from_millis(u64::try_from(left).unwrap_or(0))
    }

    /// A fetch begins.
    pub(crate) fn begin(&mut self) {
        self.in_flight = true;
        self.miss_wanted = false;
    }

    /// The fetch ended, with keys or without.
    pub(crate) fn end(&mut self, now: Millis, brought_keys: bool) {
        self.in_flight = false;
        self.last = Some((now, brought_keys));
        self.has_keys |= brought_keys;
        self.failures = if brought_keys { 0 } else { self.failures.saturating_add(1) };
    }

    fn interval(&self) -> Millis {
        match self.last {
            Some((_, true)) => millis(REFRESH_AGE),
            Some((_, false)) if self.has_keys => millis(RETRY),
            Some((_, false)) | None => {
                let doublings = self.failures.saturating_sub(1).min(16);
                millis(FIRST_RETRY.saturating_mul(1 << doublings).min(RETRY))
            }
        }
    }
}

/// Whether `interval` has passed. A clock that was set back counts as passed: waiting for it to catch up could take years.
fn elapsed(since: Millis, now: Millis, interval: Millis) -> bool {
    now < since || now.saturating_sub(since) >= interval
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded_at(now: Millis) -> Schedule {
        let mut schedule = Schedule::default();
        schedule.begin();
        schedule.end(now, true);
        schedule
    }

    #[test]
    fn a_flood_of_misses_causes_one_fetch_in_thirty_seconds() {
        let mut schedule = loaded_at(0);
        let mut fetches = 0;
        for now in (0..120_000).step_by(7) {
            let _answer = schedule.miss(now);
            if schedule.due(now) {
                schedule.begin();
                schedule.end(now, true);
                fetches += 1;
            }
        }
        assert_eq!(fetches, 4);
    }

    #[test]
    fn misses_join_the_fetch_in_flight() {
        let mut schedule = loaded_at(0);
        assert_eq!(schedule.miss(1), Miss::Wait);
        assert_eq!(schedule.miss(2), Miss::Wait);
        schedule.begin();
        assert_eq!(schedule.miss(3), Miss::Wait);
        assert!(!schedule.due(3));
        schedule.end(4, true);
        assert_eq!(schedule.miss(5), Miss::TooSoon);
        assert_eq!(schedule.miss(30_000), Miss::TooSoon);
        assert_eq!(schedule.miss(30_001), Miss::Wait);
    }

    #[test]
    fn a_fetch_by_age_leaves_the_next_miss_its_own() {
        let mut schedule = loaded_at(0);
        assert!(schedule.due(300_000));
        schedule.begin();
        schedule.end(300_000, true);
        assert_eq!(schedule.miss(300_001), Miss::Wait);
    }

    #[test]
    fn an_outage_is_retried_fast_without_keys_and_slowly_with_them() {
        let mut schedule = Schedule::default();
        assert!(schedule.due(0));
        let mut waits = Vec::new();
        for _ in 0..9 {
            schedule.begin();
            schedule.end(0, false);
            waits.push(schedule.until_due(0).as_millis());
        }
        assert_eq!(waits, [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
        schedule.begin();
        schedule.end(0, true);
        assert_eq!(schedule.until_due(0), REFRESH_AGE);
        schedule.begin();
        schedule.end(0, false);
        assert_eq!(schedule.until_due(0), RETRY);
    }

    #[test]
    fn a_clock_set_back_stops_nothing() {
        let mut schedule = loaded_at(10_000_000);
        assert_eq!(schedule.miss(10_000_000), Miss::Wait);
        schedule.begin();
        schedule.end(10_000_000, true);
        assert!(schedule.due(5));
        schedule.begin();
        schedule.end(5, true);
        assert_eq!(schedule.miss(5), Miss::Wait);
    }
}
