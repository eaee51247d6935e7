//! Server-Sent Events: bytes in, frames out, whatever the chunks and line ends.

use std::collections::VecDeque;
use std::time::Duration;

/// One dispatched event: at least one `data` line and a blank line after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The latest `id` of the stream so far, if any.
    pub id: Option<String>,
    /// The `event` field; empty when there was none.
    pub event: String,
    /// The `data` lines, joined by line feeds.
    pub data: String,
}

/// An event exceeds the limit; nothing more is read from its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("longer than {limit} bytes")]
pub struct FrameTooLong {
    /// The limit in bytes.
    pub limit: usize,
}

/// A reader of one response body, by the rules of the WHATWG's event stream format.
///
/// Lines end in CR, LF or CRLF, also where a chunk ends between the two. Comments and unknown fields are skipped. What
/// follows the last blank line is never dispatched, so a body cut anywhere yields whole frames only.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    line: Vec<u8>,
    after_cr: bool,
    at_start: bool,
    id: Option<String>,
    event: String,
    data: String,
    has_data: bool,
    retry: Option<Duration>,
    ready: VecDeque<Frame>,
}

impl SseParser {
    /// A reader that takes events of up to `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            id: None,
            event: String::new(),
            data: String::new(),
            has_data: false,
            retry: None,
            ready: VecDeque::new(),
        }
    }

    /// Takes the next bytes of the body.
    ///
    /// # Errors
    ///
    /// [`FrameTooLong`] when the event that is being read exceeds the limit. Frames before it can still be taken.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<(), FrameTooLong> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (head, rest) = bytes.split_at(end);
            self.hold(head)?;
            self.end_line();
            bytes = match rest {
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
                [] => &[],
            };
        }
        self.hold(bytes)
    }

    /// The next whole frame, in order.
    pub fn next_frame(&mut self) -> Option<Frame> {
        self.ready.pop_front()
    }

    /// The latest `retry` that was not asked for yet.
    pub fn take_retry(&mut self) -> Option<Duration> {
        self.retry.take()
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), FrameTooLong> {
        let held = self.line.len() + self.data.len() + self.event.len();
        if held + bytes.len() > self.limit {
            return Err(FrameTooLong { limit: self.limit });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let mut rest = line.as_slice();
        if std::mem::take(&mut self.at_start) {
            rest = rest.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(rest);
        }
        if rest.is_empty() {
            self.dispatch();
        } else {
            let text = String::from_utf8_lossy(rest);
            let (name, value) = text.split_once(':').unwrap_or((&text, ""));
            self.field(name, value.strip_prefix(' ').unwrap_or(value));
        }
        // The buffer is kept for the next line, unless one long line made it large.
        if line.capacity() <= 64 << 10 {
            self.line = line;
            self.line.clear();
        }
    }

    fn field(&mut self, name: &str, value: &str) {
        match name {
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.event),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = Some(Duration::from_millis(value.parse().unwrap_or(u64::MAX)));
            }
            _ => {}
        }
    }

    fn dispatch(&mut self) {
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.has_data) {
            self.ready.push_back(Frame { id: self.id.clone(), event, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_chunks<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Frame> {
        let mut parser = SseParser::new(1 << 20);
        let mut frames = Vec::new();
        for chunk in chunks {
            parser.feed(chunk).unwrap();
            frames.extend(std::iter::from_fn(|| parser.next_frame()));
        }
        frames
    }

    fn frame(id: &str, event: &str, data: &str) -> Frame {
        Frame { id: Some(id.to_owned()), event: event.to_owned(), data: data.to_owned() }
    }

    fn recorded() -> (&'static str, Vec<Frame>) {
        let text = "\u{FEFF}: hello\nretry: 1500\n\nid: 1\nevent: accepted\ndata: {\"a\":1}\n\n: keep-alive\n\n\
            id:2\nevent:answer\ndata:  two\ndata:lines é\ndata\nunknown: x\n\nevent: dropped\n\nid: 3\ndata: last\n\n\
            id: 4\ndata: never";
        let frames = vec![
            frame("1", "accepted", "{\"a\":1}"),
            frame("2", "answer", " two\nlines é\n"),
            frame("3", "", "last"),
        ];
        (text, frames)
    }

    #[test]
    fn frames_are_the_same_for_every_line_end_and_cut() {
        let (text, frames) = recorded();
        for line_end in ["\n", "\r", "\r\n"] {
            let body = text.replace('\n', line_end).into_bytes();
            for cut in 0..=body.len() {
                let (head, tail) = body.split_at(cut);
                assert_eq!(read_chunks([head, tail]), frames, "{line_end:?} cut at {cut}");
            }
            assert_eq!(read_chunks(body.chunks(1)), frames, "{line_end:?} byte by byte");
        }
    }

    #[test]
    fn a_lone_carriage_return_dispatches_without_waiting() {
        let mut parser = SseParser::new(100);
        parser.feed(b"data: x\r\r").unwrap();
        assert_eq!(parser.next_frame().unwrap().data, "x");
        parser.feed(b"\n").unwrap();
        parser.feed(b"data: y\r\n\r\n").unwrap();
        assert_eq!(parser.next_frame().unwrap().data, "y");
    }

    #[test]
    fn unicode_line_separators_are_data() {
        let body = "data: a\u{2028}b\u{2029}c\u{85}d\u{B}e\u{C}f\n\n";
        assert_eq!(read_chunks([body.as_bytes()])[0].data, "a\u{2028}b\u{2029}c\u{85}d\u{B}e\u{C}f");
    }

    #[test]
    fn only_digits_are_a_retry_and_an_id_with_nul_is_none() {
        let mut parser = SseParser::new(100);
        for (line, retry) in [("5", Some(5)), ("-1", None), ("1e3", None), ("", None), (" 7", None)] {
            parser.feed(format!("retry: {line}\n").as_bytes()).unwrap();
            assert_eq!(parser.take_retry(), retry.map(Duration::from_millis), "{line}");
        }
        parser.feed(b"retry: 99999999999999999999999\n").unwrap();
        assert_eq!(parser.take_retry(), Some(Duration::from_millis(u64::MAX)));
        parser.feed(b"id: 4\nid: 5\0\ndata: x\n\n").unwrap();
        assert_eq!(parser.next_frame().unwrap().id.as_deref(), Some("4"));
    }

    #[test]
    fn an_endless_event_is_refused_and_the_ones_before_it_stay() {
        for body in ["data: 0123456789abcdef0123", "data: 0123456\ndata: 0123456\ndata: 0123456\n"] {
            let mut parser = SseParser::new(20);
            let fed = parser.feed(format!("data: ok\n\n{body}").as_bytes());
            assert_eq!(fed, Err(FrameTooLong { limit: 20 }));
            assert_eq!(parser.next_frame().unwrap().data, "ok");
        }
    }

    #[test]
    fn many_small_events_stay_within_the_limit() {
        let mut parser = SseParser::new(20);
        for _ in 0..1000 {
            parser.feed(b"id: 1\nevent: a\ndata: b\n\n: comment\n").unwrap();
            assert!(parser.next_frame().is_some());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_chunks_read_the_same(body in prop::collection::vec(any::<u8>(), 0..300), at in 0_usize..300) {
            let cut = at.min(body.len());
            let (head, tail) = body.split_at(cut);
            prop_assert_eq!(read_chunks([head, tail]), read_chunks([body.as_slice()]));
        }

        #[test]
        fn field_soup_in_any_chunks_reads_the_same(
            body in "(data|id|event|retry|:| |\\r|\\n|\\r\\n|x|\u{FEFF}){0,60}", at in 0_usize..300,
        ) {
            let cut = at.min(body.len());
            let (head, tail) = body.as_bytes().split_at(cut);
            prop_assert_eq!(read_chunks([head, tail]), read_chunks([body.as_bytes()]));
        }
    }
}
