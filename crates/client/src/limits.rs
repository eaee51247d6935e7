//! How long and how much the client takes before it gives up.

use std::time::Duration;

/// Limits of one client. The defaults fit a service behind a gateway; tests and load tools set their own.
#[derive(Debug, Clone)]
pub struct Limits {
    /// From the start of a call to the end of its answer; for a stream, to its head.
    pub answer_within: Duration,
    /// Silence on an open stream before it counts as cut. The contract promises a comment every 15 s.
    pub idle: Duration,
    /// Connection attempts in a row that bring no new event before a stream counts as lost.
    pub attempts: u32,
    /// A stream that stayed open this long was healthy: a cut after it starts the count of attempts anew.
    pub healthy_after: Duration,
    /// The pause before the first attempt to resume; it doubles from there, with jitter.
    pub first_pause: Duration,
    /// The longest pause that doubling leads to.
    pub longest_pause: Duration,
    /// The longest pause that a server may ask for with `retry:` or `Retry-After`.
    pub longest_hint: Duration,
    /// The largest answer to a call, in bytes.
    pub body_bytes: usize,
    /// The largest event of a stream, in bytes.
    pub event_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            answer_within: Duration::from_secs(30),
            idle: Duration::from_secs(45),
            attempts: 12,
            healthy_after: Duration::from_secs(5),
            first_pause: Duration::from_millis(250),
            longest_pause: Duration::from_secs(10),
            longest_hint: Duration::from_secs(60),
            body_bytes: 16 << 20,
            event_bytes: 16 << 20,
        }
    }
}
