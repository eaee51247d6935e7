//! How many calls one caller may make in a window of time.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::refusal::Refusal;

/// Counts calls per caller over a sliding window. Memory is bounded by the calls that were let through in one window.
#[derive(Debug)]
pub struct RateLimit<K> {
    calls: usize,
    window: Duration,
    callers: Mutex<Callers<K>>,
}

#[derive(Debug)]
struct Callers<K> {
    seen: HashMap<K, VecDeque<Instant>>,
    swept: Instant,
}

impl<K: Hash + Eq + Clone> RateLimit<K> {
    /// Lets `calls` calls of each caller through in every `window`.
    pub fn new(calls: usize, window: Duration) -> Self {
        Self { calls, window, callers: Mutex::new(Callers { seen: HashMap::new(), swept: Instant::now() }) }
    }

    /// Counts a call, or turns it away. A call that is turned away does not count.
    ///
    /// # Errors
    ///
    /// `rate_limit` with the whole seconds until the next call will be let through.
    pub fn admit(&self, caller: &K) -> Result<(), Refusal> {
        self.admit_at(caller, Instant::now())
    }

    fn admit_at(&self, caller: &K, now: Instant) -> Result<(), Refusal> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if now.duration_since(callers.swept) >= self.window {
            callers.swept = now;
            callers
                .seen
                .retain(|_, calls| calls.back().is_some_and(|last| now.duration_since(*last) < self.window));
        }
        let calls = callers.seen.entry(caller.clone()).or_default();
        while calls.front().is_some_and(|first| now.duration_since(*first) >= self.window) {
            calls.pop_front();
        }
        if calls.len() < self.calls {
            calls.push_back(now);
            return Ok(());
        }
        let wait =
            calls.front().map_or(self.window, |first| self.window.saturating_sub(now.duration_since(*first)));
        let seconds = wait.as_millis().div_ceil(1_000).max(1);
        let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
        Err(Refusal::rate_limit(
            format!(
                "you have made {} calls in {} s, which is the limit; try again in {seconds} s",
                self.calls,
                self.window.as_secs()
            ),
            seconds,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_let_through_again_when_the_window_has_moved_on() {
        let limit = RateLimit::new(2, Duration::from_secs(60));
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        limit.admit_at(&"a", at(0)).unwrap();
        limit.admit_at(&"a", at(20)).unwrap();
        limit.admit_at(&"b", at(20)).unwrap();
        assert_eq!(limit.admit_at(&"a", at(30)).unwrap_err().retry_after_s, Some(30));
        limit.admit_at(&"a", at(60)).unwrap();
        assert_eq!(limit.admit_at(&"a", at(60)).unwrap_err().retry_after_s, Some(20));
    }

    #[test]
    fn callers_who_went_away_are_forgotten() {
        let limit = RateLimit::new(2, Duration::from_secs(60));
        let begun = Instant::now();
        for caller in 0..1_000 {
            limit.admit_at(&caller, begun).unwrap();
        }
        limit.admit_at(&0, begun + Duration::from_secs(61)).unwrap();
        assert_eq!(limit.callers.lock().unwrap().seen.len(), 1);
    }
}
