//! An event stream as it passes by: how many frames, whether it came to `done`, and how late its steps were.

use crate::meter::unix_ms;

/// What is kept of a stream's end, in which `done` stands.
const TAIL: usize = 1024;

/// Counts frames.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    ended_line: bool,
    tail: Vec<u8>,
}

impl Scan {
    /// Takes the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if self.ended_line && bytes.first() == Some(&b'\n') {
            self.frames += 1;
        }
        self.frames += memchr::memmem::find_iter(bytes, b"\n\n").count() as u64;
        self.ended_line = bytes.ends_with(b"\n") && !bytes.ends_with(b"\n\n");
        let last = bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default();
        if last.len() == TAIL {
            self.tail.clear();
        }
        self.tail.extend_from_slice(last);
        let over = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..over);
    }

    /// Whether the last frame is `done`.
    pub(crate) fn is_done(&self) -> bool {
        memchr::memmem::rfind(&self.tail, b"\nevent: done\n").is_some_and(|at| {
            self.tail.get(at..).is_some_and(|rest| {
                rest.ends_with(b"\n\n") && memchr::memmem::find_iter(rest, b"\n\n").count() == 1
            })
        })
    }

    /// The number of that member in the last frame.
    pub(crate) fn number(&self, member: &str) -> Option<u64> {
        let label = format!("\"{member}\":");
        let at = memchr::memmem::rfind(&self.tail, label.as_bytes())? + label.len();
        let digits = self.tail.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit());
        let text: String = digits.map(|byte| char::from(*byte)).collect();
        text.parse().ok()
    }
}

/// Reads steps and tells how old each is.
#[derive(Debug, Default)]
pub(crate) struct Ages {
    held: Vec<u8>,
}

impl Ages {
    /// Takes the next bytes; `on_age` is told the milliseconds since each step's `ts`.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut on_age: impl FnMut(f64)) {
        self.held.extend_from_slice(bytes);
        let Some(end) = memchr::memmem::rfind(&self.held, b"\n\n") else { return };
        let at = unix_ms();
        let later = self.held.split_off(end + 2);
        let held = std::mem::replace(&mut self.held, later);
        for start in memchr::memmem::find_iter(&held, b"event: step\n") {
            let frame = held.get(start..).unwrap_or_default();
            if let Some(made) =
                memchr::memmem::find(frame, b"\"ts\":\"").and_then(|ts| time_of(frame.get(ts + 6..)?))
            {
                on_age(at - made);
            }
        }
    }
}

/// Milliseconds since 1970 of `2026-12-01T13:37:00.123Z`.
fn time_of(text: &[u8]) -> Option<f64> {
    let number = |from: usize, to: usize| -> Option<i64> {
        text.get(from..to)?
            .iter()
            .try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    // Days of the civil calendar, counted in years that begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    let seconds = ((days * 24 + number(11, 13)?) * 60 + number(14, 16)?) * 60 + number(17, 19)?;
    let ms = seconds * 1000 + number(20, 23)?;
    #[expect(clippy::cast_precision_loss, reason = "milliseconds fit into 53 bits for 280,000 years")]
    Some(ms as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ":\nretry: 2000\n\nid: 1\nevent: step\ndata: {\"ts\":\"2026-12-01T00:00:00.250Z\"}\n\n\
        id: 2\nevent: done\ndata: {\"hops\":7,\"ms\":12}\n\n";

    #[test]
    fn frames_and_the_end_are_seen_however_the_stream_is_cut() {
        for size in 1..STREAM.len() {
            let mut scan = Scan::default();
            STREAM.as_bytes().chunks(size).for_each(|piece| scan.feed(piece));
            assert_eq!((scan.frames, scan.bytes, scan.is_done()), (3, STREAM.len() as u64, true), "{size}");
            assert_eq!((scan.number("hops"), scan.number("ms"), scan.number("x")), (Some(7), Some(12), None));
        }
        let mut cut = Scan::default();
        cut.feed(&STREAM.as_bytes()[..STREAM.len() - 1]);
        assert!(!cut.is_done());
    }

    #[test]
    fn the_age_of_a_step_is_counted_from_its_own_time() {
        assert_eq!(time_of(b"1970-01-01T00:00:00.001Z"), Some(1.0));
        assert_eq!(time_of(b"2024-02-29T12:00:01.500Z"), Some(1_709_208_001_500.0));
        assert_eq!(time_of(b"2024-02-x"), None);
        for size in 1..STREAM.len() {
            let (mut ages, mut seen) = (Ages::default(), Vec::new());
            STREAM.as_bytes().chunks(size).for_each(|piece| ages.feed(piece, |age| seen.push(age)));
            let made = time_of(b"2026-12-01T00:00:00.250Z").unwrap();
            assert_eq!(seen.len(), 1, "{size}");
            assert!((unix_ms() - made - seen[0]).abs() < 10_000.0);
        }
    }
}
