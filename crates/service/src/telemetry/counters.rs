//! Counters and histograms that cost an atomic addition, written in Prometheus' text format.

use std::cell::Cell;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Parts of a counter; threads are spread over them, so that two rarely write one cache line.
const SHARDS: usize = 8;

/// Upper bounds of the buckets of a histogram, in milliseconds.
const BOUNDS_MS: [u64; 14] =
    [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 180_000];

#[derive(Debug, Default)]
#[repr(align(64))]
struct Shard(AtomicU64);

/// A number that only rises.
#[derive(Debug, Default)]
pub(crate) struct Counter([Shard; SHARDS]);

thread_local! {
    static SHARD: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The shard of this thread.
fn shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    SHARD.with(|own| {
        own.get().unwrap_or_else(|| {
            let next = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
            own.set(Some(next));
            next
        })
    })
}

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        if let Some(shard) = self.0.get(shard()) {
            shard.0.fetch_add(count, Ordering::Relaxed);
        }
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.iter().map(|shard| shard.0.load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }
}

/// A counter for each value of one label; the values are all known here, so no caller can add to them.
#[derive(Debug)]
pub(crate) struct Labelled<const N: usize> {
    label: &'static str,
    values: [&'static str; N],
    counters: [Counter; N],
}

impl<const N: usize> Labelled<N> {
    pub(crate) fn new(label: &'static str, values: [&'static str; N]) -> Self {
        Self { label, values, counters: std::array::from_fn(|_| Counter::default()) }
    }

    /// Adds to the counter of a value; a value that is not in the set is left out.
    pub(crate) fn add(&self, value: &str, count: u64) {
        let at = self.values.iter().position(|known| *known == value);
        if let Some(counter) = at.and_then(|at| self.counters.get(at)) {
            counter.add(count);
        }
    }

    pub(crate) fn write(&self, text: &mut String, name: &str, help: &str) {
        head(text, name, help, "counter");
        for (value, counter) in self.values.iter().zip(&self.counters) {
            line(text, format_args!("{name}{{{}=\"{value}\"}} {}", self.label, counter.get()));
        }
    }
}

/// How long something took, in buckets.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BOUNDS_MS.len()],
    beyond: AtomicU64,
    sum_us: AtomicU64,
}

impl Histogram {
    pub(crate) fn observe(&self, took: Duration) {
        let bucket = BOUNDS_MS.iter().position(|bound| took <= Duration::from_millis(*bound));
        let count = bucket.and_then(|at| self.buckets.get(at)).unwrap_or(&self.beyond);
        count.fetch_add(1, Ordering::Relaxed);
        self.sum_us.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Writes the samples; `labels` is empty or `name="value",` with its comma.
    pub(crate) fn write(&self, text: &mut String, name: &str, labels: &str) {
        let mut count = 0_u64;
        for (bucket, bound) in self.buckets.iter().zip(BOUNDS_MS) {
            count = count.wrapping_add(bucket.load(Ordering::Relaxed));
            let (whole, rest) = (bound / 1000, bound % 1000);
            let le = format!("{whole}.{rest:03}");
            let le = le.trim_end_matches('0').trim_end_matches('.');
            line(text, format_args!("{name}_bucket{{{labels}le=\"{le}\"}} {count}"));
        }
        count = count.wrapping_add(self.beyond.load(Ordering::Relaxed));
        line(text, format_args!("{name}_bucket{{{labels}le=\"+Inf\"}} {count}"));
        let sum_us = self.sum_us.load(Ordering::Relaxed);
        let own = labels.trim_end_matches(',');
        let own = if own.is_empty() { String::new() } else { format!("{{{own}}}") };
        line(text, format_args!("{name}_sum{own} {}.{:06}", sum_us / 1_000_000, sum_us % 1_000_000));
        line(text, format_args!("{name}_count{own} {count}"));
    }
}

/// The lines before a metric's samples.
pub(crate) fn head(text: &mut String, name: &str, help: &str, kind: &str) {
    line(text, format_args!("# HELP {name} {help}"));
    line(text, format_args!("# TYPE {name} {kind}"));
}

pub(crate) fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    writeln!(text, "{content}").ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additions_of_many_threads_are_all_counted() {
        let counter = Counter::default();
        std::thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| (0..1000).for_each(|_| counter.add(2)));
            }
        });
        assert_eq!(counter.get(), 24_000);
    }

    #[test]
    fn a_value_outside_of_the_set_makes_no_series() {
        let counters = Labelled::new("kind", ["a", "b"]);
        counters.add("a", 3);
        counters.add("canary", 9);
        let mut text = String::new();
        counters.write(&mut text, "ask_things_total", "Things.");
        let expected = "# HELP ask_things_total Things.\n# TYPE ask_things_total counter\n\
            ask_things_total{kind=\"a\"} 3\nask_things_total{kind=\"b\"} 0\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn buckets_add_up() {
        let histogram = Histogram::default();
        for ms in [5, 6, 200, 400_000] {
            histogram.observe(Duration::from_millis(ms));
        }
        let mut text = String::new();
        histogram.write(&mut text, "h", "kind=\"a\",");
        for expected in [
            "h_bucket{kind=\"a\",le=\"0.005\"} 1\n",
            "h_bucket{kind=\"a\",le=\"0.01\"} 2\n",
            "h_bucket{kind=\"a\",le=\"0.25\"} 3\n",
            "h_bucket{kind=\"a\",le=\"10\"} 3\n",
            "h_bucket{kind=\"a\",le=\"180\"} 3\n",
            "h_bucket{kind=\"a\",le=\"+Inf\"} 4\n",
            "h_sum{kind=\"a\"} 400.211000\n",
            "h_count{kind=\"a\"} 4\n",
        ] {
            assert!(text.contains(expected), "{expected} is not in\n{text}");
        }
    }
}
